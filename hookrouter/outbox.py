"""The outbox: every message to an agent is a document on disk before anything tries to deliver it.

A message is the document ``wake-<id>.json`` in ``state/outbox``. The fields of :class:`hookrouter.answering.Wake` are
its first part; the second part is what delivery adds:

- ``fallbacks``: the gateways that are tried after ``gateway``, in order;
- ``attempts``: how often a gateway was asked to deliver it, this attempt included;
- ``failures``: how many times in a row it could not be delivered, since it was put in or a person had it retried;
- ``tried_for``: the seconds for which it has been tried since then, sleep of the machine and clock jumps left out;
- ``last_attempt_at``: when the last attempt began, None before the first;
- ``last_error``: why it is still here, None before the first attempt;
- ``next_attempt_at``: not to be tried earlier than this, None for at once;
- ``refused``: the gateways that said that trying again cannot help, each with a fingerprint of its configuration then,
  so that a change of it is seen;
- ``given_up``: None, or ``{"reason", "at", "settings"}`` where no gateway is left to try, or time was up; ``settings``
  is the fingerprint for all its gateways together;
- ``not_before``: None, or when it is to go out at the earliest;
- ``while_open``: None, or which document must still be there when it goes out, else it is dropped unsent: ``kind`` and
  ``names`` of documents in ``state/``, and the ``fields`` that one of them must have;
- ``then``: the messages that follow it, each with its ``seconds``, ``after_delivery``, ``fallbacks`` and ``then``;
- ``delivered_at``: None, or when it was delivered, where it only waits for what follows it to be written.

Times are ISO 8601 in UTC. The id is the idempotency key. Ids sort in the order of creation: always those of one
process, those of several as the clock had it (one that is set back puts what another process creates next before what
waits). Only the deliverer (:mod:`hookrouter.delivery`) tries messages; a hook process puts one in and starts a
deliverer, and both are quick. A deliverer stays while there is something to try later. One that was killed is
replaced by what a new message or a :func:`push` starts.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time

from hookrouter.clock import iso, now, seconds
from hookrouter.home import HOME_VARIABLE, ensure
from hookrouter.store import Store, StoreBusy, StoreError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from hookrouter.answering import FollowUp, Wake
    from hookrouter.home import Home
    from hookrouter.store import Lock

__all__ = [
    "CLAUDE_SECRETS",
    "KIND",
    "LOG_BYTES",
    "LOG_FLAGS",
    "LONGEST_PUSH_WAIT",
    "LONGEST_WAIT",
    "PUSH_WAIT",
    "Outbox",
    "prepare_log",
    "push",
    "spawn_delivery",
    "tried_for",
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
"""Upper limit of the longer wait that a deliverer sets where it leaves only what it has given up."""

LONGEST_WAIT = 600.0
"""Upper limit in seconds of the wait between two attempts, where the other side does not ask for a longer one."""

_LOCK_SECONDS = 10.0
_PROBE_SECONDS = 0.2
"""How long a deliverer asks for its lock: a look at whether one is at work holds it for a moment."""
_FOLLOWING = "-then"
_NEXT_PUSH = "next-push"
"""The file in the outbox whose modification time is when a push is due, and whose change time is when that was set."""

_last_id = (0, 0)


class Outbox:
    """The messages that wait for delivery, one document each."""

    def __init__(self, home: Home, report: Callable[[str], None]) -> None:
        """Touch nothing yet; ``report`` hears of a document that was unreadable and has been set aside."""
        self.folder = os.path.join(home.state, "outbox")
        self._store = Store(self.folder, report, base=home.state)
        self._documents = Store(home.state, report)
        self._delivering: Lock | None = None

    def put(
        self,
        wake: Wake,
        *,
        fallbacks: Sequence[str] = (),
        then: Sequence[FollowUp] = (),
        while_open: Mapping[str, object] | None = None,
    ) -> Wake:
        """Keep one message and return it with its id and creation time. It is on disk, durably, before this returns.

        ``fallbacks`` are the gateways that are tried where ``wake.gateway`` fails, in order; ``then`` is what follows,
        kept in the same document; ``while_open`` says, for what follows, which document must still be there when it
        goes out: ``{"kind", "names", "fields"}``, as this module's documentation has it. Raises
        hookrouter.store.StoreError where it cannot be written; then nothing was.
        """
        nanoseconds, name = _new_id()
        kept = wake._replace(id=name, created_at=iso(nanoseconds / 1e9))
        document = _document(kept, fallbacks)
        if then:
            document["then"] = [_following(one, while_open) for one in then]
        self._store.write(KIND, name, document)
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

    def stamps(self) -> dict[str, tuple[int, int]]:
        """Return what tells one state of each message's document from the next, by id, in no order."""
        found = {}
        prefix, suffix = f"{KIND}-", ".json"
        try:
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    if entry.name.startswith(prefix) and entry.name.endswith(suffix):
                        try:
                            status = entry.stat(follow_symlinks=False)
                        except FileNotFoundError:
                            continue
                        found[entry.name[len(prefix) : -len(suffix)]] = status.st_mtime_ns, status.st_ino
        except FileNotFoundError:
            pass
        return found

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

    def record_attempt(
        self, name: str, pause: float = 0.0, *, fallback: bool = False, asked: bool = True
    ) -> dict[str, Any] | None:
        """Count an attempt that is about to be made, and return the message; None if it was dropped meanwhile.

        Counted before the attempt, with ``pause`` seconds until the next one, so that a message on which the deliverer
        dies is seen to be one, and waits. With ``fallback`` it is the attempt of a further gateway at the same time,
        and no further failure. Without ``asked`` the gateway cannot even be asked.
        """
        return self._change(
            name,
            lambda message: {
                "attempts": message["attempts"] + asked,
                "failures": message["failures"] + (not fallback),
                "tried_for": tried_for(message),
                "last_attempt_at": iso(),
                "last_error": "the attempt was interrupted before its result was known",
                "next_attempt_at": iso(now() + pause) if pause > 0 else None,
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
        refused: Mapping[str, str] | None = None,
    ) -> None:
        """Note why a message is still here.

        ``next_attempt_at`` is the time before which no deliverer tries it. ``given_up`` is the fingerprint of the
        settings with which trying again cannot help; ``refused`` the same by gateway, None to leave it as it was.
        """
        self._change(
            name,
            lambda message: {
                "last_error": reason,
                "next_attempt_at": next_attempt_at,
                "refused": message["refused"] if refused is None else dict(refused),
                "given_up": None if given_up is None else {"reason": reason, "at": iso(), "settings": given_up},
            },
        )

    def retry(self, name: str) -> bool:
        """Make a message due now, given up or not, with its whole time for tries before it. False where there is none.

        Raises hookrouter.store.StoreError where it cannot be written.
        """
        return self._change(name, lambda _message: {**_FRESH, "not_before": None}) is not None

    def hurry(self, name: str) -> bool:
        """Make a message due now that waits for its next attempt; others are left alone. Returns whether it was one.

        Raises hookrouter.store.StoreError where it cannot be written.
        """
        message = self.get(name)
        if message is None or message["next_attempt_at"] is None or message["given_up"] is not None:
            return False
        return self._change(name, lambda _message: {"next_attempt_at": None}) is not None

    def remove(self, name: str) -> bool:
        """Remove a message, because it was delivered or dropped. False where there is none.

        Raises hookrouter.store.StoreError where it cannot be removed.
        """
        try:
            with self._lock(name):
                return self._store.delete(KIND, name)
        except StoreBusy:
            raise
        except StoreError:
            # No room for a lock: then there is none for the change either that it would keep out.
            return self._store.delete(KIND, name)

    def delivered(self, message: Mapping[str, Any]) -> None:
        """Remove a message that was delivered, and put in what follows it.

        Whatever moment this is stopped at, a deliverer that finds ``delivered_at`` set ends it without sending the
        message again. Raises hookrouter.store.StoreError where what follows cannot be written; then it is lost, but
        the message itself is removed.
        """
        name = message["id"]
        try:
            if message["then"]:
                if message["delivered_at"] is None:
                    self._store.write(KIND, name, {**message, "delivered_at": iso()}, durable=False)
                self._follow(message, after_delivery=True, since=None)
        except StoreError:
            self.remove(name)
            raise
        self.remove(name)

    def unfold(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """Put in what follows a message without waiting for its delivery; return the message without it.

        For the deliverer, before it tries the message; doing it again changes nothing. None where the message is
        gone. Raises hookrouter.store.StoreError.
        """
        self._follow(message, after_delivery=False, since=seconds(message.get("created_at")))
        return self._change(
            message["id"], lambda one: {"then": [entry for entry in one["then"] if entry.get("after_delivery", True)]}
        )

    def is_wanted(self, message: Mapping[str, Any]) -> bool:
        """Whether the document that ``while_open`` asks for is there; True where the message asks for none.

        Raises hookrouter.store.StoreError where it cannot be read.
        """
        condition = message["while_open"]
        if condition is None:
            return True
        fields = condition["fields"].items()
        for name in condition["names"]:
            document = self._documents.read(condition["kind"], name)
            if document is not None and fields <= document.items():
                return True
        return False

    def is_held(self, message: Mapping[str, Any]) -> bool:
        """Whether a message is not to go out because its session is paused. Raises hookrouter.store.StoreError."""
        from hookrouter.pause import is_paused

        return is_paused(self._documents, str(message.get("session"))) is not None

    def look_again(self) -> None:
        """Have a deliverer that stays look at every message, and let the next push start one. Raises nothing.

        For whoever has changed something beside the messages, such as ended a pause.
        """
        path = os.path.join(self.folder, _NEXT_PUSH)
        try:
            # Made and removed: a deliverer sees that the folder changes.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            os.unlink(path)
        except OSError:
            return

    def is_early(self, message: Mapping[str, Any]) -> bool:
        """Whether a message is not to go out yet."""
        return message["not_before"] is not None and message["not_before"] > iso() and not message["failures"]

    def _follow(self, message: Mapping[str, Any], *, after_delivery: bool, since: float | None) -> None:
        for number, entry in enumerate(message["then"]):
            if entry.get("after_delivery", True) != after_delivery:
                continue
            name = f"{message['id']}{_FOLLOWING}{number}"
            if self._store.read(KIND, name) is not None:
                continue
            moment = now()
            # One in the future was noted before the clock was set back.
            begin = moment if since is None or since > moment else since
            times = {"created_at": iso(moment), "not_before": iso(begin + entry.get("seconds", 0))}
            self._store.write(KIND, name, {**_UNTRIED, **entry, "version": 1, "id": name, **times})

    def postpone(self, seconds: float) -> bool:
        """Let no push start a deliverer for so long; return whether that could be noted."""
        return _postpone(self.folder, seconds)

    def prune(self, seconds: float) -> None:
        """Remove documents that were set aside as corrupt longer ago than this. Raises nothing."""
        self._store.prune(seconds)

    def delivering(self) -> Lock:
        """Return the deliverer's lock, as a context manager. Entering raises StoreBusy where another one delivers."""
        self._delivering = self._store.lock("outbox", "delivery", _PROBE_SECONDS)
        return self._delivering

    def leave_delivery(self) -> None:
        """In a forked child of the deliverer: leave its lock to it."""
        if self._delivering is not None:
            self._delivering.forget()

    def line(self, name: str) -> Lock:
        """Return the lock of who delivers one line of messages; it outlives a deliverer that was killed."""
        return self._store.lock("line", name, 0)

    def _change(self, name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any] | None:
        # Without the lock, a message that a person drops at this moment would come back.
        with self._lock(name):
            message = self.get(name)
            if message is None:
                return None
            message.update(change(message))
            # Not durable: a lost count costs one more attempt, and the message itself was durable from the start.
            self._store.write(KIND, name, message, durable=False)
            return message

    def _lock(self, name: str) -> Lock:
        return self._store.lock("message", name, _LOCK_SECONDS)


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

    One is due PUSH_WAIT seconds after the last one was started or ended its work, or later where that one left only
    what it had given up, or at once after a change of ``config.toml``; and none while one is at work. For an empty
    outbox this is one look at its folder. Raises nothing.
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
    """Start a deliverer that outlives this process, and return its pid at once; 0 where one is at work.

    That one finds every message that was put in before this was called. A new one runs in a session of its own, holds
    none of this process's descriptors (Claude Code waits for a hook's stdout to close, not for its exit), and writes to
    ``logs/delivery.log``. Raises OSError where it cannot be started; the messages then wait for the next one.
    """
    folder = os.path.join(home.state, "outbox")
    # It lets go of its lock before its last look at the outbox.
    if _is_delivering(folder):
        return 0
    _postpone(folder, PUSH_WAIT)
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


def tried_for(message: Mapping[str, Any]) -> float:
    """Return the seconds for which a message has been tried by now.

    Between two attempts no more counts than a deliverer waits: the machine may have slept, or the clock jumped.
    """
    total: float = message["tried_for"]
    last = seconds(message["last_attempt_at"])
    if last is None or not message["failures"]:
        return total
    return total + max(0.0, min(now() - last, LONGEST_WAIT))


def _document(wake: Wake, fallbacks: Sequence[str]) -> dict[str, Any]:
    return {"version": 1, **wake._asdict(), **_UNTRIED, "fallbacks": list(fallbacks)}


def _following(one: FollowUp, while_open: Mapping[str, object] | None) -> dict[str, Any]:
    fields = one.wake._asdict()
    del fields["id"], fields["created_at"]
    return {
        **fields,
        "seconds": one.seconds,
        "after_delivery": one.after_delivery,
        "fallbacks": list(one.fallbacks),
        "while_open": while_open,
        "then": [_following(other, while_open) for other in one.then],
    }


_FRESH: dict[str, Any] = {"failures": 0, "tried_for": 0.0, "next_attempt_at": None, "refused": {}, "given_up": None}

_UNTRIED: dict[str, Any] = {
    **_FRESH,
    "attempts": 0,
    "last_attempt_at": None,
    "last_error": None,
    "fallbacks": [],
    "not_before": None,
    "while_open": None,
    "then": [],
    "delivered_at": None,
}


def _completed(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with what delivery needs, whatever an older version or an edit by hand left of it."""
    message = {**_UNTRIED, **document, "id": name}
    for field in ("attempts", "failures"):
        if not isinstance(message[field], int) or isinstance(message[field], bool) or message[field] < 0:
            message[field] = 0
    if not isinstance(message["tried_for"], int | float) or not 0 <= message["tried_for"] < _CENTURY:
        message["tried_for"] = 0.0
    for field in ("last_attempt_at", "next_attempt_at", "last_error", "not_before", "delivered_at"):
        if not isinstance(message[field], str):
            message[field] = None
    for field in ("given_up", "while_open"):
        if not isinstance(message[field], dict):
            message[field] = None
    if message["while_open"] is not None and not _is_condition(message["while_open"]):
        message["while_open"] = None
    if not isinstance(message["refused"], dict):
        message["refused"] = {}
    message["fallbacks"] = [one for one in _list(message["fallbacks"]) if isinstance(one, str)]
    message["then"] = [one for one in _list(message["then"]) if isinstance(one, dict)]
    return message


_CENTURY = 100 * 365 * 86400.0


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_condition(value: dict[str, Any]) -> bool:
    names = value.get("names")
    return (
        isinstance(value.get("kind"), str)
        and isinstance(names, list)
        and all(isinstance(name, str) for name in names)
        and isinstance(value.get("fields"), dict)
    )
