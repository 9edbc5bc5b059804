"""What each rule is about in words, and what a person should know of it: it can never decide, or starts no hook."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hookrouter.cli.registered import CLAUDE_CODE_VERSION, tool_names, unregistered
from hookrouter.permission_rules.judging import Call, CompiledRule, Rules
from hookrouter.permission_rules.rule import EDITING, EVERY_TOOL, READING, RUNNING, contains
from hookrouter.permission_rules.rule import tool_names as matcher_names
from hookrouter.util.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.context import Services
    from hookrouter.permission_rules.rule import Rule

__all__ = ["described", "listed"]

_ROOT_FOLDERS = ("bin", "dev", "etc", "home", "mnt", "opt", "root", "tmp", "usr", "var", "Users", "Volumes")
_FORMS = "Elicitation"


def listed(app: Services, rules: Rules, folder: str) -> list[dict[str, Any]]:
    """Return what a person should know of each rule, in order, as JSON values.

    ``rule``, ``decide``, ``about`` (in words), ``shadowed_by`` (the earlier rule that is about every call of it; None
    for none), ``never`` (why no call can be one of it; empty if one can) and ``unregistered`` (the tools whose calls
    start no hook that would ask the rule, for a session in ``folder``).
    """
    return [
        {
            "rule": one.text,
            "decide": one.decide,
            "about": described(one.rule),
            "shadowed_by": _shadow(rules.rules[:at], one),
            "never": _why_never(one.rule),
            "unregistered": _unregistered(app, one, folder),
        }
        for at, one in enumerate(rules.rules)
    ]


def described(rule: Rule) -> str:
    """Return in words what a rule is about."""
    tool, inner = rule.tool, rule.specifier
    if tool == EVERY_TOOL:
        return "every call of every tool"
    if tool.startswith("mcp__"):
        server = tool.split("__")[1]
        if tool.endswith("*"):
            return f"MCP tools whose names begin with {tool[:-1]}"
        return f"the MCP tool {tool}" if tool.count("__") > 1 else f"every tool of the MCP server {server}"
    if inner is None:
        families = (
            ("Bash", "every command line"),
            ("Edit", "every change of a file"),
            ("Read", "every file that is read"),
        )
        return next((words for name, words in families if name == tool), f"every call of {tool}")
    if tool == "Bash":
        if inner.endswith(":*"):
            return f"commands that begin with {inner.removesuffix(':*')}"
        return f"commands of the form {inner}" if "*" in inner else f"the command {inner}, with nothing after it"
    if tool == "WebFetch":
        return f"pages of {inner.removeprefix('domain:')}"
    if tool == _FORMS:
        return f"forms of the MCP server {inner}"
    act = "files that are read" if tool == "Read" else "files that are changed"
    return f"{act}: {_place(inner)}"


def _place(pattern: str) -> str:
    if pattern.startswith("//"):
        return pattern[1:]
    return pattern if pattern.startswith("~/") else f"{pattern.removeprefix('./').lstrip('/')}, in the project"


def _shadow(earlier: Sequence[CompiledRule], rule: CompiledRule) -> str | None:
    return next((one.text for one in earlier if contains(one.rule, rule.rule)), None)


def _why_never(rule: Rule) -> str:
    tool, inner = rule.tool, rule.specifier
    known = (*tool_names(), *RUNNING, *EDITING, *READING, _FORMS)
    if tool != EVERY_TOOL and not tool.startswith("mcp__") and tool not in known:
        return " ".join(
            filter(None, (f"Claude Code {CLAUDE_CODE_VERSION} has no tool {tool};", did_you_mean(tool, known)))
        ).rstrip(";")
    if inner is None:
        return ""
    if tool == "Bash":
        return "" if _fits_itself(rule) else "no command has these words: quotes and operators are none"
    if tool in (*EDITING, *READING):
        return _why_no_file(inner)
    return ""


def _fits_itself(rule: Rule) -> bool:
    """Whether a command that is written as the rule's brackets are is one of the rule."""
    inner = rule.specifier or ""
    if "[" in inner or "?" in inner:
        return True
    line = inner.removesuffix(":*").replace("*", "x")
    alone = Rules([CompiledRule(f"Bash({inner})", "person")])
    return any(
        part.kind == "command" and part.rule for part in alone.judge(Call("Bash", {"command": line}, "/", "/")).parts
    )


def _why_no_file(pattern: str) -> str:
    if ".." in pattern.split("/"):
        return "paths are compared without '..'"
    if pattern.startswith("~") and not pattern.startswith("~/"):
        return "only ~/ means a home folder"
    first = re.match(r"/([^/]+)", pattern)
    if first and first[1] in _ROOT_FOLDERS:
        return f"one slash is the project's folder; for the machine's /{first[1]} write //{first[1]}"
    return ""


def _unregistered(app: Services, rule: CompiledRule, folder: str) -> list[str]:
    if rule.rule.tool == _FORMS:
        return unregistered(app, _FORMS, [rule.rule.specifier or "any"], folder) and [_FORMS]
    names = [name.replace(".*", "any") for name in matcher_names(rule.rule, refuses=rule.refuses)]
    events = ["PermissionRequest", *(["PreToolUse"] if rule.refuses else [])]
    missing = [name for event in events for name in unregistered(app, event, names, folder)]
    return list(dict.fromkeys(missing))
