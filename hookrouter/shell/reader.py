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

from hookrouter.shell.commands import Doubt, Reading, Why
from hookrouter.shell.plain import read_plain

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

__all__ = ["client_shell", "read", "unreadable"]


def read(line: str, shell: Literal["bash", "zsh", "sh"] = "bash") -> Reading:
    """Return what a command line runs, as a shell would read it. It runs nothing, and never raises.

    ``shell`` is the one that the line is for: ``bash`` (3.2 and later), ``zsh`` (5.9, with the options of a script), or
    ``sh`` for what a POSIX shell such as dash reads. The work is bounded: a line that is too long is not certain.
    """
    if shell != "sh" and (plain := read_plain(line, shell)) is not None:
        return plain
    # Slow to import.
    from hookrouter.shell._reading import read_any

    return read_any(line, shell)


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
            return "zsh" if "zsh" in os.path.basename(path) else "bash"
    is_bash = os.path.basename(own) == "bash" and _can_run("bash", folders)
    return "zsh" if not is_bash and _can_run("zsh", folders) else "bash"


_SHELL_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")


def _can_run(program: str, folders: list[str]) -> bool:
    places = [program] if "/" in program else [os.path.join(folder, program) for folder in folders if folder]
    return any(os.access(place, os.X_OK) for place in places)
