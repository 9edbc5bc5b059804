"""What the client would drop, change or take for an order of its own is refused before a key is pressed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter_keystrokes.prompting.facts import ENDS
from hookrouter_keystrokes.prompting.hidden import HIDDEN, dropped
from hookrouter_keystrokes.prompting.pieces import untypable

KEPT = {
    "joined emoji": "family \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "with skin": "\U0001f469\U0001f3fd\u200d\U0001f4bb \U0001f3f3\ufe0f\u200d\U0001f308",
    "forms": "\u2764\ufe0f \u2764\ufe0e \u263a\ufe0f \u00a9\ufe0f",
    "keycap": "1\ufe0f\u20e3 #\ufe0f\u20e3",
    "persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "hindi": "\u0915\u094d\u200d\u0937 \u0915\u094d\u200c\u0937",
    "sinhala": "\u0dc1\u0dca\u200d\u0dbb\u0dd3",
}
"""What 2.1.330 was seen to submit as it is."""

DROPPED = {
    "behind a letter": "a\ufe0f",
    "alone": "\ufe0f",
    "digit without its key": "1\ufe0f",
    "between letters": "a\u200db",
    "at an end": "\U0001f468\u200d",
    "before a letter": "\U0001f468\u200da",
    "twice": "\U0001f468\u200d\u200d\U0001f469",
    "behind a blank": "\u0915 \u200d",
    "other selector": "a\U000e0101",
    "grapheme joiner": "a\u034fb",
    "filler": "a\u3164b",
}


@pytest.mark.parametrize("code", sorted({code for pair in HIDDEN for code in (*pair, sum(pair) // 2)}), ids=hex)
def test_every_invisible_character_is_refused_between_letters(code: int) -> None:
    assert f"U+{code:04X}" in untypable(f"a{chr(code)}b")


def test_their_table_is_in_order() -> None:
    flat = [code for pair in HIDDEN for code in pair]
    assert flat == sorted(flat)


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_what_a_word_or_an_emoji_needs_may_be_typed(text: str) -> None:
    assert untypable(text) == ""


@pytest.mark.parametrize("text", DROPPED.values(), ids=DROPPED)
def test_elsewhere_the_same_is_refused(text: str) -> None:
    assert "newer clients drop" in untypable(f"x {text} y")


@given(st.text("ab \u0915\u094d\u200c\u200d\ufe0e\ufe0f1\u20e3\U0001f468\U0001f3fd\u2764\u3164\U000e0101", max_size=12))
def test_taking_out_what_is_dropped_leaves_nothing_to_drop(text: str) -> None:
    while lost := dropped(text):
        assert lost in text
        text = text.replace(lost, "")
    # Whatever is kept stands behind what it belongs to.
    assert text[:1] not in ("\u200c", "\u200d", "\ufe0e", "\ufe0f")


@pytest.mark.parametrize(
    "text", ["<pasted_content>", "a </PASTED_CONTENT>", '< / pasted_content id="1">', "<pasted_content"]
)
def test_the_clients_own_tag_is_refused(text: str) -> None:
    assert "backslash" in untypable(text)


@pytest.mark.parametrize("text", ["pasted_content", "<task-notification> hello", "a < b", "<paste>"])
def test_other_tags_may_be_typed(text: str) -> None:
    assert untypable(text) == ""


def test_the_words_that_end_the_client_are_six() -> None:
    assert set(ENDS) == {"exit", "quit", ":q", ":q!", ":wq", ":wq!"}
