"""Managed sessions as they are seen from outside: a registry, panes, and a clock, in this process."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import hookrouter_blocked as plugin
from hookrouter import _wiring
from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter._plugins.registry import Plugins
from hookrouter.cli.application import Application
from hookrouter.config import Agent, AnswerConfig, ApprovalsConfig, Config
from hookrouter.dialogs.answers.answer import answer
from hookrouter.dialogs.answers.identity import AGENT, Author
from hookrouter.dialogs.answers.result import AnswerResult
from hookrouter.dialogs.documents import Dialog, list_questions
from hookrouter.messaging.message import QueuedMessage
from hookrouter.sessions.watching import session_watchers
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal
from hookrouter.terminals import RunningPane, Screen, TerminalAddress, TerminalBackend, TerminalError, TerminalGone
from hookrouter_blocked import looking, watcher
from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner

RECORDED = Path(__file__).parents[2] / "data" / "blocked"


class Panes(TerminalBackend):
    """A terminal backend whose panes show what a test says."""

    name = "panes"

    def __init__(self) -> None:
        self.shows: dict[str, str | TerminalError] = {}
        """By the pane's name: the name of a recorded screen, a text, or what the terminal fails with."""
        self.programs: dict[str, str] = {}
        self.captured: list[str] = []

    def address(self, pane: str) -> TerminalAddress:
        return TerminalAddress(self.name, pane, pane, "")

    def locate(self, environ: Mapping[str, str]) -> TerminalAddress | None:
        pane = environ.get("PANE", "")
        return self.address(pane) if pane else None

    def panes(self, environ: Mapping[str, str]) -> list[RunningPane]:
        programs = {pane: self.programs.get(pane, "claude") for pane in sorted(self.shows)}
        return [RunningPane(self.address(pane), program, "/project") for pane, program in programs.items()]

    def capture(self, address: TerminalAddress) -> Screen:
        self.captured.append(address.target)
        shown = self.shows.get(address.target, TerminalGone("no such pane"))
        if isinstance(shown, TerminalError):
            raise shown
        path = RECORDED / f"{shown}.txt"
        lines = (shown if "\n" in shown else path.read_text()).split("\n")
        return Screen(tuple(lines), 120, len(lines))

    def press(self, address: TerminalAddress, key: str) -> None:
        raise AssertionError("no key is due")

    def paste(self, address: TerminalAddress, text: str) -> None:
        raise AssertionError("no text is due")


class Outside:
    """One home, and what can be seen of its sessions."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = Home.in_folder(str(folder / "home"))
        self.registry = folder / ".claude" / "sessions"
        self.registry.mkdir(parents=True)
        self.environ = {"HOOKROUTER_HOME": str(folder / "home"), "HOME": str(folder)}
        self.journal = Journal(self.home.logs)
        self.panes = Panes()
        self.after = 30.0
        self.agents: tuple[Agent, ...] = (Agent(id="night", sessions=("managed*",)),)
        self.rows = "agent"
        self.time = 1_700_000_000.0
        monkeypatch.setattr(watcher, "now", lambda: self.time)
        self.pane_of: dict[int, str] = {}
        # A process of this machine that runs in the pane that the test says.
        monkeypatch.setattr(looking, "process_environ", lambda pid: {"PANE": self.pane_of.get(pid, "")})

    @property
    def app(self) -> Application:
        config = Config(
            agents=self.agents,
            answer=AnswerConfig(channels=("keys",), terminal="panes"),
            approvals=ApprovalsConfig(rows=self.rows),
        )
        app = Application(
            home=self.home,
            config=config,
            environ=self.environ,
            plugins=self._plugins(config),
            journal=self.journal,
            wiring=_wiring,
        )
        vars(app)["settings"] = lambda kind: kind(after=self.after)
        return app

    def _plugins(self, config: Config) -> Plugins:
        panes = self.panes

        class Terminal:
            @staticmethod
            def terminal_backend() -> Panes:
                return panes

            @staticmethod
            def keystroke_planner() -> GrammarPlanner:
                return GrammarPlanner()

        for name in ("terminal_backend", "keystroke_planner"):
            from hookrouter.markers import hookimpl

            setattr(Terminal, name, staticmethod(hookimpl(getattr(Terminal, name))))
        index = [
            DiscoveredPlugin(name="blocked", value=plugin.__name__, hooks=("dialog_kinds", "session_watcher")),
            DiscoveredPlugin(name="panes", value="panes", hooks=("terminal_backend", "keystroke_planner")),
        ]
        objects = {"blocked": plugin, "panes": Terminal}
        return Plugins(index, config, lambda name, text: pytest.fail(f"{name}: {text}"), objects)

    def client(self, pane: str = "", pid: int = os.getpid(), **fields: Any) -> None:
        """Have a client run in a pane, with what its registry says of it."""
        entry = {"pid": pid, "sessionId": "s-1", "cwd": "/project", "kind": "interactive", **fields}
        (self.registry / f"{pid}.json").write_text(json.dumps(entry))
        self.pane_of[pid] = pane

    def look(self, *, seconds: float = 0.0) -> list[Dialog]:
        """Let time pass, look once, and return what is open."""
        self.time += seconds
        app = self.app
        for one in session_watchers(app.plugins).values():
            one.look(app)
        return self.open

    def settle(self) -> list[Dialog]:
        """Look until whatever stays has stayed long enough."""
        self.look()
        return self.look(seconds=self.after + 5)

    @property
    def open(self) -> list[Dialog]:
        return list_questions(self.app.store)

    @property
    def told(self) -> list[QueuedMessage]:
        return list(self.app.outbox.pending())

    def decide(self, decision: str, *, author: Author = AGENT, dry_run: bool = False) -> AnswerResult:
        return answer(self.app, "managed", decision, author=author, dry_run=dry_run)


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Outside:
    # No process of its own: what is delivered is looked at in the outbox.
    monkeypatch.setattr(_wiring, "start_delivery", lambda *_, **__: None)
    return Outside(tmp_path, monkeypatch)
