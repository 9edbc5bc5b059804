"""Takes a command line of bash apart into its simple commands, or says that it will not.

A rule that allows must know what a command does, so only what is certain is taken apart: words, quotes, and the
operators ``&&``, ``||``, ``;``, ``|``, ``&`` and newline between commands. A command line with anything else, such as a
substitution, a redirection, a variable, an assignment or ``{a,b}``, is not taken apart at all.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["WRAPPERS", "FileGlob", "commands_within", "simple_commands"]

_TEXT_RUNNERS = frozenset(
    [
        "bash",
        "sh",
        "zsh",
        "dash",
        "ash",
        "ksh",
        "mksh",
        "rbash",
        "fish",
        "csh",
        "tcsh",
        "busybox",
        "eval",
        "trap",
        "su",
        "runuser",
        "sudo",
        "env",
        "ssh",
        "script",
        "flock",
        "watch",
        "parallel",
        "tmux",
        "screen",
        "entr",
    ]
)
"""Commands that may give one of their words to a shell, as a command line."""
_JOINERS = frozenset(["eval", "ssh", "watch", "parallel"])
"""Those that make one command line of all their words."""
_DEPTH = 5

WRAPPERS = _TEXT_RUNNERS | frozenset(
    [
        "doas",
        "pkexec",
        "command",
        "builtin",
        "exec",
        "nohup",
        "nice",
        "ionice",
        "chrt",
        "taskset",
        "setarch",
        "time",
        "timeout",
        "xargs",
        "setsid",
        "stdbuf",
        "unbuffer",
        "find",
        "chroot",
        "unshare",
        "nsenter",
        "systemd-run",
        "strace",
        "ltrace",
        "fakeroot",
        "faketime",
        "chronic",
    ]
)
"""Commands that run another command, which their words name."""

_KEYWORDS = frozenset(
    [
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "select",
        "function",
        "time",
        "coproc",
        "in",
        "!",
        "{",
        "}",
        "[[",
        "]]",
    ]
)
_REFUSED = frozenset("`$()<>\\#")
"""Characters that, unquoted, begin what is not taken apart."""
_QUOTED_REFUSED = frozenset("`$\\!")
_EXPANDED = frozenset("*?[]{}~!^")
"""Characters that bash may expand: a command's own name may not hold them."""
_GLOB = frozenset("*?[")
"""Characters that, unquoted, stand for letters of file names."""
_BLANKS = " \t"
_OF_A_LINE = frozenset(" \t\n;&|`$()<>\\#*?[]{}~!'\"")
"""Characters of which a word has at least one if a shell reads more in it than a command's name."""


class FileGlob(str):
    """A word that bash replaces by the names of files, if there are any that it fits: it may stand for other words."""

    __slots__ = ()


def simple_commands(line: str) -> list[list[str]] | None:
    """Return the words of each simple command of a command line, in order; None if it is not certain what they are.

    Words are without their quotes. None too for an empty line, and for one that bash would refuse.
    """
    if any((character < " " and character not in "\n\t") or character == "\x7f" for character in line):
        return None
    scanner = _Scanner(line)
    try:
        scanner.run()
    except _NotPlain:
        return None
    commands = scanner.commands
    if not commands or not all(_is_plain(words, plain) for words, plain in zip(commands, scanner.plain, strict=True)):
        return None
    return commands


def commands_within(words: Sequence[str], depth: int = _DEPTH) -> Iterator[list[str] | None]:
    """Yield each command that a command may be or run, by its words: itself first; None for one that is not certain.

    That is what stands behind a command such as ``sudo``, and what such a one gives to a shell: ``bash -c 'a && b'``.
    ``depth`` is how many shells may be in each other; what is below them is not certain.
    """
    yield list(words)
    if not words or os.path.basename(words[0]) not in WRAPPERS:
        return
    for start in range(1, len(words)):
        yield list(words[start:])
    for text in _texts(words):
        commands = simple_commands(text) if depth else None
        if commands is None:
            yield None
            continue
        for inner in commands:
            yield from commands_within(inner, depth - 1)


def _texts(words: Sequence[str]) -> list[str]:
    """Return the words of a command that a shell may be given as command lines; of one that joins them, all in one."""
    names = [os.path.basename(word) for word in words]
    runner = next((at for at, name in enumerate(names) if name in _TEXT_RUNNERS), len(words))
    joiner = next((at for at, name in enumerate(names) if name in _JOINERS), len(words))
    texts = [word for word in words[runner + 1 :] if not isinstance(word, FileGlob)]
    # What is a name and no more stands among the words behind the command.
    texts = [text for text in texts if _OF_A_LINE.intersection(text)]
    return [*texts, " ".join(words[joiner + 1 :])] if len(words) > joiner + 2 else texts


def _is_plain(words: list[str], is_unquoted: list[bool]) -> bool:
    """Whether the first word is a command's name, as it stands."""
    first = words[0]
    if not first or "=" in first or _EXPANDED.intersection(first):
        return False
    return not (is_unquoted[0] and first in _KEYWORDS)


class _NotPlain(Exception):
    """The line holds what is not taken apart."""


class _Scanner:
    """One pass over a line."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0
        self._words: list[str] = []
        self._unquoted: list[bool] = []
        self.commands: list[list[str]] = []
        self.plain: list[list[bool]] = []
        """Of each word whether no part of it was quoted."""
        self._awaits_command = False
        """Whether an operator must be followed by a command."""

    def run(self) -> None:
        while self._at < len(self._line):
            character = self._line[self._at]
            if character in _BLANKS:
                self._at += 1
            elif character in "&|;\n":
                self._operator()
            else:
                self._word()
        self._end_command()
        if self._awaits_command:
            raise _NotPlain

    def _operator(self) -> None:
        character = self._line[self._at]
        double = self._line[self._at : self._at + 2]
        if character == "\n":
            # Blank lines, and one after an operator, mean nothing.
            self._at += 1
            if self._words:
                self._end_command()
            return
        if not self._words or double in ("|&", ";;", ";&") or self._line[self._at : self._at + 3] in ("&>>",):
            raise _NotPlain
        if double == "&>":
            raise _NotPlain
        self._end_command()
        if double in ("&&", "||"):
            self._at += 2
            self._awaits_command = True
        else:
            self._at += 1
            self._awaits_command = character == "|"

    def _end_command(self) -> None:
        if self._words:
            self.commands.append(self._words)
            self.plain.append(self._unquoted)
            self._words, self._unquoted = [], []
            self._awaits_command = False

    def _word(self) -> None:
        parts: list[str] = []
        unquoted: list[str] = []
        is_unquoted = True
        while self._at < len(self._line):
            character = self._line[self._at]
            if character in _BLANKS or character in "&|;\n":
                break
            if character in "'\"":
                is_unquoted = False
                parts.append(self._quoted(character))
                continue
            if character in _REFUSED:
                raise _NotPlain
            parts.append(character)
            unquoted.append(character)
            self._at += 1
        word = "".join(parts)
        if "{" in unquoted and ("," in word or ".." in word):
            # {a,b} is two words.
            raise _NotPlain
        self._words.append(FileGlob(word) if _GLOB.intersection(unquoted) else word)
        self._unquoted.append(is_unquoted)

    def _quoted(self, quote: str) -> str:
        end = self._line.find(quote, self._at + 1)
        if end < 0:
            raise _NotPlain
        text = self._line[self._at + 1 : end]
        if quote == '"' and _QUOTED_REFUSED.intersection(text):
            raise _NotPlain
        self._at = end + 1
        return text
