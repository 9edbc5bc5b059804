"""The answer channel that needs no keys: a hook that waits beside the open dialog gives the answer to Claude Code.

Claude Code calls PermissionRequest while it draws the dialog, and takes an answer from that hook at any time until
somebody else has given one (measured on 2.0.76 to 2.1.330). So this plugin's hook waits until ``hookrouter answer``
hands it the decisions, and returns them; no terminal is needed. A person at the keyboard may answer first and wins.

A session without a person (``claude -p``, an SDK) draws no dialog and calls no PermissionRequest. If
``[plugins.hook-reply.settings] headless = true``, the PreToolUse hook waits in its place, in such sessions only.

This module holds the hooks only. What they need is imported when they are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.markers import hookimpl, stateless, waits

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.answering.interfaces import AnswerChannel
    from hookrouter.context import Context
    from hookrouter.replies import PermissionRequestReply, PreToolUseReply
    from hookrouter.tools import AskUserQuestionInput
    from hookrouter_hook_reply.settings import HookReplySettings

__all__: list[str] = []

LONGEST_WAIT = 24 * 3600.0
"""Seconds for which a question is waited for; ``[answer] wait`` can make it less."""


@hookimpl
@stateless
@waits(LONGEST_WAIT)
def permission_request_ask_user_question(
    event: events.PermissionRequest,
    tool_input: AskUserQuestionInput,
    context: Context,
) -> PermissionRequestReply | None:
    """Wait beside the dialog for the agent's answer; None if it is not needed any more, or did not come."""
    from hookrouter_hook_reply.waiting import beside_the_dialog

    return beside_the_dialog(tool_input.raw, context, event.agent_id or "")


@hookimpl
@stateless
@waits(LONGEST_WAIT, setting="headless")
def pre_tool_use_ask_user_question(
    event: events.PreToolUse,  # noqa: ARG001 - the hook's signature
    tool_input: AskUserQuestionInput,
    context: Context,
) -> PreToolUseReply | None:
    """Wait for the agent's answer if nobody else could give one; None in a session that draws a dialog."""
    from hookrouter_hook_reply.waiting import instead_of_a_dialog

    return instead_of_a_dialog(tool_input.raw, context)


@hookimpl
@stateless
def post_tool_use_ask_user_question(
    event: events.PostToolUse,  # noqa: ARG001 - the hook's signature
    tool_input: AskUserQuestionInput,
    context: Context,
) -> None:
    """Tell the hook that still waits beside this question, which a person has answered, that it has ended."""
    from hookrouter.dialogs.handover import Handover

    Handover.of(context.store, context.session_id, tool_input.raw).end()


@hookimpl
@stateless
def stop(event: events.Stop, context: Context) -> None:
    """End the hooks that still wait when Claude's turn has ended: a chat leaves the hook of the declined question."""
    from hookrouter.dialogs.handover import end_all
    from hookrouter.util.claude_process import client_pid

    if not event.agent_id:
        end_all(context.store, context.session_id, client_pid(context.environ))


@hookimpl
@stateless
def plugin_settings() -> type[HookReplySettings]:
    """Declare the settings."""
    from hookrouter_hook_reply.settings import HookReplySettings

    return HookReplySettings


@hookimpl
@stateless
def answer_channel() -> AnswerChannel:
    """Contribute the channel named ``reply``."""
    from hookrouter_hook_reply.channel import ReplyChannel

    return ReplyChannel()
