"""A prompt that the client has cut or changed proves nothing, and nobody else is said to have written it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.queue.documents import Queue
from hookrouter.queue.items import DELIVERING, DONE, FAILED, QUEUED, STARTED, Item, kind_of
from hookrouter.queue.proof import doorbell_text, is_altered, proof_by_prompt
from hookrouter.queue.transitions import prompt_submitted

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), min_size=1).filter(
    lambda text: text.strip() == text
)
TAGS = (
    "<task-notification>",
    "</task-notification>",
    "<task-id>",
    "</system-reminder>",
    "< /system-reminder >",
    "<\\command-name>",
    "&lt;",
    "<",
    "a <b",
)
WAKE = (
    "<task-notification>\n<summary>Stop hook feedback</summary>\n</task-notification>\n<system-reminder>\n"
    'Stop hook blocking error from command "FileChanged": {}\n</system-reminder>'
)


def item(text: str, **more: str) -> Item:
    return Item(id="20261124T221419-0badcafe", kind=kind_of(text), text=text, by="agent")._replace(**more)


def escaped(text: str) -> str:
    """Return what 2.1.330 makes of a text with which a hook wakes Claude."""
    text = text.replace("</system-reminder", "&lt;/system-reminder").replace(
        "< /system-reminder", "&lt; /system-reminder"
    )
    for tag in ("task-notification", "task-id", "command-name"):
        text = text.replace(f"<{tag}", f"<\\{tag}").replace(f"</{tag}", f"<\\/{tag}")
    return text


@given(
    st.lists(st.one_of(TEXTS, st.sampled_from(TAGS)), min_size=1).map("".join).filter(lambda text: text.strip() == text)
)
def test_a_wake_with_all_of_an_items_text_proves_it(text: str) -> None:
    proof = proof_by_prompt(item(text), WAKE.format(escaped(doorbell_text(item(text)))))
    assert proof is not None
    assert proof.state == STARTED


@given(TEXTS.filter(lambda text: len(text) > 1), st.data())
def test_a_wake_with_less_than_its_text_is_its_failure(text: str, data: st.DataObject) -> None:
    mine = item(text)
    begin = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(begin + 1, len(text)))
    cut = f"{text[:begin]}\n\n... [{end - begin} characters truncated] ...\n\n{text[end:]}"
    proof = proof_by_prompt(mine, WAKE.format(doorbell_text(mine._replace(text=cut))))
    assert proof is not None
    assert proof.state == FAILED
    assert "cut or changed" in proof.reason


def test_the_hook_of_a_cut_prompt_ends_the_item_and_holds_the_queue() -> None:
    mine, behind = item("x" * 500, state=DELIVERING, channel="doorbell"), item("next")._replace(id="behind")
    queue = Queue(session="work", items=(mine, behind))
    after = prompt_submitted(queue, WAKE.format(doorbell_text(mine._replace(text="x" * 499))))
    assert after.hold is not None
    assert (after.hold.cause, after.item(mine.id).state) == ("failed", FAILED)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        ("a\u3164b", "ab"),
        ("a\ufe0fb c", "ab c"),
        ("x <pasted_content> y", "x <\\pasted_content> y"),
        ("<p\u0430sted_content>", "<\\p\u0430sted_content>"),
        ("a\u0302", "\u00e2"),
    ],
)
def test_what_the_client_has_altered_is_called_nobodys_words(text: str, prompt: str) -> None:
    mine, behind = item(text, state=DELIVERING, channel="keys", phase="entering"), item("next")._replace(id="behind")
    after = prompt_submitted(Queue(session="work", items=(mine, behind)), prompt)
    assert after.hold is not None
    assert (after.hold.cause, after.item(mine.id).state) == ("failed", FAILED)  # type: ignore[union-attr]
    assert "something else" not in after.hold.reason


@pytest.mark.parametrize("prompt", ["ab c", "a", "go on", "a\u3164b, and more"])
def test_what_somebody_wrote_stays_theirs(prompt: str) -> None:
    mine, behind = item("abc\u3164", state=DELIVERING, channel="keys", phase="entering"), item("next")._replace(id="b")
    after = prompt_submitted(Queue(session="work", items=(mine, behind)), prompt)
    assert after.hold is not None
    assert after.hold.cause == "person"


def test_a_text_that_begins_as_the_clients_own_is_known_by_its_words() -> None:
    mine = item("<task-notification> what is this tag?", state=DELIVERING, channel="keys", phase="entering")
    after = prompt_submitted(Queue(session="work", items=(mine,)), mine.text)
    assert [one.state for one in after.items] == [STARTED]
    other = item("go on", state=QUEUED)
    assert prompt_submitted(Queue(session="work", items=(other,)), mine.text).items[0].state not in (DONE, FAILED)


@given(TEXTS)
def test_no_text_is_altered_into_more_than_itself(text: str) -> None:
    assert not is_altered(text, f"{text} and more")
