"""Reads command lines of simple commands, without a parser and regular expressions, which take long to load.

Most of what Claude runs is ``npm test 2>&1 | tail -5``, ``git commit -m "Fix it"``. What is read here is read just so
by :mod:`hookrouter.shell.reader`; whatever else a line holds, it is left to that one.
"""

from __future__ import annotations

from hookrouter.shell._programs import PROGRAMS, READ_APART, known_name
from hookrouter.shell.commands import Literal as Known
from hookrouter.shell.commands import Reading, Redirection, RunBy, SimpleCommand, Word

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from hookrouter.shell.commands import Direction

__all__ = ["read_plain"]

_LONGEST = 1000
_QUOTED = "\0"
"""What stands for what is quoted."""
_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@%+,:=-" + _QUOTED)
_IN_NAMES = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-")
_EXPANDED = frozenset("$`\\!")
"""What means something in double quotes."""
_RESERVED = frozenset([
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "function",
    "select", "time", "coproc", "repeat", "foreach", "end", "nocorrect", "noglob", "always", "declare", "typeset",
    "local", "export", "readonly", "unset", "integer", "float", "unsetenv",
])  # fmt: skip
_JOINS = ("&&", "||", ";", "|")
_WITH_SUBCOMMANDS = ("git", "npm")
"""Programs of which most subcommands run nothing: the commonest."""
_SINKS: dict[str, tuple[int | None, Direction, str, int]] = {
    "2>&1": (2, "duplicate", "1", 3),
    ">/dev/null": (None, "out", "/dev/null", 1),
    "2>/dev/null": (2, "out", "/dev/null", 2),
}
"""The redirections that are everywhere: descriptor, direction, target, and where in the text that begins."""
_OPERATORS: dict[str, tuple[int | None, Direction]] = {
    ">": (None, "out"), ">>": (None, "append"), "<": (None, "in"), "2>": (2, "out"), "2>>": (2, "append")
}  # fmt: skip
"""Those before the word of a file: descriptor and direction."""


def read_plain(line: str, shell: Literal["bash", "zsh"] = "bash") -> Reading | None:
    """Return what a line of simple commands runs; None for others.

    Between them ``&&``, ``||``, ``;``, ``|`` may stand. Their words are plain, or quoted without escape and expansion.
    """
    found = _simple_commands(line)
    if found is None:
        return None
    if all(map(_runs_nothing, found)):
        commands = tuple(command._with(bare=command.words) for command in found)
    else:
        from hookrouter.shell._by_table import run_by_table

        run = run_by_table(found, shell)
        if run is None:
            return None
        commands = run
    if any(command.redirections for command in commands):
        from hookrouter.shell._written import written_and_run

        if written_and_run(commands):
            return None
    return Reading(line, commands)


def _simple_commands(line: str) -> list[SimpleCommand] | None:
    """Return the commands of a line; None if it holds anything else."""
    shown = _without_quotes(line) if len(line) <= _LONGEST else None
    if shown is None:
        return None
    commands: list[SimpleCommand] = []
    words: list[Word] = []
    redirections: list[Redirection] = []
    is_piped, opened = False, None
    for piece, start in _pieces(shown):
        end = start + len(piece)
        if opened is not None:
            if not _is_word(piece):
                return None
            (descriptor, direction), begin = _OPERATORS[opened[0]], opened[1]
            redirections.append(Redirection(direction, descriptor, _word(line, piece, start), begin, end))
            opened = None
        elif piece in _JOINS:
            is_last = start > len(line)
            if is_last and not words and commands and not is_piped and line.endswith(";"):
                break
            if not words or not _is_name(words[0]):
                return None
            in_pipe = is_piped or piece == "|"
            run_by = (RunBy("pipeline"),) if in_pipe else ()
            mine = tuple(words)
            commands.append(SimpleCommand(mine, (), tuple(redirections), run_by, mine[0].start, mine[-1].end))
            words, redirections, is_piped = [], [], piece == "|"
        elif piece in _SINKS or piece in _OPERATORS:
            if not words or words[-1].text == "-":
                # The grammar of the parser makes that word a part of the redirection.
                return None
            if piece in _OPERATORS:
                opened = piece, start
                continue
            descriptor, direction, target, offset = _SINKS[piece]
            word = Word(target, (Known(target),), start + offset, end)
            redirections.append(Redirection(direction, descriptor, word, start, end))
        elif redirections or not _is_word(piece):
            return None
        else:
            words.append(_word(line, piece, start))
    return commands if opened is None else None


def _pieces(shown: str) -> Iterator[tuple[str, int]]:
    """Yield what stands between blanks, each with its offset; a ``;`` behind a word alone, and one behind the line."""
    at = 0
    for piece in shown.split(" "):
        if len(piece) > 1 and piece[-1] == ";" != piece[-2]:
            yield piece[:-1], at
            yield ";", at + len(piece) - 1
        else:
            yield piece, at
        at += len(piece) + 1
    yield ";", at


def _is_word(piece: str) -> bool:
    """Whether it is a word, and not one that zsh may take for the path of a program: ``=x``, ``""=x``."""
    if not piece or not _CHARACTERS.issuperset(piece):
        return False
    before, equals, _ = piece.partition("=")
    return not equals or (bool(before) and _QUOTED not in before)


def _word(line: str, piece: str, start: int) -> Word:
    text = line[start : start + len(piece)]
    return Word(text, (Known(_unquoted(text) if _QUOTED in piece else text),), start, start + len(piece))


def _without_quotes(line: str) -> str | None:
    """Return the line with a letter for each character of what is quoted, and the quotes; None if that is not plain."""
    if "'" not in line and '"' not in line:
        return None if _QUOTED in line else line
    if _QUOTED in line:
        return None
    shown, at = "", 0
    while at < len(line):
        sign = line[at]
        if sign not in "'\"":
            shown += sign
            at += 1
            continue
        end = line.find(sign, at + 1)
        if end < 0 or (sign == '"' and not _EXPANDED.isdisjoint(line[at:end])) or not line[at:end].isprintable():
            return None
        shown += _QUOTED * (end + 1 - at)
        at = end + 1
    return shown


def _unquoted(text: str) -> str:
    """Return what a word with quotes is to the shell."""
    value, at = "", 0
    while at < len(text):
        if text[at] in "'\"":
            end = text.index(text[at], at + 1)
            value += text[at + 1 : end]
            at = end + 1
        else:
            value += text[at]
            at += 1
    return value


def _is_name(word: Word) -> bool:
    """Whether the first word of a command is the name of a program, and of nothing of the shell."""
    name = word.text
    if name in _RESERVED or not (name[0].isalpha() or name[0] in "./") or name in (".", ".."):
        return False
    return _IN_NAMES.issuperset(name) and known_name(name.rpartition("/")[2]) not in ("", *READ_APART)


def _runs_nothing(command: SimpleCommand) -> bool:
    """Whether a command runs no other, and has no options before a subcommand, as far as its name says."""
    words = command.words
    name = words[0].text
    if known_name(name.rpartition("/")[2]) not in PROGRAMS:
        return True
    if name not in _WITH_SUBCOMMANDS or len(words) == 1 or words[1].text != words[1].value:
        return False
    return words[1].text[0] not in "-+" and PROGRAMS.keys().isdisjoint((f"{name} {words[1].text}", f"{name} *"))
