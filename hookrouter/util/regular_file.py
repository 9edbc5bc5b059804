"""Reads the end of somebody else's file: never more than is asked for, never a pipe, never with an error."""

from __future__ import annotations

import os
import stat
from typing import Any, NamedTuple

from hookrouter.util import fastjson

__all__ = ["TAIL_BYTES", "FileEnd", "last_lines", "parsed", "read_end"]

TAIL_BYTES = 1024 * 1024
"""Of a file that grows with a session so many bytes are read."""


class FileEnd(NamedTuple):
    """The end of a file."""

    data: bytes
    """What was read."""
    is_whole: bool
    """Whether that is the whole file."""


def read_end(path: str, limit: int) -> FileEnd:
    """Return the last ``limit`` bytes of a regular file; nothing of what is none, or cannot be read. Never raises."""
    if not os.path.isabs(path):
        return FileEnd(b"", True)
    try:
        # Not blocking: the path may come from a payload, and opening a pipe would wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return FileEnd(b"", True)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return FileEnd(b"", True)
        start = max(0, status.st_size - limit)
        return FileEnd(os.pread(descriptor, limit, start), not start)
    except OSError:
        return FileEnd(b"", True)
    finally:
        os.close(descriptor)


def last_lines(path: str, limit: int = TAIL_BYTES) -> list[bytes]:
    """Return the last whole lines of the file, oldest first; nothing if it cannot be read."""
    data, is_whole = read_end(path, limit)
    lines = data.splitlines()
    return lines if is_whole else lines[1:]


def parsed(line: bytes) -> dict[str, Any]:
    """Return the object that a line of JSON holds; an empty one for any other line."""
    try:
        value = fastjson.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
