"""Closes dialogs of every kind that have ended without a hook of their own: the plugin ``dialogs``.

A kind's own plugin opens its dialogs, and ends those of which its own hooks tell. This one is here once for all of
them, so that a kind that is switched off, or that a third party contributes, needs none.

This module holds the hooks only. What they need is imported when they are called.
"""

from __future__ import annotations

from hookrouter.markers import hookimpl, stateless

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.context import Context

__all__: list[str] = []


@hookimpl
@stateless
def stop(event: events.Stop, context: Context) -> None:
    """Close what this session's finished turn left open."""
    from hookrouter.dialogs.lifecycle import turn_ended

    turn_ended(event, context)


@hookimpl
@stateless
def subagent_stop(event: events.SubagentStop, context: Context) -> None:
    """Close what this subagent was refused."""
    from hookrouter.dialogs.lifecycle import subagent_ended

    subagent_ended(event, context)


@hookimpl
@stateless
def user_prompt_submit(event: events.UserPromptSubmit, context: Context) -> None:
    """Close what was declined, or refused by hand, before this prompt."""
    from hookrouter.dialogs.lifecycle import prompt_submitted

    prompt_submitted(event, context)


@hookimpl
@stateless
def session_start(event: events.SessionStart, context: Context) -> None:
    """Close what an earlier client in this place left open."""
    from hookrouter.dialogs.lifecycle import session_started

    session_started(event, context)


@hookimpl
@stateless
def session_end(event: events.SessionEnd, context: Context) -> None:
    """Close what the ending session leaves open."""
    from hookrouter.dialogs.lifecycle import session_ended

    session_ended(event, context)
