"""Reads any command line: what the tree's reader finds, and what several commands of the line come to together."""

from __future__ import annotations

import re

from hookrouter.shell._syntax import LineReader
from hookrouter.shell._work import Work
from hookrouter.shell.commands import Doubt, Reading, Why

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Literal

    from hookrouter.shell.commands import Redirection, SimpleCommand

__all__ = ["read_any"]

_NO_FILES = frozenset(["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"])
_RUNS_FILES = frozenset(["source", ".", "bash", "sh", "zsh", "dash", "ash", "rbash"])


def read_any(line: str, shell: Literal["bash", "zsh", "sh"]) -> Reading:
    """Return what a command line runs, as :func:`hookrouter.shell.reader.read` does."""
    reader = LineReader(line, shell, Work())
    try:
        reader.read()
    except RecursionError:
        # What calls this may itself be deep.
        reader.doubt(Why.SIZE, 0, len(line))
    commands, redirections = tuple(reader.commands), tuple(reader.redirections)
    doubts = [*reader.doubts, *_written_and_run(commands, redirections)]
    return Reading(line, commands, tuple(reader.words), redirections, tuple(doubts))


def _written_and_run(commands: tuple[SimpleCommand, ...], redirections: tuple[Redirection, ...]) -> list[Doubt]:
    """Return a doubt for each command that runs a file to which the line may have written."""
    every = [*redirections, *(one for command in commands for one in command.redirections)]
    written = [one.target.value for one in every if one.direction in ("out", "append") and one.target is not None]
    names = {None if name is None else _base(name) for name in written if name not in _NO_FILES}
    if not names:
        return []
    found = []
    for command in commands:
        run = _files_run(command)
        if run and (None in names or None in run or names & run):
            found.append(Doubt(Why.WRITTEN, command.start, command.end))
    return found


def _files_run(command: SimpleCommand) -> set[str | None]:
    """Return the names of the files that a command runs by their path; None for one that is not known."""
    name = command.name
    if name is None:
        return set()
    run: set[str | None] = (
        {_base(name)} if "/" in name and not re.match(r"/(?:usr/)?(?:local/)?s?bin/", name) else set()
    )
    if _base(name) in _RUNS_FILES:
        values = [word.value for word in command.words[1:]]
        if "-c" not in values:
            run |= {None if value is None else _base(value) for value in values if not (value or "").startswith("-")}
    return run


def _base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
