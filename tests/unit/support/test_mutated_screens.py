"""Mutated screens of every recorded version: nothing is raised, and nothing pressed where another thing is shown."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.answering.interfaces import Press
from hookrouter.terminals import Screen
from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner
from hookrouter_keystrokes.screens.reading import read
from support.mutated_screens import CLAIMS, OWN, Case, draw_case, fault, next_step, recorded_forms, recorded_screens

SCREENS = str(Path(__file__).parents[2] / "data" / "screens")
RECORDED = recorded_screens(SCREENS)
FORMS = list(recorded_forms(SCREENS).values())
COUNT = int(os.environ.get("HOOKROUTER_FUZZ", "4000"))
PER_CLAIM = 20


def cases(seed: str, count: int) -> list[Case]:
    return [draw_case(random.Random(f"{seed}:{number}"), RECORDED, FORMS) for number in range(count)]


@pytest.mark.slow
def test_the_planner_acts_on_no_screen_of_anything_else_and_raises_nothing() -> None:
    planner = GrammarPlanner()
    for number in range(COUNT):
        case = draw_case(random.Random(f"unit:{number}"), RECORDED, FORMS)
        assert not fault(case, planner), f"screen unit:{number}\n" + "\n".join(case.screen.lines)


@pytest.mark.slow
def test_a_planner_that_always_acts_is_caught_with_every_claim() -> None:
    class Reckless(GrammarPlanner):
        def next_step(self, *_: object) -> Press:  # type: ignore[override]
            return Press("Enter", "come what may")

    found = cases("reckless", 1000)
    for claim in CLAIMS:
        of_claim = [case for case in found if case.claim == claim]
        assert len(of_claim) >= PER_CLAIM
        assert all(fault(case, Reckless()) for case in of_claim)


@given(st.integers(0, 2**32))
def test_whatever_a_screen_was_made_of_nothing_is_done_on_it_and_nothing_raised(seed: int) -> None:
    for case in cases(f"drawn:{seed}", 20):
        assert not fault(case, GrammarPlanner()), "\n".join(case.screen.lines)


def test_the_planner_acts_on_many_screens_of_its_own() -> None:
    own = [case for case in cases("own", 1000) if case.claim == OWN]
    steps = [next_step(case, GrammarPlanner()) for case in own]
    assert sum(isinstance(step, Press) for step in steps) > len(own) // 8


PIECES = [
    *grammar.ROW_MARKS,
    grammar.TAB_OPEN,
    grammar.TAB_DONE,
    grammar.UNTICKED,
    grammar.TICKED,
    grammar.QUOTE_BAR,
    grammar.RULE * 60,
    grammar.SUBMIT_ANSWERS,
    grammar.CANCEL,
    grammar.REVIEW,
    grammar.NOTES,
    grammar.CHAT.text,
    f"{grammar.FOOTER_START} {grammar.FOOTER_END}",
    "↑ 3 more lines",
    "1. ",
    "2. ",
    "     ",
    "\n",
    *(option.label for form in FORMS for question in form.questions for option in question.options),
    *(question.question[:70] for form in FORMS for question in form.questions),
]


@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=60),
    st.sampled_from(FORMS),
    st.integers(1, 200),
    st.randoms(use_true_random=False),
)
def test_a_screen_of_arbitrary_text_raises_nothing(
    pieces: list[str], form: object, width: int, rng: random.Random
) -> None:
    screen = Screen(tuple("".join(pieces).split("\n")), width, 40)
    case = draw_case(rng, [screen, Screen((), width, 40)], FORMS)

    read(screen, form)  # type: ignore[arg-type]
    assert not fault(case, GrammarPlanner())
