"""Standard output and standard error of a command, made safe to write to whatever they are."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["OutputLostError", "flush_output", "prepare_output"]


class OutputLostError(OSError):
    """What a command wrote to stdout cannot be written: the disk is full, or the reader went away."""


def prepare_output() -> None:
    """Make stdout and stderr take any text.

    A character that the stream's encoding lacks is escaped from now on. A stream that was closed when the program
    started takes what is written and drops it. A write to stdout that fails raises OutputLostError.
    """
    if sys.stdout is None:
        sys.stdout = _nowhere()
    elif sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = _Output(sys.stdout)
    if sys.stderr is None:
        sys.stderr = _nowhere()
    elif sys.stderr is sys.__stderr__ and isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")


def flush_output() -> None:
    """Write what is left in stdout's buffer. Raises OutputLostError."""
    if not sys.stdout.closed:
        sys.stdout.flush()


class _Output(io.TextIOWrapper):
    """Stdout of a command."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        stream.flush()
        self._raw = _Raw(stream.fileno(), "w", closefd=False)
        super().__init__(
            io.BufferedWriter(self._raw),
            encoding=stream.encoding,
            errors="backslashreplace",
            line_buffering=stream.line_buffering,
        )


class _Raw(io.FileIO):
    """A descriptor that tells once that it takes nothing, and then drops what comes.

    The buffers above it keep what they could not write, and try again when the interpreter ends.
    """

    _is_lost = False

    def write(self, data: object, /) -> int:
        """Write bytes. Raises OutputLostError, once."""
        chunk = memoryview(data)  # type: ignore[arg-type] # typeshed's ReadableBuffer has no public name before 3.12
        if self._is_lost:
            return chunk.nbytes
        try:
            return super().write(chunk) or 0
        except OSError as error:
            self._is_lost = True
            raise OutputLostError(error.errno, error.strerror) from error


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")
