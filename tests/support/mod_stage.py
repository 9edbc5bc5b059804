"""A stage on which the mod is installed, as ``hookrouter install --front mod`` lays it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hookrouter._installation.mod_keys import with_mod
from hookrouter._mod.folder import gate_socket, mod_files, mod_folder, write_mod
from hookrouter._mod.results import FIELDS
from hookrouter._mod.routes import Route
from hookrouter._sandbox.client import find_client, install_client
from hookrouter._sandbox.stage import Stage
from hookrouter.util.program import script_argv
from support.gate import Gate, Seen
from support.tested_client import needs_mods

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._sandbox.scripted_model import ScriptedModel

__all__ = ["CLIENTS", "Answers", "client_environ", "client_of", "mod_path", "short_folder"]

CLIENTS = 5
"""How many clients may be too slow, one after the other, to leave entries out of their settings."""
NOTE = "import sys; open(sys.argv[1], 'a').write(sys.argv[2] + chr(10))"


@contextmanager
def short_folder() -> Iterator[str]:
    """Return a new folder with a short path: the client cannot connect to a socket with a long one."""
    folder = tempfile.mkdtemp(prefix="hm")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def client_of(version: str | None) -> str:
    """Return the client of one version, fetched if need be; None: the one that the live tests run on.

    Skips the test if that one has no mods.
    """
    if version is None:
        needs_mods()
    program = install_client(version) if version else find_client()
    assert program is not None
    return program


def client_environ(stage: Stage, model: ScriptedModel) -> dict[str, str]:
    """Return the environment of a client that lets its mods fetch: 2.1.287 refuses it with this variable."""
    environ = {**stage.environ, **stage.client_home.environ(model)}
    del environ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"]
    return environ


def mod_path(stage: Stage) -> str:
    """Return the path of the mod's source on a stage."""
    return os.path.join(mod_folder(stage.home), "hooks", "bridge.js")


def _install(stage: Stage, found: list[Route]) -> None:
    """Write a mod with these routes into the stage's home, and its keys into the client's settings."""
    folder = write_mod(stage.home, mod_files(stage.home, found, script_argv(), stage.home.root))
    text = json.dumps(stage.client_home.read_settings())
    stage.client_home.write_settings(json.loads(with_mod(text, folder)))


class Answers:
    """A client whose mod brings every event that it can, to a gate that answers what a test says.

    Each event has an entry in the settings beside it, which writes down that it was run and does nothing.
    """

    def __init__(self, folder: str) -> None:
        self.stage = Stage(folder)
        self.said: dict[str, Any] = {}
        """Event -> the JSON of a command hook, or its exit code and stderr; once, if it is a list."""
        self._ran = os.path.join(folder, "ran")
        self.gate = Gate(gate_socket(self.stage.home), self._answer)
        found = []
        for event in FIELDS:
            command = subprocess.list2cmdline([sys.executable, "-c", NOTE, self._ran, event])
            self.stage.client_home.add_hook(event, command)
            found.append(Route(event, None, command))
        _install(self.stage, found)

    def _answer(self, seen: Seen) -> dict[str, Any]:
        event = seen.payload["hook_event_name"]
        said = self.said.get(event, {})
        if isinstance(said, list):
            said = said.pop(0) if said else {}
        return said if "exit_code" in said else {"stdout": json.dumps(said) if said else ""}

    def entries_run(self) -> list[str]:
        """Return the events whose own entries in the settings were run."""
        if not os.path.exists(self._ran):
            return []
        with open(self._ran, encoding="utf-8") as file:
            return file.read().split()

    def payloads(self, event: str) -> list[dict[str, Any]]:
        """Return what was brought of one event."""
        return [seen.payload for seen in list(self.gate.seen) if seen.payload["hook_event_name"] == event]

    def run(self, model: ScriptedModel, prompt: str, *options: str, **said: Any) -> str:
        """Run one prompt to its end, with these answers, and return what the client printed."""
        self.said = said
        self.gate.seen.clear()
        if os.path.exists(self._ran):
            os.unlink(self._ran)
        # Into a file: what the client leaves running may hold a pipe open for longer than the client lives.
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
            subprocess.run(
                [client_of(None), "-p", prompt, *options],
                env=client_environ(self.stage, model),
                cwd=self.stage.client_home.project,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                timeout=90,
                check=False,
            )
            printed.seek(0)
            return printed.read()
