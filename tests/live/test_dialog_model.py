"""The model of the dialog against the real client: the same keys, and the same state after each of them."""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.client import find_client, prompt_box
from hookrouter._sandbox.dialog_model import DialogModel
from hookrouter._sandbox.scripted_model import ScriptedModel, ask
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until
from hookrouter.terminals import Screen
from hookrouter.tools import AskUserQuestionInput
from hookrouter_keystrokes.screens.model import Page, Review
from hookrouter_keystrokes.screens.reading import read
from hookrouter_keystrokes.screens.text import key as exact
from hookrouter_tmux.backend import TmuxBackend
from support.random_forms import seeded_form
from support.tested_client import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookrouter._sandbox.tmux_server import PrivateTmux
    from hookrouter.terminals import TerminalAddress
    from hookrouter_keystrokes.screens.model import DialogState

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(VERSION < (2, 1, 310), reason="the model is of newer clients' dialog"),
]

WIDTH, HEIGHT = 120, 40
SEEDS = int(os.environ.get("HOOKROUTER_SEEDS", "1"))
"""How many clients are compared, each with forms and keys of its own."""
FORMS = 6
KEYS = 16
ALIKE = 4
"""How often in a row the client must be seen in the model's state, so that a late effect is noticed."""
GUARD = 0.3
"""Seconds for which the client may ignore Enter and digits once the dialog is visible; nothing shows its end."""
MOVES = ["Up", "Down", "Down", "Tab", "BTab", "Left", "Right", "Space", "j", "k"]
DIGITS = list("123456")
EDITS = ["x", "n", "2", "BSpace", "C-u", "C-e", "Left", "Right", "Space"]


class Pair:
    """A real client and, for each form, a model that gets the same keys."""

    def __init__(self, folder: Path, server: PrivateTmux, model: ScriptedModel) -> None:
        program = find_client()
        assert program is not None
        self.stage = Stage(str(folder))
        self.stage.record("PreToolUse", "PostToolUse")
        self.scripted = model
        self.client = self.stage.client(program, server, model, width=WIDTH, height=HEIGHT)
        self.client.start()
        self.backend = TmuxBackend()
        located = self.backend.locate(server.pane_environ(self.client.pane))
        assert located is not None
        self.address: TerminalAddress = located
        self.asked = 0

    def ask(self, questions: list[dict[str, Any]]) -> None:
        self.asked += 1
        self.scripted.script(f"form-{self.asked}", ask({"questions": questions}))
        self.client.submit(f"please ASK form-{self.asked}")
        self.stage.wait_payload("PreToolUse", self.asked)
        self.form: AskUserQuestionInput = AskUserQuestionInput.from_json({"questions": questions})
        self.model = DialogModel(self.form)
        self.keys: list[str] = []
        self.same()
        shown = time.monotonic()
        wait_until(lambda: time.monotonic() >= shown + GUARD, 5.0, "end of the input guard")

    def of_client(self) -> DialogState:
        return read(self.backend.capture(self.address), self.form)

    def of_model(self) -> DialogState:
        return read(Screen(tuple(self.model.render(WIDTH, HEIGHT)), WIDTH, HEIGHT), self.form)

    def same(self) -> None:
        """Wait until the client is in the state of the model, and stays there."""
        wanted = comparable(self.of_model())
        assert isinstance(wanted, (Page, Review)), wanted
        alike = 0

        def is_same() -> bool:
            nonlocal alike
            alike = alike + 1 if comparable(self.of_client()) == wanted else 0
            return alike == ALIKE

        try:
            wait_until(is_same, 10.0, "same state")
        except WaitTimeoutError:
            told = f"after {self.keys}\nthe model: {wanted}\nthe client: {self.of_client()}\n{self.client.screen()}"
            pytest.fail(told, pytrace=False)

    def press(self, key: str) -> None:
        self.keys.append(key)
        if key.startswith("paste "):
            self.model.paste(key.removeprefix("paste "))
            self.backend.paste(self.address, key.removeprefix("paste "))
        else:
            self.model.press(key)
            self.backend.press(self.address, key)

    def closed(self) -> None:
        """Compare how the form ended, and what was recorded."""
        wait_until(lambda: prompt_box(self.client.screen()), 10.0, f"end of the dialog after {self.keys}")
        if self.model.outcome != "declined":
            identifier = self.stage.payloads("PreToolUse")[-1]["tool_use_id"]
            self.scripted.wait_for_result(identifier)
        self.client.wait_idle()
        recorded = self.stage.payloads("PostToolUse")
        of_form = [each for each in recorded if each["tool_input"]["questions"][0]["question"] == self.first]
        if self.model.outcome == "answered":
            assert self.model.result is not None
            response = of_form[-1]["tool_response"]
            assert response["answers"] == self.model.result["answers"], self.keys
            noted = {text: each for text, each in self.model.result["annotations"].items() if each}
            assert (response.get("annotations") or {}) == noted, self.keys
        else:
            assert of_form == [], self.keys

    @property
    def first(self) -> str:
        return self.form.questions[0].question

    def close(self) -> None:
        """Decline what is still open; Escape in a notes field only leaves it."""
        for _ in range(2):
            if self.model.outcome is None:
                self.press("Escape")
                if self.model.outcome is None:
                    self.same()


def comparable(state: DialogState) -> DialogState:
    """Reduce texts to what terminals draw alike: not every emoji arrives as it was."""
    if isinstance(state, Page):
        notes = state.notes and state.notes._replace(text=exact(state.notes.text))
        return state._replace(rows=tuple(row._replace(text=exact(row.text)) for row in state.rows), notes=notes)
    if isinstance(state, Review):
        return state._replace(answers=tuple(answer and exact(answer) for answer in state.answers))
    return state


@pytest.fixture
def pair(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[Pair]:
    with ScriptedModel() as model:
        yield Pair(tmp_path, tmux_server, model)


def fits(questions: list[dict[str, Any]]) -> bool:
    """Whether no page is higher than the pane, and the tab bar holds every header as it is."""
    if any("  " in question["header"] or '"' in question["header"] for question in questions):
        return False
    model = DialogModel({"questions": questions})
    for tab in range(len(model.questions)):
        model.tab = tab
        if len(model.render(WIDTH, 1000)) > HEIGHT - 2:
            return False
    return True


def key(rng: random.Random, model: DialogModel) -> str:
    kind = rng.random()
    if kind < 0.45:
        return rng.choice(MOVES)
    if kind < 0.65:
        return rng.choice(DIGITS)
    if kind < 0.8:
        return rng.choice(EDITS)
    if kind < 0.9:
        return "paste " + rng.choice(("word", "two words", "3", "-x;", "日本 é"))
    return rng.choice(("Enter", "Enter", "Enter", "Escape"))


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_the_client_does_what_the_model_does(pair: Pair, seed: int) -> None:
    rng = random.Random(seed)
    number = 1000 * seed
    for _ in range(FORMS):
        number += 1
        while not fits(seeded_form(0, number).questions):
            number += 1
        pair.ask(seeded_form(0, number).questions)
        for _ in range(KEYS):
            pair.press(key(rng, pair.model))
            if pair.model.outcome is not None:
                break
            pair.same()
        pair.close()
        pair.closed()
