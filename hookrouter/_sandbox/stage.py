"""An isolated place in which hookrouter, a client and its settings work together as they do for a user."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING, Any

from hookrouter._sandbox import record_hook
from hookrouter._sandbox.client import ClientHome, ClientSession, read_payloads, wait_payload
from hookrouter._sandbox.piped import PipedStandIn
from hookrouter.storage.home import Home
from hookrouter.util.program import script_argv

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter._sandbox.panes import Terminal
    from hookrouter._sandbox.scripted_model import ScriptedModel

__all__ = ["Stage"]


class Stage:
    """A home of Claude Code and a home of hookrouter below one folder, and the real ``hookrouter`` program in them."""

    def __init__(self, folder: str, config: str = "") -> None:
        """Lay out ``folder``, which must exist, and write ``config`` as hookrouter's config.toml."""
        self.folder = os.path.realpath(folder)
        self.client_home = ClientHome(self.folder)
        self.home = Home.in_folder(os.path.join(self.folder, "hookrouter"))
        self.payload_file = os.path.join(self.folder, "payloads.jsonl")
        """Where the recording hooks of :meth:`record` write."""
        self.variables: dict[str, str] = {}
        """More variables for every process on the stage."""
        os.makedirs(self.home.root, mode=0o700, exist_ok=True)
        self.configure(config)

    def configure(self, config: str) -> None:
        """Write config.toml."""
        with open(self.home.config_file, "w", encoding="utf-8") as file:
            file.write(config)

    @property
    def environ(self) -> dict[str, str]:
        """The environment of every process on the stage, outside tmux."""
        passed = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        homes = {"HOME": self.client_home.home, "HOOKROUTER_HOME": self.home.root}
        return {**passed, **homes, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **self.variables}

    def run(
        self, *arguments: str, stdin: str | None = None, environ: Mapping[str, str] | None = None, timeout: float = 60.0
    ) -> subprocess.CompletedProcess[str]:
        """Run the real ``hookrouter`` program and return how it ended; ``timeout`` is in seconds."""
        return subprocess.run(
            [*script_argv(), *arguments],
            env={**self.environ, **(environ or {})},
            cwd=self.client_home.project,
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def install(self, *options: str) -> None:
        """Register hookrouter in the client's settings.json, with the real ``hookrouter install``."""
        try:
            done = self.run("install", "--settings", self.client_home.settings_file, *options)
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"hookrouter install did not end within {error.timeout:g} s") from None
        if done.returncode != 0:
            raise RuntimeError(f"hookrouter install failed ({done.returncode}): {done.stderr.strip()}")

    def record(self, *events: str) -> None:
        """Register hooks of the user's own for ``events``, which record every payload in ``payload_file``."""
        command = shlex.join([sys.executable, record_hook.__file__, self.payload_file])
        for event in events:
            self.client_home.add_hook(event, command)

    def payloads(self, event: str) -> list[dict[str, Any]]:
        """Return the recorded payloads of ``event``, oldest first."""
        return [payload for payload in read_payloads(self.payload_file) if payload.get("hook_event_name") == event]

    def wait_payload(self, event: str, count: int = 1, timeout: float = 15.0) -> dict[str, Any]:
        """Wait for the ``count``-th recorded payload of ``event`` and return it. Raises WaitTimeoutError."""
        return wait_payload(self.payload_file, event, count, timeout)

    def journal(self) -> list[dict[str, Any]]:
        """Return the journal records of all sessions, oldest first."""
        records = []
        for name in sorted(os.listdir(self.home.logs)) if os.path.isdir(self.home.logs) else []:
            if name.endswith(".jsonl"):
                with open(os.path.join(self.home.logs, name), "rb") as file:
                    records += [json.loads(line) for line in file if line.endswith(b"\n") and line.strip()]
        return sorted(records, key=lambda record: str(record.get("at", "")))

    def documents(self, kind: str) -> list[str]:
        """Return the file names of the documents of one kind, for example ``question``."""
        names = os.listdir(self.home.state) if os.path.isdir(self.home.state) else []
        return sorted(name for name in names if name.startswith(f"{kind}-") and name.endswith(".json"))

    def client(
        self,
        program: str,
        terminal: Terminal,
        model: ScriptedModel,
        *,
        words: Sequence[str] = (),
        session: str = "claude",
        **size: int,
    ) -> ClientSession:
        """Return the real client ``program`` with the arguments ``words``, not yet started, in a session."""
        environ = {**self.environ, **self.client_home.environ(model)}
        return ClientSession([program, *words], terminal, self.client_home, environ, session=session, **size)

    def stand_in(
        self,
        forms: Mapping[str, Mapping[str, object]],
        terminal: Terminal,
        *,
        calls: Mapping[str, Mapping[str, object]] | None = None,
        session: str = "claude",
        **size: int,
    ) -> ClientSession:
        """Return the stand-in for the client, which asks ``forms`` and for ``calls`` by name, not yet started."""
        command = self._stand_in(forms, calls)
        return ClientSession(command, terminal, self.client_home, self.environ, session=session, **size)

    def piped_stand_in(
        self,
        forms: Mapping[str, Mapping[str, object]],
        *,
        calls: Mapping[str, Mapping[str, object]] | None = None,
        width: int,
        height: int,
    ) -> PipedStandIn:
        """Return the stand-in as it runs without any terminal, not yet started."""
        screen = os.path.join(self.folder, "stand-in.screen")
        command = self._stand_in(forms, calls, screen=screen, width=width, height=height)
        return PipedStandIn(command, screen, self.client_home.project, self.environ)

    def _stand_in(
        self, forms: Mapping[str, Mapping[str, object]], calls: Mapping[str, object] | None, **more: object
    ) -> Sequence[str]:
        script = {
            **more,
            "forms": forms,
            "calls": calls or {},
            "settings": self.client_home.settings_file,
            "session_id": str(uuid.uuid4()),
        }
        path = os.path.join(self.folder, "stand-in.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(script, file)
        return [sys.executable, "-P", "-m", "hookrouter._sandbox.stand_in", path]
