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
    from collections.abc import Callable, Sequence

__all__ = ["OPTION", "SHORT", "done_on", "on_machine", "without_files"]

OPTION = "--machine"
SHORT = ("allow", "deny", "approve", "revise")
"""The commands that say in words what is decided, and have another machine run ``answer`` with it."""
_MOST_BYTES = 1024 * 1024


class _Split(NamedTuple):
    machine: str
    command: str
    words: list[str]


def on_machine(arguments: Sequence[str]) -> int | list[str]:
    """Run a command line on the machine that it names; return the exit code.

    If it names none, or this one, return the words without the option; with it behind the command for those that know
    it themselves. Raises CommandError.
    """
    split = _split(arguments)
    if split is None:
        return list(arguments)
    if not split.machine:
        raise CommandError(f"{OPTION}: the name of a machine is missing")
    if split.command in SHORT or (split.command == "history" and _is_kept_alone(split.machine)):
        behind = split.words.index(split.command) + 1
        return [*split.words[:behind], f"{OPTION}={split.machine}", *split.words[behind:]]
    if refused := refusal(split.words):
        raise CommandError(f"{OPTION} {split.machine}: {refused}")
    code = done_on(split.machine, lambda: without_files(split.words))
    return split.words if code is None else code


def _is_kept_alone(machine: str) -> bool:
    """Whether the engine alone can tell the history of a machine, because it is not there."""
    from hookrouter.cli.fleet.asking import fleet_of

    with fleet_of(f"{OPTION} {machine}") as others:
        try:
            return machine != others.here and not others.is_there(machine) and others.keeps_history(machine)
        except Exception:  # noqa: BLE001 - an engine of a third party may raise anything; whoever asks it next says it
            return False


def done_on(machine: str, line: Callable[[], tuple[Sequence[str], str]]) -> int | None:
    """Have a machine run what ``line`` returns: words, and what they get on stdin. Return the exit code.

    None if that is this machine: then this process asks no others any more. Raises CommandError if there is no such
    machine.
    """
    from hookrouter.cli.fleet.asking import fleet_of, not_asked, run_on

    with fleet_of(f"{OPTION} {machine}") as others:
        if machine == others.here:
            os.environ[ALONE_VARIABLE] = "1"
            return None
        try:
            names = others.names()
            if machine in names:
                return run_on(others, machine, *line())
        except CommandError:
            raise
        except Exception as error:  # noqa: BLE001 - an engine of a third party may raise anything
            return not_asked(machine, error, line()[0])
        close = closest(machine, names)
        hint = f", did you mean {close!r}?" if close else ""
        known = ", ".join(sorted([*names, others.here]))
        raise CommandError(f"{OPTION}: there is no machine {machine!r}{hint}; there are: {known}")


def without_files(words: Sequence[str]) -> tuple[list[str], str]:
    """Return a command line for another machine, which has not this one's files, and what it gets on stdin instead.

    ``--file NAME`` becomes ``--file -``, with the file's text; ``-`` alone goes with what stands on this one's stdin.
    Raises CommandError if it cannot be read.
    """
    found, given, rest = list(words), "", iter(range(len(words)))
    for at in rest:
        word = words[at]
        if word == "--":
            if found[at + 1 :] == ["-"]:
                given = _text_of("-")
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
    return None if machine is None or command not in (*COMMANDS, *SHORT) else _Split(machine, command, words)
