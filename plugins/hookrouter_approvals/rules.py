"""Who decides on a call, by ``[[approvals.rules]]``: the first rule that is about it says so.

A command line of bash with several commands gets the strictest of what its commands get. One that cannot be taken apart
with certainty (a substitution, a redirection, a variable) is covered by no rule that names commands and grants, and by
no rule behind one that names commands and refuses: it may hold what that one is about. So it is with a command that
gives such a line to a shell, and with one that the names of files could make what a rule refuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.permission_rules.commands import simple_commands
from hookrouter.permission_rules.rule import Rule, covers, covers_words, may_cover_words, parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.config import ApprovalRule

__all__ = ["AGENT", "ALLOW", "DENY", "PERSON", "Ruling", "ruling", "widened"]

ALLOW, DENY, AGENT, PERSON = "allow", "deny", "agent", "person"
_STRICTEST = (DENY, PERSON, AGENT, ALLOW)
_BASH = "Bash"


class Ruling(NamedTuple):
    """Who decides, and why."""

    decide: str
    rule: str
    """The rule as config.toml has it; empty if none is about the call."""


_NOBODY = Ruling(PERSON, "")


def ruling(rules: Sequence[ApprovalRule], tool: str, tool_input: Mapping[str, Any], folder: str) -> Ruling:
    """Return who decides on a call. ``folder`` is the session's working folder."""
    parsed = [(parse(rule.tool), rule) for rule in rules]
    if tool != _BASH:
        return next(
            (
                Ruling(rule.decide, rule.tool)
                for one, rule in parsed
                if covers(one, tool, tool_input, folder, strict=_is_strict(rule))
            ),
            _NOBODY,
        )
    # Rules for other tools are of no interest, and in none of these is the specifier anything but a command.
    mine = [(one, rule) for one, rule in parsed if covers(one._replace(specifier=None), tool, {}, folder, strict=False)]
    commands = simple_commands(str(tool_input.get("command", "")))
    if commands is None:
        return _unclear(mine)
    found = [_of_command(mine, words) for words in commands]
    return min(found, key=lambda one: _STRICTEST.index(one.decide))


def widened(rules: Sequence[ApprovalRule], update: Mapping[str, Any] | None) -> str:
    """Return the rule that refuses, or leaves to a person, what a permission update could let by; empty if none.

    After such an update Claude Code asks no more, so no rule would be asked either. ``update`` is one of the client's
    own proposals, or the mode that follows a plan; None for none.
    """
    if update is None or update.get("mode") in ("default", "plan"):
        return ""
    given = update.get("rules")
    tools = [str(one.get("toolName")) for one in given if isinstance(one, dict)] if isinstance(given, list) else None
    for rule in filter(_is_strict, rules):
        tool = parse(rule.tool).tool
        # A mode or a folder is about many tools.
        if tools is None or any(covers(Rule(tool), one, {}, "", strict=True) for one in tools):
            return rule.tool
    return ""


def _is_strict(rule: ApprovalRule) -> bool:
    return rule.decide in (DENY, PERSON)


def _of_command(rules: Sequence[tuple[Rule, ApprovalRule]], words: Sequence[str]) -> Ruling:
    for one, rule in rules:
        if covers_words(one, words, strict=_is_strict(rule)):
            return Ruling(rule.decide, rule.tool)
        if _is_strict(rule) and may_cover_words(one, words):
            return Ruling(PERSON, rule.tool)
    return _NOBODY


def _unclear(rules: Sequence[tuple[Rule, ApprovalRule]]) -> Ruling:
    """Return who decides on a command line that is not taken apart."""
    for one, rule in rules:
        if one.specifier is None:
            return Ruling(rule.decide, rule.tool)
        if _is_strict(rule):
            return Ruling(PERSON, rule.tool)
    return _NOBODY
