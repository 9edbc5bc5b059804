"""``--machine NAME``, before or behind the commands that are about sessions: has another machine run the command."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from hookrouter._fleet.errands import COMMANDS, refusal
from hookrouter._fleet.spawn import ALONE_VARIABLE
from hookrouter.cli.errors import CommandError
from hookrouter.util.text import closest, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OPTION", "on_machine", "without_files"]

OPTION = "--machine"
_MOST_BYTES = 1024 * 1024


class _Split(NamedTuple):
    machine: str
    words: list[str]


def on_machine(arguments: Sequence[str]) -> int | list[str]:
    """Run a command line on the machine that it names; return the exit code.

    If it names none, or this one, return the words without the option. Raises CommandError.
    """
    split = _split(arguments)
    if split is None:
        return list(arguments)
    from hookrouter.cli.fleet.asking import fleet_of, run_on

    if not split.machine:
        raise CommandError(f"{OPTION}: the name of a machine is missing")
    with fleet_of(f"{OPTION} {split.machine}") as others:
        if split.machine == others.here:
            os.environ[ALONE_VARIABLE] = "1"
            return split.words
        names = others.names()
        if split.machine not in names:
            close = closest(split.machine, names)
            hint = f", did you mean {close!r}?" if close else ""
            known = ", ".join(sorted([*names, others.here]))
            raise CommandError(f"{OPTION}: there is no machine {split.machine!r}{hint}; there are: {known}")
        if refused := refusal(split.words):
            raise CommandError(f"{OPTION} {split.machine}: {refused}")
        words, given = without_files(split.words)
        return run_on(others, split.machine, words, given)


def without_files(words: Sequence[str]) -> tuple[list[str], str]:
    """Return a command line for another machine, which has not this one's files, and what it gets on stdin instead.

    ``--file NAME`` becomes ``--file -``, with the file's text. Raises CommandError if it cannot be read.
    """
    found, given, rest = list(words), "", iter(range(len(words)))
    for at in rest:
        word = words[at]
        if word == "--":
            break
        if word == "--file" and at + 1 < len(words):
            found[at + 1], given = "-", _text_of(words[at + 1])
            next(rest, None)
        elif word.startswith("--file="):
            found[at], given = "--file=-", _text_of(word.partition("=")[2])
        elif word == "-":
            given = _text_of(word)
    return found, given


def _text_of(name: str) -> str:
    try:
        if name == "-":
            data = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with open(name, "rb") as file:
                data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise CommandError(f"--file {printable(name)}: larger than {_MOST_BYTES} bytes")
        return data.decode("utf-8")
    except OSError as error:
        raise CommandError(f"--file {printable(name)}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise CommandError(f"--file {printable(name)}: not UTF-8: {error.reason} at byte {error.start}") from None


def _split(arguments: Sequence[str]) -> _Split | None:
    """Return the machine and the other words; None if no machine is named, or the command is about no session."""
    machine, words, rest = None, list[str](), iter(range(len(arguments)))
    for at in rest:
        word = arguments[at]
        if word == "--":
            words += arguments[at:]
            break
        if word == OPTION:
            machine = arguments[at + 1] if at + 1 < len(arguments) else ""
            next(rest, None)
        elif word.startswith(f"{OPTION}="):
            machine = word.partition("=")[2]
        else:
            words.append(word)
    command = next((word for word in words if not word.startswith("-")), "")
    return None if machine is None or command not in COMMANDS else _Split(machine, words)
