"""Decides the next key from what is on screen: the planner named ``grammar``.

A pure function of the screen, the form, the decisions and the steps taken so far. It holds no script: it looks at
the page that is on screen and takes the one step that brings it nearer to the intention, so it also goes on from
wherever a person, a lost key or an earlier attempt has left the dialog. Earlier steps are consulted only where the
screen cannot tell: whether a paste is still on its way, which question the review screen showed wrong, and whether
the key that submits has been pressed.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING

from hookrouter.answering import Paste, Press, Stop, Taken, Wait
from hookrouter.decisions import Chat, MultiSelect, Select, Type
from hookrouter.labels import recorded_label
from hookrouter.typing_limits import chat_faults, text_faults
from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.dialog import (
    UNSURE,
    Closed,
    Page,
    Prompt,
    Review,
    RowKind,
    Tail,
    accented_key,
    client_version,
    exact_key,
    has_previews,
    key,
    read,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookrouter.answering import Screen, Step
    from hookrouter.decisions import Decision
    from hookrouter.tools import AskUserQuestionInput, Question
    from hookrouter_keystrokes.dialog import DialogState, Notes, Row

__all__ = ["GrammarPlanner", "unanswerable"]

_FOLDED = re.compile(grammar.PASTED_TEXT)
_CLEARING = 60
_CUT = "…"
"""At the end of what does not fit a row that the client draws in one line (seen on 2.1.330 with tabs in the text)."""
_CLEARING_KEYS = frozenset(["C-e", "C-u", "BSpace"])
_PAD = "x"
"""What goes in with a text that is a single digit, and is taken out again."""
_CORRECTIONS = 3
_TAIL = 20
_REPEATS = 3
"""How often one key is pressed on one state of the dialog, before that counts as going in circles."""
_UNCOUNTED = frozenset(["C-e", "C-u", "BSpace"])
"""Keys that clear a text of which only a part may be visible."""


class GrammarPlanner:
    """The keystroke planner that reads the dialog by its grammar."""

    name = "grammar"

    def next_step(
        self,
        screen: Screen,
        form: AskUserQuestionInput,
        decisions: Sequence[Decision],
        taken: Sequence[Taken],
    ) -> Step:
        """Return what to do on this screen. See :class:`hookrouter.answering.KeystrokePlanner`."""
        problem = unanswerable(form, decisions)
        if problem is not None:
            return Stop(delivered=False, why=problem)
        return _Delivery(form, decisions, taken).step(screen)

    def outline(self, form: AskUserQuestionInput, decisions: Sequence[Decision]) -> list[str]:
        """Describe what a freshly opened dialog would get, one line a step."""
        problem = unanswerable(form, decisions)
        if problem is not None:
            return [f"nothing: {problem}"]
        lines = []
        for number, (question, decision) in enumerate(zip(form.questions, decisions, strict=False)):
            where = f"question {number + 1} ({question.header})" if len(form.questions) > 1 else "the question"
            lines += [f"{where}: {line}" for line in _outline(question, decision)]
        if not any(isinstance(decision, Chat) for decision in decisions) and _has_review(form):
            lines.append("review screen: compare every answer shown, then submit")
        return lines


def _outline(question: Question, decision: Decision) -> list[str]:
    if isinstance(decision, Select):
        label = question.options[decision.option_index].label
        note = [f"add the note {decision.notes!r}"] if decision.notes else []
        return [f"move to option {decision.option_index + 1}, {label!r}", *note, "choose it"]
    if isinstance(decision, Type):
        return ["move to the row for typed text", f"paste {decision.text!r} and read it back", "enter it"]
    if isinstance(decision, Chat):
        return [
            "move to the chat row",
            "choose it, which declines the form",
            f"send {decision.text!r} as the next prompt",
        ]
    ticks = ", ".join(repr(question.options[index].label) for index in decision.selected_indices) or "nothing"
    typed = [f"paste {decision.text!r} into the row for typed text"] if decision.text is not None else []
    return [f"tick {ticks}", *typed, "leave the page"]


def _has_review(form: AskUserQuestionInput) -> bool:
    return len(form.questions) > 1 or bool(form.questions[0].multi_select)


def unanswerable(form: AskUserQuestionInput, decisions: Sequence[Decision]) -> str | None:
    """Return why these decisions cannot be typed into the dialog of ``form`` at all, or None where they can."""
    chat = bool(decisions) and isinstance(decisions[-1], Chat)
    if (
        not form.questions
        or len(decisions) > len(form.questions)
        or (len(decisions) < len(form.questions) and not chat)
    ):
        return "there must be one decision for each question, or a chat decision at the end"
    for number, (question, decision) in enumerate(zip(form.questions, decisions, strict=False)):
        problem = _impossible(question, decision, last=number == len(decisions) - 1)
        if problem is not None:
            return f"question {number + 1}: {problem}"
    return None


def _impossible(question: Question, decision: Decision, *, last: bool) -> str | None:
    count = len(question.options)
    if isinstance(decision, Chat):
        return _untypable(decision.text, prompt=True) if last else "chat declines the whole form and must come last"
    if isinstance(decision, MultiSelect):
        if not question.multi_select:
            return "it takes one option, not several"
        if not all(0 <= index < count for index in decision.selected_indices):
            return f"its options are numbered 0 to {count - 1}"
        labels = [option.label for option in question.options]
        return None if decision.text is None else _untypable(decision.text, labels=labels)
    if question.multi_select:
        return "it takes several options, so its decision must be multi-select"
    if isinstance(decision, Type):
        return _untypable(decision.text)
    if not 0 <= decision.option_index < count:
        return f"its options are numbered 0 to {count - 1}"
    if decision.notes is None:
        return None
    if not has_previews(question):
        return "its dialog takes no notes, because no option has a preview"
    return _untypable(decision.notes)


def _untypable(text: str, *, prompt: bool = False, labels: Sequence[str] = ()) -> str | None:
    faults = chat_faults(text) if prompt else text_faults(text, labels)
    return f"the text {faults[0]}" if faults else None


def _same(typed: str, wanted: str, *, marked: bool | None = False) -> bool:
    """Whether what is shown as typed is the wanted text, as far as a screen can tell."""
    shown = key(typed)
    return bool(typed.strip()) and (shown == key(wanted) or (bool(marked) and shown + grammar.CHOSEN == key(wanted)))


def _is_digit(text: str) -> bool:
    return text in tuple("0123456789")


def _quoted(item: str) -> str:
    return json.dumps(item, ensure_ascii=False)


def _joined(items: Sequence[str]) -> set[str]:
    """Return the ways in which client versions join the items of a multi-select."""
    # Items that hold a comma or a quote are JSON-quoted from 2.1.234-2.1.238 on, plain before.
    forms = [(item, _quoted(item)) if any(sign in item for sign in ',"') else (item,) for item in items]
    return {", ".join(each) for each in itertools.product(*forms)}


def _ticked(question: Question, indices: Iterable[int], text: str | None) -> set[str]:
    items = [recorded_label(question.options[index].label) for index in sorted(set(indices))]
    return _joined(items if text is None else [*items, text])


def _shown_answers(question: Question, decision: Decision) -> set[str]:
    """Return everything that the review screen may show for a decision, over all client versions."""
    if isinstance(decision, Select):
        return {recorded_label(question.options[decision.option_index].label)}
    if isinstance(decision, (Type, Chat)):
        return {decision.text}
    return _ticked(question, decision.selected_indices, decision.text)


def _confusable(question: Question, decision: Decision) -> set[str]:
    """Return what the review shows for other choices whose labels have the same keys as the decision's."""
    if isinstance(decision, (Type, Chat)):
        return set()
    chosen = [decision.option_index] if isinstance(decision, Select) else sorted(set(decision.selected_indices))
    keys = [key(recorded_label(option.label)) for option in question.options]
    wanted = [keys[index] for index in chosen]
    found: set[str] = set()
    for other in itertools.combinations(range(len(keys)), len(chosen)):
        if list(other) != chosen and [keys[index] for index in other] == wanted:
            found |= _ticked(question, other, decision.text if isinstance(decision, MultiSelect) else None)
    return found


def _confirms(question: Question, decision: Decision, shown: str) -> bool | None:
    """Whether the review screen shows a decision; None where it may as well be that of another option."""
    wanted = _shown_answers(question, decision)
    if key(shown) not in map(key, wanted):
        return False
    others = _confusable(question, decision)
    if not others:
        return True
    for tell in (exact_key, accented_key):
        this, other = tell(shown) in map(tell, wanted), tell(shown) in map(tell, others)
        if this != other:
            return this
    return None


def _ticks_shown(question: Question, shown: str | None, text: str | None) -> frozenset[int] | None:
    """Return the options that an answer on the review screen stands for, or None where that is not certain."""
    if shown is None:
        return frozenset()
    found = [
        frozenset(indices)
        for count in range(len(question.options) + 1)
        for indices in itertools.combinations(range(len(question.options)), count)
        for typed in {None, text}
        if exact_key(shown) in map(exact_key, _ticked(question, indices, typed))
    ]
    return found[0] if len(set(found)) == 1 else None


def _leaves_empty(decision: Decision) -> bool:
    return isinstance(decision, MultiSelect) and not decision.selected_indices and decision.text is None


class _Delivery:
    """One call of the planner: the intention and what was done for it so far."""

    def __init__(self, form: AskUserQuestionInput, decisions: Sequence[Decision], taken: Sequence[Taken]) -> None:
        self.form = form
        self.decisions = decisions
        self.taken = taken
        self.last = taken[-1] if taken else None
        self._states: dict[int, DialogState] = {}

    def state(self, at: int) -> DialogState:
        """Return what the screen of the step ``taken[at]`` showed."""
        at %= len(self.taken)
        if at not in self._states:
            self._states[at] = read(self.taken[at].screen, self.form)
        return self._states[at]

    @property
    def chat(self) -> Chat | None:
        last = self.decisions[-1]
        return last if isinstance(last, Chat) else None

    def step(self, screen: Screen) -> Step:
        state = read(screen, self.form)
        if isinstance(state, Page):
            return self.unless_circling(state, self.page(state, screen))
        if isinstance(state, Tail):
            return self.unless_circling(state, self.tail(state))
        if isinstance(state, Review):
            return self.review(state)
        if isinstance(state, Prompt):
            return self.prompt(state)
        return Wait(state.why)

    def unless_circling(self, state: DialogState, step: Step) -> Step:
        """Return ``step``, or Stop where it was taken on this very state again and again, and led back to it."""
        if not isinstance(step, Press) or step.key in _UNCOUNTED:
            return step
        # Where the row with the cursor is not visible, moving it changes nothing on the screen.
        limit = _REPEATS
        if isinstance(state, Page) and state.cursor is None:
            limit += len(self.form.questions[state.question].options)
        again = sum(
            1
            for at in range(len(self.taken))
            if self.taken[at].step[0] == step.key and isinstance(self.taken[at].step, Press) and self.state(at) == state
        )
        if again < limit:
            return step
        return Stop(delivered=False, why=f"the keys lead in circles: {step.key} ({step.why}) changed nothing for good")

    def wrong(self, review: Review) -> list[int]:
        """Return the questions whose answer on the review screen is not the intended one."""
        found = []
        for number, decision in enumerate(self.decisions):
            shown = review.answers[number]
            if shown is None and review.hidden[number]:
                if not self.completed(number):
                    found.append(number)
            elif shown is None:
                if not _leaves_empty(decision):
                    found.append(number)
            elif (
                _confirms(self.form.questions[number], decision, shown) is False
                or _leaves_empty(decision)
                or self.left_by_others(number)
            ):
                found.append(number)
        return found

    def left_by_others(self, number: int) -> bool:
        """Whether this question's typed text is not this delivery's, so that its blanks and emoji may be other ones."""
        decision = self.decisions[number]
        text = decision.text if isinstance(decision, (Type, MultiSelect)) else None
        return text is not None and not self.pasted(number, text)

    def doubtful(self, review: Review) -> str | None:
        """Return why an answer of which the review screen shows nothing wrong is not certain, or None."""
        for number, decision in enumerate(self.decisions):
            shown, question = review.answers[number], self.form.questions[number]
            if shown is not None and _confirms(question, decision, shown) is None:
                return f"the review screen does not tell the options of question {number + 1} apart"
            if shown is None and review.hidden[number] and self.blind(number):
                return f"neither all rows of question {number + 1} nor its answer on the review screen are visible"
        return None

    def blind(self, number: int) -> bool:
        """Whether an option of this multi-select was set, or left as it was, without being visible."""
        question = self.form.questions[number]
        if not question.multi_select:
            return False
        seen: set[int | None] = set()
        for at, taken in enumerate(self.taken):
            state = self.state(at)
            if isinstance(state, Page) and state.question == number:
                seen.update(row.option for row in state.rows if row.kind == RowKind.OPTION)
                if state.above and taken.step[0].isdigit():
                    return True
        return len(seen) < len(question.options)

    def completed(self, number: int, since: int = 0) -> bool:
        """Whether a step since ``taken[since]`` left this question's page forwards, with its answer entered."""
        for at in range(since, len(self.taken)):
            step = self.taken[at].step
            if not isinstance(step, Press) or not (step.key in ("Enter", "Tab") or step.key.isdigit()):
                continue
            state = self.state(at)
            if step.key.isdigit():
                if self.is_numbered_choice(at) and isinstance(state, Page) and state.question == number:
                    return True
                continue
            if isinstance(state, Tail):
                owner = self.tail_question(at)
                if owner == number and (state.cursor == RowKind.SUBMIT or not state.submit):
                    return True
            if not isinstance(state, Page) or state.question != number:
                continue
            multi = bool(self.form.questions[number].multi_select)
            kind = RowKind.OPTION if state.cursor is None else state.rows[state.cursor].kind
            if state.cursor is None and step.key == "Enter":
                continue
            if (step.key == "Enter" and kind == RowKind.SUBMIT) or (step.key == "Tab" and multi):
                return True
            if step.key == "Enter" and not multi and kind in (RowKind.OPTION, RowKind.TYPE):
                return True
        return False

    def is_numbered_choice(self, at: int) -> bool:
        """Whether ``taken[at]`` is the digit that chose an option of a single-select."""
        step, state = self.taken[at].step, self.state(at)
        return (
            isinstance(step, Press)
            and step.key.isdigit()
            and isinstance(state, Page)
            and not self.form.questions[state.question].multi_select
        )

    def last_review(self) -> int | None:
        for at in range(len(self.taken) - 1, -1, -1):
            if isinstance(self.state(at), Review):
                return at
        return None

    def corrections(self) -> list[int] | None:
        """Return the questions that are still to be corrected since the last review; None before any review."""
        at = self.last_review()
        if at is None:
            return None
        state = self.state(at)
        if not isinstance(state, Review):
            return None
        return [number for number in self.wrong(state) if not self.completed(number, at)]

    def page(self, page: Page, screen: Screen) -> Step:
        number = page.question
        to_correct = self.corrections()
        if self.chat is not None:
            target = len(self.decisions) - 1
            if number == target or len(self.decisions) == 1:
                return self.choose_chat(page)
            if number > target:
                return self.leave(page, "BTab", f"go back to question {target + 1}")
        elif to_correct is not None and number not in to_correct:
            if any(other < number for other in to_correct):
                return self.leave(page, "BTab", f"go back to question {min(to_correct) + 1}")
            return self.leave(page, "Tab", "go on to what is still to be corrected")
        decision = self.decisions[number]
        if isinstance(decision, MultiSelect):
            return self.multi(page, decision, correcting=to_correct is not None)
        if page.preview:
            return self.preview(page, decision, screen)
        if isinstance(decision, Type):
            return self.typed(page, decision.text)
        if isinstance(decision, Select):
            if decision.notes is not None:
                return Stop(delivered=False, why="this client's dialog shows no field for the note")
            return self.choose(page, decision.option_index)
        return Wait("no decision for this question")

    def choose(self, page: Page, option: int) -> Step:
        # The number chooses its option wherever the cursor is by then; Enter would choose what a person moved it to.
        if self.takes_number(page, option):
            return Press(str(option + 1), f"choose option {option + 1} of question {page.question + 1} by its number")
        return self.move(page, RowKind.OPTION, option) or Wait("the row under the cursor is not visible")

    def takes_number(self, page: Page, option: int) -> bool:
        """Whether a digit acts on this option: from any option's row, on options that are visible or above."""
        if page.cursor is None:
            return option < page.above
        return page.rows[page.cursor].kind == RowKind.OPTION

    def position(self, page: Page, kind: str, option: int | None) -> int:
        """Return a row's place among all rows of its page, visible or not."""
        question = self.form.questions[page.question]
        count = len(question.options)
        if kind == RowKind.OPTION:
            return option or 0
        typed = 0 if page.preview else 1
        submit = 1 if question.multi_select else 0
        places = {
            RowKind.TYPE: 0,
            RowKind.SUBMIT: typed,
            RowKind.CHAT: typed + submit,
            RowKind.SKIP: typed + submit + 1,
        }
        return count + places[kind]

    def move(self, page: Page, kind: str, option: int | None = None) -> Step | None:
        """Return the key that brings the cursor one row nearer to a row, or None where it is there."""
        if page.cursor is None:
            return Press("Down", "bring the cursor into view")
        row = page.rows[page.cursor]
        here, there = self.position(page, row.kind, row.option), self.position(page, kind, option)
        if here == there:
            return None
        if here == 0 and kind == RowKind.TYPE and there > 1:
            return Press("Up", "from the first row round to the row for typed text")
        return Press("Down" if here < there else "Up", f"move from row {here + 1} to row {there + 1}")

    def leave(self, page: Page, pressed: str, why: str) -> Step:
        """Return the key that switches tabs, which works only from an option row."""
        if page.notes is not None and page.notes.focused:
            return Press("Escape", "leave the notes field")
        if page.cursor is None:
            return Press(pressed, why)
        row = page.rows[page.cursor]
        if row.kind != RowKind.OPTION:
            return Press("Up", "move to an option row, from where tabs can be switched")
        return Press(pressed, why)

    def pasted_last(self, text: str) -> bool:
        return self.last is not None and self.last.step[:1] == (text,) and isinstance(self.last.step, Paste)

    def pasted(self, number: int, text: str) -> bool:
        """Whether the last thing done in a field of question ``number`` was to put ``text`` in."""
        padded = False
        for at in range(len(self.taken) - 1, -1, -1):
            step, state = self.taken[at].step, self.state(at)
            if isinstance(state, Page) and state.question == number:
                if isinstance(step, Paste):
                    return step.text == (text + _PAD if padded else text)
                if step.key == "BSpace" and _is_digit(text) and not padded:
                    padded = True
                elif step.key in _CLEARING_KEYS:
                    return False
        return False

    def holds(self, page: Page, shown: str, text: str, *, marked: bool | None = False) -> bool:
        """Whether a field of this page holds ``text``.

        Blanks and emoji do not show exactly, so that a text which somebody else left never counts.
        """
        return _same(shown, text, marked=marked) and self.pasted(page.question, text)

    def fill(self, page: Page, shown: str, text: str, what: str, *, marked: bool | None = False) -> Step | None:
        """Return the step that brings ``text`` into the field under the cursor, or None where it is there."""
        if self.holds(page, shown, text, marked=marked):
            return None
        if self.pasted_last(text):
            if shown.endswith(_CUT) and key(text).startswith(key(shown.removesuffix(_CUT))):
                return Wait(f"the pane is too narrow to show the whole text in {what}; make it wider")
            return Wait(f"the pasted text is not fully shown in {what}")
        if not shown:
            return Paste(text, f"put the text into {what}")
        cleared = sum(1 for taken in self.taken if isinstance(taken.step, Press) and taken.step.key == "C-u")
        if cleared > _CLEARING:
            return Stop(delivered=False, why=f"{what} holds another text that cannot be cleared")
        if "\n" in shown and not shown.rpartition("\n")[2].strip():
            return Press("BSpace", f"clear the other text in {what}")
        if self.last is not None and isinstance(self.last.step, Press) and self.last.step.key == "C-e":
            return Press("C-u", f"clear the other text in {what}")
        return Press("C-e", f"clear the other text in {what}")

    def typed(self, page: Page, text: str) -> Step:
        row = page.row(RowKind.TYPE)
        step = self.move(page, RowKind.TYPE)
        if step is not None:
            return step
        if row is None:
            return Wait("the row for typed text is not visible")
        what = "the row for typed text"
        if _is_digit(text) and not self.holds(page, row.text, text, marked=row.checked):
            # From 2.0.77 to 2.1.71 a digit that comes alone into the empty row chooses the option with this number.
            padded = self.fill(page, row.text, text + _PAD, what, marked=row.checked)
            return padded or Press("BSpace", f"leave only the digit in {what}")
        filled = self.fill(page, row.text, text, what, marked=row.checked)
        return filled or Press("Enter", f"enter the typed text of question {page.question + 1}")

    def multi(self, page: Page, decision: MultiSelect, *, correcting: bool) -> Step:
        wanted = set(decision.selected_indices)
        for index in range(page.above):
            ticked = self.ticked(page.question, index)
            if ticked is None:
                return Stop(delivered=False, why="the pane does not show which options are ticked; make it larger")
            if ticked != (index in wanted):
                verb = "untick" if ticked else "tick"
                return Press(str(index + 1), f"{verb} option {index + 1} by its number: it is above the visible part")
        for row in page.rows:
            if row.kind == RowKind.OPTION and row.option is not None and row.checked != (row.option in wanted):
                verb = "tick" if row.option in wanted else "untick"
                if self.takes_number(page, row.option):
                    return Press(str(row.option + 1), f"{verb} option {row.option + 1} by its number")
                return self.move(page, RowKind.OPTION, row.option) or Wait("the row under the cursor is not visible")
        typed = page.row(RowKind.TYPE)
        hidden = self.unseen(page)
        if hidden is not None:
            return self.move(page, *hidden) or Wait("the row under the cursor is not visible")
        if decision.text is not None:
            step = self.multi_text(page, decision.text, typed, correcting=correcting)
            if step is not None:
                return step
        elif typed is not None and typed.checked:
            return self.move(page, RowKind.TYPE) or Press("Enter", "untick the row for typed text")
        if page.at(RowKind.SUBMIT):
            return Press("Enter", f"leave question {page.question + 1}")
        if decision.text is None and (page.cursor is None or page.rows[page.cursor].kind == RowKind.OPTION):
            return Press("Tab", f"leave question {page.question + 1}")
        return self.move(page, RowKind.SUBMIT) or Wait("the Submit row is not visible")

    def ticked(self, number: int, option: int) -> bool | None:
        """Return whether an option that is not visible is ticked, from what was seen and done before.

        What was never seen counts as not ticked, as in a new dialog: the review screen will tell. None where not even
        that can be read.
        """
        toggled = False
        decision = self.decisions[number]
        text = decision.text if isinstance(decision, MultiSelect) else None
        for at in range(len(self.taken) - 1, -1, -1):
            step, state = self.taken[at].step, self.state(at)
            if isinstance(state, Review) and not state.hidden[number]:
                shown = _ticks_shown(self.form.questions[number], state.answers[number], text)
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
        seen = {row[:2] for row in page.rows}
        seen.update((RowKind.OPTION, index) for index in range(page.above))
        for at in range(len(self.taken) - 1, -1, -1):
            state = self.state(at)
            if not isinstance(state, Page) or state.question != page.question:
                break
            seen.update(row[:2] for row in state.rows)
            seen.update((RowKind.OPTION, index) for index in range(state.above))
        count = len(self.form.questions[page.question].options)
        rows: list[tuple[str, int | None]] = [(RowKind.OPTION, index) for index in range(count)]
        rows.append((RowKind.TYPE, None))
        return next((row for row in rows if row not in seen), None)

    def multi_text(self, page: Page, text: str, typed: Row | None, *, correcting: bool) -> Step | None:
        step = self.move(page, RowKind.TYPE)
        what = "the row for typed text"
        done = typed is not None and self.holds(page, typed.text, text) and typed.checked is True
        # Up to 2.1.180 the client drops the text unless its box is toggled after typing; only the review shows that.
        toggle = correcting and not self.toggled_since_review(page.question)
        if done and not toggle:
            return None
        if step is not None:
            return step
        if typed is None:
            return Wait(f"{what} is not visible")
        filled = self.fill(page, typed.text, text, what)
        if filled is not None:
            return filled
        if typed.checked and not toggle:
            return None
        return Press("Enter", f"{'untick' if typed.checked else 'tick'} the typed text")

    def toggled_since_review(self, number: int) -> bool:
        since = self.last_review() or 0
        for at in range(since, len(self.taken)):
            step, state = self.taken[at].step, self.state(at)
            if not isinstance(step, Press) or step.key != "Enter":
                continue
            if isinstance(state, Page) and state.question == number and state.at(RowKind.TYPE):
                return True
            if isinstance(state, Tail) and state.cursor != RowKind.SUBMIT:
                return True
        return False

    def preview(self, page: Page, decision: Decision, screen: Screen) -> Step:
        notes = page.notes
        if not isinstance(decision, Select) or notes is None:
            return Stop(delivered=False, why="this dialog shows previews and takes no typed answer")
        target = decision.option_index
        if notes.focused:
            return self.note(page, decision, notes)
        if decision.notes is None:
            if notes.text and not self.note_kept(page):
                return self.open_notes(page, target, screen, "clear the note that somebody left")
        elif not self.holds(page, notes.text, decision.notes):
            if self.note_kept(page):
                return Stop(delivered=False, why="the note could not be entered")
            return self.open_notes(page, target, screen, "open the notes field")
        elif self.note_open():
            return Wait("it cannot be told whether the notes field has the focus")
        return self.move(page, RowKind.OPTION, target) or Press(
            "Enter", f"choose option {target + 1} of question {page.question + 1}"
        )

    def open_notes(self, page: Page, target: int, screen: Screen, why: str) -> Step:
        version = client_version(screen)
        if version is not None and version < grammar.NOTES_ESCAPE_RETURNS:
            return Stop(delivered=False, why=f"notes cannot be entered safely on client {'.'.join(map(str, version))}")
        return self.move(page, RowKind.OPTION, target) or Press("n", why)

    def note(self, page: Page, decision: Select, notes: Notes) -> Step:
        if decision.notes is None:
            if not notes.text:
                return Press("Escape", "leave the notes field")
            # Any other text never matches, so that the field is cleared and nothing is put in.
            step = self.fill(page, notes.text, "\0", "the notes field")
            return step or Wait("the notes field is not cleared")
        if self.pasted_last(decision.notes) and key(notes.text) and key(notes.text) in key(decision.notes):
            # The open field shows only a part of a long note; the whole is there once it is left.
            return Press("Escape", "leave the notes field to read the whole note")
        step = self.fill(page, notes.text, decision.notes, "the notes field")
        return step or Press("Escape", "leave the notes field")

    def note_open(self) -> bool:
        """Whether the last thing done about the notes field was to open it."""
        for taken in reversed(self.taken):
            if isinstance(taken.step, Press) and taken.step.key in ("Escape", "n"):
                return taken.step.key == "n"
        return False

    def note_kept(self, page: Page) -> bool:
        """Whether the notes field of this page was left already, with another text than it should hold."""
        count = 0
        for at, taken in enumerate(self.taken):
            if isinstance(taken.step, Press) and taken.step.key == "Escape":
                state = self.state(at)
                count += isinstance(state, Page) and state.question == page.question
        return count >= _CORRECTIONS

    def choose_chat(self, page: Page) -> Step:
        if page.notes is not None and page.notes.focused:
            return Press("Escape", "leave the notes field")
        if page.row(RowKind.CHAT) is None:
            return Stop(delivered=False, why="this client's dialog has no row for chat")
        return self.move(page, RowKind.CHAT) or Press("Enter", "choose chat, which declines the form")

    def tail_question(self, at: int) -> int | None:
        """Return the question on whose page the text was pasted that fills the screen of ``taken[at]``."""
        for earlier in range(min(at, len(self.taken) - 1), -1, -1):
            if isinstance(self.taken[earlier].step, Paste):
                state = self.state(earlier)
                return state.question if isinstance(state, Page) else None
        return None

    def tail(self, tail: Tail) -> Step:
        number = self.tail_question(len(self.taken) - 1) if self.taken else None
        if number is None or number >= len(self.decisions):
            return Wait(UNSURE)
        decision = self.decisions[number]
        text = decision.text if isinstance(decision, (Type, MultiSelect)) else None
        shown = key(tail.text)
        if text is None or tail.submit != isinstance(decision, MultiSelect):
            return Wait("only the end of a typed text is visible, and it is not the intended one")
        if len(shown) < _TAIL or not key(text).endswith(shown):
            return Wait("the pasted text is not fully shown")
        if not tail.submit:
            return Press("Enter", f"enter the typed text of question {number + 1}")
        if tail.cursor == RowKind.SUBMIT:
            return Press("Enter", f"leave question {number + 1}")
        if self.corrections() is not None:
            return Stop(delivered=False, why="the pane is too small to check the typed text's box")
        return Press("Down", "move from the typed text to the row that leaves the page")

    def is_own_end(self, tail: str) -> bool:
        """Whether this is the end of the answer to the last question, with a text that this delivery has put in."""
        number = len(self.form.questions) - 1
        decision = self.decisions[number] if number < len(self.decisions) else None
        text = decision.text if isinstance(decision, (Type, MultiSelect)) else None
        if decision is None or text is None or not self.pasted(number, text):
            return False
        shown = key(tail)
        answers = _shown_answers(self.form.questions[number], decision)
        return len(shown) >= _TAIL and any((grammar.ARROW + key(answer)).endswith(shown) for answer in answers)

    def review(self, review: Review) -> Step:
        if review.tail is not None and not self.is_own_end(review.tail):
            return Wait(UNSURE)
        if not review.certain and not (self.taken and isinstance(self.state(-1), (Page, Tail, Review))):
            return Wait(
                "the review screen shows no question of the form, so it may be another form's; make the pane larger"
            )
        if self.chat is not None:
            return Press("Left", "go back from the review to where chat can be chosen")
        wrong = self.wrong(review)
        if wrong:
            visits = [at for at in range(len(self.taken)) if isinstance(self.state(at), Review)]
            backs = [at for at in visits if self.taken[at].step[0] in ("Left", "BTab")]
            if len(backs) >= _CORRECTIONS:
                return Stop(delivered=False, why=self.complaint(review, wrong))
            return Press("Left", f"go back: {self.complaint(review, wrong)}")
        doubt = self.doubtful(review)
        if doubt is not None:
            return Stop(delivered=False, why=doubt)
        if not review.on_submit:
            return Press("Up", "move to Submit answers")
        return Press("Enter", "submit: every answer shown is the intended one")

    def complaint(self, review: Review, wrong: Iterable[int]) -> str:
        number = next(iter(wrong))
        shown = review.answers[number]
        if shown is not None and _confirms(self.form.questions[number], self.decisions[number], shown):
            return f"the text of question {number + 1} is left from before, and its blanks may be other ones"
        has = "no answer" if shown is None else repr(shown if len(shown) <= 80 else shown[:79] + "…")
        return f"the review screen shows {has} for question {number + 1}, which is not the intended answer"

    def submitted(self) -> bool:
        """Whether the last step was the one that answers the form."""
        if self.last is None or not isinstance(self.last.step, Press):
            return False
        if self.is_numbered_choice(len(self.taken) - 1):
            return not _has_review(self.form) and self.chat is None
        if self.last.step.key != "Enter":
            return False
        state = self.state(-1)
        if isinstance(state, Review):
            return state.on_submit
        if _has_review(self.form) or self.chat is not None:
            return False
        if isinstance(state, Tail):
            return True
        return (
            isinstance(state, Page)
            and state.cursor is not None
            and state.rows[state.cursor].kind in (RowKind.OPTION, RowKind.TYPE)
        )

    def prompt(self, prompt: Prompt) -> Step:
        if self.chat is not None:
            return self.say(prompt, self.chat.text)
        if self.submitted():
            if prompt.closed == Closed.ANSWERED:
                return Stop(delivered=True, why="the client took the answer")
            if prompt.closed == Closed.DECLINED and not self.declined_before():
                return Stop(delivered=False, why="the form was declined instead of answered")
            return Wait("the dialog has closed, but the client does not show yet that it was answered")
        if self.taken and prompt.closed is not None:
            return Stop(delivered=False, why=f"the form was {prompt.closed} by somebody else half-way")
        return Wait("the question's dialog is not on screen; the prompt box is")

    def declined_before(self) -> bool:
        """Whether the last screen showed a declined form already: older clients do not say which one it was."""
        shown = self.taken[-1].screen.lines if self.taken else ()
        return any(seen.text in line for line in shown for seen in grammar.DECLINED)

    def say(self, prompt: Prompt, text: str) -> Step:
        """Send the chat's text, once the form was declined for it."""
        chosen = next(
            (at for at in range(len(self.taken) - 1, -1, -1) if self.is_chat_choice(at)),
            None,
        )
        if chosen is None:
            return Wait("the question's dialog is not on screen; the prompt box is")
        after = [taken.step for taken in self.taken[chosen + 1 :]]
        pasted = any(isinstance(step, Paste) for step in after)
        entered = pasted and isinstance(after[-1], Press) and after[-1].key == "Enter"
        if not pasted:
            if prompt.text.strip():
                return Wait("the form was declined for the chat, but the prompt box holds another text")
            return Paste(text, "put the chat's text into the prompt box")
        if not prompt.text.strip():
            if entered:
                return Stop(delivered=True, why="the form was declined and the chat's text was sent")
            return Wait("the chat's text is not in the prompt box yet")
        if _same(prompt.text, text) or _folded(prompt.text, text):
            return Press("Enter", "send the chat's text")
        return Wait("the prompt box does not hold the chat's text")

    def is_chat_choice(self, at: int) -> bool:
        step, state = self.taken[at].step, self.state(at)
        return isinstance(step, Press) and step.key == "Enter" and isinstance(state, Page) and state.at(RowKind.CHAT)


def _folded(shown: str, text: str) -> bool:
    """Whether the prompt box shows the placeholder for a long pasted text, with the right number of lines."""
    found = _FOLDED.fullmatch(shown.strip())
    return found is not None and int(found[1] or 0) == text.count("\n")
