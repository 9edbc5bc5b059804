"""Variables that change what shells or programs run, and what they are given."""

from __future__ import annotations

from hookrouter.shell._lists import (
    COMMAND_VARIABLES,
    INTEGER_VARIABLES,
    STATE_PREFIXES,
    STATE_PREFIXES_OF_ANY_CASE,
    STATE_VARIABLES,
)
from hookrouter.shell._options import NAME_OF_FILE
from hookrouter.shell._special import read_word
from hookrouter.shell.commands import RunBy, Why, Word

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hookrouter.shell._special import Reader
    from hookrouter.shell.commands import Assignment, SimpleCommand

__all__ = ["check_variable", "is_state"]


def is_state(name: str) -> bool:
    """Whether a variable changes what shells or programs run."""
    return (
        name in STATE_VARIABLES
        or name.startswith(STATE_PREFIXES)
        or name.lower().startswith(STATE_PREFIXES_OF_ANY_CASE)
    )


def check_variable(reader: Reader, command: SimpleCommand, assignment: Assignment) -> None:
    """Look at what a command, or the shell, is given in a variable."""
    name = assignment.name
    where = assignment.values[0] if assignment.values else Word(name, (), assignment.start, assignment.end)
    if name == "IFS" and command.name == "read":
        # It holds for this one command, which only splits what it reads.
        return
    if is_state(name):
        reader.doubt_word(Why.VARIABLE, where)
    elif name in INTEGER_VARIABLES:
        for word in assignment.values:
            if not reader.is_number(word):
                reader.doubt_word(Why.ARITHMETIC, word)
    elif name == "FLASK_APP" and not NAME_OF_FILE.fullmatch("(" if where.value is None else where.value):
        reader.doubt_word(Why.CODE, where)
    elif name in COMMAND_VARIABLES and assignment.values:
        read_word(reader, where, (*command.run_by, RunBy("program", name)), "sh")
