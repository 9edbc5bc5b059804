"""The shell command line that an entry of ours runs: how it is written, and how it is recognised."""

from __future__ import annotations

import os
import re
import shlex
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from hookrouter._contract.hook_names import WAKE_VARIABLE
from hookrouter._installation.front_command import split_front
from hookrouter.util.program import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter._installation.front_command import FrontWords

__all__ = [
    "OurCommand",
    "hook_command",
    "parse_command",
    "runs_hookrouter",
]

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")

_EVENT_WORD = re.compile(r"[a-z]+(-[a-z]+)*")
_INSIDE = re.compile(rf"""(?<![\w.-]){PROGRAM}['"\\]*\s+run\s+['"]?[a-z]+(-[a-z]+)*\b""")
"""``hookrouter run EVENT`` anywhere in a command line, with the quotes that a shell may need around the program."""


class OurCommand(NamedTuple):
    """A command line of ours, taken apart."""

    program: str
    """What starts hookrouter without a router."""
    event_word: str
    home: str | None
    """The HOOKROUTER_HOME that it sets, if any."""
    front: FrontWords | None = None
    """What stands before the program, if it is no cold command line."""


def hook_command(script: Sequence[str], home: str | None, event_word: str, *, wakes: bool = False) -> str:
    """Return the shell command line of one event; ``wakes``: of the entry of the hooks that may begin a turn.

    ``script`` are the words of the program, after those of a front if there is to be one.
    A shell string and no ``args``: that form exists only since Claude Code 2.1.139. With ``home`` (the HOOKROUTER_HOME
    of the installation) the command sets the variable itself, because the hook inherits Claude Code's environment and
    not that of the shell in which ``install`` ran.
    """
    prefix = "" if home is None else f"HOOKROUTER_HOME={shlex.quote(home)} "
    if wakes:
        prefix = f"{WAKE_VARIABLE}=1 {prefix}"
    return f"{prefix}{shlex.join(script)} run {event_word}"


@cache
def _words(command: str) -> tuple[str, ...]:
    """Return the words of a command line; none if a quote is not closed. The same few are asked for many times."""
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return ()


def parse_command(command: str, arguments: Sequence[str] | None = None) -> OurCommand | None:
    """Take a command of ours apart; None for any other, also for one that does more than run hookrouter.

    ``arguments`` are the handler's ``args``; with them, ``command`` is the program alone.
    """
    words = list(_words(command)) if arguments is None else [command, *arguments]
    home = None
    while words and _ASSIGNMENT.match(words[0]):
        name, _, value = words.pop(0).partition("=")
        home = value if name == "HOOKROUTER_HOME" else home
    front, words = split_front(words)
    if len(words) > 3 and words[-4:-2] == ["-m", PROGRAM]:
        program, rest = words[0], words[-2:]
    else:
        program, rest = (words[0], words[1:]) if words and os.path.basename(words[0]) == PROGRAM else ("", [])
    if len(rest) != 2 or rest[0] != "run" or not _EVENT_WORD.fullmatch(rest[1]):
        return None
    return OurCommand(program, rest[1], home, front)


def runs_hookrouter(command: str) -> bool:
    """Say whether a command line runs ``hookrouter run EVENT`` somewhere, also one that :func:`parse_command` refuses.

    Such a line was changed by hand (``timeout 30 hookrouter run stop || true``), so it is nobody's to update.
    """
    return _INSIDE.search(command) is not None
