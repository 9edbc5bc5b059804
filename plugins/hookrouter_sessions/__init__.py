"""Follows sessions from hook to hook, submits what waits in their queues, and wakes agents when a turn ends.

This module holds the hooks only. What they need is imported when they are called, because it is on the way of every
``hookrouter run`` that reaches this plugin. It listens to no event of a tool.
"""

from __future__ import annotations

from hookrouter.markers import hookimpl, if_known, matching, stateless

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.composing import MessageComposer
    from hookrouter.context import Context
    from hookrouter.hookspecs.commands import Command
    from hookrouter.replies import StopReply
    from hookrouter.sessions.watching import SessionWatcher

__all__: list[str] = []


@hookimpl
@stateless
def session_start(event: events.SessionStart, context: Context) -> None:
    """Note that a session has begun, and whose queue is there."""
    from hookrouter_sessions.lifecycle import session_began

    session_began(event, context)


@hookimpl
@stateless
def user_prompt_submit(event: events.UserPromptSubmit, context: Context) -> None:
    """Note that a turn begins, and whether its prompt is the item that was submitted."""
    from hookrouter_sessions.lifecycle import prompt_submitted

    prompt_submitted(event, context)


@hookimpl
@stateless
def stop(event: events.Stop, context: Context) -> StopReply | None:
    """Note that a turn has ended, and have the next item delivered; it may be the reply itself."""
    from hookrouter_sessions.lifecycle import turn_ended

    return turn_ended(event, context)


@hookimpl
@stateless
@if_known
def stop_failure(event: events.StopFailure, context: Context) -> None:
    """Note that a turn has ended in an error, and when it is worth trying again."""
    from hookrouter_sessions.lifecycle import turn_failed

    turn_failed(event, context)


@hookimpl
@stateless
@matching("idle_prompt")
def notification(event: events.Notification, context: Context) -> None:
    """Tell that Claude waits for a prompt."""
    if event.notification_type == "idle_prompt":
        from hookrouter_sessions.noticing import became_idle

        became_idle(event, context)


@hookimpl
@stateless
def subagent_stop(event: events.SubagentStop, context: Context) -> None:
    """Tell that a subagent has ended, if an agent is to hear of that."""
    # The client's own forks have no type.
    if event.agent_type and any("subagent_ended" in agent.wake_on for agent in context.config.agents):
        from hookrouter_sessions.noticing import subagent_ended

        subagent_ended(event, context)


@hookimpl
@stateless
def message_composer() -> MessageComposer:
    """Complete the messages about sessions when they go out."""
    from hookrouter.queue.messages.composer import SessionComposer

    return SessionComposer()


@hookimpl
@stateless
def pre_compact(event: events.PreCompact, context: Context) -> None:
    """Note whether a compaction is the item that was submitted."""
    from hookrouter_sessions.lifecycle import compaction_began

    compaction_began(event, context)


@hookimpl
@stateless
def session_end(event: events.SessionEnd, context: Context) -> None:
    """Note that a session has ended."""
    from hookrouter_sessions.lifecycle import session_ended

    session_ended(event, context)


@hookimpl
@stateless
def session_watcher() -> SessionWatcher:
    """Have queues delivered on of which no hook comes."""
    from hookrouter_sessions.watcher import QueueWatcher

    return QueueWatcher()


@hookimpl
@stateless
def cli_commands() -> list[Command]:
    """Contribute what people and agents type: ``hookrouter send``, ``queue`` and ``sessions``."""
    from hookrouter.hookspecs.commands import Command

    return [
        Command(
            name="send",
            help="Put prompts and commands into a session's queue.",
            target="hookrouter_sessions.commands.send:send",
            group="Drive sessions",
        ),
        Command(
            name="queue",
            help="Show and change the prompts and commands queued for sessions.",
            target="hookrouter_sessions.commands.queue:app",
            group="Drive sessions",
        ),
        Command(
            name="sessions",
            help="List the known sessions, and what each is doing.",
            target="hookrouter_sessions.commands.sessions:sessions",
            group="Drive sessions",
        ),
    ]
