"""Reads a command line of bash or zsh: which simple commands it runs, and what is not certain about that.

::

    reading = read("cd src && git -C lib push 2>&1 | tail -5")
    [command.name for command in reading.commands]   # ["cd", "git", "tail"]
    reading.certain                                  # True

The reader knows the syntax of shells (quotes, expansions, lists, pipelines, redirections, here-documents, compound
commands, functions) and, from one table, which programs and builtins run what their words name: ``sudo``, ``xargs``,
``find -exec``, ``bash -c``, ``git -c alias.…``.

It is a list of shapes. Whatever is none of them, is read otherwise by the tree of tree-sitter-bash than by the reader
of words, or is a text that is only known when the line runs, is a :class:`~hookrouter.shell.commands.Doubt`, never a
guess.

What it does not know, and never claims: what variables hold, which files there are, what a program does by itself
(``make``, a script), and what the shell had before the line: aliases, functions, options, PATH.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from hookrouter.shell._syntax import LineReader
from hookrouter.shell._work import Work
from hookrouter.shell.commands import Doubt, Reading, Why

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from hookrouter.shell.commands import Redirection, SimpleCommand

__all__ = ["client_shell", "read", "unreadable"]

_NO_FILES = frozenset(["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"])
_RUNS_FILES = frozenset(["source", ".", "bash", "sh", "zsh", "dash", "ash", "rbash"])


def read(line: str, shell: Literal["bash", "zsh", "sh"] = "bash") -> Reading:
    """Return what a command line runs, as a shell would read it. It runs nothing, and never raises.

    ``shell`` is the one that the line is for: ``bash`` (3.2 and later), ``zsh`` (5.9, with the options of a script), or
    ``sh`` for what a POSIX shell such as dash reads. The work is bounded: a line that is too long is not certain.
    """
    reader = LineReader(line, shell, Work())
    try:
        reader.read()
    except RecursionError:
        # What calls this may itself be deep.
        reader.doubt(Why.SIZE, 0, len(line))
    commands, redirections = tuple(reader.commands), tuple(reader.redirections)
    doubts = [*reader.doubts, *_written_and_run(commands, redirections)]
    return Reading(line, commands, tuple(reader.words), redirections, tuple(doubts))


def unreadable() -> Reading:
    """Return the reading of a command that is missing, or no text: nothing of it is certain."""
    return Reading("", (), doubts=(Doubt(Why.TEXT, 0, 0),))


def client_shell(environ: Mapping[str, str]) -> Literal["bash", "zsh"]:
    """Return the shell with which a Claude Code of this environment runs commands.

    That is ``$CLAUDE_CODE_SHELL``, else ``$SHELL``, if it is a bash or zsh that can be run. Otherwise it is the first
    that is found on PATH, or where systems have shells: zsh, then bash; bash first if ``$SHELL`` ends in ``/bash``.
    Source: the code of Claude Code 2.1.332.
    """
    folders = [*environ.get("PATH", os.defpath).split(os.pathsep), *_SHELL_FOLDERS]
    own = environ.get("SHELL", "")
    for path in (environ.get("CLAUDE_CODE_SHELL", ""), own):
        if ("bash" in path or "zsh" in path) and _can_run(path, folders):
            return "zsh" if "zsh" in _base(path) else "bash"
    is_bash = _base(own) == "bash" and _can_run("bash", folders)
    return "zsh" if not is_bash and _can_run("zsh", folders) else "bash"


_SHELL_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")


def _can_run(program: str, folders: list[str]) -> bool:
    places = [program] if "/" in program else [os.path.join(folder, program) for folder in folders if folder]
    return any(os.access(place, os.X_OK) for place in places)


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
