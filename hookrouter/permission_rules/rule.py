"""Claude Code's permission rules as values: ``Bash(git push:*)``, ``Edit(/src/**)``, ``mcp__github``, ``*``.

The syntax is Claude Code's own, as far as it is taken here. Where a text could mean more or less, a rule that grants
(``strict=False``) takes less of it, and one that refuses takes more.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.permission_rules.commands import FileGlob, commands_within, simple_commands
from hookrouter.util.errors import HookrouterError
from hookrouter.util.field_docs import with_field_docs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["EVERY_TOOL", "Rule", "RuleError", "covers", "covers_words", "may_cover_words", "parse", "tool_names"]

EVERY_TOOL = "*"
"""The rule for every tool."""

_SHAPE = re.compile(r"(?P<tool>[A-Za-z][\w-]*\*?|\*)(?:\((?P<specifier>.*)\))?", re.DOTALL)
_PATH_KEYS = {
    "Read": "file_path",
    "Edit": "file_path",
    "Write": "file_path",
    "NotebookEdit": "notebook_path",
    "MultiEdit": "file_path",
}
"""The tools whose specifier is a path, each with the key of its input."""
_OTHERS = ("Bash", "WebFetch", "Elicitation")


class RuleError(HookrouterError, ValueError):
    """A text is no permission rule; the message says what is allowed."""


@with_field_docs
class Rule(NamedTuple):
    """Which calls a rule is about."""

    tool: str
    """The tool's name; ``*`` for every tool, ``mcp__server`` for all tools of a server."""
    specifier: str | None = None
    """What stands in the brackets; None for every call of the tool."""


def parse(text: str) -> Rule:
    """Return the rule that a text says. Raises RuleError."""
    found = _SHAPE.fullmatch(text.strip())
    if found is None:
        raise RuleError("allowed: TOOL, or TOOL(SPECIFIER), as in Claude Code's permission rules")
    tool, specifier = found["tool"], found["specifier"]
    if tool.endswith("*") and tool != EVERY_TOOL and not tool.startswith("mcp__"):
        raise RuleError("a * in a tool's name is allowed for tools of MCP servers only, as in mcp__github__*")
    if specifier is None or specifier.strip() in ("", "*"):
        if specifier is not None and not specifier.strip():
            raise RuleError("nothing stands in the brackets; leave them out for every call of the tool")
        return Rule(tool)
    specifier = specifier.strip()
    if tool not in _PATH_KEYS and tool not in _OTHERS:
        known = ", ".join(sorted((*_PATH_KEYS, *_OTHERS)))
        raise RuleError(f"{tool} takes no brackets; tools that do: {known}")
    if tool == "WebFetch" and not re.fullmatch(r"domain:[\w.*-]+", specifier):
        raise RuleError("allowed in the brackets of WebFetch: domain:HOST")
    if tool == "Bash" and not specifier.removesuffix(":*").split():
        raise RuleError("the brackets of Bash name no command")
    return Rule(tool, specifier)


def tool_names(rule: Rule) -> str:
    """Return what a matcher of Claude Code's settings needs for the rule's tool: a name, a pattern, or ``*``."""
    if rule.tool.startswith("mcp__") and rule.tool.endswith("*"):
        return f"{rule.tool[:-1]}.*"
    return f"{rule.tool}__.*" if _is_server(rule.tool) else rule.tool


def covers(rule: Rule, tool: str, tool_input: Mapping[str, Any], folder: str, *, strict: bool) -> bool:
    """Whether a rule is about a call, but for the commands of Bash: see :func:`covers_words`.

    ``folder`` is the session's working folder. ``strict`` is for rules that refuse: they take what may be meant.
    """
    if not _is_tool(rule.tool, tool):
        return False
    if rule.specifier is None:
        return True
    if rule.tool in _PATH_KEYS:
        path = tool_input.get(_PATH_KEYS[rule.tool])
        return isinstance(path, str) and _covers_path(rule.specifier, path, folder, strict=strict)
    if rule.tool == "WebFetch":
        return _covers_domain(rule.specifier.removeprefix("domain:"), tool_input.get("url"), strict=strict)
    if rule.tool == "Elicitation":
        return fnmatchcase(str(tool_input.get("server", "")), rule.specifier)
    commands = simple_commands(str(tool_input.get("command", "")))
    if commands is None:
        return False
    chosen = any if strict else all
    return chosen(covers_words(rule, words, strict=strict) for words in commands)


def covers_words(rule: Rule, words: Sequence[str], *, strict: bool) -> bool:
    """Whether a rule for Bash is about one simple command, given by its words.

    A rule that refuses also takes the command by a path, and one that another command runs (``sudo``, ``env``).
    """
    if rule.specifier is None:
        return True
    if not strict:
        return _matches(rule.specifier, words)
    return any(
        _matches(rule.specifier, named)
        for candidate in commands_within(words)
        if candidate is not None
        for named in _names(candidate)
    )


def may_cover_words(rule: Rule, words: Sequence[str]) -> bool:
    """Whether a rule for Bash that refuses could be about one simple command, for all that is known of it.

    That is so if the command gives a shell a line that is not taken apart, or if file names that stand for one of its
    words (``*``) could make it a command that the rule is about.
    """
    if rule.specifier is None:
        return True
    return any(
        candidate is None or any(_matches(rule.specifier, named, may=True) for named in _names(candidate))
        for candidate in commands_within(words)
    )


def _names(words: list[str]) -> tuple[list[str], list[str]]:
    """Return a command as it is written, and with its name without the folder."""
    # Still a word that stands for others, if it was one.
    name = type(words[0])(os.path.basename(words[0]))
    return words, [name, *words[1:]]


def _is_tool(wanted: str, tool: str) -> bool:
    if wanted in (EVERY_TOOL, tool):
        return True
    if not wanted.startswith("mcp__"):
        return False
    if wanted.endswith("*"):
        return fnmatchcase(tool, wanted)
    return _is_server(wanted) and tool.startswith(f"{wanted}__")


def _is_server(tool: str) -> bool:
    """Whether a rule's tool is a server: all its tools are meant."""
    return tool.startswith("mcp__") and tool.count("__") == 1


def _matches(specifier: str, words: Sequence[str], *, may: bool = False) -> bool:
    """Whether the words of a command are those of a pattern: ``*`` alone stands for words, within one for letters.

    With ``may``: whether they are for some names of files.
    """
    pattern = specifier
    takes_more = pattern.endswith(":*")
    wanted = pattern.removesuffix(":*").split()
    if takes_more:
        wanted.append("*")
    globs = frozenset(place for place, word in enumerate(words) if isinstance(word, FileGlob)) if may else frozenset()
    return _match_words(tuple(wanted), tuple(words), globs)


def _match_words(wanted: tuple[str, ...], words: tuple[str, ...], globs: frozenset[int]) -> bool:
    # How far each prefix of the pattern reaches: a set of places, so that no pattern takes exponential time.
    # Whoever stands at one of the ``globs`` may have passed some of the words that it stands for.
    places = {0}
    for index, one in enumerate(wanted):
        if one == "*":
            start = min(places, default=None)
            if start is None:
                return False
            least = start if index == len(wanted) - 1 else start + 1
            places = set(range(least, len(words) + 1)) | {place for place in globs if place >= start}
        else:
            fits = {place for place in places if place < len(words) and _fits(words[place], one, place in globs)}
            places = {place + 1 for place in fits} | (fits & globs)
    return len(words) in places


def _fits(word: str, wanted: str, is_glob: bool) -> bool:
    """Whether a word is one of a pattern's; of a glob, whether a file's name could be."""
    if fnmatchcase(word, wanted):
        return True
    return is_glob and _may_agree(_literal(word), _literal(wanted)) and _may_agree(_ending(word), _ending(wanted))


def _may_agree(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _literal(pattern: str) -> str:
    """Return what stands before the first wildcard."""
    end = next((at for at, character in enumerate(pattern) if character in "*?["), len(pattern))
    return pattern[:end]


def _ending(pattern: str) -> str:
    """Return what stands behind the last wildcard, backwards; nothing if a bracket makes that uncertain."""
    if "[" in pattern:
        return ""
    return _literal(pattern[::-1])


def _covers_path(specifier: str, path: str, folder: str, *, strict: bool) -> bool:
    """Whether a path is one of a rule's: as it is written, and where it really is."""
    if specifier.startswith("//"):
        pattern = specifier[1:]
    elif specifier.startswith("~/"):
        pattern = os.path.expanduser(specifier)
    else:
        pattern = os.path.join(folder, specifier.removeprefix("./").lstrip("/"))
    if not os.path.isabs(pattern):
        return strict
    full = os.path.normpath(os.path.join(folder, os.path.expanduser(path)))
    try:
        real = os.path.realpath(full)
    except (OSError, ValueError):
        return strict
    found = [_covers_parts(pattern, one) for one in {full, real}]
    if full != real and not strict:
        # A rule's own folder may be reached by a link, such as /tmp on macOS.
        found = [_covers_parts(os.path.realpath(_fixed(pattern)) + pattern[len(_fixed(pattern)) :], real)]
    return any(found) if strict else all(found)


def _fixed(pattern: str) -> str:
    """Return the folders of a pattern before the first that has a wildcard."""
    parts = pattern.split("/")
    kept = []
    for part in parts:
        if set(part) & set("*?["):
            break
        kept.append(part)
    return "/".join(kept)


def _covers_parts(pattern: str, path: str) -> bool:
    wanted, parts = pattern.split("/"), path.split("/")
    places = {0}
    for index, one in enumerate(wanted):
        if one == "**":
            last = index == len(wanted) - 1
            places = {further for place in places for further in range(place + (1 if last else 0), len(parts) + 1)}
        else:
            places = {place + 1 for place in places if place < len(parts) and fnmatchcase(parts[place], one)}
    return len(parts) in places


def _covers_domain(wanted: str, url: object, *, strict: bool) -> bool:
    from urllib.parse import urlsplit

    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return strict
    if parts.username is not None or "\\" in url:
        return strict
    if fnmatchcase(host, wanted.lower()):
        return True
    return strict and host.endswith(f".{wanted.lower()}")
