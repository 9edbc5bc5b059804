"""Holds what ``[[approvals.rules]]`` refuse, and what they leave to a person, in every permission mode.

Claude Code asks for permission only where its mode and its own rules have it ask; before each call it asks this plugin.
A call that a rule refuses does not run. One that a rule leaves to a person is asked about, whatever the mode is: so the
dialog comes, and with it the plugin ``approvals``. What is allowed is not said here, but when Claude Code asks.

While rules refuse anything, the plugin fails closed, and it is called last: it sees what the tool will get.

This module holds the hooks only. What they need is imported when they are called.
"""

from __future__ import annotations

from hookrouter.markers import hookimpl, if_known, ruled, stateless

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.replies import PreSkillShellCommandReply, PreToolUseReply

__all__: list[str] = []


@hookimpl
@stateless
@ruled
def pre_tool_use(event: events.PreToolUse, context: Context) -> PreToolUseReply | None:
    """Refuse the call, or have it asked about; None leaves it to the mode."""
    from hookrouter_rules.holding import hold_call

    return hold_call(event, context)


@hookimpl
@stateless
@ruled
@if_known
def pre_skill_shell_command(event: events.PreSkillShellCommand, context: Context) -> PreSkillShellCommandReply | None:
    """Refuse a command in the text of a skill; nobody can be asked about one."""
    from hookrouter_rules.holding import hold_skill_command

    return hold_skill_command(event, context)
