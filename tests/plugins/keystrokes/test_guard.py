"""Keys go to the program that the first look has seen: a terminal that can is asked to see to it, before that look."""

from __future__ import annotations

import pytest

from hookrouter._sandbox.dialog_model import DialogModel
from hookrouter._sandbox.fake_terminal import FakeTerminal
from hookrouter.answering.decisions import Select
from hookrouter.answering.interfaces import AnswerOutcome, AnswerRequest, AnswerStatus
from hookrouter.queue.channels import PromptRequest, PromptStatus
from hookrouter.queue.items import new_item
from hookrouter.records import replace
from hookrouter.terminals import Screen, StyledScreen, StyledText, TerminalAddress, TerminalGone
from hookrouter.tools import AskUserQuestionInput, Option, Question
from hookrouter_keystrokes.channel import KeysChannel
from hookrouter_keystrokes.hold import Hold
from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner
from hookrouter_keystrokes.prompting.channel import KeysPromptChannel
from hookrouter_keystrokes.timing import Timing
from support.memory_storage import MemoryStore
from support.prompt_model import ADDRESS, Clock, PromptModel, UnstyledPromptModel

PID = 4711
LINES = "\n".join(f"line {number} of a long text" for number in range(36))


class Guarding(PromptModel):
    """A client that a shell has started, in a terminal that tells them apart; it dies before one of the acts."""

    def __init__(self, clock: Clock, dies_at: int) -> None:
        super().__init__(clock)
        self.program, self.guarded, self.dies_at = "claude", "", dies_at
        self.of_the_shell: list[str] = []
        self.asked: list[str] = []

    def guard_program(self, address: TerminalAddress, client_pid: int = 0) -> None:
        self.asked.append("guard")
        self.client_pid = client_pid
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


def request(terminal: UnstyledPromptModel, text: str, client_pid: int = 0) -> PromptRequest:
    return PromptRequest(
        item=new_item(text, by="agent"),
        session="work",
        session_id="11111111-2222-3333-4444-555555555555",
        client_pid=client_pid,
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
    outcome = KeysPromptChannel(Timing(clock=clock, sleep=clock.sleep)).submit(request(terminal, LINES))
    assert outcome.status != PromptStatus.REFUSED
    assert (terminal.of_the_shell, len(terminal.log)) == ([], min(dies_at, len(terminal.log)))
    assert terminal.asked[:2] == ["guard", "look"]


def test_each_attempt_asks_anew() -> None:
    clock = Clock()
    terminal = Guarding(clock, 1000)
    for _ in range(2):
        KeysPromptChannel(Timing(clock=clock, sleep=clock.sleep)).submit(request(terminal, "go on"))
        clock.sleep(2.0)
    assert terminal.asked.count("guard") == 2


def test_the_terminal_is_told_which_process_the_client_is() -> None:
    clock = Clock()
    terminal = Guarding(clock, 1000)
    KeysPromptChannel(Timing(clock=clock, sleep=clock.sleep)).submit(request(terminal, "go on", PID))
    assert terminal.client_pid == PID


def test_nothing_is_pasted_to_test_enter_where_no_prompt_box_is() -> None:
    """The client has died, and its outer shell is on the screen, of which tmux knows no difference."""
    clock = Clock()

    class Dying(PromptModel):
        def capture_styled(self, address: TerminalAddress) -> StyledScreen:
            found = super().capture_styled(address)
            if ("key", "Enter") not in self.log:
                return found
            lines = ("$ ", *[""] * (found.screen.height - 1))
            return StyledScreen(found.screen._replace(lines=lines), ((StyledText("$ "),), *[()] * (len(lines) - 1)))

    terminal = Dying(clock)
    outcome = KeysPromptChannel(Timing(clock=clock, sleep=clock.sleep)).submit(request(terminal, "go on"))
    assert outcome.status == PromptStatus.UNCERTAIN
    assert terminal.log[-1] == ("key", "Enter")


def test_a_terminal_that_cannot_tell_is_typed_into_as_before() -> None:
    clock = Clock()
    terminal = UnstyledPromptModel(clock)
    Hold(terminal, ADDRESS, Timing()).guard()
    outcome = KeysPromptChannel(Timing(clock=clock, sleep=clock.sleep)).submit(request(terminal, "go on"))
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


TWO = AskUserQuestionInput(questions=(FORM.questions[0], replace(FORM.questions[0], question="How far?", header="Far")))


class GuardingDialog(FakeTerminal):
    """A dialog whose client has died before the first key; a picture of it is still there."""

    asked: tuple[str, ...] = ()

    def guard_program(self, address: TerminalAddress, client_pid: int = 0) -> None:
        self.asked += ("guard",)

    def capture(self, address: TerminalAddress) -> Screen:
        self.asked += ("look",)
        return super().capture(address)

    def press(self, address: TerminalAddress, key: str) -> None:
        raise TerminalGone("another program runs in the pane")


def answered(terminal: FakeTerminal, clock: Clock, client_pid: int = 0) -> AnswerOutcome:
    return KeysChannel(Timing(clock=clock, sleep=clock.sleep)).deliver(
        AnswerRequest(
            session="work",
            tool_use_id="toolu_1",
            form=FORM,
            decisions=(Select(1),),
            address=ADDRESS,
            terminal=terminal,
            planner=GrammarPlanner(),
            still_open=lambda: terminal.model.outcome is None,
            deadline=clock() + 60,
            client_pid=client_pid,
        )
    )


def test_an_answer_is_guarded_too() -> None:
    clock = Clock()
    terminal = GuardingDialog(DialogModel(FORM), clock, opens_at=clock())
    outcome = answered(terminal, clock)
    assert (outcome.status, outcome.steps) == (AnswerStatus.REFUSED, ())
    assert "another program" in outcome.reason
    assert terminal.asked[:2] == ("guard", "look")


@pytest.fixture
def background(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The processes that are in the background of their terminal."""
    pids: set[int] = set()
    monkeypatch.setattr("hookrouter_keystrokes.hold.is_in_background", lambda pid: pid in pids)
    return pids


def test_a_client_in_the_background_is_for_the_next_channel(background: set[int]) -> None:
    background.add(PID)
    clock = Clock()
    terminal = FakeTerminal(DialogModel(FORM), clock, opens_at=clock())
    outcome = answered(terminal, clock, PID)
    assert (outcome.status, outcome.steps, terminal.log) == (AnswerStatus.UNAVAILABLE, (), [])
    assert "in the background" in outcome.reason
    assert answered(terminal, clock, PID + 1).status == AnswerStatus.DELIVERED


def test_no_key_follows_once_the_client_is_in_the_background(background: set[int]) -> None:
    clock = Clock()

    class Suspended(FakeTerminal):
        def press(self, address: TerminalAddress, key: str) -> None:
            super().press(address, key)
            background.add(PID)

    terminal = Suspended(DialogModel(TWO), clock, opens_at=clock())
    outcome = answered(terminal, clock, PID)
    assert (outcome.status, len(terminal.log)) == (AnswerStatus.REFUSED, 1)
    assert "in the background" in outcome.reason


@pytest.mark.parametrize("suspended_at", range(14))
def test_nothing_is_typed_for_a_client_in_the_background(background: set[int], suspended_at: int) -> None:
    clock = Clock()
    terminal = PromptModel(clock)

    def act(number: int) -> None:
        assert PID not in background
        if number == suspended_at - 1:
            background.add(PID)

    if not suspended_at:
        background.add(PID)
    terminal.before = act
    outcome = KeysPromptChannel(Timing(clock=clock, sleep=clock.sleep)).submit(request(terminal, LINES, PID))
    assert len(terminal.log) <= max(0, suspended_at)
    if PID in background and not terminal.submitted:
        assert outcome.status in (PromptStatus.NOT_NOW, PromptStatus.UNCERTAIN)
        assert "in the background" in outcome.reason
