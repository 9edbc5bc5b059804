"""The progress of one run: which plugin calls are over and what came of them, as one process tells another.

:mod:`hookrouter._isolation.supervisor` has plugins called in a child process, which tells every step to its parent.
"""

from __future__ import annotations

import os

from hookrouter.storage.journal import cap
from hookrouter.util import fastjson

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from hookrouter._isolation.crash_marks import CrashMark

    class StepTrace(Protocol):
        """What writes each step down for a person: :class:`hookrouter._routing.tracing.Trace`."""

        def __call__(self, text: str) -> None: ...
        def call(self, entry: Mapping[str, Any]) -> None: ...
        def reply(self, plugin: str, reply: Mapping[str, Any]) -> None: ...


__all__ = ["Call", "RunProgress"]


class Call:
    """One call of a plugin that has ended."""

    __slots__ = ("entry", "failed", "left", "reply")

    def __init__(
        self, entry: dict[str, Any], reply: list[Any] | None, failed: bool, left: Mapping[str, Any] | None = None
    ) -> None:
        """Take the journal's entry, the reply as JSON, and whether it is hookrouter's, about a failure.

        ``left``, of a plugin in ``last``: the rewritten parts of the payload after it; None if nothing was rewritten.
        """
        self.entry = entry
        self.reply = reply
        self.failed = failed
        self.left = left


class RunProgress:
    """What has happened so far. In a child, every step is told to the hook process as well."""

    def __init__(self, mark: CrashMark | None = None, trace: StepTrace | None = None) -> None:
        """Begin with nothing, and nobody to tell.

        ``mark`` names on disk the call that has begun; ``trace`` writes each step down for a person.
        """
        self.trace = trace
        self._mark = mark
        self.calls: dict[tuple[str, str], Call] = {}
        """The calls that are over, by plugin and hook; an import that failed is one too."""
        self.dead: dict[str, dict[str, Any]] = {}
        """The plugins that took their process with them, with the journal's entry of the call in which they did."""
        self.notes: dict[str, Any] = {}
        """The run's record, with what the calls have added to it."""
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
        record = fastjson.loads(_text(self._record))
        assert isinstance(record, dict)  # noqa: S101 - for the type checker
        return record

    @property
    def is_told(self) -> bool:
        """Whether somebody is told."""
        return self._pipe >= 0

    def begins(self, plugin: str, hook: str, seconds: float, allowed: str, patient: bool = False) -> None:
        """Tell that a call begins, which may take so many ``seconds``; ``allowed`` is whose limit that is, in words.

        A call that waits for somebody (``patient``) may well be ended from outside, so it leaves no mark.
        """
        if self._mark is not None:
            self._mark.name("" if patient else plugin, hook)
        if self.trace is not None:
            self.trace(f"{plugin} {hook}: begins, has {seconds:.3g} s")
        self.tell("begins", plugin, hook, seconds, allowed)

    def idle(self) -> None:
        """Tell that the call that began has handed over to others, and will go on."""
        self.tell("idle")

    def ended(self, plugin: str, hook: str, call: Call) -> None:
        """Note that a call has ended, and tell it."""
        self.calls[plugin, hook] = call
        if not self.is_told:
            return
        text = _text(self._record)
        notes = None if text == self._told else fastjson.loads(text)
        self._told = text
        self.tell("ended", plugin, hook, call.entry, call.reply, call.failed, call.left, notes)

    def tell(self, *message: object) -> None:
        """Send one message, if somebody is told."""
        if self._pipe < 0:
            return
        data = fastjson.dumps(message).encode("ascii") + b"\n"
        while data:
            data = data[os.write(self._pipe, data) :]


def _text(record: dict[str, Any]) -> str:
    # A plugin may have noted anything.
    return fastjson.dumps(cap(record))
