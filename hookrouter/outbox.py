"""The outbox: every message to an agent is a document on disk before anything tries to deliver it.

A message is the document ``wake-<id>.json`` in ``state/outbox``. The fields of :class:`hookrouter.answering.Wake` are
its first part; the second part is what delivery adds:

- ``attempts``: how often a gateway was asked to deliver it, this attempt included;
- ``last_attempt_at``: when the last attempt began, None before the first;
- ``last_error``: why it is still here, None before the first attempt;
- ``next_attempt_at``: not to be tried earlier than this, where the other side asked for a pause, else None;
- ``given_up``: None, or ``{"reason", "at", "settings"}`` where the gateway said that trying again cannot help;
  ``settings`` is a fingerprint of the gateway's configuration then, so that a change of it is seen.

Times are ISO 8601 in UTC. The id is the idempotency key. Ids sort in the order of creation: always those of one
process, those of several as the clock had it (one that is set back puts what another process creates next before what
waits). Only the deliverer (:mod:`hookrouter.delivery`) tries messages; a hook process puts one in and starts a
deliverer, and both are quick. What a deliverer could not bring to its agent is tried again by a later one, which a new
message or a :func:`push` starts.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time

from hookrouter.clock import iso
from hookrouter.home import HOME_VARIABLE, ensure
from hookrouter.store import Store, StoreBusy, StoreError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from hookrouter.answering import Wake
    from hookrouter.home import Home
    from hookrouter.store import Lock

__all__ = [
    "CLAUDE_SECRETS",
    "KIND",
    "LOG_BYTES",
    "LOG_FLAGS",
    "LONGEST_PUSH_WAIT",
    "PUSH_WAIT",
    "Outbox",
    "prepare_log",
    "push",
    "spawn_delivery",
    "wake_of",
]

KIND = "wake"
"""The kind of an outbox document in the store."""

CLAUDE_SECRETS = frozenset({"CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN"})
"""Variables of a hook's environment that open the running Claude Code session to whoever holds them."""

LOG_BYTES = 1024 * 1024
"""Size from which a log that processes write to directly is set aside, replacing the one before."""

LOG_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
"""How such a log is opened."""

PUSH_WAIT = 30.0
"""Seconds after a deliverer's work, or the start of one, in which a push starts no other one."""

LONGEST_PUSH_WAIT = 600.0
"""Upper limit of the longer wait that a deliverer sets for messages that fail again and again."""

_LOCK_SECONDS = 10.0
_NEXT_PUSH = "next-push"
"""The file in the outbox whose modification time is when a push is due, and whose change time is when that was set."""

_last_id = (0, 0)


class Outbox:
    """The messages that wait for delivery, one document each."""

    def __init__(self, home: Home, report: Callable[[str], None]) -> None:
        """Touch nothing yet; ``report`` hears of a document that was unreadable and has been set aside."""
        self.folder = os.path.join(home.state, "outbox")
        self._store = Store(self.folder, report, base=home.state)

    def put(self, wake: Wake) -> Wake:
        """Keep one message and return it with its id and creation time. It is on disk, durably, before this returns.

        Raises hookrouter.store.StoreError where it cannot be written; then nothing was.
        """
        nanoseconds, name = _new_id()
        kept = wake._replace(id=name, created_at=iso(nanoseconds / 1e9))
        self._store.write(KIND, name, _document(kept))
        return kept

    def ids(self) -> list[str]:
        """Return the ids of all messages, oldest first, without reading the documents."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        prefix, suffix = f"{KIND}-", ".json"
        return sorted(
            name[len(prefix) : -len(suffix)] for name in names if name.startswith(prefix) and name.endswith(suffix)
        )

    def count(self) -> int:
        """Return how many messages wait, those given up included."""
        return len(self.ids())

    def pending(self) -> list[dict[str, Any]]:
        """Return every message, oldest first, those given up included. Keys as this module's documentation lists."""
        return [_completed(name, document) for name, document in self._store.entries(KIND)]

    def get(self, name: str) -> dict[str, Any] | None:
        """Return one message, or None where there is none of this id."""
        document = self._store.read(KIND, name)
        return None if document is None else _completed(name, document)

    def record_attempt(self, name: str) -> dict[str, Any] | None:
        """Count an attempt that is about to be made, and return the message; None if it was dropped meanwhile.

        Counted before the attempt, so that a message on which the deliverer dies is seen to be one.
        """
        return self._change(
            name,
            lambda message: {
                "attempts": message["attempts"] + 1,
                "last_attempt_at": iso(),
                "last_error": "the attempt was interrupted before its result was known",
                "next_attempt_at": None,
                "given_up": None,
            },
        )

    def record_failure(
        self,
        name: str,
        reason: str,
        *,
        next_attempt_at: str | None = None,
        given_up: str | None = None,
    ) -> None:
        """Note why a message is still here.

        ``next_attempt_at`` is the time before which no deliverer tries it. ``given_up`` is the fingerprint of the
        settings with which trying again cannot help.
        """
        self._change(
            name,
            lambda _message: {
                "last_error": reason,
                "next_attempt_at": next_attempt_at,
                "given_up": None if given_up is None else {"reason": reason, "at": iso(), "settings": given_up},
            },
        )

    def remove(self, name: str) -> bool:
        """Remove a message, because it was delivered or dropped. False where there is none.

        Raises hookrouter.store.StoreError where it cannot be removed.
        """
        try:
            with self._store.lock("outbox", "messages", _LOCK_SECONDS):
                return self._store.delete(KIND, name)
        except StoreBusy:
            raise
        except StoreError:
            # No room for a lock: then there is none for the change either that it would keep out.
            return self._store.delete(KIND, name)

    def postpone(self, seconds: float) -> bool:
        """Let no push start a deliverer for so long; return whether that could be noted."""
        return _postpone(self.folder, seconds)

    def prune(self, seconds: float) -> None:
        """Remove documents that were set aside as corrupt longer ago than this. Raises nothing."""
        self._store.prune(seconds)

    def delivering(self) -> Lock:
        """Return the deliverer's lock, as a context manager. Entering raises StoreBusy where another one delivers."""
        return self._store.lock("outbox", "delivery", 0)

    def _change(self, name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any] | None:
        # Without the lock, a message that a person drops at this moment would come back.
        with self._store.lock("outbox", "messages", _LOCK_SECONDS):
            message = self.get(name)
            if message is None:
                return None
            message.update(change(message))
            # Not durable: a lost count costs one more attempt, and the message itself was durable from the start.
            self._store.write(KIND, name, message, durable=False)
            return message


def wake_of(message: Mapping[str, Any]) -> Wake:
    """Return the message as a gateway gets it. Raises ValueError, naming the field, where a text is missing."""
    # Not on the way of a hook run that has nothing to tell.
    from hookrouter.answering import Wake

    for field in Wake._fields:
        if not isinstance(message.get(field), str):
            raise ValueError(f"{field!r} of the message is {message.get(field)!r}, not a text")
    return Wake(**{field: message[field] for field in Wake._fields})


def push(environ: Mapping[str, str], home: Home) -> bool:
    """Start a deliverer for what waits in the outbox, if one is due; return whether it was started.

    One is due PUSH_WAIT seconds after the last one was started or ended its work, or later where that one found
    messages that keep failing, or at once after a change of ``config.toml``; and none while one is at work. For an
    empty outbox this is one look at its folder. Raises nothing.
    """
    folder = os.path.join(home.state, "outbox")
    try:
        with os.scandir(folder) as entries:
            if not any(entry.name.startswith(f"{KIND}-") for entry in entries):
                return False
        if not _is_push_due(folder, home.config_file) or _is_delivering(folder):
            return False
        # What cannot be noted would be tried by every hook run.
        return _postpone(folder, PUSH_WAIT) and _spawn(environ, home) > 0
    except OSError:
        return False


def _is_push_due(folder: str, config_file: str) -> bool:
    try:
        due = os.stat(os.path.join(folder, _NEXT_PUSH))
    except FileNotFoundError:
        return True
    # A time that is too far away is one that was noted before the clock was set back.
    if not 0 < due.st_mtime - time.time() <= LONGEST_PUSH_WAIT:
        return True
    try:
        return os.stat(config_file).st_mtime > due.st_ctime
    except OSError:
        return False


def _is_delivering(folder: str) -> bool:
    try:
        descriptor = os.open(
            os.path.join(folder, "locks", "outbox-delivery.lock"), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        )
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _postpone(folder: str, seconds: float) -> bool:
    path = os.path.join(folder, _NEXT_PUSH)
    now = time.time()
    try:
        try:
            os.utime(path, (now, now + seconds))
        except FileNotFoundError:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            os.utime(path, (now, now + seconds))
    except OSError:
        return False
    return True


def spawn_delivery(environ: Mapping[str, str], home: Home) -> int:
    """Start a deliverer that outlives this process, and return its pid at once.

    It runs in a session of its own, holds none of this process's descriptors (Claude Code waits for a hook's stdout
    to close, not for its exit), and writes to ``logs/delivery.log``. Raises OSError where it cannot be started; the
    messages then wait for the next one.
    """
    _postpone(os.path.join(home.state, "outbox"), PUSH_WAIT)
    return _spawn(environ, home)


def _spawn(environ: Mapping[str, str], home: Home) -> int:
    if not sys.executable:
        raise OSError("the path of the Python interpreter is unknown")
    variables = {name: value for name, value in environ.items() if name not in CLAUDE_SECRETS}
    if variables.get(HOME_VARIABLE):
        # The deliverer works in another folder.
        variables[HOME_VARIABLE] = home.root
    actions: list[tuple[Any, ...]] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, _delivery_log(home), LOG_FLAGS, 0o600),
        *((os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in _inheritable_descriptors()),
    ]
    arguments = [sys.executable, "-P", "-m", "hookrouter", "deliver", "--detach"]
    try:
        return os.posix_spawn(sys.executable, arguments, variables, file_actions=actions, setsid=True)
    except NotImplementedError:
        # Interpreters built for an old C library have no setsid here; then --detach alone does it, a little later.
        return os.posix_spawn(sys.executable, arguments, variables, file_actions=actions)


def _delivery_log(home: Home) -> str:
    try:
        path = prepare_log(home, "delivery.log")
        os.close(os.open(path, LOG_FLAGS, 0o600))
    except OSError:
        # Messages can be delivered without a log.
        return os.devnull
    return path


def prepare_log(home: Home, name: str) -> str:
    """Return the path of a log in ``logs/`` that other processes write to directly; open it with LOG_FLAGS, 0600.

    Makes the folder, and sets a log that has grown large aside as ``<log>.1``. Raises OSError.
    """
    ensure(home.logs)
    path = os.path.join(home.logs, name)
    try:
        if os.stat(path).st_size >= LOG_BYTES:
            os.replace(path, f"{path}.1")
    except FileNotFoundError:
        pass
    return path


def _inheritable_descriptors() -> list[int]:
    """Return the descriptors above stderr that a child would get: what the parent of this process left open."""
    try:
        descriptors = [int(name) for name in os.listdir("/dev/fd")]
    except (OSError, ValueError):
        return []
    found = []
    for descriptor in descriptors:
        try:
            if descriptor > 2 and os.get_inheritable(descriptor):
                found.append(descriptor)
        except OSError:
            continue
    return found


def _new_id() -> tuple[int, str]:
    """Return the time in nanoseconds and an id that sorts after all ids of this process so far."""
    global _last_id
    last, counter = _last_id
    now = time.time_ns()
    # The clock may stand still or be set back between two messages.
    _last_id = (now, 0) if now > last else (last, counter + 1)
    return now, f"{_last_id[0]:019d}-{os.getpid()}-{_last_id[1]:04d}"


def _document(wake: Wake) -> dict[str, Any]:
    return {"version": 1, **wake._asdict(), **_UNTRIED}


_UNTRIED: dict[str, Any] = {
    "attempts": 0,
    "last_attempt_at": None,
    "last_error": None,
    "next_attempt_at": None,
    "given_up": None,
}


def _completed(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with what delivery needs, whatever an edit by hand left of it."""
    message = {**_UNTRIED, **document, "id": name}
    attempts = message["attempts"]
    if not isinstance(attempts, int) or isinstance(attempts, bool) or attempts < 0:
        message["attempts"] = 0
    for field in ("last_attempt_at", "next_attempt_at", "last_error"):
        if not isinstance(message[field], str):
            message[field] = None
    if not isinstance(message["given_up"], dict):
        message["given_up"] = None
    return message
