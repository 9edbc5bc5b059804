"""The answer channel contract on both channels: keys on a model of the dialog, reply with a waiting hook."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hookrouter._sandbox.dialog_model import DialogModel, FakeTerminal
from hookrouter._sandbox.waiting import wait_until
from hookrouter.answering.interfaces import AnswerChannel, AnswerOutcome, AnswerRequest, AnswerStatus, TerminalAddress
from hookrouter.dialogs.handover import Handover
from hookrouter.storage.documents import Store
from hookrouter.testing import Hooks
from hookrouter.testing.contracts import AnswerChannelContract, Recorded
from hookrouter.tools import AskUserQuestionInput
from hookrouter_hook_reply.channel import ReplyChannel
from hookrouter_keystrokes.channel import KeysChannel
from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner

SESSION = "11111111-2222-3333-4444-555555555555"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def _notes(annotations: dict[str, dict[str, str]]) -> dict[str, str]:
    return {text: each["notes"] for text, each in annotations.items() if "notes" in each}


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
        return Recorded(self.model.result["answers"], _notes(self.model.result["annotations"]))


class TestKeys(AnswerChannelContract):
    @pytest.fixture
    def client(self) -> Dialog:
        return Dialog()

    @pytest.fixture
    def channel(self, client: Dialog) -> AnswerChannel:
        return KeysChannel(clock=client.clock, sleep=client.clock.sleep)


class WaitingHook:
    """A client whose PermissionRequest hook waits beside the dialog, in a process of its own."""

    def __init__(self, hooks: Hooks, folder: Path) -> None:
        self._hooks = hooks
        self._store = Store(hooks.home.state, pytest.fail)
        self._thread: threading.Thread | None = None
        self._result: Any = None

    def ask(self, form: AskUserQuestionInput) -> AnswerRequest:
        self._thread = threading.Thread(target=self._run, args=(dict(form.raw),), daemon=True)
        self._thread.start()
        self._handover = Handover.of(self._store, SESSION, form.raw)
        wait_until(self._handover.waiting, 10, "the waiting hook")
        return AnswerRequest(
            session="s",
            tool_use_id="toolu_1",
            form=form,
            decisions=(),
            address=None,
            terminal=None,
            planner=None,
            still_open=self._thread.is_alive,
            deadline=time.monotonic() + 30,
            session_id=SESSION,
            store=self._store,
        )

    def _run(self, tool_input: dict[str, Any]) -> None:
        self._result = self._hooks.fire_process(
            "PermissionRequest", tool="AskUserQuestion", tool_input=tool_input, session_id=SESSION
        )

    def close(self) -> None:
        self._handover.end()
        if self._thread is not None:
            self._thread.join(10)

    def recorded(self) -> Recorded | None:
        # A hook that has taken an answer gives it all the same.
        self.close()
        if self._result.decision is None:
            return None
        if self._result.decision == "deny":
            return Recorded(None, {}, self._result.reason)
        given = self._result.updated_input
        return Recorded(given["answers"], _notes(given.get("annotations", {})))


class TestReply(AnswerChannelContract):
    @pytest.fixture
    def client(self, hooks: Hooks, tmp_path: Path) -> Iterator[WaitingHook]:
        hooks.configure('[answer]\nchannels = ["reply"]')
        client = WaitingHook(hooks, tmp_path)
        yield client
        client.close()

    @pytest.fixture
    def channel(self) -> AnswerChannel:
        return ReplyChannel()


class Boasts:
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
    hurried = Hurries(clock=client.clock, sleep=client.clock.sleep)
    with pytest.raises(AssertionError):
        contract.test_nothing_is_done_where_a_person_has_paused_the_session(hurried, client)
