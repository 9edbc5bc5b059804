"""Rules for what was allowed by hand again and again: the narrowest that is enough, none that could lift a refusal."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.permission_rules.hosts import host_of
from hookrouter.permission_rules.rule import (
    EDITING,
    EVERY_TOOL,
    READING,
    RUNNING,
    RuleError,
    overlaps,
    parse,
)
from hookrouter_approvals.rules_command.tally import LONGEST, Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.permission_rules.judging import CompiledRule
    from hookrouter.permission_rules.rule import Rule

__all__ = ["ByHand", "Proposal", "plain_command"]

_LEAST = 5
"""So often something was allowed by hand before it is proposed."""
_MOST_EXACT = 3
"""So many commands that begin alike are proposed one by one; of more, their beginning is."""
_WORD = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]*")
_NEVER_WIDENED = frozenset(
    [
        ".", "ash", "awk", "bash", "bun", "busybox", "chmod", "chown", "cmd", "curl", "dash", "dd", "deno", "doas",
        "docker", "env", "eval", "exec", "find", "fish", "ftp", "gawk", "kill", "killall", "ksh", "kubectl", "lua",
        "mv", "mysql", "nc", "ncat", "netcat", "nice", "node", "nodejs", "nohup", "npx", "osascript", "parallel",
        "perl", "php", "pipx", "pkill", "powershell", "psql", "pwsh", "pypy", "python", "rm", "rsync", "ruby", "scp",
        "setsid", "sftp", "sh", "shred", "socat", "source", "ssh", "strace", "su", "sudo", "tee", "telnet", "timeout",
        "truncate", "ts-node", "tsx", "unlink", "uvx", "watch", "wget", "xargs", "zsh",
    ]
)  # fmt: skip
"""Programs that run, send or remove whatever they are told: only whole commands of theirs are proposed."""


class Proposal(NamedTuple):
    """One rule that would allow what a person has allowed."""

    rule: str
    times: int
    """How many parts of past calls it would have allowed."""
    example: str


class ByHand:
    """What a person has allowed, counted. Memory is bounded."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._exact = Tally(20_000)
        self._others = Tally(20_000)

    def command(self, command: str, line: str) -> None:
        """Take a command that a person has allowed, as :func:`plain_command` has it; ``line`` is what it stands in."""
        if command:
            self._exact.add(command, line)

    def file(self, path: str, folder: str) -> None:
        """Take a file in a project's folder that a person has allowed to be changed."""
        below = os.path.relpath(path, folder) if os.path.isabs(path) else os.path.normpath(path)
        parent, name = os.path.split(below)
        if (
            not parent.startswith("..")
            and name not in ("", ".", "..")
            and _is_plain_path(below)
            and len(below) < LONGEST // 2
        ):
            self._others.add(f"Edit(/{parent}/**)" if parent else f"Edit(/{name})", path)

    def call(self, tool: str, url: object) -> None:
        """Take a call of another tool."""
        if tool in (*RUNNING, *EDITING, *READING):
            return
        if tool != "WebFetch":
            self._others.add(tool, tool)
        elif isinstance(url, str) and (host := host_of(url)):
            self._others.add(f"WebFetch(domain:{host})", url)

    def proposals(self, rules: Sequence[CompiledRule]) -> list[Proposal]:
        """Return what could be allowed by rules behind ``rules``, the narrowest first.

        None is about a call that a refusing one of ``rules`` is, or may be, about: what a command does to files is
        judged apart from the command, so of rules for commands only those for commands count.
        """
        refusing = [one.rule for one in rules if one.refuses]
        found = [*self._of_commands(), *self._of_others()]
        return [one for _, one in sorted(found, key=lambda one: (one[0], -one[1].times)) if _may(one.rule, refusing)]

    def _of_others(self) -> list[tuple[int, Proposal]]:
        return [(1, Proposal(rule, count, example)) for rule, count, example in self._others.most(_LEAST)]

    def _of_commands(self) -> list[tuple[int, Proposal]]:
        found: list[tuple[int, Proposal]] = []
        groups: dict[str, list[tuple[str, int, str]]] = {}
        for text, count, example in self._exact.most(1):
            groups.setdefault(_beginning(text), []).append((text, count, example))
        rest: dict[str, list[tuple[str, int, str]]] = {}
        for beginning, members in groups.items():
            frequent = [one for one in members if one[1] >= _LEAST]
            program = beginning.partition(" ")[0]
            total = sum(count for _, count, _ in members)
            is_wide = len(members) > _MOST_EXACT and total >= _LEAST and total > 2 * sum(one[1] for one in frequent)
            if is_wide and not _never_widened(program) and " " in beginning:
                found.append((1, Proposal(f"Bash({beginning}:*)", total, members[0][2])))
                continue
            found += [(0, Proposal(f"Bash({text})", count, example)) for text, count, example in frequent]
            rest.setdefault(program, []).extend(one for one in members if one not in frequent)
        for program, members in rest.items():
            total = sum(count for _, count, _ in members)
            if len(members) > _MOST_EXACT and total >= _LEAST and not _never_widened(program):
                found.append((2, Proposal(f"Bash({program}:*)", total, members[0][2])))
        return found


def plain_command(words: Sequence[str]) -> str:
    """Return a command's words as a rule's brackets may have them; empty if some could mean anything else there."""
    text = " ".join(words)
    return text if len(text) <= LONGEST and all(map(_WORD.fullmatch, words)) and not text.endswith(":*") else ""


def _never_widened(program: str) -> bool:
    """Whether only whole commands of a program are proposed, whatever its version and folder: ``python3.11``."""
    return os.path.basename(program).rstrip("0123456789.") in ("", *_NEVER_WIDENED)


def _beginning(text: str) -> str:
    words = text.split(" ", 2)
    return " ".join(words[:2]) if len(words) > 1 and _SUBCOMMAND.fullmatch(words[1]) else words[0]


def _is_plain_path(path: str) -> bool:
    return all(character.isprintable() and character not in "*?[]()\"\\'" for character in path)


def _may(text: str, refusing: Sequence[Rule]) -> bool:
    try:
        rule = parse(text)
    except RuleError:
        return False
    about = [one for one in refusing if rule.tool != "Bash" or one.tool in (*RUNNING, EVERY_TOOL)]
    return not any(overlaps(rule, one) for one in about)
