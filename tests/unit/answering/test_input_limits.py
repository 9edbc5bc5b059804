from __future__ import annotations

import pytest

from hookrouter.answering.input_limits import MAX_TEXT, chat_faults, text_faults


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (" \n\t", "is empty"),
        ("x" * (MAX_TEXT + 1), "5001 characters"),
        ("a\x1b[31m", r"U+001B"),
        ("a\ud800", "U+D800"),
        ("path\\", "backslash"),
        ("path\\ ", "backslash"),
        ("(notes only)", "reads as no answer"),
        (" Type something. ", "read back"),
        ("press n to add notes", "read back"),
    ],
)
def test_texts_that_the_dialog_cannot_take(text: str, why: str) -> None:
    assert len(text_faults(text)) == 1
    assert why in text_faults(text)[0]


@pytest.mark.parametrize("text", ["x" * MAX_TEXT, "a\nb\tc", "/help", "👍", "Type something else", "C:\\x"])
def test_texts_that_the_dialog_takes(text: str) -> None:
    assert text_faults(text) == []


@pytest.mark.parametrize("text", ["a\nb", "x  y", " A"])
def test_a_multi_selects_text_is_no_label_that_is_recorded_otherwise(text: str) -> None:
    (fault,) = text_faults(text, ["a\nb", "x  y", "A"])
    assert "select that option instead" in fault
    assert text_faults(text) == []
    assert text_faults("A", ["a\nb", "x  y", "A"]) == []


@pytest.mark.parametrize("text", ["/clear", " !rm", "#memo"])
def test_prompts_that_would_be_commands(text: str) -> None:
    assert text_faults(text) == []
    assert "begin with a word" in chat_faults(text)[0]


def test_a_prompt_may_be_what_only_the_dialog_cannot_tell() -> None:
    assert chat_faults("Type something.") == []
