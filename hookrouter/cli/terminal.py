"""What a command must know of the terminal that it writes to."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from typing import TYPE_CHECKING

from hookrouter.util.text_width import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

__all__ = [
    "BOLD",
    "COMPLETION_VARIABLE",
    "DIM",
    "GREEN",
    "RED",
    "YELLOW",
    "Progress",
    "Style",
    "Waiting",
    "has_unicode",
    "is_attended",
    "width",
]

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"

_DEFAULT_WIDTH = 100
"""Columns if stdout is no terminal and COLUMNS is not set."""

COMPLETION_VARIABLE = "_HOOKROUTER_COMPLETE"
"""The environment variable by which a shell's completion function asks for words, as typer and click name it."""

_QUIET_SECONDS = 1.0
_REDRAW_SECONDS = 0.1


class Style:
    """Colours for a stream, if it is a terminal whose user wants any."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str]) -> None:
        """Look at the stream; ``NO_COLOR`` (https://no-color.org) and ``TERM=dumb`` switch colours off."""
        self.is_on = stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"

    def __call__(self, text: str, code: str) -> str:
        """Return a text in a colour, or as it is."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_on and text and code else text


def is_attended() -> bool:
    """Whether a person reads and types at the terminal of this process's standard streams."""
    return sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty())


def width(stream: TextIO | None = None) -> int:
    """Return the columns of stdout's terminal; ``COLUMNS`` if it is set, or 100, if stdout is none."""
    chosen = sys.stdout if stream is None else stream
    return max(20, shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns if chosen.isatty() else _columns())


def _columns() -> int:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isascii() and columns.isdecimal() and int(columns) else _DEFAULT_WIDTH


def has_unicode(stream: TextIO | None = None) -> bool:
    """Say whether a stream takes block characters."""
    chosen = sys.stdout if stream is None else stream
    try:
        "▁█".encode(chosen.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


class Progress:
    """A line on stderr that says how far a long reading has come; none before a second, none without a terminal."""

    def __init__(self, what: str, total: int) -> None:
        """Say ``what`` is read, of ``total`` bytes."""
        self._what = what
        self._total = max(total, 1)
        self._done = 0
        self._next = time.monotonic() + _QUIET_SECONDS if sys.stderr.isatty() else float("inf")
        self._shown = False

    def __enter__(self) -> Progress:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def add(self, amount: int) -> None:
        """Take note of so many more bytes."""
        self._done += amount
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _REDRAW_SECONDS
            self._shown = True
            percent = min(100, self._done * 100 // self._total)
            sys.stderr.write(f"\r\x1b[K{self._what} {percent} %")
            sys.stderr.flush()


class Waiting:
    """A line on stderr that says what is waited for, and how long already.

    There is none before a second, off a terminal, or while a shell completes: it would overwrite what is completed.
    """

    def __init__(self, what: str, quiet: float = _QUIET_SECONDS) -> None:
        """Say ``what`` is done, after ``quiet`` seconds."""
        self._what = what
        self._quiet = quiet
        self._started = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True)

    def __enter__(self) -> Waiting:
        """Begin to watch the time."""
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and COMPLETION_VARIABLE not in os.environ:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def now(self, what: str) -> None:
        """Something else is waited for."""
        self._what = what

    def _tell(self) -> None:
        pause = self._quiet
        while not self._over.wait(pause):
            pause = 0.5
            seconds = time.monotonic() - self._started
            sys.stderr.write(shortened(f"\r\x1b[K{self._what} ({seconds:.0f} s)", width(sys.stderr)))
            sys.stderr.flush()
        if pause != self._quiet:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
