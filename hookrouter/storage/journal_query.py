"""Reading the journal for people: which records are wanted, which come next, and how one is called.

Nothing here is on the way of ``hookrouter run``. Lines may come from anywhere: what is no record is left out, and a
record may hold any JSON under any key.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from heapq import heappushpop
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter._contract.hook_names import event_facts
from hookrouter.storage.journal import parsed, session_name
from hookrouter.util import fastjson
from hookrouter.util.clock import iso
from hookrouter.util.fields import tables, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from hookrouter.storage.journal import Journal

__all__ = [
    "LEVELS",
    "Entry",
    "Selection",
    "SessionNames",
    "Tail",
    "calls",
    "entries",
    "entry_of",
    "find",
    "is_hook_run",
    "latest",
]

LEVELS = ("debug", "info", "warning", "error")
"""From the least to the gravest."""

_NAME = b'"session":"'
_ID_BYTES = 5
_SHORTEST_ID = 4
_CHUNK = 1024 * 1024
_LONGEST_LINE = 4 * 1024 * 1024
"""Bytes without a newline after which following a file gives up on the line."""


class Entry(NamedTuple):
    """One record of the journal."""

    record: dict[str, Any]
    """The record, as parsed from JSON."""
    line: bytes
    """Its line in the journal, as it is in the file."""

    @property
    def id(self) -> str:
        """Ten hexadecimal digits that tell this record from all others: a digest of its line."""
        return blake2b(self.line.rstrip(b"\n"), digest_size=_ID_BYTES).hexdigest()


def entry_of(line: bytes) -> Entry | None:
    """Return the record of a line of the journal; None if it holds none."""
    record = parsed(line)
    return None if record is None else Entry(record, line)


def _nothing(_bytes: int) -> None:
    return


def entries(journal: Journal, since: float | None = None, read: Callable[[int], None] = _nothing) -> Iterator[Entry]:
    """Return the records of all sessions, of each session oldest first, one at a time.

    ``since`` leaves out what is older than this time in seconds since 1970; ``read`` is told the length of every line.
    Raises nothing: what cannot be read is not there.
    """
    earliest = "" if since is None else _stamp(since)
    for line in journal.lines(since):
        read(len(line))
        entry = entry_of(line)
        if entry is not None and text(entry.record, "at") >= earliest:
            yield entry


def size(journal: Journal, since: float | None = None) -> int:
    """Return about how many bytes :func:`entries` will read."""
    total = 0
    try:
        with os.scandir(journal.folder) as files:
            for file in files:
                if ".jsonl" in file.name:
                    status = file.stat()
                    total += status.st_size if since is None or status.st_mtime >= since else 0
    except OSError:
        return total
    return total


def find(journal: Journal, name: str, read: Callable[[int], None] = _nothing) -> list[Entry]:
    """Return the records whose id begins with ``name``; for ``last``, the newest record of a hook run, if any.

    ``read`` is told the length of every line. Raises ValueError if ``name`` is neither.
    """
    if name == "last":
        return latest((entry for entry in entries(journal, read=read) if is_hook_run(entry.record)), 1)
    if len(name) < _SHORTEST_ID or not set(name) <= set("0123456789abcdef"):
        raise ValueError(
            f"{name!r} is not a record: allowed are the id that 'hookrouter logs' shows, its first {_SHORTEST_ID} "
            "digits "
            "or more, and last"
        )
    found = {}
    for line in journal.lines():
        read(len(line))
        candidate = Entry({}, line)
        if candidate.id.startswith(name) and (entry := entry_of(line)) is not None:
            found[entry.id] = entry
    return list(found.values())


def is_hook_run(record: Mapping[str, Any]) -> bool:
    """Say whether a record is about a run of ``hookrouter run``."""
    return "ms" in record and "pid" in record and record.get("event") != "delivery"


def latest(found: Iterable[Entry], limit: int) -> list[Entry]:
    """Return the newest entries, ``limit`` of them or all if it is 0, oldest first."""
    if not limit:
        return sorted(found, key=lambda entry: text(entry.record, "at"))
    kept: list[tuple[str, int, Entry]] = []
    numbers = count()
    for entry in found:
        item = (text(entry.record, "at"), next(numbers), entry)
        if len(kept) < limit:
            kept.append(item)
            if len(kept) == limit:
                kept.sort()
        else:
            heappushpop(kept, item)
    return [entry for _, _, entry in sorted(kept)]


def calls(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what a record says of each plugin's call; what is no call is left out."""
    return tables(record, "plugins")


def number(record: Mapping[str, Any], key: str) -> float | None:
    """Return a number of a record; None if it has none under this key, or one that is too large to reckon with."""
    value = record.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


class Selection:
    """Which records are wanted."""

    def __init__(
        self,
        journal: Journal,
        *,
        session: str | None = None,
        event: str | None = None,
        level: str = LEVELS[0],
        plugin: str | None = None,
    ) -> None:
        """Want the records that fit all of these.

        ``session`` is a session's name or the beginning of its id; ``event`` either name of an event, or another word
        that stands in the records (``answer``, ``delivery``); ``level`` the least grave level; ``plugin`` a plugin that
        was called. Reads the journal once if a session is named.
        """
        known = event_facts(event) if event is not None else None
        self._event = known.name if known is not None else event
        self._levels = LEVELS[LEVELS.index(level) :]
        self._plugin = plugin
        self._session = session
        self._ids: set[str] = set()
        if session is not None:
            # Only a run that needed the name has it in its record; the others of the session have the id.
            for record in journal.search([f'"session":{fastjson.dumps(session)}']):
                self._learn(record)

    def __contains__(self, entry: Entry) -> bool:
        """Say whether a record is wanted."""
        record = entry.record
        if self._is_mild(text(record, "level")):
            return False
        if self._event is not None and record.get("event") != self._event:
            return False
        if self._plugin is not None and all(call.get("plugin") != self._plugin for call in calls(record)):
            return False
        return self._session is None or self._is_of_session(record)

    def _is_mild(self, level: str) -> bool:
        return (level if level in LEVELS else "info") not in self._levels

    def _is_of_session(self, record: Mapping[str, Any]) -> bool:
        self._learn(record)
        wanted, found = str(self._session), text(record, "session_id")
        return (
            text(record, "session") == wanted
            or found in self._ids
            or (bool(found) and (found.startswith(wanted) or session_name(found) == wanted))
        )

    def _learn(self, record: Mapping[str, Any]) -> None:
        if text(record, "session") == self._session and text(record, "session_id"):
            self._ids.add(text(record, "session_id"))


class SessionNames:
    """What the sessions of records are called. Only some of a session's records have its name beside its id."""

    def __init__(self, journal: Journal) -> None:
        """Read nothing yet; of a session, its own records are read when it is first asked for."""
        self._journal = journal
        self._names: dict[str, str] = {}

    def of(self, record: Mapping[str, Any]) -> str:
        """Return the name of a record's session; the beginning of its id if no record has told its name so far."""
        name, session_id = text(record, "session"), text(record, "session_id")
        if name and session_id:
            self._names[session_id] = name
        if not name and session_id:
            if session_id not in self._names:
                self._names[session_id] = self._told(session_id)
            name = self._names[session_id]
        return name or session_id[:8]

    def _told(self, session_id: str) -> str:
        """Return the last name that the records of a session have; empty if none has one."""
        found = ""
        for line in self._journal.session_lines(session_id):
            if _NAME in line:
                record = parsed(line) or {}
                found = text(record, "session") or found
        return found


class Tail:
    """Follows the files of a journal's folder through growth, rotation and removal."""

    def __init__(self, folder: str, *, whole: bool = False, places: Mapping[str, int] | None = None) -> None:
        """Begin at the present ends of the files, so that only what is written from now on is told.

        With ``whole`` begin at their beginnings; with ``places`` where another one has come to, as :meth:`places` says.
        """
        self._folder = folder
        self._read: dict[tuple[int, int], int] = {}
        self._rest: dict[tuple[int, int], bytes] = {}
        self._missing: set[tuple[int, int]] = set()
        for place, offset in (places or {}).items():
            device, _, inode = place.partition(":")
            self._read[int(device), int(inode)] = int(offset)
        for key, path, size in [] if whole or places is not None else self._files():
            self._read[key] = _line_end(path, size)

    def places(self) -> dict[str, int]:
        """Return how far each file was told, for a Tail that goes on later."""
        return {
            f"{device}:{inode}": offset - len(self._rest.get((device, inode), b""))
            for (device, inode), offset in self._read.items()
        }

    def lines(self) -> list[bytes]:
        """Return the whole lines that were written since the last call; of each file in order. Raises nothing."""
        return list(self.each())

    def each(self) -> Iterator[bytes]:
        """Yield what :meth:`lines` returns, one at a time; whoever stops early may miss some. Raises nothing."""
        present = set()
        for key, path, size in self._files():
            if key in present:
                continue
            present.add(key)
            start = self._read.get(key, 0)
            if size < start:
                # Another file has got the number of one that is gone.
                start = 0
                self._rest.pop(key, None)
            if size > start:
                yield from self._read_on(key, path, start)
        # One that is renamed while the folder is read may be in neither place, so it is gone when missed twice.
        absent = self._read.keys() - present
        for gone in absent & self._missing:
            del self._read[gone]
            self._rest.pop(gone, None)
        self._missing = absent - self._missing

    def _read_on(self, key: tuple[int, int], path: str, start: int) -> Iterator[bytes]:
        rest = self._rest.pop(key, b"")
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            # Renamed at this moment: it is found under its new name the next time.
            return
        with open(descriptor, "rb") as file:
            if _key(os.fstat(file.fileno())) != key:
                return
            file.seek(start)
            while chunk := file.read(_CHUNK):
                start += len(chunk)
                *whole, rest = (rest + chunk).split(b"\n")
                yield from (line + b"\n" for line in whole)
                if len(rest) > _LONGEST_LINE:
                    rest = b""
        self._read[key] = start
        self._rest[key] = rest

    def _files(self) -> list[tuple[tuple[int, int], str, int]]:
        found = []
        try:
            with os.scandir(self._folder) as entries_:
                for entry in entries_:
                    _, is_journal, rest = entry.name.rpartition(".jsonl")
                    if is_journal and (not rest or rest[1:].isdecimal()) and entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        found.append((status.st_mtime_ns, _key(status), entry.path, status.st_size))
        except OSError:
            return []
        return [(key, path, size) for _, key, path, size in sorted(found)]


def _key(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _line_end(path: str, size: int) -> int:
    """Return where the last line of a file begins that is not whole yet; its end if all are."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, size - _CHUNK))
            block = file.read(min(size, _CHUNK))
    except OSError:
        return size
    return size - (len(block) - 1 - block.rfind(b"\n")) if b"\n" in block else size


def _stamp(since: float) -> str:
    try:
        return iso(since)
    except (ValueError, OverflowError):
        return "9999"
