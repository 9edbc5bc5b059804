"""The Rewind list: what is read from recorded screens, and which keys lead where."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hookrouter.answering.decisions import FreeText, Select
from hookrouter.answering.interfaces import AskedDialog, Done, GiveUp, Press, Taken, Wait
from hookrouter.dialogs.decisions import DecisionError
from hookrouter.dialogs.documents import Dialog
from hookrouter.terminals import Screen
from hookrouter.testing.contracts import KeystrokePlannerContract
from hookrouter.testing.contracts.keystroke_planner import CASES

from hookrouter_rewind.kind import RewindKind
from hookrouter_rewind.planner import RewindPlanner
from hookrouter_rewind.screens import Confirmation, RewindList, is_restored, read

if TYPE_CHECKING:
    from hookrouter.testing import Hooks

SCREENS = Path(__file__).parent / "screens"
PROMPTS = ("first prompt here", "second prompt with a longer text")
ROWS = ("Restore conversation", "Summarize from here", "Summarize up to here", "Never mind")


def screen(name: str) -> Screen:
    lines = (SCREENS / f"{name}.txt").read_text(encoding="utf-8").split("\n")
    return Screen(tuple([*lines, *[""] * 40][:40]), 120, 40)


def asked(index: int, prompts: tuple[str, ...] = PROMPTS) -> AskedDialog:
    return AskedDialog("rewind", {"prompts": list(prompts)}, {"action": "select", "optionIndex": index})


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("list", RewindList(PROMPTS, 2)),
        ("prompt_chosen", RewindList(PROMPTS, 1)),
        ("confirmation", Confirmation(PROMPTS[1], ROWS, 0)),
        ("closed", None),
        ("restored", None),
    ],
)
def test_recorded_screens_are_read(name: str, found: object) -> None:
    assert read(screen(name)) == found
    assert (RewindPlanner().seen(screen(name)) is not None) is (found is not None)


def test_a_restored_prompt_is_in_the_box() -> None:
    assert is_restored(screen("restored"), PROMPTS[0])
    assert is_restored(screen("restored"), "first pro…")
    assert not is_restored(screen("closed"), PROMPTS[0])


@pytest.mark.parametrize(
    ("name", "index", "key"),
    [
        ("list", 0, "Up"),
        ("prompt_chosen", 0, "Up"),
        ("prompt_chosen", 1, "Enter"),
        ("confirmation", 1, "Enter"),
        ("confirmation", 0, "Escape"),
        ("list", 2, "Escape"),
        ("confirmation", 2, "Escape"),
    ],
)
def test_each_screen_gets_its_key(name: str, index: int, key: str) -> None:
    planner, wanted = RewindPlanner(), asked(index)
    view = planner.read_dialog(screen(name), wanted)
    step = planner.next_dialog_step(view, wanted, ())
    assert isinstance(step, Press)
    assert step.key == key
    # The same screen again: the key is lost, or late.
    assert isinstance(planner.next_dialog_step(view, wanted, [Taken(step, view)]), Wait)


def test_no_key_goes_elsewhere() -> None:
    planner, wanted = RewindPlanner(), asked(0)
    elsewhere = planner.read_dialog(screen("closed"), wanted)
    assert isinstance(planner.next_dialog_step(elsewhere, wanted, ()), Wait)
    listed = planner.read_dialog(screen("list"), wanted)
    assert isinstance(planner.next_dialog_step(listed, asked(0, ("another prompt",)), ()), GiveUp)
    page = planner.read_dialog(screen("confirmation"), wanted)
    other = page._replace(state=Confirmation(PROMPTS[0], ("Restore code and conversation", *ROWS), 0))
    assert isinstance(planner.next_dialog_step(other, wanted, ()), GiveUp)
    taken = [Taken(Press("Enter", "restore the conversation"), page)]
    assert isinstance(planner.next_dialog_step(elsewhere, wanted, taken), Done)


def test_decisions_are_options() -> None:
    options = [{"label": one, "description": ""} for one in (*PROMPTS, "Close the list")]
    form: dict[str, Any] = {"header": "Rewind", "question": "Which?", "multiSelect": False, "options": options}
    dialog = Dialog("work", "s-1", "rewind_1", [form], None, "night", "inbox", request={"prompts": list(PROMPTS)})
    kind = RewindKind()
    select = {"action": "select", "optionIndex": 1}
    assert kind.parse(dialog, json.dumps([select])) == kind.chosen(dialog, [Select(option_index=1)]) == [select]
    assert kind.intended(dialog, [select])[0]["intended"] == PROMPTS[1]
    with pytest.raises(DecisionError, match="takes no words"):
        kind.chosen(dialog, [FreeText(text="back")])


class TestRewindPlanner(KeystrokePlannerContract):
    refused = dict.fromkeys(CASES, "the planner rewind knows no dialog of the kind question")

    @pytest.fixture
    def planner(self) -> RewindPlanner:
        return RewindPlanner()


def test_the_installed_plugin_is_active(hooks: Hooks) -> None:
    listing = [sys.executable, "-m", "hookrouter", "plugins", "list", "--json"]
    done = subprocess.run(listing, capture_output=True, text=True, check=True, timeout=60)
    found = {one["name"]: one for one in json.loads(done.stdout)}
    assert found["rewind"]["status"] == "active"
