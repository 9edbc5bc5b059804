"""The answer channel contract on keys, with a model of the dialog; tests/integration has it on reply."""

from __future__ import annotations

import pytest

from hookrouter._sandbox.dialog_model import DialogModel
from hookrouter._sandbox.fake_terminal import FakeTerminal
from hookrouter.answering.interfaces import AnswerChannel, AnswerOutcome, AnswerRequest, AnswerStatus
from hookrouter.terminals import TerminalAddress
from hookrouter.testing.contracts import AnswerChannelContract, Recorded
from hookrouter.tools import AskUserQuestionInput
from hookrouter_keystrokes.channel import KeysChannel
from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner
from hookrouter_keystrokes.timing import Timing
from support.annotations import notes

SESSION = "11111111-2222-3333-4444-555555555555"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Dialog:
    """A client of which only the dialog is there, on a clock of its own."""

    def __init__(self) -> None:
        self.clock = Clock()

    def ask(self, form: AskUserQuestionInput) -> AnswerRequest:
        self.model = DialogModel(form)
        self.terminal = FakeTerminal(self.model, self.clock, opens_at=self.clock.now)
        return AnswerRequest(
            session="s",
            tool_use_id="toolu_1",
            form=form,
            decisions=(),
            address=TerminalAddress("fake", "s", "%0", ""),
            terminal=self.terminal,
            planner=GrammarPlanner(),
            still_open=lambda: self.model.outcome is None,
            deadline=self.clock.now + 60,
        )

    def close(self) -> None:
        self.model.press("Escape")

    def recorded(self) -> Recorded | None:
        if self.terminal.prompts:
            return Recorded(None, {}, "\n".join(self.terminal.prompts))
        if self.model.result is None:
            return None
        return Recorded(self.model.result["answers"], notes(self.model.result["annotations"]))


class TestKeys(AnswerChannelContract):
    @pytest.fixture
    def client(self) -> Dialog:
        return Dialog()

    @pytest.fixture
    def channel(self, client: Dialog) -> AnswerChannel:
        return KeysChannel(Timing(clock=client.clock, sleep=client.clock.sleep))


class Boasts(AnswerChannel):
    """A channel that does nothing and says that it did."""

    name = "boasts"

    def deliver(self, request: AnswerRequest) -> AnswerOutcome:
        return AnswerOutcome(AnswerStatus.DELIVERED, "done")


class Hurries(KeysChannel):
    """A channel that does not ask whether it may."""

    def deliver(self, request: AnswerRequest) -> AnswerOutcome:
        return super().deliver(request._replace(stopped=lambda: ""))


def test_the_contract_catches_a_bad_channel() -> None:
    contract = AnswerChannelContract()
    for test in (contract.test_a_question_that_is_over_gets_no_answer, contract.test_another_question_gets_no_answer):
        with pytest.raises(AssertionError):
            test(Boasts(), Dialog())
    with pytest.raises(AssertionError, match="taken nothing"):
        contract.test_an_answer_is_recorded_as_it_was_meant(Boasts(), Dialog(), "type")
    client = Dialog()
    hurried = Hurries(Timing(clock=client.clock, sleep=client.clock.sleep))
    with pytest.raises(AssertionError):
        contract.test_nothing_is_done_where_a_person_has_paused_the_session(hurried, client)
