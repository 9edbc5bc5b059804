"""Records a program's terminal session, and draws it as an SVG that plays without a script.

The record is an asciicast, version 2 (https://docs.asciinema.org/manual/asciicast/v2/). The drawing shows lines as they
were printed: it is for programs that only print, without colours and without moving the cursor.
"""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import pty
import struct
import subprocess
import termios
import time
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Recording", "draw", "record"]

COLUMNS, ROWS = 100, 30

SLOWER = 2.5
"""The drawing plays so many times slower than the program ran, so that it can be read."""

END_SECONDS = 6.0
"""How long the end stays before it plays again."""

_SIZE, _LINE, _EDGE = 13, 17, 14
_COLUMN = 7.9
"""Units of a column: a little more than the widest of the usual fonts needs."""


class Recording(NamedTuple):
    """What a program printed, and when."""

    command: str
    """As somebody would type it."""
    columns: int
    rows: int
    events: list[tuple[float, str]]
    """Seconds since the start, and what was printed then."""

    def asciicast(self) -> str:
        """Return it as an asciicast file."""
        header = {"version": 2, "width": self.columns, "height": self.rows, "title": self.command}
        lines = [header, *([round(at, 3), "o", text] for at, text in self.events)]
        return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def record(argv: Sequence[str], command: str, environ: Mapping[str, str]) -> Recording:
    """Run a program in a terminal of its own until it ends, and return what it printed.

    ``command`` is how the program is shown to be called. Raises CalledProcessError if it fails, and OSError.
    """
    ours, theirs = pty.openpty()
    events: list[tuple[float, str]] = []
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        began = time.monotonic()
        process = subprocess.Popen(
            argv, stdin=theirs, stdout=theirs, stderr=theirs, env=dict(environ), start_new_session=True
        )
        os.close(theirs)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while data := _read(ours):
            events.append((time.monotonic() - began, decoder.decode(data)))
        code = process.wait()
    finally:
        os.close(ours)
    if code:
        raise subprocess.CalledProcessError(code, argv, "".join(text for _, text in events))
    return Recording(command, COLUMNS, ROWS, events)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        # Linux says so when the last program has closed its side.
        return b""


def draw(recording: Recording) -> str:
    """Return the drawing: light on dark, whatever is around it; where nothing moves, it shows the end."""
    lines, steps = _steps(recording)
    total = SLOWER * recording.events[-1][0] + END_SECONDS
    width = round(2 * _EDGE + _COLUMN * recording.columns)
    height = 2 * _EDGE + _LINE * recording.rows
    last = _shift(len(lines), recording.rows)
    frames = [
        f"{100 * SLOWER * at / total:.2f}%{{transform:translateY({_shift(n, recording.rows)}px)}}" for at, n in steps
    ]
    frames.append(f"100%{{transform:translateY({last}px)}}")
    style = (
        f"text{{font:{_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e6e4df;"
        "white-space:pre}.good{fill:#7fd69a}.head{fill:#8ec2ff;font-weight:bold}"
        f".all{{transform:translateY({last}px);animation:play {total:.1f}s step-end infinite}}"
        "@media (prefers-reduced-motion:reduce){.all{animation:none}}"
        f"@keyframes play{{{''.join(frames)}}}"
    )
    drawn = "".join(
        f'<text x="0" y="{_LINE * number + _SIZE}"{_kind(line)} xml:space="preserve">'
        f"{escape(line, quote=False)}</text>\n"
        for number, line in enumerate(lines)
        if line
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(recording.command)}, recorded in a terminal">\n'
        f"<style>{style}</style>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="#161615"/>\n'
        f'<svg x="{_EDGE}" y="{_EDGE}" width="{width - 2 * _EDGE}" height="{height - 2 * _EDGE}">\n'
        f'<g class="all">\n{drawn}</g>\n</svg>\n</svg>\n'
    )


def _steps(recording: Recording) -> tuple[list[str], list[tuple[float, int]]]:
    """Return all lines, and how many of them there were at which time."""
    shown = f"$ {recording.command}\n"
    steps = [(0.0, 1)]
    for at, text in recording.events:
        shown += text.replace("\r\n", "\n")
        count = len(_wrapped(shown, recording.columns))
        if count != steps[-1][1]:
            steps.append((at, count))
    return _wrapped(shown, recording.columns), steps


def _wrapped(text: str, columns: int) -> list[str]:
    """Return the lines as the terminal breaks them; each character of the demo takes one column."""
    return [
        line[at : at + columns] for line in text.rstrip("\n").split("\n") for at in range(0, max(len(line), 1), columns)
    ]


def _shift(count: int, rows: int) -> int:
    """Return by how much the lines are moved, so that the last of ``count`` stands in the lowest row."""
    return _LINE * (rows - count)


def _kind(line: str) -> str:
    if line.startswith("   Verified"):
        return ' class="good"'
    return ' class="head"' if line.startswith(("$ ", "By ", "A queue")) or line[:1].isdigit() else ""
