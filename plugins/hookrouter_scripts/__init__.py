"""Runs the commands of ``[[scripts]]``: hooks in any language, as Claude Code runs those of its settings.

It listens to the events for which there is such a table, and to no other. This module holds the hooks only. What they
need is imported when they are called.
"""

from __future__ import annotations

from hookrouter.markers import hookimpl, scripted, stateless

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.context import Context
    from hookrouter.events import Event
    from hookrouter.replies import Reply

__all__: list[str] = []

_HOOKS = (
    "session_start",
    "setup",
    "user_prompt_submit",
    "user_prompt_expansion",
    "pre_skill_shell_command",
    "pre_tool_use",
    "permission_request",
    "permission_denied",
    "post_tool_use",
    "post_tool_use_failure",
    "post_tool_batch",
    "notification",
    "message_display",
    "subagent_start",
    "subagent_stop",
    "task_created",
    "task_completed",
    "stop",
    "stop_failure",
    "teammate_idle",
    "instructions_loaded",
    "config_change",
    "cwd_changed",
    "directory_added",
    "file_changed",
    "worktree_create",
    "worktree_remove",
    "pre_compact",
    "post_compact",
    "pre_model_switch",
    "post_model_switch",
    "elicitation",
    "elicitation_result",
    "session_end",
)
"""The hooks of all events."""


def _hook(name: str) -> Callable[[Event, Context], Reply | None]:
    """Return the implementation of one hook; all do the same."""

    def run(event: Event, context: Context) -> Reply | None:
        from hookrouter_scripts.calling import call_scripts

        return call_scripts(event, context)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"Run the scripts for ``{name}``."
    return hookimpl(stateless(scripted(run)))


globals().update({name: _hook(name) for name in _HOOKS})
