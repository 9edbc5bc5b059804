"""One machine of the fleet: a home with a name, a router, and what can happen to its processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookrouter._sandbox.stage import Stage
from hookrouter.storage.engine import open_store
from hookrouter.testing import wait_until
from hookrouter.util.program import script_argv
from hookrouter_fleet.locks import SHARING, is_sharing
from support.chaos import through_front
from support.resident import Resident

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from live.fleet_chaos.commands import Command, Commands

__all__ = ["Machine"]

_CONFIG = """
[[agents]]
id = "night"
gateway = "hall"

[gateways.hall]
type = "webhook"
url = "{url}"

[answer]
channels = ["reply"]

[page]
enabled = false

[sessions]
channels = ["stop"]

[storage]
engine = "postgresql"
machine = "{name}"
dsn_env = "FLEET_DATABASE"
"""


class Machine:
    """A home, whose hooks go through a front to a router."""

    def __init__(self, folder: Path, name: str, url: str, dsn: str, front: Sequence[str], commands: Commands) -> None:
        self.name = name
        self._commands = commands
        (folder / name).mkdir()
        self.stage = Stage(str(folder / name), _CONFIG.format(url=url, name=name))
        self.stage.variables["FLEET_DATABASE"] = dsn
        self.stage.install()
        through_front(self.stage, front)
        self._hooks: dict[str, list[dict[str, Any]]] = json.loads(
            Path(self.stage.client_home.settings_file).read_text(encoding="utf-8")
        )["hooks"]
        self._router = Resident(self.stage.environ)
        self._log = (folder / name / "log").open("ab")

    def start(self) -> None:
        """Set the engine up, and start the router."""
        done = self.stage.run("storage", "init")
        assert done.returncode == 0, done.stderr
        self._router.start()

    def hook(self, event: str, payload: dict[str, Any], client: int) -> list[subprocess.Popen[bytes]]:
        """Start the hooks of an event as the client does; ``client`` is its process id."""
        started = []
        for group in self._hooks.get(event, []):
            if "tool_name" in payload and group.get("matcher", "*") not in ("*", "", payload["tool_name"]):
                continue
            for handler in group["hooks"]:
                hook = subprocess.Popen(
                    ["/bin/sh", "-c", handler["command"]],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._log,
                    env={**self.stage.environ, "CLAUDE_PID": str(client)},
                    cwd=self.stage.client_home.project,
                )
                assert hook.stdin is not None
                with contextlib.suppress(BrokenPipeError):
                    hook.stdin.write(json.dumps({**payload, "hook_event_name": event}).encode())
                    hook.stdin.close()
                hook.stdin = None
                started.append(hook)
        return started

    def command(self, *words: str) -> Command:
        """Start a command as somebody does who sits at this machine."""
        return self._commands.start([*script_argv(), *words], self.stage.environ, self.stage.client_home.project)

    def kill_router(self, rest: Callable[[], object]) -> None:
        """End the router as a crash does, and start it after a while."""
        self._router.kill()
        rest()
        self._router.start()

    def kill_sharing(self, rest: Callable[[], object]) -> None:
        """End the process that writes documents; hooks, commands and the router start another one."""
        self._signal_sharing(signal.SIGKILL)
        rest()

    def stop_sharing(self, rest: Callable[[], object]) -> None:
        """Have that process stand still for a while."""
        pid = self._signal_sharing(signal.SIGSTOP)
        rest()
        with contextlib.suppress(ProcessLookupError):
            if pid:
                os.kill(pid, signal.SIGCONT)

    def _signal_sharing(self, number: signal.Signals) -> int:
        holder = open_store(self.stage.home, lambda _text: None).lock_holder(*SHARING) or ""
        with contextlib.suppress(ProcessLookupError):
            if holder.startswith("process "):
                pid = int(holder.split()[1].rstrip(","))
                os.kill(pid, number)
                return pid
        return 0

    def close(self) -> None:
        """End the router and all that it and the hooks have started."""
        self._router.kill()
        self.stage.configure("")
        wait_until(lambda: not is_sharing(self.stage.home), 60, "the end of the process that writes documents")
        self._log.close()
