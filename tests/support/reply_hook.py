"""A hook that waits for an answer, in a thread, and the channel ``reply`` that hands it one."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hookrouter.answering.decisions import Decision
from hookrouter.answering.interfaces import AnswerRequest, Beside
from hookrouter.config import AnswerConfig, Config
from hookrouter.dialogs.handover import WAITING, Handover
from hookrouter.storage.documents import Store
from hookrouter.storage.home import Home
from hookrouter.tools import AskUserQuestionInput
from hookrouter_hook_reply.channel import ReplyChannel
from hookrouter_hook_reply.waiting import beside_the_dialog, instead_of_a_dialog
from support.changes import once_saved

__all__ = ["MANY", "ONE", "SESSION", "FakeContext", "Hook", "deliver", "form", "question", "waiting"]

SESSION = "11111111-2222-3333-4444-555555555555"


def form(*questions: dict[str, Any]) -> dict[str, Any]:
    return {"questions": list(questions)}


def question(text: str, *labels: str, multi: bool = False, previews: bool = False) -> dict[str, Any]:
    options = [
        {"label": label, "description": "d"} | ({"preview": f"<{label}>"} if previews else {}) for label in labels
    ]
    return {"question": text, "header": "H", "multiSelect": multi, "options": options}


ONE = form(question("Which?", "A", "B"))
MANY = form(
    question("Which?", "A", "B", previews=True),
    question("Which ones?", "x, y", 'say "z"', "w", multi=True),
    question("None of them?", "p", "q", multi=True),
    question("What else?", "r", "s"),
)


class _Agent:
    id = "tester"


class FakeContext:
    """What the hook needs of a context."""

    def __init__(
        self,
        store: Store,
        answer: AnswerConfig | None = None,
        agent: object = _Agent(),
        entrypoint: str = "cli",
        client: int = 0,
    ) -> None:
        self.store = store
        self.session_id = SESSION
        self.session = "managed"
        self.cwd = "/"
        self.environ: dict[str, str] = {"CLAUDE_CODE_ENTRYPOINT": entrypoint, "CLAUDE_PID": str(client or "")}
        self.home = Home.in_folder(os.path.dirname(store.folder))
        self.agent = agent
        self.config = Config(answer=answer or AnswerConfig(channels=("reply",)))
        self.notes: dict[str, object] = {}
        self.functions: list[Callable[[], None]] = []
        self.reasons: list[str] = []

    def after_reply(self, function: Callable[[], None]) -> None:
        self.functions.append(function)

    def reply_written(self) -> None:
        for function in self.functions:
            function()

    def note(self, key: str, value: object) -> None:
        self.notes[key] = value

    def debug(self, reason: str) -> None:
        self.reasons.append(reason)

    def warn(self, text: str) -> None:
        self.reasons.append(text)


class Hook:
    """A waiting hook in a thread of its own."""

    def __init__(self, store: Store, tool_input: dict[str, Any], **options: Any) -> None:
        self.context = FakeContext(store, **options)
        self.reply: Any = None
        self.may_fail = False
        self.failure: Exception | None = None
        self.thread = threading.Thread(target=self._run, args=(tool_input,), daemon=True)
        self.handover = Handover.of(store, SESSION, tool_input)
        self.thread.start()

    def _run(self, tool_input: dict[str, Any]) -> None:
        has_dialog = self.context.environ["CLAUDE_CODE_ENTRYPOINT"] == "cli"
        wait = beside_the_dialog if has_dialog else instead_of_a_dialog
        try:
            self.reply = wait(tool_input, self.context)  # type: ignore[arg-type]
            self.context.reply_written()
        except Exception as error:
            if not self.may_fail:
                raise
            self.failure = error

    def end(self) -> Any:
        self.thread.join(10)
        assert not self.thread.is_alive()
        return self.reply


@contextmanager
def waiting(store: Store, tool_input: dict[str, Any], **options: Any) -> Iterator[Hook]:
    hook = Hook(store, tool_input, **options)
    try:
        once_saved(store, WAITING, hook.handover.waiting, "waiting hook")
        yield hook
    finally:
        hook.handover.end()
        hook.end()


def deliver(
    store: Store | None,
    tool_input: dict[str, Any],
    *decisions: Decision,
    terminal: Any = "some",
    stopped: str = "",
    is_last: bool = False,
    client_pid: int = 0,
    still_open: Callable[[], bool] = lambda: True,
    beside: Sequence[dict[str, Any]] = (),
) -> Any:
    return ReplyChannel().deliver(
        AnswerRequest(
            session="managed",
            tool_use_id="toolu_1",
            form=AskUserQuestionInput.from_json(tool_input),
            decisions=decisions,
            address=None,
            terminal=terminal,
            planner=None,
            still_open=still_open,
            deadline=time.monotonic() + 20,
            session_id=SESSION,
            store=store,
            stopped=lambda: stopped,
            is_last=is_last,
            client_pid=client_pid,
            beside=lambda: Beside(forms=tuple(map(AskUserQuestionInput.from_json, beside))),
        )
    )
