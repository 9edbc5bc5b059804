"""Decides the next key for a dialog that is no question. Like the planner of questions, it follows the screen alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.answering import forms
from hookrouter.answering.interfaces import Done, Effect, GiveUp, Paste, Press, View, Wait
from hookrouter_keystrokes.decisions.fitting import BLOCKED, NOT, PARTLY, WHOLLY, fits
from hookrouter_keystrokes.decisions.rows import refusal_of_decision, target_of
from hookrouter_keystrokes.screens.model import OtherDialog, Unknown
from hookrouter_keystrokes.screens.reading import read_any
from hookrouter_keystrokes.screens.text import exact_key, key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.answering.interfaces import AskedDialog, Step, Taken
    from hookrouter.terminals import Screen
    from hookrouter_keystrokes.decisions.rows import Target

__all__ = ["next_step", "outline", "read"]

_REPEATS = 3
"""How often one key is pressed on one state of the dialog, before that counts as going in circles."""


def read(screen: Screen, asked: AskedDialog) -> View:
    """Return what is on screen; ``shown`` if it is the dialog that was asked about, as far as it shows."""
    state = read_any(screen)
    if not isinstance(state, OtherDialog) or fits(state, asked.kind, asked.request, asked.folder) == NOT:
        return View(screen, state, shown=False)
    if asked.kind != "plan":
        # Some clients draw it later than the rows (2.1.150), which would pass for the effect of the next key.
        state = state._replace(footer="")
    last = len(state.rows) - 1
    return View(
        screen, state, shown=True, pages=frozenset(["dialog"]), test_key="Down" if state.cursor < last else "Up"
    )


def next_step(view: View, asked: AskedDialog, taken: Sequence[Taken]) -> Step:
    """Return what to do. See :class:`hookrouter.answering.interfaces.KeystrokePlanner`."""
    if refusal := refusal_of_decision(asked.kind, asked.decision):
        return GiveUp(refusal)
    state = view.state
    if not view.shown or not isinstance(state, OtherDialog):
        return _elsewhere(state, taken, asked.kind)
    if reason := _mistakable(state, asked) or _unannounced(asked, taken):
        return GiveUp(reason)
    target = target_of(state, asked.kind, asked.decision)
    if isinstance(target, str):
        return GiveUp(target)
    step = _towards(state, target, taken)
    times = sum(1 for one in taken if one.step == step and one.view.state == state)
    return step if times < _REPEATS else GiveUp(f"the keys lead in circles: {step.why} changed nothing for good")


def outline(asked: AskedDialog) -> list[str]:
    """Describe in words what a freshly opened dialog would get."""
    return forms.outline(refusal_of_decision(asked.kind, asked.decision), lambda: _outline(asked))


def _outline(asked: AskedDialog) -> list[str]:
    if asked.kind == BLOCKED:
        return [f"move the cursor to row {asked.decision['index'] + 1} and see it there", "enter"]
    text = asked.decision.get("text")
    if isinstance(text, str) and not asked.decision.get("stop"):
        return ["move to the row that takes a text", f"paste {text!r} and read it back", "enter it"]
    words = " ".join(str(asked.decision[name]) for name in ("action", "mode") if name in asked.decision)
    return [f"choose the row for {words!r} by its number"]


def _elsewhere(state: object, taken: Sequence[Taken], kind: str) -> Step:
    """Return what to do while the dialog is not on the screen."""
    if taken and isinstance(taken[-1].step, Press) and taken[-1].step.effect == Effect.SUBMITS:
        # Behind a dialog of the client's start, or one that a turn waits for, there may be anything.
        if isinstance(state, Unknown) and not state.dialog and kind != BLOCKED:
            return Wait("the dialog has closed, but what follows is not on the screen yet")
        return Done("the dialog has closed")
    if isinstance(state, OtherDialog):
        return Wait(f"the client's {state.kind} dialog on screen is not certain to be this one")
    if isinstance(state, Unknown):
        return Wait(state.why)
    return Wait("the dialog is not on screen")


def _mistakable(state: OtherDialog, asked: AskedDialog) -> str:
    """Return why the dialog on screen could be another call's; empty if it cannot."""
    # Only the call that offers a plan has a plan's dialog.
    known = [one for one in asked.others if asked.kind != "plan" or one.get("tool") == asked.request.get("tool")]
    others = [fits(state, asked.kind, other, asked.folder) for other in known]
    if WHOLLY in others:
        # They differ in what no screen shows for certain, or in what the client does not draw.
        return "another call that has begun has a dialog that looks just like this one"
    if PARTLY in others:
        return "the dialog shows too little of the call to tell it from another one that has begun"
    return ""


def _unannounced(asked: AskedDialog, taken: Sequence[Taken]) -> str:
    """Return why this may be the next dialog, of which no hook has told; empty if a hook would have."""
    if asked.kind != BLOCKED or not any(
        isinstance(one.step, Press) and one.step.effect == Effect.SUBMITS for one in taken
    ):
        return ""
    return "its row was entered, and what is on the screen since may be the next dialog, which reads the same"


def _towards(state: OtherDialog, target: Target, taken: Sequence[Taken]) -> Press | Paste | Wait | GiveUp:
    number = target.row + 1
    if target.text is None and not target.by_cursor:
        # A number chooses its row wherever the cursor is by then.
        return Press(str(number), f"choose row {number} by its number", Effect.SUBMITS)
    if state.cursor != target.row:
        arrow = "Down" if state.cursor < target.row else "Up"
        return Press(arrow, f"move to row {number}")
    if target.text is None:
        return Press("Enter", f"choose row {number}", Effect.SUBMITS)
    if target.opens:
        return Press("Tab", f"open row {number} for a text")
    if exact_key(target.entered or "") == exact_key(target.text):
        return Press("Enter", "enter the text", Effect.SUBMITS)
    if target.entered:
        if taken and isinstance(taken[-1].step, Paste) and key(target.text).startswith(key(target.entered)):
            return Wait("the pasted text is not all there yet")
        return GiveUp(f"row {number} holds another text")
    return Paste(target.text, f"type the text into row {number}")
