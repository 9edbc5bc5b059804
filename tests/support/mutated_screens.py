"""Recorded screens, changed at random, that certainly do not show a form: what a planner must keep its hands off.

Whether a screen shows a form is not asked of any parser. It follows from how the screen and the form were made: from a
letter that no recorded screen holds, which is put into the form's texts or into a visible row of the dialog, or from
another dialog below everything else.
"""

from __future__ import annotations

import glob
import json
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.answering.decisions import Chat, FreeText, MultiSelect, Select
from hookrouter.answering.interfaces import Paste, Press, Taken
from hookrouter.records import replace
from hookrouter.terminals import Screen
from hookrouter.tools import AskUserQuestionInput, Question

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from hookrouter.answering.decisions import Decision
    from hookrouter.answering.interfaces import KeystrokePlanner, Step

__all__ = ["CLAIMS", "OWN", "RARE", "Case", "draw_case", "fault", "recorded_forms", "recorded_screens"]

RARE = "Ѭ"
"""A letter that is on no recorded screen and in no mutation."""

_OTHER_DIALOGS = (
    """\
────────────────────────────────────────────────────────────
 Bash command

   rm -rf build
   Remove the build folder

 Do you want to proceed?
 ❯ 1. Yes
   2. Yes, and don't ask again for rm commands
   3. No

 Esc to cancel · Tab to amend · ctrl+e to explain""",
    """\
────────────────────────────────────────────────────────────
 Accessing workspace:

 /home/me/project

 Quick safety check: Is this a project you created or one you trust?

 ❯ 1. Yes, I trust this folder
   2. No, exit

 Enter to confirm · Esc to cancel""",
    """\
────────────────────────────────────────────────────────────
 Ready to code?

 Here is Claude's plan:

 Claude has written up a plan and is ready to execute. Would you like to proceed?

 ❯ 1. Yes, and bypass permissions
   2. Yes, manually approve edits
   3. Tell Claude what to change""",
    """\
────────────────────────────────────────────────────────────
  Select model
  Switch between Claude models.

  ❯ 1. Default (recommended) ✔  Opus
    2. Sonnet
    3. Haiku

  Enter to set as default · Esc to exit""",
    """\
────────────────────────────────────────────────────────────
 ☐ Colour

Which colour shall the roof have, seen from the street?

❯ 1. Terracotta, as before
     Like the neighbours
  2. Slate grey
  3. Type something.
────────────────────────────────────────────────────────────
  4. Chat about this

Enter to select · ↑/↓ to navigate · Esc to cancel""",
    """\
────────────────────────────────────────────────────────────
←  ☒ Colour  ☒ Roof  ✔ Submit  →

Review your answers

 ● Which colour shall the roof have, seen from the street?
   → Slate grey

❯ 1. Submit answers
  2. Cancel""",
)
_PROSE = (
    "● I will ask you something now.",
    "  1. First we look at the parser.",
    "❯ 1. Yes",
    "Enter to select · ↑/↓ to navigate · Esc to cancel",
    "     Use existing pattern",
    "  5. Chat about this",
    "────────────────────────────────────────────────────────────",
    "❯ 1. Submit answers",
    "  2. Cancel",
    "Review your answers",
    " ↑ 3 more lines",
    "←  ☐ Areas  ✔ Submit  →",
    " ☐ Approach",
    "     Submit",
    "❯    Next",
    "Notes: press n to add notes",
    "",
)
_CHARACTERS = "❯☐☒✔─│●→←↑↓ 123[].·aeE日"
_ROW = re.compile(r"[❯ ↑↓] (\d)\. (?:\[[ ✔]\] )?")
_HEADER = re.compile(r"(?: ?[☐☒]|←)")
_KEYS = ("Up", "Down", "Space", "1", "Tab", "Left", "n", "C-e")
_TAIL = 12
_SHORT = 3
_OWN_SHARE = 0.2
OWN = "own form"
"""The claim of a case in which the planner may act."""


class Case(NamedTuple):
    """One mutated screen, and what is asked of the planner."""

    claim: str
    """Why the planner must not act, one of CLAIMS; OWN if it may, and must only not raise."""
    screen: Screen
    form: AskUserQuestionInput
    decisions: tuple[Decision, ...]
    taken: tuple[tuple[Press | Paste, Screen], ...]
    """The earlier steps, each with the screen on which it was decided."""


def recorded_screens(folder: str) -> list[Screen]:
    """Return the screens below ``folder``, one folder for each client version, in a fixed order."""
    screens = []
    for path in sorted(glob.glob(os.path.join(folder, "[0-9]*", "*.txt"))):
        with open(path, encoding="utf-8") as file:
            lines = [line.rstrip(" ") for line in file.read().split("\n")]
        # The pane is as wide as the rules on it.
        width = max((len(line) for line in lines if line and not line.strip("─")), default=120)
        screens.append(Screen(tuple(lines), width, len(lines)))
    return screens


def recorded_forms(folder: str) -> dict[str, AskUserQuestionInput]:
    """Return the forms in ``folder``/questions by name."""
    forms: dict[str, AskUserQuestionInput] = {}
    for path in sorted(glob.glob(os.path.join(folder, "questions", "*.json"))):
        with open(path, encoding="utf-8") as file:
            forms[os.path.basename(path).removesuffix(".json")] = AskUserQuestionInput.from_json(json.load(file))
    return forms


def _squeezed(text: str) -> str:
    """Return ``text`` without white space, and without the bar before the lines of a long question."""
    return "".join(text.split()).replace("│", "")


def draw_case(rng: random.Random, screens: Sequence[Screen], forms: Sequence[AskUserQuestionInput]) -> Case:
    """Draw a mutated screen with a form, decisions and earlier steps.

    ``screens`` are recorded ones, ``forms`` those that they were recorded with; a form with words on the screen is
    preferred.
    """
    original = rng.choice(screens)
    draft = _Draft(rng, original, screens)
    draft.mutate()
    seen = _squeezed("".join(original.lines))
    fitting = [form for form in forms if any(_squeezed(item.question)[:30] in seen for item in form.questions)]
    form = rng.choice(fitting if fitting and rng.random() < 0.85 else forms)
    claim = OWN
    if rng.random() >= _OWN_SHARE:
        for name in rng.sample(list(CLAIMS), len(CLAIMS)):
            made = CLAIMS[name](draft, form)
            if made is not None:
                claim, form = name, made
                break
    taken = tuple(
        (Paste("text", "") if rng.random() < 0.2 else Press(rng.choice(_KEYS), ""), rng.choice(screens))
        for _ in range(rng.choice((0, 0, 0, 1, 3)))
    )
    screen = Screen(tuple(draft.lines), draft.width, max(len(draft.lines), 1))
    return Case(claim, screen, form, _decisions(rng, form), taken)


def next_step(case: Case, planner: KeystrokePlanner) -> Step:
    """Return what the planner does."""
    taken = [Taken(step, planner.read(screen, case.form)) for step, screen in case.taken]
    return planner.next_step(planner.read(case.screen, case.form), case.form, case.decisions, taken)


def fault(case: Case, planner: KeystrokePlanner) -> str:
    """Return what the planner does wrong on a mutated screen; empty if it does nothing wrong."""
    step = next_step(case, planner)
    if not isinstance(step, (Press, Paste)) or _only_looks(step, case):
        return ""
    if case.claim != OWN:
        return f"{step} on a screen that does not show the form ({case.claim})"
    seen = _squeezed("".join(case.screen.lines))
    texts = [item.question for item in case.form.questions]
    texts += [text for item in case.form.questions for each in item.options for text in (each.label, each.description)]
    if not any(_squeezed(text)[-_TAIL:] in seen for text in texts if text):
        return f"{step} on a screen that holds no text of the form"
    return ""


def _only_looks(step: Press | Paste, case: Case) -> bool:
    """Whether the step is Left on a review below the form's own tabs: whose it is shows only on the page before."""
    if not isinstance(step, Press) or step.key != "Left" or case.claim in ("foreign form", "other dialog below"):
        return False
    seen = _squeezed("".join(case.screen.lines))
    tabs = "".join(f"☐{item.header}" for item in case.form.questions)
    return f"←{_squeezed(tabs)}✔Submit→Reviewyouranswers" in seen


class _Draft:
    """A screen and a form in the making."""

    def __init__(self, rng: random.Random, original: Screen, screens: Sequence[Screen]) -> None:
        self.rng = rng
        self.lines = list(original.lines)
        self.width = original.width
        self.screens = screens

    def place(self) -> int:
        return self.rng.randrange(len(self.lines) + 1)

    def mutate(self) -> None:
        """Make up to four random changes."""
        changes = (
            self.cut,
            self.duplicate,
            self.swap,
            self.splice,
            self.replace,
            self.resize,
            self.insert_prose,
            self.insert_dialog,
            self.cut_top,
            self.cut_bottom,
        )
        for _ in range(self.rng.choice((0, 1, 1, 2, 3, 4))):
            self.rng.choice(changes)()

    def cut(self) -> None:
        start = self.place()
        del self.lines[start : start + self.rng.randint(1, 5)]

    def duplicate(self) -> None:
        start, at = self.place(), self.place()
        self.lines[at:at] = self.lines[start : start + self.rng.randint(1, 12)]

    def swap(self) -> None:
        if len(self.lines) > 1:
            one, other = self.rng.sample(range(len(self.lines)), 2)
            self.lines[one], self.lines[other] = self.lines[other], self.lines[one]

    def splice(self) -> None:
        other = self.rng.choice(self.screens).lines
        start, at = self.rng.randrange(len(other) + 1), self.place()
        self.lines[at : at + self.rng.choice((0, 0, 3))] = other[start : start + self.rng.randint(1, 30)]

    def replace(self) -> None:
        for _ in range(self.rng.randint(1, 4)):
            at = self.rng.choice([at for at, line in enumerate(self.lines) if line] or [-1])
            if at >= 0:
                line = self.lines[at]
                place = self.rng.randrange(len(line))
                rest = line[place + self.rng.choice((0, 1)) :]
                self.lines[at] = line[:place] + self.rng.choice((*_CHARACTERS, "")) + rest

    def resize(self) -> None:
        narrow = self.rng.randint(10, max(11, self.width))
        if self.rng.random() < 0.5:
            self.lines = [line[:narrow] for line in self.lines]
        else:
            self.lines = [line[at : at + narrow] for line in self.lines for at in range(0, max(len(line), 1), narrow)]
        self.width = narrow

    def insert_prose(self) -> None:
        at = self.place()
        self.lines[at:at] = [self.rng.choice(_PROSE) for _ in range(self.rng.randint(1, 3))]

    def insert_dialog(self) -> None:
        at = self.rng.choice((0, len(self.lines), self.place()))
        self.lines[at:at] = self.rng.choice(_OTHER_DIALOGS).split("\n")

    def cut_top(self) -> None:
        del self.lines[: self.place()]

    def cut_bottom(self) -> None:
        del self.lines[self.place() :]

    def foreign(self, form: AskUserQuestionInput) -> AskUserQuestionInput:
        """Make every text of the form end in a letter that is not on the screen."""
        questions = tuple(
            replace(
                question,
                question=question.question + RARE,
                header=(question.header or "") + RARE,
                options=tuple(
                    replace(option, label=option.label + RARE, description=(option.description or "") + RARE)
                    for option in question.options
                ),
            )
            for question in form.questions
        )
        return replace(form, questions=questions)

    def other_question(self, form: AskUserQuestionInput) -> AskUserQuestionInput | None:
        """Change the end of every question, if the end of one is to be seen as it was."""
        seen = _squeezed("".join(self.lines))
        if not any(_squeezed(question.question)[-_TAIL:] in seen for question in form.questions):
            return None
        questions = tuple(
            replace(question, question=question.question[:-2] + RARE + question.question[-2:])
            for question in form.questions
        )
        return replace(form, questions=questions)

    def other_label(self, form: AskUserQuestionInput) -> AskUserQuestionInput | None:
        """Change one label of the form, which is to be seen as it was."""
        rows = self.shown_rows(form)
        if not rows:
            return None
        row = self.rng.choice(rows)
        label = form.questions[row.question].options[row.option].label
        # Several questions may have the same label: it is changed in each.
        questions = tuple(
            replace(
                question,
                options=tuple(
                    replace(each, label=label[:-1] + RARE) if each.label == label else each for each in question.options
                ),
            )
            for question in form.questions
        )
        return replace(form, questions=questions)

    def other_row(self, form: AskUserQuestionInput) -> AskUserQuestionInput | None:
        """Change one letter of an option that is to be seen."""
        rows = self.shown_rows(form)
        if not rows:
            return None
        row = self.rng.choice(rows)
        label = form.questions[row.question].options[row.option].label
        place = row.column + self.rng.choice([at for at, letter in enumerate(label) if letter.isalnum()] or [0])
        line = self.lines[row.line]
        self.lines[row.line] = line[:place] + RARE + line[place + 1 :]
        return form

    def other_dialog_below(self, form: AskUserQuestionInput) -> AskUserQuestionInput:
        """Put another dialog below everything."""
        self.lines += self.rng.choice(_OTHER_DIALOGS).split("\n")
        return form

    def shown_rows(self, form: AskUserQuestionInput) -> list[_ShownRow]:
        """Return the rows of options of the form below the last header."""
        headers = [at for at, line in enumerate(self.lines) if _HEADER.match(line)]
        found = []
        for at in range(headers[-1] + 1 if headers else len(self.lines), len(self.lines)):
            row = _ROW.match(self.lines[at])
            option = int(row[1]) - 1 if row is not None else -1
            for number, question in enumerate(form.questions):
                if row is not None and 0 <= option < len(question.options):
                    label = question.options[option].label
                    if len(label) > _SHORT and self.lines[at].startswith(label, row.end()):
                        found.append(_ShownRow(at, row.end(), number, option))
        return found


class _ShownRow(NamedTuple):
    line: int
    column: int
    """Where the label begins."""
    question: int
    option: int


CLAIMS: dict[str, Callable[[_Draft, AskUserQuestionInput], AskUserQuestionInput | None]] = {
    "foreign form": _Draft.foreign,
    "other question": _Draft.other_question,
    "other label": _Draft.other_label,
    "other row": _Draft.other_row,
    "other dialog below": _Draft.other_dialog_below,
}
"""Ways to make a screen and a form that do not belong together; None if one does not apply."""


def _decisions(rng: random.Random, form: AskUserQuestionInput) -> tuple[Decision, ...]:
    """Draw a decision for each question; sometimes a chat ends them early."""
    decisions: list[Decision] = []
    for question in form.questions:
        if rng.random() < 0.05:
            return (*decisions, Chat("let us talk"))
        decisions.append(_decision(rng, question))
    return tuple(decisions)


def _decision(rng: random.Random, question: Question) -> Decision:
    count = len(question.options)
    if question.multi_select:
        chosen = tuple(sorted(rng.sample(range(count), rng.randint(1, count))))
        return MultiSelect(chosen, rng.choice((None, "my text")))
    if any(option.preview for option in question.options):
        return Select(rng.randrange(count), rng.choice((None, "my note")))
    return FreeText("my text") if rng.random() < 0.3 else Select(rng.randrange(count))
