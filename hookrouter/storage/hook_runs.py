"""What the journal's record of a hook run says of it: how it ended, how long it took, and which plugins were called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.storage.journal import FAILURES
from hookrouter.storage.journal_query import calls, is_hook_run, number
from hookrouter.util.fields import text

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

__all__ = ["FAILURES", "Called", "Run", "run_of"]

NOT_CALLED = ("not needed", "switched off")
"""Outcomes of calls that were not made."""


class Called(NamedTuple):
    """The call of one plugin."""

    plugin: str
    """The plugin."""
    hook: str
    """Its hook."""
    outcome: str
    """How it ended."""
    ms: float | None
    """How long it took, in milliseconds; None if that is not said."""
    is_wait: bool
    """Whether it waited for something outside, such as an answer."""


class Run(NamedTuple):
    """One hook run."""

    event: str
    """The event."""
    tool: str
    """The tool that it was about; empty if there was none."""
    outcome: str
    """``failed`` if its level is error, else what the journal says."""
    ms: float | None
    """How long it took without what was waited for in it, in milliseconds; None if that is not said."""
    session_id: str
    """The session."""
    calls: list[Called]
    """The calls of plugins that were made."""


def run_of(record: Mapping[str, Any], waiting: Container[tuple[str, str]]) -> Run | None:
    """Return what a record says of a hook run; None if it is about something else. Raises nothing.

    ``waiting`` holds plugin and hook of the implementations that wait for something outside.
    """
    if not is_hook_run(record):
        return None
    made = [
        Called(text(call, "plugin"), text(call, "hook"), text(call, "outcome"), number(call, "ms"), is_wait)
        for call in calls(record)
        for is_wait in [(text(call, "plugin"), text(call, "hook")) in waiting]
    ]
    ms = number(record, "ms")
    if ms is not None:
        ms = max(0.0, ms - sum(call.ms or 0.0 for call in made if call.is_wait))
    return Run(
        event=text(record, "event"),
        tool=text(record, "tool"),
        outcome="failed" if text(record, "level") == "error" else text(record, "outcome") or "unknown",
        ms=ms,
        session_id=text(record, "session_id"),
        calls=[call for call in made if call.plugin and call.outcome not in NOT_CALLED],
    )
