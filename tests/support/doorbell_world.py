"""A session in a model whose queue goes in by the doorbell: its bell, and the client that watches it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hookrouter_sessions as plugin
from hookrouter.config import Agent, Config, SessionsConfig
from hookrouter.markers import hookimpl
from hookrouter_sessions.channels import bells, doorbell, ringing
from hookrouter_sessions.channels.ringing import DoorbellChannel
from support.memory_storage import MemoryWatch
from support.queue_world import PROOF_SECONDS, World

__all__ = ["ONCE", "RINGS", "DoorbellWorld"]

ONCE, TWICE, LOST, LATE = "once", "twice", "lost", "late"
RINGS = (ONCE, TWICE, LOST, LATE)
"""What the client makes of a ring: one event, two, none, or one after everything else."""

PATIENCE = 10.0
"""Seconds of the world's own time, in which a busy machine's moments do not count."""


class _Watch(MemoryWatch):
    """Lets the client act while a channel waits."""

    world: DoorbellWorld

    def wait(self, timeout: float) -> bool:
        self.world.act()
        if super().wait(0):
            return True
        self.world.time.sleep(1.0)
        return False


class DoorbellWorld(World):
    """A world whose items are offered under a bell."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder)
        self.config = Config(
            agents=(Agent(id="night"),), sessions=SessionsConfig(channels=("doorbell",), proof_wait=PROOF_SECONDS)
        )
        self.contribution = _Contribution()
        self.ring_is = ONCE
        self.hook_killed_after: int | None = None
        """After how many steps the next hook of the bell is killed."""
        self.joined: list[str] = []
        """What was given to Claude in a turn that somebody else had begun."""
        self.watched = ""
        monkeypatch.setattr(ringing, "ring", self._ring)
        monkeypatch.setattr(bells, "watch_offer", self._watch_offer)
        monkeypatch.setattr(ringing, "watch_offer", self._watch_offer)

    def act(self) -> None:
        """Let the client do what is due, while another process waits."""
        if self.pending:
            left, held = self.steps_left, set(self.store.held)
            self.cut_off(self.pending.pop(0)[1], None)
            self.steps_left = left
            self.store.held |= held

    def _watch_offer(self, store: Any, session_id: str) -> Any:
        watch = _Watch(store, lambda key: key == ("bell-offer", session_id))
        watch.world = self
        return watch

    def _ring(self, path: str) -> None:
        self.step()
        if path != self.watched or self.ring_is == LOST:
            self.step()
            return
        for _ in range(2 if self.ring_is == TWICE else 1):
            self._hook("FileChanged", file_path=path, event="change")
        if self.ring_is == LATE:
            self.late, self.pending[:] = self.pending[-1:], self.pending[:-1]
        self.step()

    late: list[tuple[str, Callable[[], None]]] = []

    def come_late(self) -> None:
        """What was late comes now."""
        self.pending += self.late
        self.late = []
        self.run_hooks()

    def _new_session(self) -> None:
        super()._new_session()
        folder = self._folder / ".claude" / "sessions"
        folder.mkdir(parents=True, exist_ok=True)
        client = {"pid": self.pid, "sessionId": self.session_id, "cwd": str(self._folder), "version": "2.1.330"}
        (folder / f"{self.pid}.json").write_text(json.dumps(client))

    def _run_hook(self, payload: dict[str, Any], environ: dict[str, str], module: Any = plugin) -> Any:
        event = payload["hook_event_name"]
        if event == "FileChanged":
            killed_after, self.hook_killed_after = self.hook_killed_after, None
            self.steps_left = killed_after
            reply = super()._run_hook(payload, environ, doorbell)
            # It has ended with its text only after this.
            self.step()
            self.steps_left = None
            if reply is not None:
                self._woken(str(reply.reason))
            return reply
        if event == "SessionStart":
            reply = super()._run_hook(payload, environ, doorbell)
            self.watched = "" if reply is None else reply.output["watchPaths"][0]
        return super()._run_hook(payload, environ, module)

    def _woken(self, text: str) -> None:
        """What the client makes of a hook that ends with 2: a turn, or a part of the one that runs."""
        said = text.partition("]\n")[2]
        self.submitted.append(said)
        if self.is_busy:
            self.joined.append(said)
        self.is_busy = True
        prompt = (
            "<task-notification>\n<summary>Stop hook feedback</summary>\n</task-notification>\n<system-reminder>\n"
            f'Stop hook blocking error from command "FileChanged": {text}\n\n</system-reminder>'
        )
        self._hook("UserPromptSubmit", prompt=prompt)
        self.pending.append(("", lambda: self._record(content=prompt)))


class _Contribution:
    @hookimpl
    def prompt_channel(self) -> DoorbellChannel:
        return DoorbellChannel(PATIENCE)
