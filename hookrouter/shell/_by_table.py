"""Reads what simple commands run, by the table of programs, where no text has to be read for it."""

from __future__ import annotations

from hookrouter.shell._running import run

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from hookrouter.shell._words import Dialect
    from hookrouter.shell.commands import SimpleCommand

__all__ = ["run_by_table"]


def run_by_table(commands: Sequence[SimpleCommand], dialect: Dialect) -> tuple[SimpleCommand, ...] | None:
    """Return the commands with those that they run; None if that takes more than the table, or is not certain."""
    reader = _TableReader(dialect)
    try:
        for command in commands:
            reader.add(command)
    except _MoreNeeded:
        return None
    return tuple(reader.commands)


class _MoreNeeded(Exception):
    """A whole reader is needed."""


class _TableReader:
    """What :func:`hookrouter.shell._running.run` asks, and gives up where it asks for more than a list."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.commands: list[SimpleCommand] = []

    def add(self, command: SimpleCommand) -> None:
        run(self, command)

    def _give_up(self, *_: object) -> NoReturn:
        raise _MoreNeeded

    doubt_word = read_text = is_number = assigned = array = compound = let = _give_up
