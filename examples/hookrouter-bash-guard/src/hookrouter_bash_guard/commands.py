"""Takes a command line of a shell apart, as far as that goes without being one."""

from __future__ import annotations

import os
import re
import shlex
from itertools import chain

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_SHELLS = {"bash", "dash", "sh", "zsh"}
_PREFIXES = {"command", "doas", "env", "exec", "nice", "nohup", "sudo", "then", "do", "else", "time", "{", "!"}
_OPERATOR = set(";|&()<>\n")


class UnreadableError(ValueError):
    """Quotes that never end, for example."""


def simple_commands(line: str, depth: int = 3) -> list[str]:
    """Return each command of a line as the program's name and its words, without quotes, paths and assignments.

    ``FOO=1 /bin/rm -rf "x" && sudo ls`` gives ``rm -rf x`` and ``ls``. Commands for another shell (``sh -c``) are taken
    apart too, ``depth`` times. Raises UnreadableError.
    """
    lexer = shlex.shlex(line.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError as error:
        raise UnreadableError(str(error)) from None
    found: list[list[str]] = [[]]
    for token in tokens:
        if set(token) <= _OPERATOR:
            found.append([])
        else:
            found[-1].append(token)
    return list(chain.from_iterable(_described(words, depth) for words in found))


def _described(words: list[str], depth: int) -> list[str]:
    while words and (_ASSIGNMENT.match(words[0]) or os.path.basename(words[0]) in _PREFIXES):
        words = words[1:]
        while words and words[0].startswith("-"):
            words = words[1:]
    if not words:
        return []
    name = os.path.basename(words[0]) or words[0]
    inner = words[words.index("-c") + 1 :][:1] if name in _SHELLS and "-c" in words and depth else []
    return [" ".join([name, *words[1:]]), *chain.from_iterable(simple_commands(text, depth - 1) for text in inner)]
