"""Machines that share an engine, each a home with the client's stand-in."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from hookrouter._sandbox.piped import PipedStandIn
from hookrouter._sandbox.stage import Stage
from hookrouter.testing import wait_until
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from hookrouter_fleet.locks import is_sharing
from support.managed_client import question
from support.postgres import Server
from support.shelf import SHELF

__all__ = ["ENGINES", "Engine", "Machine", "at_terminal", "made_engine"]

ENGINES = ("shelf", "postgresql")

CONFIG = '[answer]\nchannels = ["reply"]\n[storage]\nmachine = "{machine}"\n'


class Engine(NamedTuple):
    """What the machines of one test share."""

    table: str
    """Its keys in ``[storage]``."""
    variables: Mapping[str, str]


def made_engine(name: str, folder: Path, postgres: Callable[[], Server]) -> Engine:
    """Return an engine of :data:`ENGINES` for the machines of one test; ``folder`` holds what it needs."""
    if name == "shelf":
        write_plugin(folder / "site", "shelf", SHELF)
        return Engine(f'engine = "shelf"\nfolder = "{folder / "shelf"}"\n', {"PYTHONPATH": str(folder / "site")})
    server = postgres()
    table = f'engine = "postgresql"\ndsn_env = "FLEET_DATABASE"\nschema = "{server.schema()}"\n'
    return Engine(table, {"FLEET_DATABASE": server.dsn()})


class Machine:
    """A home on a stage of its own, in which the client's stand-in may ask."""

    def __init__(self, folder: Path, name: str, engine: Engine, more: str = "") -> None:
        """Make it in ``folder``; ``more`` is added to its config.toml."""
        self.name = name
        (folder / name).mkdir()
        self.stage = Stage(str(folder / name), CONFIG.format(machine=name) + engine.table + more)
        self.stage.variables |= engine.variables
        self.stage.install()
        self.stage.run("storage", "init")
        self._client: PipedStandIn | None = None

    def ask(self, text: str = "Which way?") -> None:
        """Have Claude ask, with the choices Left and Right."""
        if self._client is None:
            forms = {"way": {"questions": [question(text)]}}
            self._client = self.stage.piped_stand_in(forms, width=80, height=24).__enter__()
        self._client.submit("please ASK way")
        wait_until(lambda: self.told("questions")["questions"], 20, "the question")

    def told(self, *words: str, code: int = 0, stdin: str = "") -> Any:
        done = self.stage.run(*words, "--json", stdin=stdin)
        assert done.returncode == code, done
        return json.loads(done.stdout)

    def machines_of(self, command: str, key: str) -> list[str]:
        return sorted(row["machine"] for row in self.told(command)[key])

    def close(self) -> None:
        if self._client is not None:
            self._client.__exit__(None, None, None)
        self.stage.configure("")
        wait_until(lambda: not is_sharing(self.stage.home), 30, "the end of its process")


def at_terminal(stage: Stage, words: list[str], typed: list[str]) -> str:
    """Run a command with a terminal of its own; type a line at each prompt; return all that it showed."""
    ours, its = pty.openpty()
    with subprocess.Popen(
        [*script_argv(), *words], stdin=its, stdout=its, stderr=its, env={**stage.environ, "TERM": "xterm"}
    ) as process:
        os.close(its)
        shown = b""
        with suppress(OSError):
            while part := os.read(ours, 4096):
                shown += part
                if typed and shown.rstrip(b" ").endswith((b":", b"?")):
                    os.write(ours, f"{typed.pop(0)}\n".encode())
    os.close(ours)
    assert process.returncode == 0, shown.decode()
    return shown.decode()
