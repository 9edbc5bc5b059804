"""The course of one run: which calls of plugins are over and what came of them, as one process tells another.

See :mod:`hookrouter.supervisor`, which has plugins called in a child process. Where they are called in the hook process
itself, a small file names the call that it is in (:class:`Mark`), so that a process that ends in the middle, and takes
its journal record with it, still shows which plugin it was in.
"""

from __future__ import annotations

import fcntl
import os

from hookrouter import _json
from hookrouter.home import ensure
from hookrouter.journal import cap

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from hookrouter.home import Home
    from hookrouter.tracing import Trace

__all__ = ["FAILURES", "Call", "Course", "Mark", "left_marks"]

FAILURES = ("failed", "timed out", "died")
"""The outcomes of a call, as the journal has them, that are failures of its plugin."""


class Call:
    """One call of a plugin that is over."""

    __slots__ = ("entry", "failed", "reply")

    def __init__(self, entry: dict[str, Any], reply: list[Any] | None, failed: bool) -> None:
        """Take the journal's entry, the reply as JSON, and whether it is hookrouter's, about a failure."""
        self.entry = entry
        self.reply = reply
        self.failed = failed


class Course:
    """What has happened so far. In a child, every step is told to the hook process as well."""

    def __init__(self, mark: Mark | None = None) -> None:
        """Begin with nothing, and nobody to tell; ``mark`` is to name the call that has begun."""
        self._mark = mark
        self.calls: dict[tuple[str, str], Call] = {}
        """The calls that are over, by plugin and hook; an import that failed is one too."""
        self.dead: dict[str, dict[str, Any]] = {}
        """The plugins that took their process with them, with the journal's entry of the call in which they did."""
        self.notes: dict[str, Any] = {}
        """The run's record, with what the calls have added to it."""
        self.trace: Trace | None = None
        """What writes each step down for a person, where somebody asked for it."""
        self._pipe = -1
        self._record: dict[str, Any] = {}
        self._told = ""

    def tell_to(self, pipe: int, record: dict[str, Any]) -> None:
        """In a child: tell every step from now on through this descriptor, and what ``record`` has become by then."""
        self._pipe = pipe
        self._record = record
        self._told = _text(record)

    def record(self) -> dict[str, Any]:
        """Return the run's record as JSON, with what the calls have added to it."""
        record = _json.loads(_text(self._record))
        assert isinstance(record, dict)  # noqa: S101 - for the type checker
        return record

    @property
    def is_told(self) -> bool:
        """Whether somebody is told."""
        return self._pipe >= 0

    def begins(self, plugin: str, hook: str, seconds: float, patient: bool = False) -> None:
        """Tell that a call begins, which may take so long.

        One that waits for somebody (``patient``) may well be ended from outside, so no mark is left of it.
        """
        if self._mark is not None:
            self._mark.name("" if patient else plugin, hook)
        if self.trace is not None:
            self.trace(f"{plugin} {hook}: begins, has {seconds:.3g} s")
        self.tell("begins", plugin, hook, seconds)

    def idle(self) -> None:
        """Tell that the call that began has handed over to others, and will go on."""
        self.tell("idle")

    def ended(self, plugin: str, hook: str, call: Call) -> None:
        """Note that a call is over, and tell it."""
        self.calls[plugin, hook] = call
        if not self.is_told:
            return
        text = _text(self._record)
        notes = None if text == self._told else _json.loads(text)
        self._told = text
        self.tell("ended", plugin, hook, call.entry, call.reply, call.failed, notes)

    def tell(self, *message: object) -> None:
        """Send one message, where somebody is told."""
        if self._pipe < 0:
            return
        data = _json.dumps(message).encode("ascii") + b"\n"
        while data:
            data = data[os.write(self._pipe, data) :]


def _text(record: dict[str, Any]) -> str:
    # A plugin may have noted anything.
    return _json.dumps(cap(record))


class Mark:
    """A file that this process holds locked while it calls plugins; it is gone once that is over."""

    def __init__(self, home: Home, plugins: Collection[str]) -> None:
        """Make the file; it is to name these plugins and no other. Raises OSError."""
        self._plugins = plugins
        folder = _marks(home)
        self._path = os.path.join(folder, f"{os.getpid()}-{os.urandom(4).hex()}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._descriptor = os.open(self._path, flags, 0o600)
        except FileNotFoundError:
            ensure(home.state)
            ensure(folder)
            self._descriptor = os.open(self._path, flags, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def name(self, plugin: str, hook: str) -> None:
        """Name the call that begins."""
        data = _json.dumps([plugin, hook] if plugin in self._plugins else None).encode("ascii")
        try:
            os.pwrite(self._descriptor, data, 0)
            os.ftruncate(self._descriptor, len(data))
        except OSError:
            # A plugin closed it, or the disk is full.
            return

    def remove(self) -> None:
        """Remove the file: no plugin is called any more."""
        try:
            os.unlink(self._path)
            os.close(self._descriptor)
        except OSError:
            # Another run may have taken it for one that was left, after a plugin had closed it.
            return


def left_marks(home: Home) -> dict[str, str]:
    """Take away the marks of processes that ended in the middle; return the plugins that they were in, with the hook.

    Raises nothing: what cannot be read is left.
    """
    found: dict[str, str] = {}
    try:
        names = os.listdir(_marks(home))
    except OSError:
        return found
    for name in names:
        path = os.path.join(_marks(home), name)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            said = _json.loads(os.read(descriptor, 4096))
            os.unlink(path)
        except BlockingIOError:
            continue
        except ValueError:
            _remove(path)
            continue
        except OSError:
            continue
        finally:
            os.close(descriptor)
        if isinstance(said, list) and len(said) == 2 and all(isinstance(part, str) for part in said):
            found[said[0]] = said[1]
    return found


def _marks(home: Home) -> str:
    return os.path.join(home.state, "running")


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
