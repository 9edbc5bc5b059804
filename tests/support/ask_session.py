"""A session that asks with AskUserQuestion, whose hooks and commands run in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import hookrouter_ask_user_question as plugin
import hookrouter_page
from hookrouter import _wiring
from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter._plugins.registry import Plugins
from hookrouter._plugins.settings_schema import check
from hookrouter.answering.interfaces import AnswerChannel, AnswerOutcome, AnswerRequest, AnswerStatus, KeystrokePlanner
from hookrouter.cli.application import Application
from hookrouter.config import Config
from hookrouter.context import Context
from hookrouter.dialogs import hooks
from hookrouter.events import EVENT_CLASSES
from hookrouter.markers import hookimpl
from hookrouter.messaging.message import QueuedMessage
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal
from hookrouter.terminals import TerminalAddress, TerminalBackend
from hookrouter.tools import AskUserQuestionInput
from hookrouter_page.settings import PageSettings

__all__ = ["FORM", "AskSession", "Channel"]

FORM: list[dict[str, Any]] = [
    {
        "question": "Which database?",
        "header": "Database",
        "options": [{"label": "SQLite", "description": "embedded"}, {"label": "Postgres", "description": "server"}],
        "multiSelect": False,
    },
    {
        "question": "Which features?",
        "header": "Features",
        "options": [{"label": "Auth", "description": "login"}, {"label": "Export", "description": "csv"}],
        "multiSelect": True,
    },
]


class Terminal(TerminalBackend):
    """A terminal backend that finds the pane in the environment."""

    name = "fake"

    def locate(self, environ: Mapping[str, str]) -> TerminalAddress | None:
        session = environ.get("FAKE_SESSION")
        return TerminalAddress(self.name, session, environ.get("FAKE_PANE", "%1"), "") if session else None


class Channel(AnswerChannel):
    """An answer channel that does what the test says."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.requests: list[AnswerRequest] = []
        self.act: Callable[[AnswerRequest], AnswerOutcome] = lambda _: AnswerOutcome(
            AnswerStatus.UNAVAILABLE, "not here"
        )

    def deliver(self, request: AnswerRequest) -> AnswerOutcome:
        self.requests.append(request)
        return self.act(request)


class Planner(KeystrokePlanner):
    """A planner that can only describe."""

    name = "grammar"

    def outline(self, form: Any, decisions: Any) -> list[str]:
        return [f"{question.header}: {decision}" for question, decision in zip(form.questions, decisions, strict=False)]


class Contributions:
    """Plugins of their own for each part."""

    def __init__(self, **parts: object) -> None:
        for hook, part in parts.items():
            setattr(self, hook, hookimpl(lambda part=part: part, specname=hook))


class AskSession:
    """One home and the Claude Code sessions that ask in it; hooks are called as the router calls them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = Home.in_folder(str(folder / "home"))
        self.config = Config()
        self.first, self.second = Channel("keys"), Channel("reply")
        self.environ = {"FAKE_SESSION": "main", "CLAUDE_PID": "0", "HOOKROUTER_HOME": str(folder / "home")}
        self.journal = Journal(self.home.logs)
        self.transcript = folder / "transcript.jsonl"
        self.page: Mapping[str, object] | None = None
        """What ``[page]`` says; None for a home without the plugin that serves it."""

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
        objects: dict[str, object] = {
            "terminal": Contributions(terminal_backend=Terminal()),
            "planner": Contributions(keystroke_planner=Planner()),
            "first": Contributions(answer_channel=self.first),
            "second": Contributions(answer_channel=self.second),
        }
        index = [
            DiscoveredPlugin(name=name, value=name, hooks=tuple(vars(part))) for name, part in sorted(objects.items())
        ]
        objects["ask-user-question"] = plugin
        kinds = ("dialog_kinds",)
        index.append(DiscoveredPlugin(name="ask-user-question", value=plugin.__name__, hooks=kinds))
        settings = {}
        if self.page is not None:
            objects["page"] = hookrouter_page
            index.append(DiscoveredPlugin(name="page", value=hookrouter_page.__name__, hooks=("dialog_links",)))
            settings["page"] = check(PageSettings, self.page, "page")
        fail = lambda name, text: pytest.fail(f"{name}: {text}")  # noqa: E731 - one line says it
        return Plugins(index, self.config, fail, objects, settings=settings)

    def hook(
        self, hook: str, *, environ: dict[str, str] | None = None, prepare: Any = None, **fields: Any
    ) -> dict[str, Any]:
        """Run a hook of the plugin, or of the core's, on a payload with these fields, and return its journal record."""
        event = "".join(part.title() for part in hook.replace("_ask_user_question", "").split("_"))
        payload: dict[str, Any] = {
            "session_id": "s-1",
            "transcript_path": str(self.transcript),
            "cwd": "/tmp",
            "permission_mode": "default",
            "hook_event_name": event,
        }
        if "ask_user_question" in hook:
            payload |= {"tool_name": "AskUserQuestion", "tool_use_id": "toolu_1", "tool_input": {"questions": FORM}}
        payload |= fields
        record: dict[str, Any] = {"event": event, "session_id": payload["session_id"]}
        for key, field in (("tool", "tool_name"), ("tool_use_id", "tool_use_id")):
            if field in payload:
                record[key] = payload[field]
        context = Context(
            event=event,
            payload=payload,
            home=self.home,
            config=self.config,
            environ=self.environ if environ is None else {**self.environ, **environ},
            plugins=self._plugins(),
            journal=self.journal,
            wiring=_wiring,
            record=record,
        )
        deliveries: list[bool] = []
        # No process of its own: what is delivered is looked at in the outbox.
        vars(context)["start_delivery"] = lambda **_: deliveries.append(True)
        if prepare is not None:
            prepare(context)
        arguments: dict[str, Any] = {"event": EVENT_CLASSES[event].from_json(payload), "context": context}
        if hook == "pre_tool_use_ask_user_question":
            arguments["tool_input"] = AskUserQuestionInput.from_json(payload["tool_input"])
        try:
            (getattr(plugin, hook, None) or getattr(hooks, hook))(**arguments)
        finally:
            self.journal.write(record, payload["session_id"])
        record["delivery_started"] = bool(deliveries)
        return record

    def ask(self, **fields: Any) -> dict[str, Any]:
        return self.hook("pre_tool_use_ask_user_question", **fields)

    def record_answers(self, answers: object, **fields: Any) -> dict[str, Any]:
        response = {"questions": FORM, "answers": answers, "annotations": {}}
        return self.hook("post_tool_use_ask_user_question", **{"tool_response": response, **fields})

    def write_transcript(self, *blocks: dict[str, Any], version: str = "2.1.330") -> None:
        """Write what the client's transcript shows: tool calls and results."""
        lines = [
            {
                "type": "user" if block["type"] == "tool_result" else "assistant",
                "version": version,
                "message": {"content": [block]},
            }
            for block in blocks
        ]
        self.transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def documents(self) -> list[str]:
        """Return the files of questions and pending answers; not the verdicts, which stay for a while.

        Nor what was told of a question that is there, and that an agent has had the advice: a deliverer that the
        question started notes it whenever it comes to it.
        """
        state = Path(self.home.state)
        names = {path.name for path in state.glob("*.json")} if state.exists() else set()
        told = {name for name in names if name.startswith("told-") and name.replace("told-", "question-", 1) in names}
        return sorted(name for name in names - told if not name.startswith(("answer-result-", "guidance-")))

    def wakes(self) -> list[QueuedMessage]:
        return self.app.outbox.pending()

    def records(self, event: str) -> list[dict[str, Any]]:
        return [record for record in self.journal.records("s-1") if record["event"] == event]
