"""Finds the commands that Claude suggests in a message: ``/clear, then /gsd:plan-phase 3``.

A suggestion is a slash and a name as a word of its own, with its arguments: in backticks, as a line of a block of code,
at the beginning of a line, behind a word such as "run" or "then", or behind another suggestion. A name with a colon in
it, which no path has, is one anywhere. What is part of an address, a path or a word is none (``https://x.org/clear``,
``src/clear``, ``and/or``, ``/home/me``), nor is a folder of the system. What is found is data: an agent decides whether
to send it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MOST", "Suggestion", "suggested_commands"]

MOST = 10
"""How many suggestions of a message are told, from its end: what comes next stands there."""

LONGEST = 500
"""Characters of a suggestion; a longer one is none."""

_NAME = r"/[A-Za-z][A-Za-z0-9]*(?:[:_-][A-Za-z0-9]+)*"
"""Built-in commands, those of projects and plugins (``/gsd:plan-phase``), and skills. A name has no second slash."""

_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)[ ]?([^`\n]+?)[ ]?\1(?!`)")
_WHOLE = re.compile(rf"(?:[$>❯] )?({_NAME})(?:[ \t]+(\S.*))?")
_ITALIC = r"(?<=^_)|(?<=^__)|(?<=[\s(\"'“‘*]_)|(?<=[\s(\"'“‘*]__)"
"""Before a name: underscores that make it italic or bold, and end no word."""
_START = re.compile(rf"(?:^|(?<=[\s(\"'“‘*→])|{_ITALIC})({_NAME})(?=$|[\s,;!?)\"'”’*→…]|[.:_]+(?:$|[\s)\"'”’*]))")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*:[^\s`]*", re.IGNORECASE)
_FENCE = re.compile(r"\s*(```+|~~~+)")

_OPENING = re.compile(r"(?:[\s>*_#•(\"'“‘-]|\d+[.)])*")
"""What stands at the beginning of a line and is no word: marks of a list, a quotation, or of what is bold."""

_CUE = re.compile(
    r"(?:\b(?:run|then|use|try|type|enter|send|execute|invoke|next|do)[ \t]*:?|→)[\s(\"'“‘*_→]*\Z", re.IGNORECASE
)
"""What stands before a suggestion within a line."""

_CUE_LENGTH = 40
"""Characters before a suggestion in which that is looked for."""

_BETWEEN = re.compile(
    r"""(?:\s+(?:first|again|now))?(?:[\s"'”’*_()]*(?:,|;|\band\b|\bor\b|\bthen\b|&&|→|\+))+[\s("'“‘*_]*""",
    re.IGNORECASE,
)
"""What stands between two suggestions."""

_GOES_ON = re.compile(
    r"[ \t]+(?!(?:then|and|or|to|for|first|next|now|again|when|if|before|after)\b)[\w-]", re.IGNORECASE
)
"""Behind a name at the beginning of a line: a sentence about something that is called so."""

_NO_COMMAND = re.compile(
    r"[\"'”’)]?\s+(?:end-?points?|routes?|paths?|folders?|director(?:y|ies)|pages?|urls?|files?)\b", re.IGNORECASE
)
"""What stands behind the name of something else."""

_FOLDERS = frozenset([
    "applications", "bin", "boot", "dev", "etc", "home", "lib", "library", "media", "mnt", "opt", "proc", "root",
    "sbin", "srv", "sys", "system", "tmp", "users", "usr", "var", "volumes",
])  # fmt: skip
"""The folders at the root of a system."""

_ARGUMENT = re.compile(
    r"[ \t]+((?:--?[A-Za-z][\w-]*(?:=\S+)?|\d+(?:\.\d+)*|\"[^\"\n]*\"|'[^'\n]*'))(?=$|[\s,.;:!?)\]*_→])"
)
"""What is taken for an argument in running text: an option, a number, or what is quoted. Where words follow a command,
only backticks tell its arguments from the sentence."""


class Suggestion(NamedTuple):
    """A command that a message names."""

    text: str
    """What is to be sent: ``/gsd:plan-phase 3``."""
    name: str
    """The command's name, without its slash: ``gsd:plan-phase``."""
    arguments: str = ""
    """What follows it."""


def suggested_commands(message: str) -> tuple[Suggestion, ...]:
    """Return the commands that a message suggests, each once, by its last mention: the last :data:`MOST`.

    Never raises. All is printable, and of one line.
    """
    found: dict[str, Suggestion] = {}
    for one in _found(message):
        if len(one.text) <= LONGEST and printable(one.text) == one.text:
            found.pop(one.text, None)
            found[one.text] = one
    return tuple(found.values())[-MOST:]


def _found(message: str) -> Iterator[Suggestion]:
    fence = ""
    for line in message.splitlines():
        mark = _FENCE.match(line)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif fence:
            # A line of a block of code is a command by itself, or none.
            whole = _WHOLE.fullmatch(line.strip())
            if whole is not None and whole[1].removeprefix("/").casefold() not in _FOLDERS:
                yield _suggestion(whole[1], whole[2])
        else:
            yield from _in_text(line)


def _in_text(line: str) -> Iterator[Suggestion]:
    """Yield what a line of running text names, in its order."""
    # An address may hold what looks like the beginning of a word: its length stays, so that places stay.
    plain = _URL.sub(lambda address: "\0" * len(address[0]) if "/" in address[0] else address[0], line)
    codes = list(_CODE.finditer(line))
    opening = len((_OPENING.match(plain) or ("",))[0])
    place, previous = 0, -1
    for start in sorted([*codes, *_START.finditer(plain)], key=lambda one: (one.start(), -one.end())):
        if start.start() < place:
            continue
        end, arguments = start.end(), []
        if start.re is _CODE:
            place = end
            whole = _WHOLE.fullmatch(start[2].strip())
            if whole is None or _NO_COMMAND.match(line, end):
                continue
            command, given = whole[1], whole[2]
        else:
            while (argument := _ARGUMENT.match(plain, end)) is not None:
                arguments.append(argument[1])
                end = argument.end()
            follows = 0 <= previous <= start.start() and _BETWEEN.fullmatch(plain, previous, start.start()) is not None
            is_first = start.start() <= opening and (arguments or not _GOES_ON.match(plain, end))
            is_called = _CUE.search(plain, max(0, start.start() - _CUE_LENGTH), start.start()) is not None
            if not (":" in start[1] or follows or is_first or is_called) or _NO_COMMAND.match(plain, end):
                continue
            command, given = start[1], " ".join(arguments)
        if command.removeprefix("/").casefold() not in _FOLDERS:
            place = previous = end
            yield _suggestion(command, given)


def _suggestion(command: str, arguments: str | None) -> Suggestion:
    given = (arguments or "").strip()
    return Suggestion(f"{command} {given}".strip(), command.removeprefix("/"), given)
