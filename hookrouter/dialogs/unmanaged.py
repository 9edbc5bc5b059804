"""Says once that a session asks and no agent manages it although agents with globs exist: one may be mistyped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.util.text import closest

if TYPE_CHECKING:
    from hookrouter.config import Agent
    from hookrouter.context import Context

__all__ = ["KEY", "say_unmanaged"]

KEY = "unmanaged"
"""The journal record's key, by which ``hookrouter doctor`` finds these sessions."""


def say_unmanaged(context: Context) -> None:
    """Journal that nobody manages this session: as a warning the first time, if an agent was meant for some sessions.

    The record gets ``unmanaged``: ``session``, ``cwd`` and ``nearest``, the glob of an agent that comes closest (empty
    if none does).
    """
    reason = f"unmanaged session {context.session}: no [[agents]] entry matches it and {context.cwd}"
    agents = [agent for agent in context.config.agents if agent.enabled and (agent.sessions or agent.workdirs)]
    if not agents or _is_said(context):
        context.debug(reason)
        return
    nearest = _nearest(agents, context.session)
    hint = f"; the nearest is sessions = [{nearest!r}]" if nearest else ""
    context.note("level", "warning")
    context.note("reason", f"{reason}{hint}; its questions are left to the person at its terminal")
    context.note(KEY, {"session": context.session, "cwd": context.cwd, "nearest": nearest})


def _is_said(context: Context) -> bool:
    return any(KEY in record for record in context.journal.records(context.session_id))


def _nearest(agents: list[Agent], session: str) -> str:
    """Return the glob whose letters come closest to a name."""
    globs = {glob.replace("*", "").replace("?", ""): glob for agent in agents for glob in agent.sessions}
    starts = {f"{plain}{session[len(plain) :]}": glob for plain, glob in globs.items()}
    found = closest(session, [*globs, *starts])
    return globs.get(found) or starts.get(found, "")
