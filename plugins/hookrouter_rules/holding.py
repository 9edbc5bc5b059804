"""What the rules say to a call that is about to run."""

from __future__ import annotations

from hookrouter.permission_rules.judging import AGENT, ALLOW, DENY, PERSON, Call, Rules, with_project
from hookrouter.shell.reader import client_shell

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.permission_rules.judging import Judgement
    from hookrouter.replies import PreSkillShellCommandReply, PreToolUseReply

__all__ = ["hold_call", "hold_skill_command"]

_QUESTION, _PLAN = "AskUserQuestion", "ExitPlanMode"
"""Tools whose call is a dialog: there is nothing to be asked about before it. No rule is about questions."""


def hold_call(event: events.PreToolUse, context: Context) -> PreToolUseReply | None:
    """Return the refusal of a call, or the wish that it be asked about; None if the rules have neither for it.

    Raises whatever hinders the judgement: the plugin fails closed then.
    """
    if event.tool_name == _QUESTION:
        return None
    found = _judged(event.tool_name, event.raw.get("tool_input"), context)
    if found is None or found.decide == ALLOW:
        return None
    # Not at the top: most calls need none.
    from hookrouter.replies import PreToolUseReply

    if found.decide == DENY:
        return PreToolUseReply.deny(_refusal(found))
    asks = found.decide == PERSON or (found.decide == AGENT and _asks_always(found, context))
    if asks and event.tool_name != _PLAN:
        who = "a person" if found.decide == PERSON else "the agent"
        return PreToolUseReply.ask(f"A rule of {_whose(found)} leaves this to {who}. ({found.rule})")
    return None


def hold_skill_command(event: events.PreSkillShellCommand, context: Context) -> PreSkillShellCommandReply | None:
    """Return the refusal of a command in the text of a skill; None if no rule refuses it, or reserves it.

    A skill cannot wait for anybody, so what is to be decided is refused (Claude Code 2.1.332). Raises as above.
    """
    found = _judged(event.tool_name, event.raw.get("tool_input"), context)
    if found is None or found.decide == ALLOW:
        return None
    from hookrouter.replies import PreSkillShellCommandReply

    if found.decide == DENY:
        return PreSkillShellCommandReply.block(_refusal(found))
    if found.decide == AGENT and not _asks_always(found, context):
        return None
    who = "a person" if found.decide == PERSON else "the agent"
    why = f"A rule of {_whose(found)} leaves this to {who}, and a skill cannot wait. ({found.rule})"
    return PreSkillShellCommandReply.block(why)


def _judged(tool: str, tool_input: Mapping[str, Any] | None, context: Context) -> Judgement | None:
    """Return who decides on a call; None if no rule is about it.

    The user's rules are about managed sessions, those of the session's project about every one.
    """
    call = Call(tool, tool_input or {}, context.project, context.cwd, client_shell(context.environ))
    users = _by_user(call, context)
    found = with_project(users, context.config, call)
    if found is not None and found is not users:
        context.note("rule", {"tool": found.rule, "decide": found.decide, "file": found.file})
    return found


def _by_user(call: Call, context: Context) -> Judgement | None:
    """Return what the user's rules say; None if none is about the call, or nobody manages the session."""
    config = context.config
    if not config.approvals.rules or config.agent_for(None, context.cwd) is None:
        return None
    found = Rules.of(config.approvals.rules).judge(call)
    if not found.rule:
        return None
    # Asking the terminal for the session's name takes longer than all the rest.
    if found.decide != ALLOW and context.agent is None:
        context.debug(f"unmanaged session {context.session}: no [[agents]] entry matches it and {context.cwd}")
        return None
    context.note("rule", {"tool": found.rule, "decide": found.decide})
    return found


def _asks_always(found: Judgement, context: Context) -> bool:
    """Whether one of the rules that give a part of a call to the agent wants it asked in every mode."""
    given = {part.rule for part in found.parts if part.decide == AGENT}
    return any(rule.ask == "always" and rule.tool in given for rule in context.config.approvals.rules)


def _refusal(found: Judgement) -> str:
    return f"A rule of {_whose(found)} forbids this. ({found.rule})"


def _whose(found: Judgement) -> str:
    return "this project" if found.file else "the user"
