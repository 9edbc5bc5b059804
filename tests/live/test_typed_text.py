"""Typed text of any kind on the real client: recorded character by character, or refused before any key."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.answering.input_limits import MAX_TEXT
from hookrouter.answering.labels import joined_items
from hookrouter.answering.recording import recording_styles
from support.matrix import mostly_long
from support.safety import safety
from support.tested_client import VERSION

if TYPE_CHECKING:
    import subprocess

pytestmark = pytest.mark.live

# The class is in conftest.py, which cannot be imported from here.
Live = Any

TEXTS = {
    "dash": "-l --force; -- ",
    "slash": "/clear",
    "bang": "!rm -rf /",
    "at": "@README.md",
    "hash": "# remember",
    "digit": "2",
    "digits": "1. first, 2. second",
    "semicolon": "do this; then that;",
    "only-semicolon": ";",
    "backslashes": "C:\\temp\\\\x \\; \\n",
    "quotes": "it's \"quoted\" `here` $HOME #{pane_id} 'x'",
    "tab": "a\tb",
    "lines": "first\n\n  third, indented\nlast",
    "newline-last": "ends in a line\n",
    "emoji": "family 👨‍👩‍👧‍👦 flag 🇩🇪 skin 👍🏽 heart ❤️ one 1️⃣",
    "cjk": "全角のテキスト、한국어도 그리고 中文。",
    "combining": "e\u0301 n\u0303 a\u030a\u0323 Zalgo: h\u0336e\u0336",
    "rtl": "שלום עולם and مرحبا, mixed",
    "nbsp": "a\u00a0b\u2009c\u200bd\u3000e",
    "blanks": "  two before and two after  ",
    "label": "Option B",
    "chat-label": "Chat about this",
    "submit": "Submit",
    "picture": "❯ 1. Option A\n  2. Option B\nEnter to select · Esc to cancel",
    "marked": "Option B ✔",
    "ticked": "[✔] Done",
    "pasted": "[Pasted text #1 +3 lines]",
    "bracket-words": "[200~ and [201~ without their escape",
    "long": "".join(f"{number:04d} word " for number in range(MAX_TEXT // 10)),
    "long-line": "x" * MAX_TEXT,
    "long-lines": "\n".join(f"line {number:03d} of many" for number in range(60)),
}
SEVERAL_LINES = ("tab", "lines", "newline-last", "picture")
"""The texts that are no note, which is one line."""
LONG = ("long", "long-line", "long-lines")
REFUSED = {
    "placeholder": "Type something.",
    "empty": " \n ",
    "backslash": "path\\",
    "nul": "a\0b",
    "escape": "a\x1b[31mb",
    "paste-end": "a\x1b[201~\rb",
    "return": "a\rb",
    "delete": "a\x7fb",
    "c1": "a\x9bb",
    "too-long": "x" * (MAX_TEXT + 1),
}


SAID = (
    *("dash", "at", "digit", "semicolon", "only-semicolon", "quotes", "tab", "lines", "emoji", "nbsp", "blanks"),
    *("label", "pasted", "long", "long-lines"),
)
"""The texts that are tried as a prompt, which starts with no command."""
CHANGED = {
    "tab": "a    b",
    "nbsp": "a\u00a0b\u2009cd\u3000e",
    "blanks": "two before and two after",
    "dash": "-l --force; --",
}
"""What the prompt box of 2.1.330 makes of some of them; only blanks and invisible characters change."""


def question(number: int, *, multi: bool = False, preview: bool = False) -> dict[str, Any]:
    options = [{"label": label, "description": f"about {label}"} for label in ("Option A", "Option B", "Option C")]
    if preview:
        options = [{**option, "preview": f"| {option['label']} |"} for option in options]
    text = f"What do you have to say about number {number}?"
    return {"question": text, "header": f"Number {number}", "multiSelect": multi, "options": options}


def groups(count: int, skip: tuple[str, ...] = ()) -> list[list[str]]:
    names = [name for name in TEXTS if name not in skip]
    return [names[at : at + count] for at in range(0, len(names), count)]


def ids(names: list[str]) -> str:
    return "+".join(names)


def verified(live: Live, asked: str, done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, f"{done.returncode} {done.stdout} {done.stderr}\n{live.client.screen()}"
    recorded: dict[str, Any] = live.recorded(asked)
    live.model.wait_for_result(asked)
    live.client.wait_idle()
    return recorded


@pytest.mark.parametrize("names", mostly_long(groups(2, skip=LONG), *groups(2, skip=LONG)[::6]), ids=ids)
def test_any_text_is_recorded_in_both_kinds_of_questions(names: list[str], calm: Live) -> None:
    form, decisions, expected = [], [], {}
    for name in names:
        text = TEXTS[name]
        single, multi = question(len(form)), question(len(form) + 1, multi=True)
        form += [single, multi]
        decisions += [
            {"action": "type", "text": text},
            {"action": "multi-select", "selectedIndices": [2], "text": text},
        ]
        several = joined_items(["Option C", text], recording_styles(VERSION)[0])
        expected |= {single["question"]: text, multi["question"]: several}
    asked = calm.ask(*form)
    recorded = verified(calm, asked, calm.answer(*decisions))
    with safety("an answer that is told as right is the one that was meant"):
        assert recorded["answers"] == expected


def test_a_text_is_typed_beside_descriptions_with_a_tab(live: Live) -> None:
    """2.1.150 draws such a description cut."""
    options = [{"label": label, "description": "tab\tinside"} for label in ("No", "snake_case")]
    form = {
        "question": "Which of these: \"a\", 'b' or `c`?",
        "header": "Odd",
        "multiSelect": False,
        "options": [{"label": "You decide", "description": "as you like"}, *options],
    }
    asked = live.ask(form)
    done = live.answer({"action": "type", "text": "neither of them"})
    assert verified(live, asked, done)["answers"] == {form["question"]: "neither of them"}


@pytest.mark.parametrize("name", LONG)
def test_a_long_text_answers_a_question_in_a_pane_that_is_too_small_for_it(name: str, calm: Live) -> None:
    asked = calm.ask(question(0))
    done = calm.answer({"action": "type", "text": TEXTS[name]})
    assert verified(calm, asked, done)["answers"] == {question(0)["question"]: TEXTS[name]}


NOTES = groups(4, skip=(*LONG, *SEVERAL_LINES))


@pytest.mark.parametrize("names", mostly_long(NOTES, *NOTES[::4]), ids=ids)
def test_any_text_is_recorded_as_a_note(names: list[str], calm: Live) -> None:
    form = [question(number, preview=True) for number in range(len(names))]
    decisions = [{"action": "select", "optionIndex": 1, "notes": TEXTS[name]} for name in names]
    asked = calm.ask(*form)
    annotations = verified(calm, asked, calm.answer(*decisions))["annotations"]
    with safety("an answer that is told as right is the one that was meant"):
        assert [annotations[each["question"]]["notes"] for each in form] == [
            unicodedata.normalize("NFC", TEXTS[name].strip()) for name in names
        ]


@pytest.mark.parametrize("name", mostly_long(SAID, *SAID[::6]))
def test_any_text_is_said_in_a_chat(name: str, rested: Live) -> None:
    said = len(rested.stage.payloads("UserPromptSubmit"))
    asked = rested.ask(question(0))
    done = rested.answer({"action": "chat", "text": TEXTS[name]})
    assert done.returncode == 0, f"{done.stdout} {done.stderr}\n{rested.client.screen()}"
    # Several lines come as pasted content, in a tag of the client's.
    assert CHANGED.get(name, TEXTS[name]) in rested.stage.wait_payload("UserPromptSubmit", said + 2)["prompt"]
    rested.model.wait_for_result(asked)
    rested.client.wait_idle()


def test_what_cannot_be_typed_is_refused_before_any_key(calm: Live) -> None:
    asked = calm.ask(question(0))
    before = calm.client.screen().splitlines()[-20:]
    for name, text in REFUSED.items():
        done = calm.answer({"action": "type", "text": text})
        assert done.returncode == 2, f"{name}: {done.stdout}"
        assert json.loads(done.stdout)["reason"]
    assert calm.client.screen().splitlines()[-20:] == before
    done = calm.answer({"action": "type", "text": "3"})
    assert verified(calm, asked, done)["answers"] == {question(0)["question"]: "3"}
