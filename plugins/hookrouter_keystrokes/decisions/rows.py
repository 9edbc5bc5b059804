"""Which row of a dialog means a decision, or why none does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.answering.input_limits import text_faults
from hookrouter_keystrokes.decisions.fitting import BLOCKED
from hookrouter_keystrokes.dialog_forms import ALLOW, AMENDED, AMENDED_START, DENY, PLAN_MODES, PLAN_WORDS
from hookrouter_keystrokes.screens.text import exact_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter_keystrokes.screens.model import OtherDialog

__all__ = ["Target", "refusal_of_decision", "target_of"]

_LONGEST = 800
"""Characters of a text: a longer one becomes a mark of what was pasted, and cannot be read back."""


class Target(NamedTuple):
    """A row that is to be chosen."""

    row: int
    text: str | None = None
    """What is to be typed into the row before."""
    by_cursor: bool = False
    """Whether the cursor is brought to the row, and seen there, before Enter chooses it."""
    opens: bool = False
    """Whether Tab opens the row for the text."""
    entered: str | None = None
    """What the row holds by now, as it is shown; None while it takes no text, empty if it holds none."""


def refusal_of_decision(kind: str, decision: Mapping[str, Any]) -> str | None:
    """Return why no dialog takes this decision by keys; None if one may."""
    if kind == BLOCKED:
        return None
    beyond = next((name for name in ("input", "always", "plan") if name in decision), None)
    if beyond == "always":
        return "what a row of the dialog grants is not certain to be the proposal, so only a waiting hook can grant it"
    if beyond is not None:
        return f"the dialog has no field for another {beyond}; only a waiting hook can give it"
    text = decision.get("text")
    if not isinstance(text, str) or decision.get("stop"):
        return None
    faults = text_faults(text)
    if "\n" in text or "\t" in text:
        faults.append("has several lines or tabs, and the dialog has room for one line")
    if len(text) > _LONGEST:
        faults.append(f"has {len(text)} characters; the dialog takes at most {_LONGEST}")
    if text in (PLAN_WORDS[0], *(row.removeprefix(AMENDED_START) for row in AMENDED)):
        faults.append(f"is {text!r}, which the dialog shows in an empty row, so that it cannot be read back")
    what = "refusal" if kind == "permission" else "plan's dialog"
    return f"the text of the {what} {faults[0]}" if faults else None


def target_of(dialog: OtherDialog, kind: str, decision: Mapping[str, Any]) -> Target | str:
    """Return the row that means ``decision``, or why there is none in this dialog."""
    if kind == BLOCKED:
        row = decision["index"]
        return Target(row, by_cursor=True) if row < len(dialog.rows) else f"the dialog has no row {row}"
    if kind == "permission":
        return _of_permission(dialog, decision)
    return _of_plan(dialog, decision)


def _of_permission(dialog: OtherDialog, decision: Mapping[str, Any]) -> Target | str:
    *others, last = dialog.rows
    text = None if decision["action"] == "allow" or decision.get("stop") else str(decision["text"])
    is_plain = others[0] == ALLOW and all(not row.startswith(AMENDED_START) for row in others)
    if text is None or last in DENY:
        if not is_plain or last not in DENY:
            return "somebody is adding a text to the dialog"
        if text is None:
            return Target(0 if decision["action"] == "allow" else len(others))
        if last != DENY[0]:
            return "this dialog takes no text, so Claude would not be told why"
        return Target(len(others), text, opens=True)
    if not is_plain:
        return "somebody is adding a text to the dialog"
    if last in AMENDED:
        return Target(len(others), text, entered="")
    if last.startswith(AMENDED_START):
        return Target(len(others), text, entered=last.removeprefix(AMENDED_START))
    return "the dialog has no row that refuses"


def _of_plan(dialog: OtherDialog, decision: Mapping[str, Any]) -> Target | str:
    words, below = PLAN_WORDS
    entered = [exact_key(row).removesuffix(exact_key(below)) for row in dialog.rows]
    takes_words = dialog.rows[-1].endswith(below) or dialog.rows[-1] == words
    if decision["action"] == "revise":
        if not takes_words:
            return "this dialog takes no text, so Claude would not be told what is missing"
        held = "" if entered[-1] == exact_key(words) else dialog.rows[-1].removesuffix(below)
        return Target(len(dialog.rows) - 1, str(decision["text"]), entered=held)
    if takes_words and entered[-1] != exact_key(words):
        return "somebody is adding a text to the dialog"
    wanted = decision.get("mode")
    modes = [PLAN_MODES.get(row) for row in dialog.rows]
    # Without a mode it is the one that asks before each edit: what else was meant is not on the screen.
    for mode in (wanted,) if wanted is not None else ("", "default"):
        if mode in modes:
            return Target(modes.index(mode))
    return f"the dialog has no row for the mode {wanted}" if wanted else "no row of the dialog is known"
