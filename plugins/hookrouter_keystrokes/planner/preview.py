"""Single-select pages in the layout with previews: choose an option, and add a note."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.answering.decisions import Select
from hookrouter.answering.interfaces import GiveUp, Press, Wait
from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.planner.pages import PagePlan
from hookrouter_keystrokes.planner.plan import CORRECTIONS
from hookrouter_keystrokes.screens.model import RowKind
from hookrouter_keystrokes.screens.reading import client_version
from hookrouter_keystrokes.screens.text import key

if TYPE_CHECKING:
    from hookrouter.answering.decisions import Decision
    from hookrouter.answering.interfaces import Step
    from hookrouter.terminals import Screen
    from hookrouter_keystrokes.screens.model import Notes, Page

__all__ = ["PreviewPlan"]

_FIELD = "the notes field"


class PreviewPlan(PagePlan):
    """What to do on a page with previews."""

    def step(self, page: Page, decision: Decision, screen: Screen) -> Step:
        """Return the next step towards this decision."""
        notes = page.notes
        if not isinstance(decision, Select) or notes is None:
            return GiveUp("this dialog shows previews and takes no typed answer")
        target = decision.option_index
        if notes.focused:
            return self._note(page, decision, notes)
        if decision.notes is None:
            if notes.text and not self._gave_up_note(page):
                return self._open_notes(page, target, screen, "clear the note that somebody left")
        elif not self.holds(page, notes.text, decision.notes):
            if self._gave_up_note(page):
                return GiveUp("the note could not be entered")
            return self._open_notes(page, target, screen, "open the notes field")
        elif self.history.note_open():
            return Wait("it cannot be told whether the notes field has the focus")
        return self.move(page, RowKind.OPTION, target) or Press(
            "Enter", f"choose option {target + 1} of question {page.question + 1}", self.plan.finishing
        )

    def _gave_up_note(self, page: Page) -> bool:
        """Whether the notes field was left too often already with another text than it should hold."""
        return self.history.times_note_left(page) >= CORRECTIONS

    def _open_notes(self, page: Page, target: int, screen: Screen, why: str) -> Step:
        version = client_version(screen)
        if version is not None and version < grammar.NOTES_ESCAPE_RETURNS:
            return GiveUp(f"notes cannot be entered safely on client {'.'.join(map(str, version))}")
        return self.move(page, RowKind.OPTION, target) or Press("n", why)

    def _note(self, page: Page, decision: Select, notes: Notes) -> Step:
        leaves = Press("Escape", f"leave {_FIELD}")
        if decision.notes is None:
            return self.clear(notes.text, _FIELD) if notes.text else leaves
        if self.history.pasted_last(decision.notes) and key(notes.text) and key(notes.text) in key(decision.notes):
            # The open field shows only a part of a long note; the whole is there once it is left.
            return Press("Escape", f"leave {_FIELD} to read the whole note")
        return self.fill(page, notes.text, decision.notes, _FIELD) or leaves
