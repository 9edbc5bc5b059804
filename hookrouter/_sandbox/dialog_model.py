"""A model of the AskUserQuestion dialog of Claude Code 2.1.330: a state machine that takes keys and draws itself.

Every effect of a key here was seen on the real client 2.1.330 in tmux 3.3a. The model has no clock; the client's
delays and its input guard are in :mod:`hookrouter._sandbox.fake_terminal`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hookrouter.answering.labels import cut, joined_items, recorded_label
from hookrouter.util.text_width import text_width

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.tools import AskUserQuestionInput

__all__ = ["DialogModel", "broken_into_lines"]

_PREVIEW_WIDTH = 40
"""Columns that a box of narrow previews has for them."""
_AROUND_PREVIEW = 9
"""Rows that a preview page needs below its question and beside preview and footer, with the two that it leaves free."""


def broken_into_lines(text: str, width: int) -> list[str]:
    """Break text at spaces, and words that are too long anywhere, to lines of at most ``width`` columns."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in re.findall(r"\s+|[^\s]+", paragraph.replace("\t", "    ")):
            if text_width(line + word) <= width:
                line += word
                continue
            if word.isspace():
                lines.append(line)
                line = ""
                continue
            if line.strip():
                lines.append(line.rstrip())
                line = ""
            if text_width(line + word) <= width:
                line += word
                continue
            for character in word:
                if text_width(line + character) > width:
                    lines.append(line)
                    line = ""
                line += character
        lines.append(line)
    return lines


class _Text:
    """A text field with the client's line editing."""

    def __init__(self) -> None:
        self.value = ""
        self.at = 0

    def insert(self, text: str) -> None:
        self.value = self.value[: self.at] + text + self.value[self.at :]
        self.at += len(text)

    def press(self, key: str) -> bool:
        """Take an editing key; False if it is none."""
        start = self.value.rfind("\n", 0, self.at) + 1
        if key == "C-e":
            end = self.value.find("\n", self.at)
            self.at = len(self.value) if end < 0 else end
        elif key == "C-u":
            # At the start of a line it takes the line break before it.
            cut = start if self.at > start else max(0, start - 1)
            self.value = self.value[:cut] + self.value[self.at :]
            self.at = cut
        elif key == "BSpace":
            if self.at:
                self.value = self.value[: self.at - 1] + self.value[self.at :]
                self.at -= 1
        elif key == "Left":
            self.at = max(0, self.at - 1)
        elif key == "Right":
            self.at = min(len(self.value), self.at + 1)
        elif key == "Space":
            self.insert(" ")
        elif len(key) == 1:
            self.insert(key)
        else:
            return False
        return True


class _Question:
    """What one tab holds."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.text: str = raw["question"]
        self.header: str = raw.get("header") or ""
        self.multi = bool(raw.get("multiSelect"))
        self.options: list[Mapping[str, Any]] = list(raw["options"])
        self.labels: list[str] = [recorded_label(option["label"]) for option in self.options]
        self.preview = not self.multi and any(option.get("preview") for option in self.options)
        self.cursor = 0
        self.ticked = [False] * len(self.options)
        self.typed = _Text()
        self.typed_ticked = False
        self.chosen: int | None = None
        """The option that answers a single-select; ``len(options)`` is the typed text."""
        self.notes = _Text()
        self.notes_open = False

    @property
    def type_row(self) -> int | None:
        return None if self.preview else len(self.options)

    @property
    def submit_row(self) -> int | None:
        return len(self.options) + 1 if self.multi else None

    @property
    def chat_row(self) -> int:
        return len(self.options) + (0 if self.preview else 1) + (1 if self.multi else 0)

    def items(self) -> list[str]:
        """Return what a multi-select holds, in the order of its rows."""
        items = [label for label, ticked in zip(self.labels, self.ticked, strict=True) if ticked]
        if self.typed_ticked and self.typed.value.strip():
            raw = [option["label"] for option in self.options]
            # A text that equals a label is taken for that label, which is recorded as labels are.
            is_label = self.typed.value in raw
            items.append(recorded_label(self.typed.value) if is_label else self.typed.value)
        return items

    def answer(self) -> str | None:
        """Return the answer as the client records it, or None if there is none."""
        if self.multi:
            items = self.items()
            return joined_items(items) if items else None
        if self.chosen is None:
            return None
        return self.typed.value if self.chosen == len(self.options) else self.labels[self.chosen]


def _raw(form: Mapping[str, Any] | AskUserQuestionInput) -> list[Mapping[str, Any]]:
    if isinstance(form, dict):
        questions: list[Mapping[str, Any]] = form["questions"]
        return questions
    return [
        {
            "question": question.question,
            "header": question.header,
            "multiSelect": question.multi_select,
            "options": [
                {"label": option.label, "description": option.description, "preview": option.preview}
                for option in question.options
            ],
        }
        for question in form.questions  # type: ignore[union-attr]
    ]


class DialogModel:
    """The dialog of one form, from its first page until it closes."""

    def __init__(self, form: Mapping[str, Any] | AskUserQuestionInput, *, on_kept_review: bool = False) -> None:
        """``form`` is AskUserQuestion's input, as JSON (``{"questions": [...]}``) or typed.

        ``on_kept_review`` opens it on the review screen that the dialog before has left, as 2.1.150 does with the
        second of two forms of one message. Even a lone single-select then has one, until that is left.
        """
        self.questions = [_Question(raw) for raw in _raw(form)]
        self.tab = len(self.questions) if on_kept_review else 0
        """The page that is shown; ``len(questions)`` is the review screen."""
        self.outcome: str | None = None
        """``answered``, ``declined`` or ``chat`` once the dialog has closed."""
        self.result: dict[str, Any] | None = None
        """What Claude Code records, ``{"answers": {...}, "annotations": {...}}``, once answered."""
        self._review_cursor = 0
        self._is_kept = on_kept_review

    @property
    def has_review(self) -> bool:
        """Whether the form ends in the review screen."""
        return len(self.questions) > 1 or self.questions[0].multi

    def press(self, key: str) -> None:
        """Take one key, by tmux's name or as one character; after closing nothing has an effect."""
        if self.outcome is not None:
            return
        if self.tab == len(self.questions):
            self._press_review(key)
            return
        question = self.questions[self.tab]
        if question.notes_open:
            self._press_notes(question, key)
        elif key == "Escape":
            self.outcome = "declined"
        elif question.cursor == question.type_row and self._press_typed(question, key):
            return
        else:
            self._press_rows(question, key)

    def paste(self, text: str) -> None:
        """Take a bracketed paste; a page with previews has a use for it only in its notes field."""
        if self.outcome is not None or self.tab == len(self.questions):
            return
        question = self.questions[self.tab]
        if question.notes_open:
            question.notes.insert(text)
        elif question.type_row is not None:
            if question.cursor != question.type_row:
                # A paste anywhere on the page goes into the row for typed text, at the place where that was left.
                question.cursor = question.type_row
            question.typed.insert(text)
            self._typed_changed(question)

    def _typed_changed(self, question: _Question) -> None:
        if question.multi:
            question.typed_ticked = bool(question.typed.value)

    def _press_typed(self, question: _Question, key: str) -> bool:
        """Handle a key on the type row; False leaves it to the rows."""
        if key in ("Up", "Down"):
            return False
        if key == "Enter":
            if question.typed.value.endswith("\\"):
                question.typed.value = question.typed.value[:-1] + "\n"
                question.typed.at = len(question.typed.value)
            elif question.multi:
                question.typed_ticked = not question.typed_ticked
            elif question.typed.value.strip():
                self._choose(question, len(question.options))
            else:
                self.outcome = "declined"
        elif key == "Tab":
            if question.multi and question.submit_row is not None:
                question.cursor = question.submit_row
        elif key == "BTab" and question.multi:
            question.cursor -= 1
        elif question.typed.press(key):
            self._typed_changed(question)
        return True

    def _press_notes(self, question: _Question, key: str) -> None:
        if key == "Escape":
            question.notes_open = False
        elif key == "Enter":
            question.notes_open = False
            self._choose(question, question.cursor)
        else:
            question.notes.press(key)

    def _press_rows(self, question: _Question, key: str) -> None:
        count = len(question.options)
        on_option = question.cursor < count
        if question.cursor in (question.submit_row, question.chat_row) and key not in ("Up", "Down", "Enter"):
            if question.cursor == question.chat_row and key == str(count + 2) and not question.preview:
                self.outcome = "chat"
            return
        if key == "Up" or (key == "k" and not question.preview):
            self._up(question)
        elif key == "Down" or (key == "j" and not question.preview):
            self._move(question, min(question.cursor + 1, question.chat_row))
        elif key in ("Tab", "Right") and on_option:
            self._go(self.tab + 1)
        elif key in ("BTab", "Left") and on_option:
            self._go(self.tab - 1)
        elif key == "n" and question.preview and on_option:
            question.notes_open = True
        elif key == "Space" and question.multi and on_option:
            question.ticked[question.cursor] = not question.ticked[question.cursor]
        elif key == "Enter":
            self._enter(question)
        elif len(key) == 1 and key in "123456":
            self._digit(question, int(key) - 1)

    def _up(self, question: _Question) -> None:
        if question.cursor == 0:
            if question.type_row is not None:
                self._move(question, question.type_row)
        elif question.cursor == question.chat_row and question.preview:
            self._move(question, len(question.options) - 1)
        else:
            self._move(question, question.cursor - 1)

    def _move(self, question: _Question, row: int) -> None:
        # Onto the row for typed text, and up from it, arrow keys put its cursor to the start.
        if row == question.type_row or (question.cursor == question.type_row and row < question.cursor):
            question.typed.at = 0
        question.cursor = row

    def _enter(self, question: _Question) -> None:
        if question.cursor == question.chat_row:
            self.outcome = "chat"
        elif question.cursor == question.submit_row:
            self._go(self.tab + 1)
        elif question.multi:
            question.ticked[question.cursor] = not question.ticked[question.cursor]
        else:
            self._choose(question, question.cursor)

    def _digit(self, question: _Question, row: int) -> None:
        count = len(question.options)
        if row < count and question.preview:
            question.cursor = row
        elif row < count and question.multi:
            question.ticked[row] = not question.ticked[row]
        elif row < count:
            self._choose(question, row)
        elif question.preview:
            return
        elif row == count:
            if question.multi:
                question.typed_ticked = not question.typed_ticked
            else:
                self._move(question, count)
        elif row == count + 1:
            self.outcome = "chat"

    def _choose(self, question: _Question, row: int) -> None:
        question.chosen = row
        if self.has_review:
            self._go(self.tab + 1)
        else:
            self._answer()

    def _go(self, tab: int) -> None:
        last = len(self.questions)
        if not self.has_review and self.tab != last:
            return
        if not 0 <= tab <= last:
            return
        self.tab = tab
        self._review_cursor = 0
        self._is_kept = False
        if self.tab < last:
            question = self.questions[self.tab]
            chosen = question.chosen
            question.cursor = chosen if chosen is not None and chosen < len(question.options) else 0

    def _press_review(self, key: str) -> None:
        if key in ("Up", "k", "Down", "j"):
            # Of two rows, either way leads round to the other.
            self._review_cursor = 1 - self._review_cursor
        elif key in ("Left", "BTab"):
            self._go(len(self.questions) - 1)
        elif key == "Escape" or key == "2" or (key == "Enter" and self._review_cursor == 1):
            self.outcome = "declined"
        elif key in ("Enter", "1"):
            self._answer()

    def _answer(self) -> None:
        answers: dict[str, str] = {}
        annotations: dict[str, dict[str, str]] = {}
        for question in self.questions:
            answer = question.answer()
            if answer is not None:
                answers[question.text] = answer
            if question.preview and question.chosen is not None:
                notes = {}
                preview = question.options[question.chosen].get("preview")
                if preview:
                    notes["preview"] = preview
                if question.notes.value:
                    notes["notes"] = question.notes.value
                annotations[question.text] = notes
        self.outcome = "answered"
        self.result = {"answers": answers, "annotations": annotations}

    def render(self, width: int, height: int) -> list[str]:
        """Draw the dialog, from its rule down to its footer, in at most ``height`` lines of ``width`` columns."""
        if self.tab == len(self.questions):
            mark = " ✔" if self._is_kept else ""
            submit = f"{'❯ ' if not self._review_cursor else '  '}1. Submit answers{mark}"
            head, foot = self._render_review(width), [submit]
            foot.append(f"{'❯ ' if self._review_cursor else '  '}2. Cancel")
            return _clip(head, foot, height, None)
        question = self.questions[self.tab]
        head = [*([""] if question.preview else []), "─" * width, *self._header(width), ""]
        asked = broken_into_lines(cut(question.text), width)
        if len(asked) > 1:
            asked = [f"│ {line}".rstrip() for line in broken_into_lines(cut(question.text), width - 2)]
        head += [*asked, ""]
        if question.preview:
            # The preview gets what the rest of the page, with two rows to spare, leaves of the pane.
            rest = len(head) + _AROUND_PREVIEW + len(self._footer(question, width))
            head += self._preview(question, width, height - rest)
            rows_from = len(head)
        else:
            rows_from = len(head)
            head += self._rows(question, width)
        foot = ["─" * width]
        number = "" if question.preview else f"{len(question.options) + 2}. "
        foot.append(f"{'❯' if question.cursor == question.chat_row else ' '} {number}Chat about this")
        return _clip(head, [*foot, *self._footer(question, width)], height, rows_from)

    def _header(self, width: int) -> list[str]:
        if not self.has_review and self.tab != len(self.questions):
            return [f" {'☐' if self.questions[0].chosen is None else '☒'} {self.questions[0].header}"]
        for shortest in range(24, 0, -1):
            tabs = "".join(
                f"  {'☐' if question.answer() is None else '☒'} {_short(question.header, shortest)}"
                for question in self.questions
            )
            bar = f"←{tabs}  ✔ Submit  →"
            if text_width(bar) <= width:
                return [bar]
        return [bar[:width]]

    def _rows(self, question: _Question, width: int) -> list[str]:
        lines: list[str] = []
        for number, option in enumerate(question.options):
            mark = "❯" if question.cursor == number else " "
            label = question.labels[number] + (" ✔" if not question.multi and question.chosen == number else "")
            box = f"[{'✔' if question.ticked[number] else ' '}] " if question.multi else ""
            indent = 9 if question.multi else 5
            wrapped = broken_into_lines(label, width - indent)
            lines.append(f"{mark} {number + 1}. {box}{wrapped[0]}")
            described = recorded_label(option.get("description") or "")
            lines += [" " * indent + line for line in wrapped[1:]]
            lines += [
                " " * indent + line for line in (broken_into_lines(described, width - indent) if described else [])
            ]
        count = len(question.options)
        mark = "❯" if question.cursor == count else " "
        if question.multi:
            shown = broken_into_lines(question.typed.value or "Type something", width - 9)
            lines.append(f"{mark} {count + 1}. [{'✔' if question.typed_ticked else ' '}] {shown[0]}")
            lines += [" " * 9 + line for line in shown[1:]]
            row = "Next" if self.tab + 1 < len(self.questions) else "Submit"
            lines.append(f"{'❯' if question.cursor == count + 1 else ' '}    {row}")
        else:
            shown = broken_into_lines(question.typed.value or "Type something.", width - 5)
            if question.chosen == count:
                widest = max(map(text_width, shown))
                shown[0] += " " * (widest - text_width(shown[0])) + " ✔"
            lines.append(f"{mark} {count + 1}. {shown[0]}")
            lines += [" " * 5 + line for line in shown[1:]]
        return [line.rstrip() for line in lines]

    def _preview(self, question: _Question, width: int, room: int) -> list[str]:
        left: list[str] = []
        focused = min(question.cursor, len(question.options) - 1)
        column = 34 if width >= 70 else 28
        for number, label in enumerate(question.labels):
            mark = "❯" if focused == number else " "
            wrapped = broken_into_lines(label + (" ✔" if question.chosen == number else ""), column - 7)
            left.append(f"{mark} {number + 1}. {wrapped[0]}")
            left += [f"    {line}" for line in wrapped[1:]]
        previews = [option.get("preview") or "No preview available" for option in question.options]
        longest = max(text_width(line) for preview in previews for line in preview.split("\n"))
        inner = min(max(_PREVIEW_WIDTH, longest), width - column - 4)
        shown = [part for line in previews[focused].split("\n") for part in broken_into_lines(line, inner)]
        hidden = 0
        if len(shown) > room:
            hidden = len(shown) - max(1, room - 1)
            shown = shown[:-hidden] if hidden else shown
        right = [f"┌{'─' * (inner + 2)}┐"]
        right += [f"│ {line}{' ' * (inner - text_width(line))} │" for line in shown]
        if hidden:
            notice = f"─── ✂ ─── {hidden} lines hidden "
            right.append(f"├{notice}{'─' * (inner + 2 - text_width(notice))}┤")
        right += [f"└{'─' * (inner + 2)}┘", ""]
        empty = "Add notes on this design…" if question.notes_open else "press n to add notes"
        noted = broken_into_lines(question.notes.value or empty, width - column - 7)
        right += [f"Notes: {noted[0]}", *(f"       {line}" for line in noted[1:]), ""]
        lines = []
        for number in range(max(len(left), len(right))):
            start = left[number] if number < len(left) else ""
            end = right[number] if number < len(right) else ""
            lines.append(f"{start}{' ' * (column - text_width(start))}{end}".rstrip())
        return lines

    def _footer(self, question: _Question, width: int) -> list[str]:
        parts = ["Enter to select"]
        parts.append(
            "Tab/Arrow keys to navigate" if len(self.questions) > 1 and not question.preview else "↑/↓ to navigate"
        )
        if question.preview:
            parts.append("n to add notes")
        if question.notes_open or (question.cursor >= len(question.options) and not question.preview):
            parts.append("ctrl+g to edit in Vim")
        if question.preview and len(self.questions) > 1:
            parts.append("Tab to switch questions")
        return ["", *broken_into_lines(" · ".join([*parts, "Esc to cancel"]), width)]

    def _render_review(self, width: int) -> list[str]:
        lines = ["", "─" * width, *self._header(width), "", "Review your answers", ""]
        if any(question.answer() is None for question in self.questions):
            lines += ["⚠ Some questions are unanswered", ""]
        for question in self.questions:
            answer = question.answer()
            if answer is None:
                continue
            asked = broken_into_lines(cut(question.text), width - 3)
            if len(asked) > 1:
                asked = broken_into_lines(cut(question.text), width - 5)
                lines += [f" │ {'●' if not number else ' '} {line}".rstrip() for number, line in enumerate(asked)]
            else:
                lines.append(f" ● {asked[0]}")
            shown = broken_into_lines(answer, width - 5)
            lines += [f"   {'→ ' if not number else ''}{line}".rstrip() for number, line in enumerate(shown)]
        return [*lines, ""]


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(1, width - 1)] + "…"


def _clip(head: list[str], foot: list[str], height: int, rows_from: int | None) -> list[str]:
    """Scroll the top away if the dialog is higher than the pane."""
    over = len(head) + len(foot) - height
    if over <= 0:
        return head + foot
    if over == 1:
        return head[1:] + foot
    # A blank line before the footer, or above the review's rows, gives way to the notice.
    notice = f" ↑ {over - 1} more lines"
    if rows_from is None:
        return [*head[over:-1], notice, *foot]
    blank = foot.index("")
    return [*head[over:], *foot[:blank], notice, *foot[blank + 1 :]]
