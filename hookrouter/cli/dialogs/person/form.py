"""A form on the screen, as values: what is chosen and typed, where the cursor is, and what each key makes of it.

Nothing here knows of a terminal. :func:`press` and :func:`type_text` take one event each and return the next
:class:`State`; :func:`decisions` returns what would be sent, once nothing is missing. The pages are one for each
question, then one for review. Nothing that was typed is lost by going back and forth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.cli.dialogs.person.line import Line
from hookrouter.dialogs.decisions import question_faults
from hookrouter.dialogs.messages.words import has_previews

if TYPE_CHECKING:
    from hookrouter.tools import AskUserQuestionInput
    from hookrouter.tools.ask_user_question import Question

__all__ = [
    "CHAT",
    "KEYS",
    "LEAVE",
    "OWN",
    "SEND",
    "Page",
    "State",
    "answer_of",
    "begin",
    "decisions",
    "fault_of",
    "press",
    "rows",
    "type_text",
]

KEYS = (
    "up", "down", "left", "right", "home", "end", "tab", "back-tab", "enter", "newline", "escape", "backspace",
    "delete", "clear", "leave",
)  # fmt: skip
"""The keys that :func:`press` knows."""

OWN, CHAT, SEND, LEAVE = "own", "chat", "send", "leave"
"""Rows that are no option: own words (a note, if the options have previews), talk instead; and those of the review."""

Row = int | str


class Page(NamedTuple):
    """What a person has entered for one question."""

    row: int = 0
    """The row that has the cursor."""
    chosen: int | None = None
    """The option of a single-select."""
    marked: frozenset[int] = frozenset()
    """The options of a multi-select."""
    line: Line = Line()
    """Own words, or the note to a choice."""


class State(NamedTuple):
    """A form, what is entered, and where the person is."""

    form: AskUserQuestionInput
    pages: tuple[Page, ...]
    page: int = 0
    """The question that is shown, from 0; the number of questions for the review."""
    review_row: int = 0
    chat: Line = Line()
    is_chat: bool = False
    """Whether the person wants to talk instead of answering."""
    notice: str = ""
    """What to tell the person, about the last key only."""
    end: str = ""
    """``send`` or ``leave`` once the person is done."""

    @property
    def is_review(self) -> bool:
        """Whether the review is shown."""
        return self.page == len(self.pages)

    @property
    def question(self) -> Question:
        """The question that is shown; not for the review."""
        return self.form.questions[self.page]

    @property
    def entered(self) -> Page:
        """What is entered for the question that is shown; not for the review."""
        return self.pages[self.page]

    @property
    def row(self) -> Row:
        """The row that has the cursor: an option's number, or one of the named rows."""
        if self.is_review:
            return rows(self)[self.review_row]
        return rows(self)[self.entered.row]

    @property
    def line(self) -> Line | None:
        """The text that has the cursor; None if none has."""
        if self.is_review:
            return None
        return {OWN: self.entered.line, CHAT: self.chat}.get(str(self.row))


def begin(form: AskUserQuestionInput) -> State:
    """Return a form of which nothing is entered."""
    return State(form, tuple(Page() for _ in form.questions))


def rows(state: State) -> list[Row]:
    """Return the rows of the page that is shown; on the review a number is the question to go back to."""
    if state.is_review:
        return [*([] if state.is_chat else range(len(state.pages))), SEND, LEAVE]
    return [*range(len(state.question.options)), OWN, CHAT]


def answer_of(page: Page, question: Question) -> dict[str, Any] | None:
    """Return the decision, in its JSON form, that is entered for a question; None if there is none yet."""
    text = page.line.text.strip()
    if question.multi_select:
        if not page.marked and not text:
            return None
        decision: dict[str, Any] = {"action": "multi-select", "selectedIndices": sorted(page.marked)}
        return {**decision, "text": text} if text else decision
    if page.chosen is not None:
        decision = {"action": "select", "optionIndex": page.chosen}
        return {**decision, "notes": text} if text and has_previews(question) else decision
    return {"action": "type", "text": text} if text and not has_previews(question) else None


def fault_of(state: State, index: int) -> str:
    """Return why a question's answer cannot be sent as it is, for the person; empty if it can."""
    question = state.form.questions[index]
    decision = answer_of(state.pages[index], question)
    if decision is None:
        return "this question has no answer yet"
    return _first(question_faults(decision, question))


def decisions(state: State) -> list[dict[str, Any]] | None:
    """Return what would be sent, in its JSON form; None if something is missing or cannot be taken."""
    if state.is_chat:
        return [_chat(state)] if not _chat_fault(state) else None
    found = [answer_of(page, question) for page, question in zip(state.pages, state.form.questions, strict=True)]
    complete = [decision for decision in found if decision is not None]
    if len(complete) < len(found) or any(fault_of(state, index) for index in range(len(found))):
        return None
    return complete


def press(state: State, key: str) -> State:
    """Return the state after one of KEYS; another key changes nothing."""
    state = state._replace(notice="")
    if state.end:
        return state
    if key == "leave":
        return state._replace(end=LEAVE)
    if key in ("tab", "back-tab"):
        return _turned(state, 1 if key == "tab" else -1)
    if key in ("up", "down"):
        return _moved(state, 1 if key == "down" else -1)
    if key == "escape":
        return _escaped(state)
    if key == "enter":
        return _entered_on_review(state) if state.is_review else _entered(state)
    line = state.line
    if line is not None:
        return _with_line(state, line.typed("\n", is_single=_is_note(state)) if key == "newline" else line.pressed(key))
    if key in ("left", "right"):
        return _turned(state, 1 if key == "right" else -1)
    if key in ("home", "end"):
        return _at_row(state, 0 if key == "home" else len(rows(state)) - 1)
    return state


def type_text(state: State, text: str) -> State:
    """Return the state after a person has typed or pasted a text.

    On an option a digit is its number and a blank chooses; anything else begins their own words.
    """
    state = state._replace(notice="")
    if state.end or not text:
        return state
    line = state.line
    if line is not None:
        return _with_line(state, line.typed(text, is_single=_is_note(state)))
    if len(text) == 1 and text.isascii() and text.isdecimal():
        return _numbered(state, int(text))
    if state.is_review:
        return state
    if text == " ":
        return _taken(state, state.entered.row)
    if not text.strip():
        return state
    own = _at_row(state, rows(state).index(OWN))
    return _with_line(own, own.entered.line.pressed("end").typed(text, is_single=_is_note(own)))


def _numbered(state: State, number: int) -> State:
    if state.is_review:
        # Questions count from 1, as everywhere.
        if state.is_chat or not 1 <= number <= len(state.pages):
            return state._replace(notice=f"there is no question {number}")
        return _on_page(state, number - 1)
    if number >= len(state.question.options):
        return state._replace(notice=f"there is no option {number}")
    chosen = _taken(_at_row(state, number), number)
    return chosen if state.question.multi_select else _turned(chosen, 1)


def _taken(state: State, option: int) -> State:
    """Choose an option; of a multi-select, choose it or no longer."""
    page = state.entered
    if state.question.multi_select:
        return _entering(state, page._replace(marked=page.marked ^ {option}))
    # Own words stand in place of an option, so choosing one puts them away; a note goes with it.
    return _entering(state, page._replace(chosen=option))


def _entered(state: State) -> State:
    """Enter on a question: take what has the cursor, and go on."""
    row, multi = state.row, state.question.multi_select
    if row == CHAT:
        fault = _chat_fault(state)
        return state._replace(notice=fault) if fault else _on_review(state._replace(is_chat=True))
    state = state._replace(is_chat=False)
    if isinstance(row, int) and not multi:
        state = _taken(state, row)
    elif row == OWN and state.entered.line.text.strip() and not multi and not has_previews(state.question):
        state = _with_page(state, state.entered._replace(chosen=None))
    if fault := fault_of(state, state.page):
        return state._replace(notice=_hint(state, fault))
    return _turned(state, 1)


def _hint(state: State, fault: str) -> str:
    if answer_of(state.entered, state.question) is not None:
        return fault
    if state.question.multi_select:
        return "nothing is chosen yet: the space bar or a number chooses"
    return "choose an option first" if has_previews(state.question) else "nothing is typed yet"


def _entered_on_review(state: State) -> State:
    row = state.row
    if isinstance(row, int):
        return _on_page(state, row)
    if row == LEAVE:
        return state._replace(end=LEAVE)
    if decisions(state) is not None:
        return state._replace(end=SEND)
    if state.is_chat:
        return _on_page(state, 0)._replace(is_chat=False, notice=_chat_fault(state))
    wrong = next(index for index in range(len(state.pages)) if fault_of(state, index))
    return _on_page(state, wrong)._replace(notice=fault_of(state, wrong))


def _escaped(state: State) -> State:
    if state.is_chat and state.is_review:
        return _on_page(state, 0)._replace(is_chat=False)
    if state.line is not None:
        return _at_row(state, 0)
    if state.page == 0:
        return state._replace(notice="Ctrl-C leaves; nothing has been sent")
    return _turned(state, -1)


def _turned(state: State, step: int) -> State:
    """Go to the page before or after this one."""
    page = min(max(state.page + step, 0), len(state.pages))
    if page == state.page:
        return state
    if state.is_review:
        state = state._replace(is_chat=False)
    return _on_review(state) if page == len(state.pages) else _on_page(state, page)


def _on_page(state: State, number: int) -> State:
    """Show a question, the cursor on what is its answer so far."""
    page, question = state.pages[number], state.form.questions[number]
    row = len(question.options) if page.line.text and not has_previews(question) and not page.marked else 0
    shown = state._replace(page=number)
    return _with_page(shown, page._replace(row=row if page.chosen is None else page.chosen))


def _on_review(state: State) -> State:
    shown = state._replace(page=len(state.pages))
    return shown._replace(review_row=rows(shown).index(SEND))


def _moved(state: State, step: int) -> State:
    row = state.review_row if state.is_review else state.entered.row
    return _at_row(state, min(max(row + step, 0), len(rows(state)) - 1))


def _at_row(state: State, row: int) -> State:
    if state.is_review:
        return state._replace(review_row=row)
    return _with_page(state, state.entered._replace(row=row))


def _is_note(state: State) -> bool:
    return state.row == OWN and has_previews(state.question)


def _with_line(state: State, line: Line) -> State:
    """Put a text where the cursor is."""
    if state.row == CHAT:
        return state._replace(chat=line)
    page = state.entered
    if line.text != page.line.text and not state.question.multi_select and not has_previews(state.question):
        # What is typed is the answer now, in place of an option.
        page = page._replace(chosen=None)
    return _entering(state, page._replace(line=line))


def _entering(state: State, page: Page) -> State:
    return _with_page(state, page)._replace(is_chat=False)


def _with_page(state: State, page: Page) -> State:
    return state._replace(pages=(*state.pages[: state.page], page, *state.pages[state.page + 1 :]))


def _chat(state: State) -> dict[str, Any]:
    return {"action": "chat", "text": state.chat.text.strip()}


def _chat_fault(state: State) -> str:
    if not state.chat.text.strip():
        return "type what to say to Claude first"
    return _first(question_faults(_chat(state), state.form.questions[0]))


def _first(faults: list[str]) -> str:
    """Return the first of the faults that were written for JSON, in words for a person."""
    said = next(iter(faults), "")
    for key, name in (('"text"', "the text"), ('"notes"', "the note")):
        said = said.replace(key, name)
    return said
