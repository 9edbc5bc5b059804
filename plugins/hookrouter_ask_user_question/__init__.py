"""Answers Claude's questions for an agent: the AskUserQuestion lifecycle from the question to the verified answer.

PreToolUse saves the question and wakes the agent; ``hookrouter answer`` checks the agent's decisions, saves them and
delivers them; PostToolUse compares what Claude Code recorded with what was meant. A question that ends in any other way
(declined, cancelled, client closed) has no PostToolUse, so the later events of its session sweep it
(:mod:`hookrouter.dialogs.hooks`).

This module holds the hooks only. What they need is imported when they are called, because it is on the way of every
``hookrouter run`` that reaches this plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.markers import hookimpl, stateless

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.dialogs.kinds import DialogKind
    from hookrouter.tools import AskUserQuestionInput

__all__: list[str] = []


@hookimpl
@stateless
def pre_tool_use_ask_user_question(
    event: events.PreToolUse, tool_input: AskUserQuestionInput, context: Context
) -> None:
    """Save the question and wake the session's agent. Never answers and never types."""
    from hookrouter_ask_user_question.lifecycle import question_asked

    question_asked(event, tool_input, context)


@hookimpl
@stateless
def post_tool_use_ask_user_question(event: events.PostToolUse, context: Context) -> None:
    """Compare the recorded answer with the intended one, and wake the agent if they differ."""
    from hookrouter_ask_user_question.lifecycle import answer_recorded

    answer_recorded(event, context)


@hookimpl
@stateless
def post_tool_use_failure_ask_user_question(event: events.PostToolUseFailure, context: Context) -> None:
    """Close a question whose tool call failed."""
    from hookrouter.dialogs.sweeping import tool_failed

    tool_failed(event, context)


@hookimpl
@stateless
def dialog_kinds() -> list[DialogKind]:
    """Contribute the kind ``question``."""
    from hookrouter_ask_user_question.kind import QuestionKind

    return [QuestionKind()]
