"""A pane in which the client's list has room for one row: the pane is the reason for a refusal, not the question."""

from __future__ import annotations

import pytest

from hookrouter.answering.decisions import MultiSelect, Select
from hookrouter.answering.interfaces import Wait
from hookrouter.terminals import Screen
from hookrouter.tools import AskUserQuestionInput, Option, Question
from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner
from hookrouter_keystrokes.screens.model import UNSURE, Unknown
from hookrouter_keystrokes.screens.reading import read

PLANNER = GrammarPlanner()


def question(text: str, *labels: str, multi: bool = False) -> Question:
    options = tuple(Option(label=label, description="about it") for label in labels)
    return Question(question=text, header="Head", options=options, multi_select=multi)


def form(*questions: Question) -> AskUserQuestionInput:
    return AskUserQuestionInput(questions=questions)


def small(*above: str, chat: int, keys: str = "↑/↓") -> Screen:
    """Return what 2.1.330 draws in a pane of 80x11, in which its list has room for one row."""
    below = ("─" * 80, f"  {chat}. Chat about this", "", f"Enter to select · {keys} to navigate · Esc to cancel")
    return Screen((*above, *below), 80, 11)


DATABASE = question("Which database?", "SQLite", "Postgres")
AREAS = question("Which areas?", "One", "Two", "Three", multi=True)
TABS = form(DATABASE, question("Which tool?", "make", "just"))
RULE = "─" * 80
SMALL: dict[str, tuple[AskUserQuestionInput, Screen]] = {
    "single": (
        form(DATABASE),
        small(RULE, " ☐ Head", "", "Which database?", "", "❯ 1. SQLite", "     about it", chat=4),
    ),
    "its second row": (
        form(DATABASE),
        small(RULE, " ☐ Head", "", "Which database?", "", "❯ 2. Postgres", "     about it", chat=4),
    ),
    "multi": (
        form(AREAS),
        small(
            "←  ☐ Head  ✔ Submit  →",
            "",
            "Which areas?",
            "",
            "❯ 1. [ ] One",
            "         about it",
            "     Submit",
            chat=5,
        ),
    ),
    "tabs": (
        TABS,
        small(
            RULE,
            "←  ☐ Head  ☐ Head  ✔ Submit  →",
            "",
            "Which database?",
            "",
            "❯ 1. SQLite",
            "     about it",
            chat=4,
            keys="Tab/Arrow keys",
        ),
    ),
}


@pytest.mark.parametrize(("asked", "shown"), SMALL.values(), ids=SMALL)
def test_a_pane_with_room_for_one_row_is_too_small_and_shows_no_other_question(
    asked: AskUserQuestionInput, shown: Screen
) -> None:
    assert read(shown, asked) == Unknown(UNSURE, dialog=True, fits=True)
    view = PLANNER.read(shown, asked)
    decisions = tuple(MultiSelect((0,)) if each.multi_select else Select(0) for each in asked.questions)
    assert PLANNER.next_step(view, asked, decisions, ()) == Wait(UNSURE)
    for other in (form(question("Which one?", "SQLite", "Postgres")), form(question("Which database?", "No", "Yes"))):
        assert not PLANNER.read(shown, other).may_show
