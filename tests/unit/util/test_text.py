"""Foreign text made safe to show."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.util.text import did_you_mean, printable

ANY_TEXT = st.text(st.characters(codec=None), max_size=200)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 日本 👩‍💻", "plain ü 日本 👩‍💻"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\nb\tc", "a\\x0ab\\x09c"),
        ("\x7f\x9b", "\\x7f\\x9b"),
        ("\ud800", "\\ud800"),
        ("abc\u202edcba", "abc\\u202edcba"),
        ("a\u00a0b", "a\u00a0b"),
        ("tag\U000e0041\U000e0042", "tag\\U000e0041\\U000e0042"),
        ("a\u200bb\u2060c\ufeffd\u00ade", "a\\u200bb\\u2060c\\ufeffd\\xade"),
        ("\u115f\u3164\uffa0", "\\u115f\\u3164\\uffa0"),
        ("x\ufe00\U000e0101", "x\\ufe00\\U000e0101"),
        ("❤️‍🔥 1️⃣", "❤️‍🔥 1️⃣"),
        ("می‌خواهم", "می‌خواهم"),
        ("\u200da", "\\u200da"),
        ("a\u200d\u200c\u200db", "a\u200d\\u200c\\u200db"),
        ("a\ufe0f\ufe0fb", "a\ufe0f\\ufe0fb"),
    ],
)
def test_controls_become_visible(text, shown):
    assert printable(text) == shown


def test_newlines_and_tabs_may_stay():
    assert printable("a\nb\tc\rd", keep_newlines=True) == "a\nb\tc\\x0dd"


@given(ANY_TEXT)
def test_shown_text_has_no_control_left(text):
    shown = printable(text)
    assert not any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in shown)
    shown.encode("utf-8")


@given(st.text(st.sampled_from("ab❤\u00ad\u200b\u200c\u200d\ufe0f\ufe00\U000e0041\u3164"), max_size=12))
def test_what_is_drawn_as_nothing_stays_only_once_behind_something_visible(text):
    shown = printable(text)
    assert not set("\u00ad\u200b\ufe00\U000e0041\u3164") & set(shown)
    for hidden in "\u200c\u200d\ufe0f":
        assert not shown.startswith(hidden)
        assert hidden * 2 not in shown


def test_every_format_character_becomes_visible_but_the_joiners():
    formats = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Cf"]
    left = {character for character in formats if character in printable(f"a{character}")}
    # Marks of numbers and verses in Arabic, Syriac and Kaithi, and of Egyptian hieroglyphs, are drawn.
    assert {unicodedata.name(character).split()[0] for character in left} <= {
        "ZERO", "ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN", "SHORTHAND",
    }  # fmt: skip
    assert {character for character in left if unicodedata.name(character).startswith("ZERO")} == {"\u200c", "\u200d"}


@pytest.mark.parametrize(
    ("found", "meant"),
    [
        ("pre_tool_sue", "pre_tool_use"),
        ("pre_tol_use", "pre_tool_use"),
        ("Pre_Tool_Use", "pre_tool_use"),
        ("PRE-TOOL-USE", "pre_tool_use"),
        ("pretooluse", "pre_tool_use"),
        ("hook_reply", "hook-reply"),
        ("hokorepl", "hook-reply"),
    ],
)
def test_a_typing_error_is_understood(found: str, meant: str) -> None:
    assert did_you_mean(found, ("stop", "pre_tool_use", "hook-reply")) == f"did you mean {meant!r}?"


def test_what_is_close_to_nothing_gets_the_other_sentence() -> None:
    assert did_you_mean("xyz", ("stop", "pre_tool_use"), "see the hooks") == "see the hooks"


@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=5))
def test_only_an_allowed_word_is_suggested(found: str, allowed: list[str]) -> None:
    assert did_you_mean(found, allowed) in {"", *(f"did you mean {word!r}?" for word in allowed)}
