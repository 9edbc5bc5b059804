"""A session that asks for permission, whose hooks and commands run in this process."""

from __future__ import annotations

import inspect
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hookrouter_approvals as plugin
import hookrouter_hook_reply as hook_reply
from hookrouter import _wiring
from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter._plugins.registry import Plugins
from hookrouter.cli.application import Application
from hookrouter.config import Agent, AnswerConfig, ApprovalRule, ApprovalsConfig, Config
from hookrouter.context import Context
from hookrouter.dialogs import hooks
from hookrouter.dialogs.answers.answer import answer
from hookrouter.dialogs.answers.identity import AGENT, Author
from hookrouter.dialogs.answers.result import AnswerResult
from hookrouter.dialogs.documents import Dialog, list_questions
from hookrouter.events import EVENT_CLASSES
from hookrouter.messaging.message import QueuedMessage
from hookrouter.replies import Reply
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal
from hookrouter_approvals.settings import ApprovalsSettings
from support.changes import once_saved

_ENDING = 60.0

RULES = (
    ApprovalRule(tool="Bash(rm:*)", decide="deny"),
    ApprovalRule(tool="Bash(ls:*)", decide="allow"),
    ApprovalRule(tool="Bash(make:*)", decide="person"),
    ApprovalRule(tool="Bash", decide="agent"),
    ApprovalRule(tool="ExitPlanMode", decide="agent"),
    ApprovalRule(tool="Elicitation", decide="agent"),
)


class Asking:
    """One home and a Claude Code session that asks for permission in it."""

    def __init__(self, folder: Path) -> None:
        self.home = Home.in_folder(str(folder / "home"))
        self.config = Config(
            agents=(Agent(id="night"),),
            answer=AnswerConfig(channels=("reply",)),
            approvals=ApprovalsConfig(rules=RULES),
        )
        self.environ = {"HOOKROUTER_HOME": str(folder / "home")}
        self.journal = Journal(self.home.logs)
        self.transcript = folder / "transcript.jsonl"
        self._blocks: list[dict[str, Any]] = []
        self._threads: list[threading.Thread] = []
        self.replies: list[Reply | None] = []
        self.settings = ApprovalsSettings()

    @property
    def app(self) -> Application:
        return Application(
            home=self.home,
            config=self.config,
            environ=self.environ,
            plugins=self._plugins(),
            journal=self.journal,
            wiring=_wiring,
        )

    def _plugins(self) -> Plugins:
        index = [
            DiscoveredPlugin(name="approvals", value=plugin.__name__, hooks=("dialog_kinds", "cli_commands")),
            DiscoveredPlugin(name="hook-reply", value=hook_reply.__name__, hooks=("answer_channel",)),
        ]
        objects = {"approvals": plugin, "hook-reply": hook_reply}
        return Plugins(index, self.config, lambda name, text: pytest.fail(f"{name}: {text}"), objects)

    def hook(self, hook: str, **fields: Any) -> tuple[Any, dict[str, Any]]:
        """Run a hook of the plugin and of the core's, and return its reply and its journal record."""
        event = "".join(part.title() for part in hook.split("_"))
        payload: dict[str, Any] = {
            "session_id": "s-1",
            "transcript_path": str(self.transcript),
            "cwd": "/project",
            "permission_mode": "default",
            "hook_event_name": event,
            **fields,
        }
        record: dict[str, Any] = {"event": event, "session_id": payload["session_id"]}
        if "tool_use_id" in payload:
            record["tool_use_id"] = payload["tool_use_id"]
        context = Context(
            event=event,
            payload=payload,
            home=self.home,
            config=self.config,
            environ=self.environ,
            plugins=self._plugins(),
            journal=self.journal,
            wiring=_wiring,
            record=record,
        )
        # No process of its own: what is delivered is looked at in the outbox.
        vars(context)["start_delivery"] = lambda **_: None
        vars(context)["settings"] = lambda kind: self.settings if isinstance(self.settings, kind) else kind()
        try:
            asked = {"event": EVENT_CLASSES[event].from_json(payload), "context": context}
            reply = None
            for of in (plugin, hooks):
                function = getattr(of, hook, None)
                if function is not None:
                    reply = function(**{name: asked[name] for name in inspect.signature(function).parameters})
            context.reply_written()
        finally:
            self.journal.write(record, payload["session_id"])
        return reply, record

    def call(self, tool: str, tool_input: dict[str, Any], tool_use_id: str = "toolu_1") -> None:
        """Have a call begin, as PreToolUse and the transcript tell."""
        self.show({"type": "tool_use", "id": tool_use_id, "name": tool, "input": tool_input})
        self.hook("pre_tool_use", tool_name=tool, tool_input=tool_input, tool_use_id=tool_use_id)

    def request(self, tool: str, tool_input: dict[str, Any], **fields: Any) -> tuple[Any, dict[str, Any]]:
        """Run the hook of the permission request to its end."""
        return self.hook("permission_request", tool_name=tool, tool_input=tool_input, **fields)

    def wait(self, hook: str, **fields: Any) -> Dialog:
        """Run a hook that waits beside this, and return what it has saved once it waits."""
        before = len(list_questions(self.app.store))
        thread = threading.Thread(target=lambda: self.replies.append(self.hook(hook, **fields)[0]), daemon=True)
        thread.start()
        self._threads.append(thread)
        store = self.app.store
        once_saved(
            store,
            "reply-waiting",
            lambda: len(list_questions(store)) > before and store.stamps("reply-waiting"),
            "hook that waits",
        )
        return list_questions(store)[-1]

    def end_waiting(self) -> None:
        """Have the hook that waits end without a reply."""
        for name, _ in self.app.store.entries("reply-waiting"):
            self.app.store.delete("reply-waiting", name)
        assert self.given() is None

    def end_all(self) -> None:
        """Have every hook that still waits end: one that is left takes this process's notes of changed files."""
        deadline = time.monotonic() + _ENDING
        for thread in self._threads:
            while thread.is_alive():
                assert time.monotonic() < deadline, "a hook does not end"
                for name, _ in self.app.store.entries("reply-waiting"):
                    self.app.store.delete("reply-waiting", name)
                # It may not have begun to wait.
                thread.join(0.05)

    def wait_again(self, hook: str, **fields: Any) -> Dialog:
        """Run a hook that goes on with a dialog that is there."""
        [known] = list_questions(self.app.store)
        thread = threading.Thread(target=lambda: self.replies.append(self.hook(hook, **fields)[0]), daemon=True)
        thread.start()
        self._threads.append(thread)
        store = self.app.store
        once_saved(store, "reply-waiting", lambda: store.stamps("reply-waiting"), "hook that waits")
        [found] = list_questions(self.app.store)
        assert found.tool_use_id == known.tool_use_id
        return found

    def asked(self, tool: str, tool_input: dict[str, Any], **fields: Any) -> Dialog:
        """Have a call begin and ask for permission."""
        self.call(tool, tool_input)
        return self.wait("permission_request", tool_name=tool, tool_input=tool_input, **fields)

    def given(self) -> Any:
        """Return the reply of the hook that waited, once it has ended."""
        self._threads[-1].join(10)
        assert not self._threads[-1].is_alive()
        return self.replies[-1]

    def decide(self, decision: Any, *, author: Author = AGENT, wait: float = 0, **options: Any) -> AnswerResult:
        said = decision if isinstance(decision, str) else json.dumps(decision)
        return answer(self.app, "", said, any_session=True, author=author, wait=wait, **options)

    def show(self, *blocks: dict[str, Any]) -> None:
        """Add to what the client's transcript shows."""
        self._blocks += blocks
        kinds = {"tool_result": "user", "tool_use": "assistant"}
        lines = [
            {"type": kinds[one["type"]], "version": "2.1.330", "message": {"content": [one]}} for one in self._blocks
        ]
        self.transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def refused(self, text: str, tool_use_id: str = "toolu_1") -> None:
        """Have the transcript show a result that is an error."""
        self.show({"type": "tool_result", "tool_use_id": tool_use_id, "is_error": True, "content": text})

    def ran(self, tool: str, tool_input: dict[str, Any], **fields: Any) -> dict[str, Any]:
        """Have PostToolUse tell what ran; return its journal record."""
        payload = {"tool_name": tool, "tool_input": tool_input, "tool_use_id": "toolu_1", "tool_response": {}, **fields}
        return self.hook("post_tool_use", **payload)[1]

    def open(self) -> list[Dialog]:
        return list_questions(self.app.store)

    def wakes(self) -> list[QueuedMessage]:
        return self.app.outbox.pending()


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Asking]:
    one = Asking(tmp_path)
    yield one
    one.end_all()
