"""Reads command lines that hold nothing but plain words, at the cost of hardly anything.

Half of what Claude runs is ``git status``, ``npm test 2>&1 | tail -5``: a hook must not load a parser for that. What is
read here is read just so by :mod:`hookrouter.shell.reader`; whatever else a line holds, it is left to that one.
"""

from __future__ import annotations

from hookrouter.shell._programs import PROGRAMS
from hookrouter.shell.commands import Literal, Reading, Redirection, RunBy, SimpleCommand, Word

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hookrouter.shell.commands import Direction

__all__ = ["READ_APART", "known_name", "read_plain"]

_LONGEST = 1000
_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@%+,:-")
_RESERVED = frozenset([
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "function",
    "select", "time", "coproc", "repeat", "foreach", "end", "nocorrect", "noglob", "always", "declare", "typeset",
    "local", "export", "readonly", "unset", "integer", "float", "unsetenv",
])  # fmt: skip
_JOINS = ("&&", "||", ";", "|")
_WITH_SUBCOMMANDS = ("git", "npm")
"""Programs of which most subcommands run nothing: the commonest."""
READ_APART = frozenset([
    "bash", "rbash", "zsh", "sh", "dash", "ash", "fish", "csh", "tcsh", "ksh", "mksh", "ksh93", "oksh", "pwsh", "nu",
    "elvish", "xonsh", "set", "find", "[", "test", "sed", "awk", "mawk", "nawk",
    "bfs", "cmake", "goawk", "original-awk",
])  # fmt: skip
"""Programs whose words are read by code of their own."""
_SINKS: dict[str, tuple[int | None, Direction, str, int]] = {
    "2>&1": (2, "duplicate", "1", 3),
    ">/dev/null": (None, "out", "/dev/null", 1),
    "2>/dev/null": (2, "out", "/dev/null", 2),
}
"""The redirections that are everywhere: descriptor, direction, target, and where in the text that begins."""


def read_plain(line: str) -> Reading | None:
    """Return what a line of plain words runs, between which ``&&``, ``||``, ``;``, ``|`` may stand; None for any other.

    Bash and zsh read them alike.
    """
    if len(line) > _LONGEST:
        return None
    commands: list[SimpleCommand] = []
    words: list[Word] = []
    redirections: list[Redirection] = []
    is_piped = False
    at = 0
    for piece in [*line.split(" "), ";"]:
        start, at = at, at + len(piece) + 1
        if piece in _JOINS:
            is_last = start > len(line)
            if is_last and not words and commands and not is_piped and line.endswith(" ;"):
                break
            if not words or not _is_plain(words):
                return None
            in_pipe = is_piped or piece == "|"
            run_by = (RunBy("pipeline"),) if in_pipe else ()
            mine = tuple(words)
            commands.append(SimpleCommand(mine, (), tuple(redirections), run_by, mine[0].start, mine[-1].end, mine))
            words, redirections, is_piped = [], [], piece == "|"
        elif piece in _SINKS:
            if not words:
                return None
            descriptor, direction, target, offset = _SINKS[piece]
            end = start + len(piece)
            word = Word(target, (Literal(target),), start + offset, end)
            redirections.append(Redirection(direction, descriptor, word, start, end))
        elif not piece or redirections or not _CHARACTERS.issuperset(piece):
            return None
        else:
            words.append(Word(piece, (Literal(piece),), start, start + len(piece)))
    return Reading(line, tuple(commands))


def _is_plain(words: list[Word]) -> bool:
    """Whether a command runs no other, and has no options before a subcommand."""
    name = words[0].text
    if name in _RESERVED or not (name[0].isalpha() or name[0] in "./") or "%" in name or name in (".", ".."):
        return False
    base = known_name(name.rpartition("/")[2])
    if base not in PROGRAMS:
        return base != "" and base not in READ_APART
    if name not in _WITH_SUBCOMMANDS or len(words) == 1:
        return False
    return words[1].text[0] not in "-+" and f"{name} {words[1].text}" not in PROGRAMS


def known_name(name: str) -> str:
    """Return the name that the table has of a program: ``python3.11``, ``gsort`` and ``vim.tiny`` are others' too."""
    if name in READ_APART or name in PROGRAMS:
        return name
    for other in (name.rstrip("0123456789.").rstrip("-"), name.partition(".")[0], name.removeprefix("g")):
        if other in READ_APART or other in PROGRAMS:
            return other
    return name
