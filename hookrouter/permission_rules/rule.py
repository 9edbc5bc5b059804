"""Claude Code's permission rules as values: ``Bash(git push:*)``, ``Edit(/src/**)``, ``mcp__github``, ``*``.

The syntax is Claude Code's own, as far as it is taken here. What a rule is about is in :mod:`.judging`.
"""

from __future__ import annotations

from hookrouter.util.errors import HookrouterError
from hookrouter.util.glob import fits_glob, has_wildcard, literal_prefix
from hookrouter.util.value import Value

__all__ = [
    "EDITING",
    "EVERY_TOOL",
    "MAYBE",
    "NO",
    "READING",
    "RUNNING",
    "YES",
    "Rule",
    "RuleError",
    "contains",
    "folded",
    "is_tool",
    "overlaps",
    "parse",
    "tool_names",
]

NO, MAYBE, YES = 0, 1, 2
"""Whether a rule is about something, for all that is known of it: the surer, the greater."""

EVERY_TOOL = "*"
"""The rule for every tool."""

RUNNING = ("Bash", "Monitor", "PowerShell")
"""The tools that run command lines: a rule for Bash is about all of them."""

EDITING = ("Edit", "Write", "MultiEdit", "NotebookEdit")
"""The tools that change files: a rule for Edit is about all of them, and one that refuses for any of them too."""

READING = ("Read", "Grep", "Glob")
"""The tools that read files: a rule for Read is about all of them."""

_HOST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.*-")
_TAKING_PATHS = (*EDITING, "Read")
_OTHERS = ("Bash", "WebFetch", "Elicitation")


class RuleError(HookrouterError, ValueError):
    """A text is no permission rule; the message says what is allowed."""


class Rule(Value):
    """Which calls a rule is about."""

    tool: str
    """The tool's name; ``*`` for every tool, ``mcp__server`` for all tools of a server."""
    specifier: str | None = None
    """What stands in the brackets; None for every call of the tool."""


def parse(text: str) -> Rule:
    """Return the rule that a text says. Raises RuleError."""
    tool, opened, rest = text.strip().partition("(")
    if not _is_name(tool) or (opened and not rest.endswith(")")):
        raise RuleError("allowed: TOOL, or TOOL(SPECIFIER), as in Claude Code's permission rules")
    specifier = rest[:-1] if opened else None
    if tool.endswith("*") and tool != EVERY_TOOL and not tool.startswith("mcp__"):
        raise RuleError("a * in a tool's name is allowed for tools of MCP servers only, as in mcp__github__*")
    if specifier is None or specifier.strip() in ("", "*"):
        if specifier is not None and not specifier.strip():
            raise RuleError("the brackets are empty; leave them out to match every call of the tool")
        return Rule(tool)
    specifier = specifier.strip()
    if tool not in _TAKING_PATHS and tool not in _OTHERS:
        known = ", ".join(sorted((*_TAKING_PATHS, *_OTHERS)))
        raise RuleError(f"{tool} takes no brackets; tools that do: {known}")
    if tool == "WebFetch" and not _is_domain(specifier):
        raise RuleError("allowed in the brackets of WebFetch: domain:HOST")
    if tool == "Bash" and not specifier.removesuffix(":*").split():
        raise RuleError("the brackets of Bash name no command")
    return Rule(tool, specifier)


def _is_name(tool: str) -> bool:
    base = tool.removesuffix("*").replace("-", "_")
    return tool == EVERY_TOOL or (base.isascii() and base.isidentifier() and base[0] != "_")


def _is_domain(specifier: str) -> bool:
    kind, _, host = specifier.partition(":")
    return kind == "domain" and bool(host) and _HOST.issuperset(host)


def tool_names(rule: Rule, *, refuses: bool = False) -> tuple[str, ...]:
    """Return what matchers of Claude Code's settings need for the tools whose calls a rule may be about.

    Each is a name, a pattern, or ``*``. A rule that refuses files is about command lines too, which may open them.
    """
    if rule.tool.startswith("mcp__") and rule.tool.endswith("*"):
        return (f"{rule.tool[:-1]}.*",)
    if _is_server(rule.tool):
        return (f"{rule.tool}__.*",)
    if rule.tool == "Bash":
        return RUNNING
    if rule.tool == "Edit" or (refuses and rule.tool in EDITING):
        return (*EDITING, *RUNNING) if refuses else EDITING
    if rule.tool == "Read":
        return (*READING, *RUNNING) if refuses else READING
    return (rule.tool,)


def is_tool(rule: Rule, tool: str, *, refuses: bool = False) -> bool:
    """Whether a rule is about a tool, whatever stands in its brackets."""
    wanted = rule.tool
    if wanted in (EVERY_TOOL, tool):
        return True
    if wanted.startswith("mcp__"):
        if wanted.endswith("*"):
            return fits_glob(tool, wanted)
        return _is_server(wanted) and tool.startswith(f"{wanted}__")
    for family, first in ((RUNNING, "Bash"), (EDITING, "Edit"), (READING, "Read")):
        if tool in family:
            return wanted == first or (refuses and family is EDITING and wanted in EDITING)
    return False


def overlaps(one: Rule, other: Rule) -> bool:
    """Whether some call may be one of both: True also where that is not known."""
    if EVERY_TOOL in (one.tool, other.tool):
        return True
    if not _may_share_tool(one, other):
        return False
    if one.specifier is None or other.specifier is None or one.tool == "Elicitation":
        return one.specifier is None or other.specifier is None or one.specifier == other.specifier
    if one.tool == "WebFetch":
        return _hosts_overlap(one.specifier.removeprefix("domain:"), other.specifier.removeprefix("domain:"))
    if one.tool == "Bash" == other.tool:
        return _words_overlap(_tokens(one.specifier), _tokens(other.specifier))
    if _root(one) is not None and _root(one) == _root(other):
        specifiers = (one.specifier, other.specifier)
        first, second = (literal_prefix(path.removeprefix("./").lstrip("/")) for path in specifiers)
        return first.startswith(second) or second.startswith(first)
    return True


def contains(outer: Rule, inner: Rule) -> bool:
    """Whether every call that ``inner`` is about is one of ``outer``; False also where that is not known."""
    if outer.tool != EVERY_TOOL and not all(
        any(_matches_name(name, one) for name in tool_names(outer)) for one in tool_names(inner)
    ):
        return False
    if outer.specifier is None:
        return True
    if inner.specifier is None or outer.tool != inner.tool or _root(outer) != _root(inner):
        return False
    if outer.specifier == inner.specifier:
        return True
    if outer.tool == "Bash":
        return _words_contain(_tokens(outer.specifier), _tokens(inner.specifier))
    if outer.tool == "WebFetch":
        return fits_glob(inner.specifier, outer.specifier)
    base = outer.specifier.removesuffix("**")
    return outer.specifier.endswith("/**") and not has_wildcard(base) and inner.specifier.startswith(base)


def _root(rule: Rule) -> str | None:
    """Return from where the paths of a rule are meant; None if it is about no paths."""
    if rule.specifier is None or rule.tool not in _TAKING_PATHS:
        return None
    return next((root for root in ("//", "~/") if rule.specifier.startswith(root)), "/")


def _tokens(specifier: str) -> tuple[str, ...]:
    more = ("*",) if specifier.endswith(":*") else ()
    return (*specifier.removesuffix(":*").split(), *more)


def _may_share_tool(one: Rule, other: Rule) -> bool:
    return any(
        _matches_name(first, second) or _matches_name(second, first)
        for first in tool_names(one, refuses=True)
        for second in tool_names(other, refuses=True)
    )


def _matches_name(pattern: str, name: str) -> bool:
    return name.startswith(pattern.removesuffix(".*")) if pattern.endswith(".*") else pattern in (name, EVERY_TOOL)


def _hosts_overlap(one: str, other: str) -> bool:
    if "*" in one or "*" in other:
        return one.startswith("*") == other.startswith("*") or fits_glob(one, other) or fits_glob(other, one)
    return one == other or one.endswith(f".{other}") or other.endswith(f".{one}")


def _words_overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether some words are of both patterns, ``*`` being any words, none too."""
    reached = {(0, 0)}
    todo = [(0, 0)]
    while todo:
        at, to = todo.pop()
        if at == len(one) and to == len(other):
            return True
        steps = []
        first = one[at] if at < len(one) else None
        second = other[to] if to < len(other) else None
        if first == "*":
            steps += [(at + 1, to), (at, to + 1)]
        if second == "*":
            steps += [(at, to + 1), (at + 1, to)]
        if first is not None and second is not None and _letters_overlap(first, second):
            steps.append((at + 1, to + 1))
        for step in steps:
            if step[0] <= len(one) and step[1] <= len(other) and step not in reached:
                reached.add(step)
                todo.append(step)
    return False


def _letters_overlap(one: str, other: str) -> bool:
    if "*" not in other and not set(other) & set("?["):
        return fits_glob(other, one)
    if not has_wildcard(one):
        return fits_glob(one, other)
    first, second = literal_prefix(one), literal_prefix(other)
    return first.startswith(second) or second.startswith(first)


def _words_contain(outer: tuple[str, ...], inner: tuple[str, ...]) -> bool:
    """Whether all words of one pattern are of another: said where the outer one has ``*`` at its end alone."""
    if "*" in outer[:-1]:
        return False
    fixed = outer[:-1] if outer[-1] == "*" else outer
    if len(inner) < len(fixed) or (outer[-1] != "*" and len(inner) != len(fixed)):
        return False
    return all(
        here == there or (not has_wildcard(there) and fits_glob(there, here))
        for here, there in zip(fixed, inner, strict=False)
    )


def _is_server(tool: str) -> bool:
    """Whether a rule's tool is a server: all its tools are meant."""
    return tool.startswith("mcp__") and tool.count("__") == 1


def folded(text: str) -> str:
    """Return a text as a file system compares it that takes no account of case and Unicode form, as macOS's does."""
    import unicodedata

    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
