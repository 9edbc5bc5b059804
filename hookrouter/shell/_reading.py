"""Reads any command line: what the tree's reader finds, and what several commands of the line come to together."""

from __future__ import annotations

from hookrouter.shell._syntax import LineReader
from hookrouter.shell._work import Work
from hookrouter.shell._written import written_and_run
from hookrouter.shell.commands import Reading, Why

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Literal


__all__ = ["read_any"]


def read_any(line: str, shell: Literal["bash", "zsh", "sh"]) -> Reading:
    """Return what a command line runs, as :func:`hookrouter.shell.reader.read` does."""
    reader = LineReader(line, shell, Work())
    try:
        reader.read()
    except RecursionError:
        # What calls this may itself be deep.
        reader.doubt(Why.SIZE, 0, len(line))
    commands, redirections = tuple(reader.commands), tuple(reader.redirections)
    doubts = [*reader.doubts, *written_and_run(commands, redirections)]
    return Reading(line, commands, tuple(reader.words), redirections, tuple(doubts))
