"""Counting keys through the keys channel, on a client whose screens the grammar does not know."""

from __future__ import annotations

import pytest

from hookrouter._sandbox.dialog_model import DialogModel
from hookrouter._sandbox.fake_terminal import FakeTerminal
from hookrouter.answering.decisions import Decision, FreeText, MultiSelect, Select
from hookrouter.answering.interfaces import AnswerOutcome, AnswerRequest, AnswerStatus, KeystrokePlanner
from hookrouter.terminals import TerminalAddress
from hookrouter.tools import AskUserQuestionInput, Option, Question
from hookrouter_key_counting import keystroke_planner
from hookrouter_keystrokes.channel import KeysChannel
from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner
from hookrouter_keystrokes.timing import Timing


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class OtherClient(DialogModel):
    """A client that draws another cursor, other boxes, and another footer."""

    def render(self, width: int, height: int) -> list[str]:
        drawn = super().render(width, height)
        changed = [line.replace("❯", "»").replace("✔", "x").replace("─", "=") for line in drawn]
        return [line for line in changed if "Esc to cancel" not in line] + ["[enter] ok  [esc] leave"]


def question(text: str, *labels: str, multi: bool = False) -> Question:
    options = tuple(Option(label=label, description=f"about {label}") for label in labels)
    return Question(question=text, header="Tab", options=options, multi_select=multi)


FORM = AskUserQuestionInput(
    questions=(
        question("Which approach?", "Option A", "Option B"),
        question("Which areas?", "Driver", "Naming", "Retry", multi=True),
        question("Really?", "Yes", "No"),
    )
)
DECISIONS = (FreeText("something else"), MultiSelect((0, 2), "and this"), Select(1))
ANSWERS = {"Which approach?": "something else", "Which areas?": "Driver, Retry, and this", "Really?": "No"}
SINGLE = AskUserQuestionInput(questions=FORM.questions[:1])


def deliver(
    planner: KeystrokePlanner, form: AskUserQuestionInput, *decisions: Decision, lost: int = -1, latency: float = 0.03
) -> tuple[AnswerOutcome, FakeTerminal]:
    clock = Clock()
    model = OtherClient(form)
    terminal = FakeTerminal(model, clock, opens_at=clock.now + 0.3, latency=latency)
    terminal.lost = {lost}
    request = AnswerRequest(
        session="s",
        tool_use_id="t",
        form=form,
        decisions=decisions,
        address=TerminalAddress("fake", "s", "%0", ""),
        terminal=terminal,
        planner=planner,
        still_open=lambda: model.outcome is None,
        deadline=clock.now + 60,
    )
    return KeysChannel(Timing(clock=clock, sleep=clock.sleep)).deliver(request), terminal


def test_the_grammar_leaves_such_a_client_alone() -> None:
    delivery, terminal = deliver(GrammarPlanner(), SINGLE, Select(1))

    assert delivery.status == AnswerStatus.REFUSED
    assert terminal.log == []


@pytest.mark.parametrize("latency", [0.0, 0.03, 0.4])
def test_counting_answers_it(latency: float) -> None:
    for form, decisions, answers in (
        (SINGLE, (Select(0),), {"Which approach?": "Option A"}),
        (SINGLE, (Select(1),), {"Which approach?": "Option B"}),
        (FORM, DECISIONS, ANSWERS),
    ):
        delivery, terminal = deliver(keystroke_planner(), form, *decisions, latency=latency)

        assert delivery.status == AnswerStatus.DELIVERED, delivery
        assert terminal.model.result is not None
        assert terminal.model.result["answers"] == answers
        assert (terminal.prompt, terminal.prompts, terminal.to_prompt) == ("", [], [])


@pytest.mark.parametrize("lost", range(16))
def test_a_lost_key_ends_it_without_a_wrong_answer(lost: int) -> None:
    delivery, terminal = deliver(keystroke_planner(), FORM, *DECISIONS, lost=lost)

    assert delivery.status == AnswerStatus.REFUSED
    assert terminal.model.result is None
    assert terminal.to_prompt == []
