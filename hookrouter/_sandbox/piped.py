"""The stand-in for the client without a terminal: its prompts go through a pipe, its screen comes from a file."""

from __future__ import annotations

import subprocess
import uuid
from typing import IO, TYPE_CHECKING

from hookrouter._sandbox.processes import RUN_MARK, reap
from hookrouter._sandbox.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PipedStandIn"]

_PROMPT = "❯"


class PipedStandIn:
    """One running stand-in; use it as a context manager. Only hooks can answer its questions."""

    def __init__(self, command: Sequence[str], screen: str, folder: str, environ: Mapping[str, str]) -> None:
        """Take the command, the file that it writes its screen to, its working folder and its whole environment."""
        self._command = list(command)
        self._screen = screen
        self._folder = folder
        self._mark = uuid.uuid4().hex
        self._environ = {**environ, RUN_MARK: self._mark}
        self._process: subprocess.Popen[bytes] | None = None
        self._input: IO[bytes] | None = None

    def __enter__(self) -> PipedStandIn:
        """Start it and wait for its prompt box."""
        process = self._process = subprocess.Popen(
            self._command,
            cwd=self._folder,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._input = process.stdin
        wait_until(lambda: _PROMPT in self.screen(), 20, "prompt box", self.screen)
        return self

    def __exit__(self, *_: object) -> None:
        """End it, and what it has started."""
        if self._process is not None:
            if self._input is not None:
                self._input.close()
            reap([self._process.pid], f"{RUN_MARK}={self._mark}")
            self._process.wait()

    def screen(self) -> str:
        """Return what it shows now."""
        try:
            with open(self._screen, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def submit(self, prompt: str) -> None:
        """Send one line as the next prompt."""
        if self._input is None:
            raise RuntimeError("the stand-in was not started")
        self._input.write(f"{prompt}\n".encode())
        self._input.flush()
