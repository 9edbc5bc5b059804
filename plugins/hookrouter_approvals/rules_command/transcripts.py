"""The tool calls of the past, as the transcripts of Claude Code on this machine have them.

A transcript is foreign data: a line that is broken, too long or no call is passed over and counted, and nothing is ever
raised for what a file holds. Memory stays what it is, however much is read.

What lines hold was seen on Claude Code 2.1.150 to 2.1.332: an ``assistant`` line has ``tool_use`` blocks, a ``user``
line their ``tool_result``; both have ``cwd`` and ``timestamp``, prompts and lines of their own ``permissionMode``.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.util import fields
from hookrouter.util.clock import iso

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["FAILED", "OPEN", "RAN", "REFUSED", "STOPPED", "PastCall", "Transcripts"]

RAN, FAILED = "ran", "failed"
"""The tool was used, with or without success."""
REFUSED = "refused"
"""A person said no."""
STOPPED = "stopped"
"""A hook or a rule said no, or there is no such tool."""
OPEN = "open"
"""The transcript has no result."""

_DECLINED = "The user doesn't want to"
_EXIT = "Exit code "
"""What the result of a command that has run and failed begins with."""

_LONGEST_LINE = 16 * 1024 * 1024
_CHUNK = 1024 * 1024
_MOST_OPEN = 1000
"""Calls of one transcript that may wait for their results."""
_LINES_A_LOOK = 64
_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst")
_FILTER_BITS = 1 << 26
"""Bits in which the ids of calls are kept, 8 MB: of a million calls, one in a thousand is taken for another."""


class PastCall(NamedTuple):
    """One call of a tool."""

    tool: str
    tool_input: dict[str, Any]
    folder: str
    """The session's folder: where it began."""
    cwd: str
    """Where Claude was."""
    ended: str
    """One of this module's constants."""
    mode: str
    """The permission mode, as the client calls it; empty if the transcript does not say."""
    id: str


class Transcripts:
    """The transcripts below a folder. Reading them counts what could not be read."""

    def __init__(self, folder: str, since: float | None, read: Callable[[int], None] = lambda _bytes: None) -> None:
        """Look for them. ``since``: seconds since 1970; what is older is left out. ``read`` is told of bytes read."""
        self._since = "" if since is None else iso(since)
        self._read = read
        self._seen = bytearray(_FILTER_BITS // 8)
        self.paths = sorted(_files(folder, since))
        self.size = sum(size for _, size in self.paths)
        """Bytes of all files."""
        self.broken = 0
        """Lines that are no JSON object."""
        self.too_long = 0
        """Lines of more than 16 MB."""
        self.unreadable: list[tuple[str, str]] = []
        """Files that could not be read, or not to their end, and why; at most a hundred."""

    def calls(self) -> Iterator[PastCall]:
        """Yield every call once, also if several transcripts have it. Raises nothing."""
        for path, _ in self.paths:
            try:
                with _opened(path) as (raw, lines):
                    yield from self._calls_of(raw, lines)
            except (OSError, EOFError, ValueError, zlib.error, _ZstdError) as error:
                if len(self.unreadable) < 100:
                    why = error.strerror if isinstance(error, OSError) else None
                    self.unreadable.append((path, why or str(error)))

    def _calls_of(self, raw: io.BufferedIOBase, lines: io.BufferedIOBase) -> Iterator[PastCall]:
        waiting: dict[str, PastCall] = {}
        folder = mode = ""
        told = 0
        for number, line in enumerate(self._lines(lines)):
            if not number % _LINES_A_LOOK:
                at = raw.tell()
                self._read(at - told)
                told = at
            if not (b'"tool_use' in line or b'"tool_result"' in line or b'"permissionMode"' in line):
                continue
            found = self._object(line)
            if found is None:
                continue
            mode = fields.text(found, "permissionMode") or mode
            folder = folder or fields.text(found, "cwd")
            for block in _blocks(found):
                kind = block.get("type")
                if kind == "tool_use" and found.get("type") == "assistant":
                    call = self._call(block, found, folder, mode)
                    if call is not None:
                        if len(waiting) >= _MOST_OPEN:
                            yield waiting.pop(next(iter(waiting)))
                        waiting[call.id] = call
                elif kind == "tool_result":
                    ended = waiting.pop(fields.text(block, "tool_use_id"), None)
                    if ended is not None:
                        yield ended._replace(ended=_end(block))
        self._read(raw.tell() - told)
        yield from waiting.values()

    def _lines(self, file: io.BufferedIOBase) -> Iterator[bytes]:
        while line := file.readline(_LONGEST_LINE):
            if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
                self.too_long += 1
                while (rest := file.readline(_CHUNK)) and not rest.endswith(b"\n"):
                    pass
            else:
                yield line

    def _object(self, line: bytes) -> dict[str, Any] | None:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return found
        self.broken += 1
        return None

    def _call(self, block: dict[str, Any], line: dict[str, Any], folder: str, mode: str) -> PastCall | None:
        own_id, tool, tool_input = block.get("id"), block.get("name"), block.get("input")
        if not (isinstance(own_id, str) and own_id and isinstance(tool, str) and isinstance(tool_input, dict)):
            return None
        if fields.text(line, "timestamp") < self._since or self._has(own_id):
            return None
        cwd = fields.text(line, "cwd") or folder
        return PastCall(tool, tool_input, folder or "/", cwd or "/", OPEN, mode, own_id)

    def _has(self, own_id: str) -> bool:
        """Whether a call was seen before; a transcript that was forked repeats what the other one has."""
        value = hash(own_id)
        is_known = True
        for bit in (value % _FILTER_BITS, (value >> 32) % _FILTER_BITS):
            if not self._seen[bit >> 3] & (1 << (bit & 7)):
                is_known = False
                self._seen[bit >> 3] |= 1 << (bit & 7)
        return is_known


class _NoZstdError(Exception):
    """What stands for zstd's own error where Python has no zstd."""


try:
    from compression import zstd  # type: ignore[import-not-found, unused-ignore] # Python 3.14

    _ZstdError: type[Exception] = zstd.ZstdError
except ImportError:
    zstd = None  # type: ignore[assignment, unused-ignore]
    _ZstdError = _NoZstdError


class _opened:  # noqa: N801 - used as a function is
    """A transcript, compressed or not: the file itself, which tells how far it is read, and its lines."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> tuple[io.BufferedIOBase, io.BufferedIOBase]:
        # Not blocking: a pipe that has come there would wait for its writer.
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        raw = self._raw = io.BufferedReader(io.FileIO(descriptor), _CHUNK)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError("it is not a file")
            if self._path.endswith(".gz"):
                return raw, io.BufferedReader(gzip.GzipFile(fileobj=raw), _CHUNK)
            if self._path.endswith(".zst"):
                if zstd is None:
                    raise OSError("Python 3.14 is needed to read .zst")
                return raw, io.BufferedReader(zstd.ZstdFile(raw), _CHUNK)
        except BaseException:
            raw.close()
            raise
        return raw, raw

    def __exit__(self, *_error: object) -> None:
        self._raw.close()


def _files(folder: str, since: float | None) -> Iterator[tuple[str, int]]:
    """Yield the path and size of every transcript that was written since then. Links to folders are not followed."""
    for parent, _, names in os.walk(folder):
        for name in names:
            if not name.endswith(_SUFFIXES):
                continue
            path = os.path.join(parent, name)
            try:
                status = os.stat(path)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) and (since is None or status.st_mtime >= since):
                yield path, status.st_size


def _blocks(line: dict[str, Any]) -> list[dict[str, Any]]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _end(result: dict[str, Any]) -> str:
    if result.get("is_error") is not True:
        return RAN
    content = result.get("content")
    if isinstance(content, list):
        content = next((fields.text(one, "text") for one in content if isinstance(one, dict)), "")
    text = content if isinstance(content, str) else ""
    if text.startswith(_DECLINED):
        return REFUSED
    return FAILED if text.startswith(_EXIT) else STOPPED
