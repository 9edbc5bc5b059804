"""The items of a queue: what is taken, and what a text is."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hookrouter.queue.editing import new_items
from hookrouter.queue.items import COMMAND, LONGEST, PROMPT, QUEUED, SHELL, ItemError, command_of, kind_of, new_item

BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\ufeff"


def trimmed(text: str) -> str:
    return text.strip(BLANKS)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("go on", PROMPT),
        ("/clear", COMMAND),
        ("/gsd:plan-phase 3", COMMAND),
        ("!ls -l", SHELL),
        ("# remember this", PROMPT),
        ("@readme.md", PROMPT),
        ("a /clear", PROMPT),
        ("  /clear  ", COMMAND),
        ("\n!ls\n", SHELL),
        ("one\ntwo\tthree", PROMPT),
        ("ends in \\", PROMPT),
        ("🧪 日本語 é", PROMPT),
        ("\ufeff/clear", COMMAND),
        (" \ufeff\n\ufeff!ls\ufeff \ufeff", SHELL),
        ("\ufeffgo on", PROMPT),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    item = new_item(text, by="agent")
    assert (item.kind, item.text, item.state, item.by) == (kind, trimmed(text), QUEUED, "agent")
    assert not item.is_ended
    assert not item.is_under_way
    assert item.queued_at


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no text"),
        (" \n\t ", "there is no text"),
        ("a\x1b[2J", "character 2 of the text is U+001B, a control character"),
        ("a\r\nb", "character 2 of the text is U+000D"),
        ("a\x00", "character 2 of the text is U+0000"),
        ("a\x7fb", "character 2 of the text is U+007F"),
        ("a\x9bb", "character 2 of the text is U+009B"),
        ("a\ud800b", "character 2 of the text is U+D800"),
        ("x" * (LONGEST + 1), f"the text has {LONGEST + 1} characters; at most {LONGEST}"),
        ("/", "found '/': a / alone is not a command"),
        (" ! ", "found '!': a ! alone is not a command"),
        ("\ufeff", "there is no text"),
    ],
    ids=lambda text: repr(text[:20]),
)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ItemError) as caught:
        new_item(text, by="agent")
    assert reason in str(caught.value)


def test_the_longest_text() -> None:
    assert len(new_item("x" * LONGEST, by="person", who="kim").text) == LONGEST


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1))
def test_text_is_kept_exactly_but_for_its_ends(text: str) -> None:
    assume(trimmed(text) not in ("", "/", "!"))
    assume(not (trimmed(text)[0] in "/!" and not trimmed(trimmed(text)[1:])))
    item = new_item(f"  {text}\n", by="agent")
    assert item.text == trimmed(text)
    assert item.kind == kind_of(item.text)


@given(st.text())
def test_any_text_is_taken_or_refused_with_a_reason(text: str) -> None:
    bad = any((ord(one) < 0x20 and one not in "\n\t") or 0x7F <= ord(one) < 0xA0 for one in trimmed(text))
    if bad or trimmed(text) in ("", "/", "!"):
        with pytest.raises(ItemError):
            new_item(text, by="agent")
    else:
        assert new_item(text, by="agent").text == trimmed(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("/clear", ("clear", "")),
        ("/compact keep the plan", ("compact", "keep the plan")),
        ("/gsd:next  a\nb", ("gsd:next", "a\nb")),
    ],
)
def test_names_and_arguments_of_commands(text: str, parts: tuple[str, str]) -> None:
    assert command_of(text) == parts


def test_ids_differ_and_sort_by_time() -> None:
    ids = [new_item("x", by="agent").id for _ in range(50)]
    assert len(set(ids)) == 50
    assert [one[:15] for one in ids] == sorted(one[:15] for one in ids)


def test_all_texts_are_taken_or_none_with_every_fault() -> None:
    assert [item.text for item in new_items(["a", "/b", "!c"], by="agent")] == ["a", "/b", "!c"]
    with pytest.raises(ItemError) as caught:
        new_items(["a", "", "b\x1b"], by="agent")
    assert str(caught.value).startswith("text 2 of 3: there is no text")
    assert "text 3 of 3: character 2 of the text is U+001B" in str(caught.value)
    with pytest.raises(ItemError, match=r"^there is no text"):
        new_items([""], by="agent")
