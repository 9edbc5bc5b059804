"""The answer channel contract on reply, with a waiting hook in a process of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hookrouter._sandbox.waiting import wait_until
from hookrouter.answering.interfaces import AnswerChannel, AnswerRequest
from hookrouter.dialogs.handover import Handover
from hookrouter.storage.documents import Store
from hookrouter.testing import Hooks
from hookrouter.testing.contracts import AnswerChannelContract, Recorded
from hookrouter.tools import AskUserQuestionInput
from hookrouter_hook_reply.channel import ReplyChannel
from support.annotations import notes

SESSION = "11111111-2222-3333-4444-555555555555"


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
        return Recorded(given["answers"], notes(given.get("annotations", {})))


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
