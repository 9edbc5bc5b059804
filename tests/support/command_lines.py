"""The calls of hookrouter in a shell text, such as an example in documentation, without running them."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["all_commands", "check_calls", "simple_commands"]

_HERE_DOCUMENT = re.compile(r"(<<-?\s*(['\"]?)(\w+)\2[^\n]*\n).*?^\3$", re.MULTILINE | re.DOTALL)
_OPERATOR = set(";|&()<>")


def simple_commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each simple command of a shell text.

    Prompts (``$ ``), comments, redirections and here-documents are left out. Raises ValueError for quotes that do
    not end.
    """
    text = _HERE_DOCUMENT.sub(r"\1", text).replace("\\\n", " ")
    for line in text.splitlines():
        lexer = shlex.shlex(line.strip().removeprefix("$ "), posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        is_target = False
        for word in [*lexer, ";"]:
            if is_target or (set(word) <= _OPERATOR and set(word) & set("<>")):
                is_target = not is_target
            elif set(word) <= _OPERATOR:
                if words:
                    yield words
                words = []
            else:
                words.append(word)


def all_commands() -> dict[str, Any]:
    """Return each command of ``hookrouter``, as typer has it, by the words that call it; groups are left out."""
    from hookrouter.cli.main import command_line

    group = command_line()
    context = group.make_context("hookrouter", ["x"], resilient_parsing=True)
    names = group.list_commands(context)
    return dict(leaf for name in names for leaf in _leaves(name, group.get_command(context, name).real()))


def _leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    parts = getattr(command, "commands", None)
    if parts is None:
        yield name, command
    for part, inner in (parts or {}).items():
        yield from _leaves(f"{name} {part}", inner)


def check_calls(text: str, commands: dict[str, Any]) -> int:
    """Read the arguments of each call of hookrouter in a shell text, and return how many calls there are.

    ``commands`` is what :func:`all_commands` returns. Raises LookupError for a command that there is none of, and
    typer's own error for arguments that the command does not take.
    """
    calls = [words[1:] for words in simple_commands(text) if words[0].rpartition("/")[2] == "hookrouter"]
    for words in calls:
        name = next((name for name in commands if words[: len(name.split())] == name.split()), None)
        if name is not None:
            commands[name].make_context(name, words[len(name.split()) :])
        elif words != ["--version"] and words != ["--help"]:
            raise LookupError(f"hookrouter has no command {' '.join(words)!r}")
    return len(calls)
