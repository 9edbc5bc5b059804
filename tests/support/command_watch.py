"""A command of hookrouter that stays and writes lines, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hookrouter._sandbox.waiting import wait_until
from hookrouter.util.program import script_argv

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Watch", "command_watch"]


class Watch:
    """The running command, and the lines that it has written so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def line(self, number: int) -> str:
        wait_until(lambda: len(self.lines) > number, 20, f"line {number}", lambda: str(self.lines))
        return self.lines[number]

    def event(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.line(number))
        return found


@contextmanager
def command_watch(*words: str, environ: Mapping[str, str]) -> Iterator[Watch]:
    """Run ``hookrouter WORDS...`` in this environment, until the block ends."""
    process = subprocess.Popen(
        [*script_argv(), *words], env=dict(environ), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watch = Watch(process)
    try:
        yield watch
    finally:
        process.kill()
        process.wait()
        watch.reader.join()
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()
