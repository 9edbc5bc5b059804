"""Who decides on a call, by ``[[approvals.rules]]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.permission_rules.judging import AGENT, ALLOW, DENY, PERSON, Call, Rules
from hookrouter.permission_rules.rule import is_tool, parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.config import ApprovalRule

__all__ = ["AGENT", "ALLOW", "DENY", "PERSON", "Ruling", "ruling", "widened"]


class Ruling(NamedTuple):
    """Who decides, and why."""

    decide: str
    rule: str
    """The rule as config.toml has it; empty if none is about the call."""


def ruling(
    rules: Sequence[ApprovalRule],
    tool: str,
    tool_input: Mapping[str, Any],
    folder: str,
    cwd: str = "",
    shell: str = "bash",
) -> Ruling:
    """Return who decides on a call. ``folder`` is the session's, ``cwd`` where Claude is, if that is another."""
    found = Rules.of(rules).judge(Call(tool, tool_input, folder, cwd or folder, shell))
    return Ruling(found.decide, found.rule)


def widened(rules: Sequence[ApprovalRule], update: Mapping[str, Any] | None) -> str:
    """Return the rule that refuses, or leaves to a person, what a permission update could let by; empty if none.

    After such an update Claude Code asks no more, so no rule would be asked either. ``update`` is one of the client's
    own proposals, or the mode that follows a plan; None for none.
    """
    if update is None or update.get("mode") in ("default", "plan"):
        return ""
    given = update.get("rules")
    tools = [str(one.get("toolName")) for one in given if isinstance(one, dict)] if isinstance(given, list) else None
    for rule in rules:
        if rule.decide not in (DENY, PERSON):
            continue
        # A mode or a folder is about many tools.
        if tools is None or any(is_tool(parse(rule.tool), tool, refuses=True) for tool in tools):
            return rule.tool
    return ""
