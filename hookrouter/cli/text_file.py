"""Reads the text that an option of a command names, from a file or from stdin."""

from __future__ import annotations

import os
import stat
import sys

from hookrouter.cli.errand import is_errand
from hookrouter.cli.errors import CommandError
from hookrouter.util.text import printable

__all__ = ["MOST_BYTES", "read_text"]

MOST_BYTES = 4_000_000
"""Bytes of the longest text in UTF-8."""


def read_text(file: str, option: str = "--file") -> str:
    """Return the text of a file, or of stdin for ``-``, without a mark of its byte order.

    Raises CommandError, whose message names ``option`` and the file: also for one of this machine that another asks
    for, and for a named pipe.
    """
    shown = f"{option} {printable(file)}"
    if file != "-" and is_errand():
        raise CommandError(
            f"{shown}: a command for another machine reads none of its files; give - and the text on stdin"
        )
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            if _is_named_pipe(file):
                raise CommandError(
                    f"{shown}: it is a named pipe, which may never end; allowed are a file, and - for stdin"
                )
            with open(file, "rb") as stream:
                data = stream.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise CommandError(f"{shown}: more than {MOST_BYTES} bytes")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise CommandError(f"{shown}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise CommandError(f"{shown}: it is not UTF-8: {error.reason} at byte {error.start}") from None


def _is_named_pipe(file: str) -> bool:
    """Whether a file is a pipe that has a name of its own, and not one that a shell has made for this command."""
    is_shells = os.path.abspath(file).startswith(("/dev/fd/", "/dev/stdin", "/proc/"))
    return not is_shells and stat.S_ISFIFO(os.stat(file).st_mode)
