"""Keys go to the program that the first look has seen: a terminal that can is asked to see to it, before that look."""

from __future__ import annotations

import pytest

from hookrouter._sandbox.dialog_model import DialogModel, FakeTerminal
from hookrouter.answering.decisions import Select
from hookrouter.answering.interfaces import (
    AnswerRequest,
    AnswerStatus,
    Screen,
    StyledScreen,
    TerminalAddress,
    TerminalGone,
)
from hookrouter.queue.channels import PromptRequest, PromptStatus
from hookrouter.queue.items import new_item
from hookrouter.tools import AskUserQuestionInput, Option, Question
from hookrouter_keystrokes.channel import KeysChannel
from hookrouter_keystrokes.hold import Hold
from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner
from hookrouter_keystrokes.prompting.channel import KeysPromptChannel
from hookrouter_keystrokes.timing import Timing
from support.memory_storage import MemoryStore
from support.prompt_model import ADDRESS, Clock, PromptModel, UnstyledPromptModel

LINES = "\n".join(f"line {number} of a long text" for number in range(36))


class Guarding(PromptModel):
    """A client that a shell has started, in a terminal that tells them apart; it dies before one of the acts."""

    def __init__(self, clock: Clock, dies_at: int) -> None:
        super().__init__(clock)
        self.program, self.guarded, self.dies_at = "claude", "", dies_at
        self.of_the_shell: list[str] = []
        self.asked: list[str] = []

    def guard_program(self, address: TerminalAddress) -> None:
        self.asked.append("guard")
        self.guarded = self.program

    def capture_styled(self, address: TerminalAddress) -> StyledScreen:
        self.asked.append("look")
        return super().capture_styled(address)

    def _given(self, kind: str, what: str) -> None:
        if len(self.log) == self.dies_at:
            self.program = "sh"
        if self.guarded != self.program:
            raise TerminalGone("another program runs in the pane")
        if self.program == "sh":
            self.of_the_shell.append(what)
        super()._given(kind, what)


def request(terminal: UnstyledPromptModel, text: str) -> PromptRequest:
    return PromptRequest(
        item=new_item(text, by="agent"),
        session="work",
        session_id="11111111-2222-3333-4444-555555555555",
        client_pid=0,
        client_version=(2, 1, 330),
        folder="/project",
        transcript_path="",
        address=ADDRESS,
        terminal=terminal,
        store=MemoryStore(),
        deadline=terminal.clock() + 60,
        save_phase=lambda _phase: None,
        is_proven=lambda: False,
    )


@pytest.mark.parametrize("dies_at", range(14))
def test_a_shell_gets_nothing_whenever_the_client_dies(dies_at: int) -> None:
    clock = Clock()
    terminal = Guarding(clock, dies_at)
    outcome = KeysPromptChannel(clock=clock, sleep=clock.sleep).submit(request(terminal, LINES))
    assert outcome.status != PromptStatus.REFUSED
    assert (terminal.of_the_shell, len(terminal.log)) == ([], min(dies_at, len(terminal.log)))
    assert terminal.asked[:2] == ["guard", "look"]


def test_each_attempt_asks_anew() -> None:
    clock = Clock()
    terminal = Guarding(clock, 1000)
    for _ in range(2):
        KeysPromptChannel(clock=clock, sleep=clock.sleep).submit(request(terminal, "go on"))
        clock.sleep(2.0)
    assert terminal.asked.count("guard") == 2


def test_a_terminal_that_cannot_tell_is_typed_into_as_before() -> None:
    clock = Clock()
    terminal = UnstyledPromptModel(clock)
    Hold(terminal, ADDRESS, Timing()).guard()
    outcome = KeysPromptChannel(clock=clock, sleep=clock.sleep).submit(request(terminal, "go on"))
    assert outcome.status == PromptStatus.SUBMITTED


FORM = AskUserQuestionInput(
    questions=(
        Question(
            question="Which way?",
            header="Way",
            options=(Option(label="Left", description="a"), Option(label="Right", description="b")),
            multi_select=False,
        ),
    )
)


class GuardingDialog(FakeTerminal):
    """A dialog whose client has died before the first key; a picture of it is still there."""

    asked: tuple[str, ...] = ()

    def guard_program(self, address: TerminalAddress) -> None:
        self.asked += ("guard",)

    def capture(self, address: TerminalAddress) -> Screen:
        self.asked += ("look",)
        return super().capture(address)

    def press(self, address: TerminalAddress, key: str) -> None:
        raise TerminalGone("another program runs in the pane")


def test_an_answer_is_guarded_too() -> None:
    clock = Clock()
    terminal = GuardingDialog(DialogModel(FORM), clock, opens_at=clock())
    outcome = KeysChannel(clock=clock, sleep=clock.sleep).deliver(
        AnswerRequest(
            session="work",
            tool_use_id="toolu_1",
            form=FORM,
            decisions=(Select(1),),
            address=ADDRESS,
            terminal=terminal,
            planner=GrammarPlanner(),
            still_open=lambda: True,
            deadline=clock() + 60,
        )
    )
    assert (outcome.status, outcome.steps) == (AnswerStatus.REFUSED, ())
    assert "another program" in outcome.reason
    assert terminal.asked[:2] == ("guard", "look")
