"""What happened earlier in this delivery: what the planner must know beside the screen, and reads from its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.answering.decisions import MultiSelect
from hookrouter.answering.interfaces import Effect, Paste, Press
from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.planner.shown import ticks_shown
from hookrouter_keystrokes.screens.model import LongTextPage, Page, Review, RowKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.answering.decisions import Decision
    from hookrouter.answering.interfaces import Taken
    from hookrouter.tools import AskUserQuestionInput
    from hookrouter_keystrokes.screens.model import DialogState

__all__ = ["PAD", "UNCOUNTED", "History", "is_digit"]

PAD = "x"
"""What goes in with a text that is a single digit, and is taken out again."""
UNCOUNTED = frozenset(["C-e", "C-u", "BSpace"])
"""Keys that clear a text of which only a part may be visible."""


def is_digit(text: str) -> bool:
    """Whether a text is a single digit, which some clients take for the number of an option."""
    return text in tuple("0123456789")


class History:
    """The steps taken so far, and the states of the dialog on which they were decided."""

    def __init__(self, form: AskUserQuestionInput, decisions: Sequence[Decision], taken: Sequence[Taken]) -> None:
        """``taken`` is what the planner is given: oldest first."""
        self._form = form
        self._decisions = decisions
        self.taken = taken
        self.states: list[DialogState] = [each.view.state for each in taken]
        self.last = taken[-1].step if taken else None

    def __len__(self) -> int:
        """Return how many steps were taken."""
        return len(self.taken)

    def pressed_last(self, key: str) -> bool:
        """Whether the last step was this key."""
        return isinstance(self.last, Press) and self.last.key == key

    def pasted_last(self, text: str) -> bool:
        """Whether the last step was to put this text in."""
        return isinstance(self.last, Paste) and self.last.text == text

    def times_taken(self, step: Press, state: DialogState) -> int:
        """Return how often this key was pressed on this very state."""
        return sum(
            isinstance(each.step, Press) and each.step.key == step.key and seen == state
            for each, seen in zip(self.taken, self.states, strict=True)
        )

    def times_pressed(self, key: str) -> int:
        """Return how often this key was pressed, whatever was on screen."""
        return sum(isinstance(each.step, Press) and each.step.key == key for each in self.taken)

    def pasted(self, number: int, text: str) -> bool:
        """Whether the last thing done in a field of question ``number`` was to put ``text`` in."""
        padded = False
        for at in range(len(self.taken) - 1, -1, -1):
            step, state = self.taken[at].step, self.states[at]
            if isinstance(state, Page) and state.question == number:
                if isinstance(step, Paste):
                    return step.text == (text + PAD if padded else text)
                if step.key == "BSpace" and is_digit(text) and not padded:
                    padded = True
                elif step.key in UNCOUNTED:
                    return False
        return False

    def long_text_question(self, at: int = -1) -> int | None:
        """Return the question on whose page the text was pasted that fills the screen of ``taken[at]``."""
        for earlier in range(at if at >= 0 else len(self.taken) + at, -1, -1):
            if isinstance(self.taken[earlier].step, Paste):
                state = self.states[earlier]
                return state.question if isinstance(state, Page) else None
        return None

    def completed(self, number: int, since: int = 0) -> bool:
        """Whether a step since ``taken[since]`` left this question's page forwards, with its answer entered."""
        return any(self._completes(at, number) for at in range(since, len(self.taken)))

    def _completes(self, at: int, number: int) -> bool:
        step, state = self.taken[at].step, self.states[at]
        if not isinstance(step, Press) or not (step.key in ("Enter", "Tab") or step.key.isdigit()):
            return False
        if step.key.isdigit():
            return self._is_numbered_choice(at) and isinstance(state, Page) and state.question == number
        if isinstance(state, LongTextPage):
            owner = self.long_text_question(at)
            return owner == number and (state.cursor == RowKind.SUBMIT or not state.submit)
        if not isinstance(state, Page) or state.question != number:
            return False
        multi = bool(self._form.questions[number].multi_select)
        if step.key == "Tab":
            return multi
        if state.cursor is None:
            return False
        kind = state.rows[state.cursor].kind
        return kind == RowKind.SUBMIT or (not multi and kind in (RowKind.OPTION, RowKind.TYPE))

    def _is_numbered_choice(self, at: int) -> bool:
        """Whether ``taken[at]`` is the digit that chose an option of a single-select."""
        step, state = self.taken[at].step, self.states[at]
        return (
            isinstance(step, Press)
            and step.key.isdigit()
            and isinstance(state, Page)
            and not self._form.questions[state.question].multi_select
        )

    def last_review(self) -> tuple[int, Review] | None:
        """Return where in ``taken`` the review screen was last seen, and what it showed."""
        for at in range(len(self.taken) - 1, -1, -1):
            state = self.states[at]
            if isinstance(state, Review):
                return at, state
        return None

    def came_from_form(self) -> bool:
        """Whether what is on screen can only be this form's: the last step was on it, and one on a question's page."""
        on_form = bool(self.states) and isinstance(self.states[-1], (Page, LongTextPage, Review))
        return on_form and any(isinstance(state, (Page, LongTextPage)) for state in self.states)

    def times_gone_back(self) -> int:
        """Return how often the review screen was left to correct something."""
        return sum(
            isinstance(state, Review) and each.step[0] in ("Left", "BTab")
            for each, state in zip(self.taken, self.states, strict=True)
        )

    def was_set_unseen(self, number: int) -> bool:
        """Whether an option of this multi-select was set, or left as it was, without being visible."""
        question = self._form.questions[number]
        if not question.multi_select:
            return False
        seen: set[int | None] = set()
        for each, state in zip(self.taken, self.states, strict=True):
            if isinstance(state, Page) and state.question == number:
                seen.update(row.option for row in state.rows if row.kind == RowKind.OPTION)
                if state.above and each.step[0].isdigit():
                    return True
        return len(seen) < len(question.options)

    def ticked(self, number: int, option: int) -> bool | None:
        """Return whether an option that is not visible is ticked, from what was seen and done before.

        What was never seen counts as not ticked, as in a new dialog: the review screen will tell. None if not even
        that can be read.
        """
        toggled = False
        decision = self._decisions[number]
        text = decision.text if isinstance(decision, MultiSelect) else None
        for at in range(len(self.taken) - 1, -1, -1):
            step, state = self.taken[at].step, self.states[at]
            if isinstance(state, Review) and not state.hidden[number]:
                shown = ticks_shown(self._form.questions[number], state.answers[number], text)
                return None if shown is None else (option in shown) != toggled
            if not isinstance(state, Page) or state.question != number:
                continue
            if isinstance(step, Press):
                toggled ^= step.key == str(option + 1)
            row = state.row(RowKind.OPTION, option)
            if row is not None:
                return bool(row.checked) != toggled
        return toggled

    def unseen(self, page: Page) -> tuple[str, int | None] | None:
        """Return a row of this multi-select that has not been dealt with since its page was opened, or None."""
        seen = _known_rows(page)
        for state in reversed(self.states):
            if not isinstance(state, Page) or state.question != page.question:
                break
            seen |= _known_rows(state)
        count = len(self._form.questions[page.question].options)
        rows: list[tuple[str, int | None]] = [(RowKind.OPTION, index) for index in range(count)]
        rows.append((RowKind.TYPE, None))
        return next((row for row in rows if row not in seen), None)

    def toggled_since_review(self, number: int) -> bool:
        """Whether the box of this multi-select's typed text was switched since the last review screen."""
        review = self.last_review()
        for at in range(review[0] if review else 0, len(self.taken)):
            step, state = self.taken[at].step, self.states[at]
            if not isinstance(step, Press) or step.key != "Enter":
                continue
            if isinstance(state, Page) and state.question == number and state.at(RowKind.TYPE):
                return True
            if isinstance(state, LongTextPage) and state.cursor != RowKind.SUBMIT:
                return True
        return False

    def note_open(self) -> bool:
        """Whether the last thing done about the notes field was to open it."""
        for taken in reversed(self.taken):
            if isinstance(taken.step, Press) and taken.step.key in ("Escape", "n"):
                return taken.step.key == "n"
        return False

    def times_note_left(self, page: Page) -> int:
        """Return how often the notes field of this page was left."""
        return sum(
            isinstance(each.step, Press)
            and each.step.key == "Escape"
            and isinstance(state, Page)
            and state.question == page.question
            for each, state in zip(self.taken, self.states, strict=True)
        )

    def submitted(self) -> bool:
        """Whether the last step was the one that answers the form."""
        return isinstance(self.last, Press) and self.last.effect == Effect.SUBMITS

    def said_declined(self) -> bool:
        """Whether the last screen showed a declined form already: older clients do not say which one it was."""
        shown = self.taken[-1].view.screen.lines if self.taken else ()
        return any(seen.text in line for line in shown for seen in grammar.DECLINED)

    def since_declined(self) -> Sequence[Taken] | None:
        """Return the steps since the one that declined the form for a chat; None if there was none."""
        for at in range(len(self.taken) - 1, -1, -1):
            step = self.taken[at].step
            if isinstance(step, Press) and step.effect == Effect.DECLINES:
                return self.taken[at + 1 :]
        return None


def _known_rows(page: Page) -> set[tuple[str, int | None]]:
    """Return the rows that are visible, or on which a digit acts though they are not."""
    rows: set[tuple[str, int | None]] = {(row.kind, row.option) for row in page.rows}
    return rows | {(RowKind.OPTION, index) for index in range(page.above)}
