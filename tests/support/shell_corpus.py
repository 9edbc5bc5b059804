"""Command lines with what the reader of commands must find in them, as text: ``tests/data/shell``.

::

    $ npm test 2>&1 | tail -5
    npm test 2>&1
    tail -5

A block is a command line, ``> `` before each further line of it, then what is found. A line of that is a command: its
words, quoted as a shell has them, ``?`` for what is not known and ``?*`` where that may be no word, or several, and ⏎
for the end of a line in a word; its assignments before, its redirections behind. A line with ``!`` is a reason why the
reading is not certain.
``python -m support.shell_corpus`` in ``tests`` prints the blocks of a file as they are read now.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.shell.commands import Literal, Why
from hookrouter.shell.reader import read

if TYPE_CHECKING:
    from hookrouter.shell.commands import Reading, Redirection, SimpleCommand, Word

__all__ = ["FOLDER", "Block", "Context", "blocks", "contexts", "found"]

_NAMES = {text: name for name, text in vars(Why).items() if name.isupper()}

FOLDER = Path(__file__).parents[1] / "data" / "shell"


class Block(NamedTuple):
    """A command line and what is found in it."""

    line: str
    found: tuple[str, ...]

    def __str__(self) -> str:
        first, *further = self.line.split("\n")
        return "\n".join([f"$ {first}", *(f"> {one}".rstrip() for one in further), *self.found, ""])


def blocks(file: str) -> list[Block]:
    """Return the blocks of a file of the corpus."""
    made = []
    for block in (FOLDER / file).read_text(encoding="utf-8").strip().split("\n\n"):
        lines = block.split("\n")
        written = [one[2:] for one in lines if one.startswith(("$ ", "> ")) or one == ">"]
        made.append(Block("\n".join(written), tuple(lines[len(written) :])))
    return made


class Context(NamedTuple):
    """A form in which a shell runs the command ``<ZZ>``."""

    is_found: bool
    """Whether a reading must have the command; else it must not be certain."""
    text: str


def contexts() -> list[Context]:
    """Return the forms of ``contexts.txt``."""
    text = (FOLDER / "contexts.txt").read_text(encoding="utf-8")
    found = re.findall(r"^(found|doubted): (.*?)(?=\n\n|\Z)", text.strip(), re.MULTILINE | re.DOTALL)
    return [Context(kind == "found", form) for kind, form in found]


def found(reading: Reading) -> tuple[str, ...]:
    """Return what a reading found, a line for each command and each doubt."""
    outer = " ".join(map(_redirection, reading.redirections))
    return (
        *map(_command, reading.commands),
        *([outer] if outer else []),
        *sorted({f"! {_NAMES[doubt.why]}" for doubt in reading.doubts}),
    )


def _command(command: SimpleCommand) -> str:
    assigned = [f"{one.name}={' '.join(map(_word, one.values))}" for one in command.assignments]
    return " ".join([*assigned, *map(_word, command.words), *map(_redirection, command.redirections)])


def _word(word: Word) -> str:
    if word.value is not None:
        return shlex.quote(word.value).replace("\n", "⏎")
    if word.splits:
        return "?*"
    return "".join(shlex.quote(part.text) if isinstance(part, Literal) else "?" for part in word.parts)


def _redirection(one: Redirection) -> str:
    signs = {"in": "<", "out": ">", "append": ">>", "duplicate": ">&", "close": ">&-", "here-string": "<<<"}
    if one.direction == "here-document":
        return "<<"
    target = _word(one.target) if one.target else ""
    return f"{'' if one.descriptor is None else one.descriptor}{signs[one.direction]}{target}"


if __name__ == "__main__":
    for block in blocks(sys.argv[1]):
        print(Block(block.line, found(read(block.line))))
