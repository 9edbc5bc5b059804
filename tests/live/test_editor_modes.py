"""Clients whose text fields take keys otherwise: vim mode, and an Enter that makes a new line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hookrouter._sandbox.scripted_model import ask
from hookrouter._sandbox.waiting import wait_until
from support.matrix import mostly_long
from support.tested_client import VERSION

pytestmark = [pytest.mark.live, pytest.mark.xdist_group("editor modes")]  # most share a client

# The class is in conftest.py, which cannot be imported from here.
Live = Any

TEXTS = ["hello vim", "3", "first\n\tsecond\nlast ", ":wq i dd 日本"]


def question(text: str, *, multi: bool = False, preview: bool = False) -> dict[str, Any]:
    options = [{"label": label, "description": f"about {label}"} for label in ("Option A", "Option B", "Option C")]
    if preview:
        options = [{**option, "preview": f"| {option['label']} |"} for option in options]
    return {"question": text, "header": text[:10], "multiSelect": multi, "options": options}


def leave_in_normal_mode(live: Live, text: str) -> None:
    """Type ``text`` into the row for it, as a person does who then leaves vim's insert mode and goes away."""
    live.leave_typed(text, row="-- INSERT --")
    live.client.pane.press("Escape")
    live.client.pane.wait_for(lambda shown: "-- INSERT --" not in shown)


def needs_modes() -> None:
    """Skip the test if dialogs of this client have no modes: 2.1.310 was the first that was seen with them."""
    if VERSION < (2, 1, 310):
        pytest.skip("dialogs of this client have no modes")


@pytest.mark.parametrize(
    "left", mostly_long(["", "left by somebody"], "left by somebody"), ids=["fresh", "left in normal mode"]
)
@pytest.mark.parametrize("text", mostly_long(TEXTS, *TEXTS[2:]))
def test_text_is_typed_in_vim_mode(vim: Live, text: str, left: str) -> None:
    if left:
        needs_modes()
    single, multi = f"What about {text.split()[0]}{left[:4]}?", f"And which of {text.split()[0]}{left[:4]}?"
    asked = vim.ask(question(single), question(multi, multi=True))
    if left:
        leave_in_normal_mode(vim, left)

    done = vim.answer(
        {"action": "type", "text": text}, {"action": "multi-select", "selectedIndices": [1], "text": text}
    )

    assert done.returncode == 0, f"{done.stdout}\n{vim.client.screen()}"
    assert vim.recorded(asked)["answers"] == {single: text, multi: f"Option B, {text}"}
    vim.client.wait_idle()


def test_a_note_is_added_in_vim_mode(vim: Live) -> None:
    asked = vim.ask(question("Which layout do you like?", preview=True))

    done = vim.answer({"action": "select", "optionIndex": 1, "notes": "keep it narrow"})

    assert done.returncode == 0, f"{done.stdout}\n{vim.client.screen()}"
    assert vim.recorded(asked)["annotations"]["Which layout do you like?"]["notes"] == "keep it narrow"
    vim.client.wait_idle()


@pytest.mark.parametrize("normal", [False, True], ids=["insert", "normal"])
def test_a_chat_is_sent_in_vim_mode(vim: Live, normal: bool) -> None:
    if normal:
        needs_modes()
    vim.ask(question(f"Shall we go on, normal={normal}?"))
    if normal:
        leave_in_normal_mode(vim, "left")
    text = f"let us talk about it, normal={normal}"

    done = vim.answer({"action": "chat", "text": text})

    assert done.returncode == 0, f"{done.stdout}\n{vim.client.screen()}"
    # An old client looks idle for a moment before the turn begins.
    wait_until(lambda: vim.prompt_texts()[-1:] == [text], 20, "the prompt", vim.client.screen)
    vim.client.wait_idle()


def test_an_enter_that_makes_a_new_line_is_pressed_once(enter_is_newline: Live) -> None:
    live = enter_is_newline
    live.model.script("newline", [ask({"questions": [question("Which one?")]})])
    live.client.pane.type("please ASK newline")
    live.client.pane.wait_for("please ASK newline")
    live.client.pane.press("C-d")
    live.client.wait_dialog("Which one?")

    done = live.answer({"action": "chat", "text": "let us talk"})

    assert done.returncode == 4, done.stdout
    said = json.loads(done.stdout)
    assert "Enter makes a new line" in said["reason"]
    assert sum("send the chat" in step for step in said["steps"]) == 1
    assert live.typed_in_prompt().strip() == "let us talk"
