"""The journal: one line of JSON for each hook run, in a file per session.

Lines are appended by one system call each, so that processes that write at once never mix theirs. A file that has
grown too large is renamed, never copied, by one process at a time: a writer that still has it open writes to the
renamed file, and no record is lost.
"""

from __future__ import annotations

import os
import stat
import time

from hookrouter.storage.home import ensure, ensure_once
from hookrouter.util import fastjson
from hookrouter.util.clock import iso
from hookrouter.util.filenames import encode_name

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["FAILURES", "Journal", "cap", "parsed", "session_name"]

GENERAL = "hookrouter"
"""The name of the file for records without a session."""

FAILURES = ("failed", "timed out", "died")
"""The outcomes of a plugin's call, as records have them, that are failures of the plugin."""

MAX_STRING = 4000
"""Characters of one string that a record keeps."""
_MAX_ITEMS = 200
_MAX_DEPTH = 12
_MAX_LINE = 256 * 1024
_SUFFIX = ".jsonl"
_OPENING = b'{"at":"'


class Journal:
    """The records of one logs folder."""

    def __init__(self, folder: str, max_bytes: int = 5 * 1024 * 1024, backups: int = 3) -> None:
        """Keep up to ``backups`` older files of about ``max_bytes`` each beside the current one of each session."""
        self.folder = folder
        self._max_bytes = max_bytes
        self._backups = backups

    def write(self, record: Mapping[str, object], session_id: str | None) -> bool:
        """Append one record, with the time as ``at`` in front unless it has one; return whether it was written.

        Long strings and lists are cut as :func:`cap` does. Never raises: a journal that cannot be written must not
        stop a hook.
        """
        try:
            return self.append(_line(record), session_id)
        except Exception:  # noqa: BLE001 - a record may hold any object, and none of them may stop a hook
            return False

    def append(self, line: bytes, session_id: str | None) -> bool:
        """Append one line, which ends with a newline, as it is. Raises OSError if it cannot be written."""
        return self._append(self._path(session_id), line)

    def records(self, session_id: str | None, since: float | None = None) -> list[dict[str, object]]:
        """Return the records of one session, or those without one, oldest first; lines that are broken are left out.

        ``since`` leaves out what is older than this time in seconds since 1970. Raises nothing: what cannot be read is
        not there.
        """
        try:
            earliest = "" if since is None else iso(since)
        except (ValueError, OverflowError):
            return []
        start = earliest.encode("ascii")
        records = []
        for line in self.session_lines(session_id, since):
            # A record's time stands in front, so an old one need not be parsed.
            if line[: len(_OPENING)] == _OPENING and line[len(_OPENING) :] < start:
                continue
            record = parsed(line)
            if record is not None and str(record.get("at", "")) >= earliest:
                records.append(record)
        return records

    def search(self, words: Sequence[str], since: float | None = None) -> Iterator[dict[str, object]]:
        """Return the records of all sessions whose line holds one of these ASCII words; of each session oldest first.

        A line is JSON without blanks. ``since`` leaves out sessions that were not written since this time in seconds
        since 1970. Raises nothing: what cannot be read is not there.
        """
        needles = [word.encode("ascii") for word in words]
        for line in self.lines(since):
            if any(needle in line for needle in needles):
                record = parsed(line)
                if record is not None:
                    yield record

    def lines(self, since: float | None = None) -> Iterator[bytes]:
        """Return the lines of all sessions as they are in the files; of each session oldest first.

        ``since`` leaves out sessions that were not written since this time in seconds since 1970. Raises nothing: what
        cannot be read is not there.
        """
        for session in sorted(self._written(since)):
            yield from self._lines(os.path.join(self.folder, session + _SUFFIX), None)

    def _written(self, since: float | None) -> set[str]:
        """Return the names of the sessions' files, without their ending, that were written since then.

        Between a rotation and the next record, a session has older files only; within a rotation a look may find none
        of them, but the lock.
        """
        found: set[str] = set()
        try:
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    session, is_journal, rest = entry.name.rpartition(_SUFFIX)
                    if is_journal and _belongs(rest) and (since is None or _is_written(entry, since)):
                        found.add(session)
        except OSError:
            return found
        return found

    def session_lines(self, session_id: str | None, since: float | None = None) -> Iterator[bytes]:
        """Return the lines of one session, or those without one, oldest first, as they are in the files.

        ``since`` leaves out files that were not written since this time. Raises nothing, like :meth:`lines`.
        """
        return self._lines(self._path(session_id), since)

    def _lines(self, path: str, since: float | None) -> Iterator[bytes]:
        for descriptor in reversed(self._open_all(path, since)):
            try:
                with open(descriptor, "rb") as file:
                    yield from file
            except OSError:
                continue

    def prune(self, seconds: float) -> None:
        """Remove the files of sessions that have not been written for so long; the general file stays.

        Raises nothing: what cannot be removed stays.
        """
        latest: dict[str, float] = {}
        files: dict[str, list[str]] = {}
        try:
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    session, found, rest = entry.name.rpartition(_SUFFIX)
                    if found and _belongs(rest) and session != GENERAL:
                        written = entry.stat(follow_symlinks=False).st_mtime
                        latest[session] = max(written, latest.get(session, 0.0))
                        files.setdefault(session, []).append(entry.path)
        except OSError:
            return
        earliest = time.time() - seconds
        for session, paths in files.items():
            if latest[session] < earliest:
                for path in paths:
                    try:
                        os.unlink(path)
                    except OSError:
                        continue

    def _path(self, session_id: str | None) -> str:
        return os.path.join(self.folder, f"{encode_name(session_id) if session_id else GENERAL}{_SUFFIX}")

    def _append(self, path: str, line: bytes) -> bool:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        ensure_once(self.folder)
        try:
            descriptor = os.open(path, flags, 0o600)
        except FileNotFoundError:
            ensure(self.folder)
            descriptor = os.open(path, flags, 0o600)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return False
            size = status.st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                # A writer was stopped within its line; do not lose this one to it.
                line = b"\n" + line
            written = os.write(descriptor, line) == len(line)
        finally:
            os.close(descriptor)
        if size + len(line) > self._max_bytes:
            self._rotate(path)
        return written

    def _rotate(self, path: str) -> None:
        # Rarely needed, and a library of its own to load.
        import fcntl

        descriptor = os.open(path + ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            # Whoever is rotating already does it for this process too.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.stat(path).st_size <= self._max_bytes:
                return
            files = [path, *(f"{path}.{number}" for number in range(1, self._backups + 1))]
            free = next((number for number, file in enumerate(files) if not os.path.lexists(file)), self._backups)
            for number in range(free, 0, -1):
                os.replace(files[number - 1], files[number])
            if not self._backups:
                os.unlink(path)
        except OSError:
            return
        finally:
            os.close(descriptor)

    def _open_all(self, path: str, since: float | None) -> list[int]:
        """Open the current file and the older ones, newest first.

        In this order a rotation in between can show a file twice, which its inode tells, but never hide one.
        """
        descriptors, seen = [], set()
        for number in range(self._backups + 1):
            try:
                descriptor = os.open(
                    f"{path}.{number}" if number else path,
                    os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
                )
            except OSError:
                continue
            status = os.fstat(descriptor)
            if status.st_ino in seen or (since is not None and status.st_mtime < since - 2):
                os.close(descriptor)
            else:
                seen.add(status.st_ino)
                descriptors.append(descriptor)
        return descriptors


def _belongs(rest: str) -> bool:
    """Say whether a file is of a session, by what its name has behind the ending: nothing, a number, or the lock's."""
    return not rest or rest == ".lock" or rest[1:].isdecimal()


def _is_written(entry: os.DirEntry[str], since: float) -> bool:
    """Say whether a file was written since then."""
    try:
        return entry.stat(follow_symlinks=False).st_mtime >= since
    except FileNotFoundError:
        # Renamed at this moment, and so just written.
        return True


def cap(value: object, max_string: int = MAX_STRING, max_items: int = _MAX_ITEMS, depth: int = _MAX_DEPTH) -> object:
    """Return a JSON value of bounded size that shows ``value``.

    Strings are cut to ``max_string`` characters and say how long they were, lists and tables to ``max_items`` items and
    ``depth`` levels; what JSON does not have becomes its repr.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _cut(value, max_string)
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**64 else _cut(_shown(value), max_string)
    if isinstance(value, float):
        return float(value) if value - value == 0 else repr(value)
    if isinstance(value, (dict, list, tuple, set, frozenset)):
        if depth <= 0:
            return "…"
        if isinstance(value, dict):
            table: dict[str, object] = {}
            for key, item in value.items():
                if len(table) == max_items:
                    table["…"] = f"{len(value) - max_items} more"
                    break
                name = _cut(key if isinstance(key, str) else _shown(key), 200)
                table[name] = cap(item, max_string, max_items, depth - 1)
            return table
        items: list[object] = []
        for item in value:
            if len(items) == max_items:
                items.append(f"… {len(value) - max_items} more")
                break
            items.append(cap(item, max_string, max_items, depth - 1))
        return items
    return _cut(_shown(value), max_string)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def _shown(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - the repr of a foreign object may raise anything
        return f"<{type(value).__name__}>"


def _line(record: Mapping[str, object]) -> bytes:
    stamped = dict(record) if "at" in record else {"at": iso(), **record}
    line = ""
    for max_string, max_items, depth in ((MAX_STRING, _MAX_ITEMS, _MAX_DEPTH), (400, 50, 6), (100, 20, 2)):
        line = fastjson.dumps(cap(stamped, max_string, max_items, depth))
        if len(line) <= _MAX_LINE:
            break
    return line.encode("ascii") + b"\n"


def parsed(line: bytes) -> dict[str, object] | None:
    """Return the record of one line of a journal; None if the line is broken."""
    try:
        record = fastjson.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def session_name(session_id: str) -> str:
    """Return the name of a session outside any terminal."""
    return f"claude-{session_id[:8]}"
