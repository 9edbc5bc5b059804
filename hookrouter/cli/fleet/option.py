"""On which machine of a fleet a command about sessions is run: by one decorator around the command.

It declares ``--machine``. Where another machine is meant, because it is named or because it alone has what the command
is about, that one runs the same command line, and what it writes is written here. The command itself is called only
for this machine.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, ParamSpec, TypeVar

import typer
from typer.models import ArgumentInfo

from hookrouter.cli.errors import CommandError
from hookrouter.machines import ErrandError, refusal
from hookrouter.storage.engine import ALONE_VARIABLE
from hookrouter.util.text import closest, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter.dialogs.documents import Dialog
    from hookrouter.machines import Machines
    from hookrouter.storage.interface import DocumentStore

    Options = Mapping[str, Any]
    """What a command is called with, by the names of its parameters."""
    Found = Mapping[str, Sequence[Dialog]]
    """The machines that have what is meant, each with the open dialogs of it if it is dialogs."""
    Find = Callable[[Machines, DocumentStore], Found]
    """Looks for it on the other machines, and in what this one has. May raise CommandError, and what an engine does."""

__all__ = ["OPTION", "Call", "Machine", "SeveralMachinesError", "behind_the_command", "on_any_machine"]

P = ParamSpec("P")
R = TypeVar("R")

OPTION = "--machine"

Machine = Annotated[
    str | None,
    typer.Option(
        OPTION,
        metavar="NAME",
        help="Run on this machine of the fleet ([storage] in config.toml).",
    ),
]


class SeveralMachinesError(CommandError):
    """Several machines have what is meant; the message names them."""

    def __init__(self, found: Found) -> None:
        """``found`` holds them."""
        super().__init__(f"several machines match: {', '.join(sorted(found))}; say which with {OPTION} NAME")
        self.found = found


class Call(NamedTuple):
    """How a command is called."""

    command: str
    """Its words, as they are typed: ``queue show``."""
    options: Options
    signature: inspect.Signature

    def line(self) -> tuple[list[str], str]:
        """Return the words of this call for another machine, and what they get on stdin.

        That one has not this one's files: it gets the text of one on stdin. Raises CommandError if that cannot be read.
        """
        from hookrouter.cli.text_file import read_text

        words, rest, given = self.command.split(), list[str](), ""
        for name, parameter in self.signature.parameters.items():
            value = self.options.get(name)
            if value is None or value == parameter.default:
                continue
            (declared,) = parameter.annotation.__metadata__
            values = list(value) if isinstance(value, (list, tuple)) else [value]
            if isinstance(declared, ArgumentInfo):
                rest += values
                continue
            # What is written first of an annotated option is its name, which typer keeps there.
            flag, _, opposite = str(declared.default).partition("/")
            if isinstance(value, bool):
                words.append(flag if value else opposite)
                continue
            if declared.metavar == "FILE":
                given, values = read_text(value, flag), ["-"]
            words += [f"{flag}={one}" for one in values]
        if "-" in rest:
            given = read_text("-")
        return [*words, "--", *rest] if rest else words, given


def on_any_machine(
    command: str,
    find: Callable[[Options], Find | None] | None = None,
    *,
    told: Callable[[Call, CommandError | ErrandError], int | None] | None = None,
    away: Callable[[Call, Machines, str], int | None] | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Have a command run on the machine of the fleet that is meant. Its parameters are declared for typer.

    ``command`` are its words. Without ``--machine``, ``find`` returns what looks for the machines that have what is
    meant; None if nothing is to be looked for. ``told`` writes that no machine has done it, as the command says such
    things, and returns the exit code; None if it does not say that. ``away`` is asked of a machine that is named and
    not at work, and returns the exit code if it has told what is known of it here.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function, eval_str=True)
        defaults = {name: one.default for name, one in signature.parameters.items()}

        @functools.wraps(function)
        def with_option(*arguments: P.args, **options: P.kwargs) -> R:
            machine = options.pop("machine", None)
            call = Call(command, {**defaults, **options}, signature)
            try:
                code = _elsewhere(call, find) if machine is None else _on_machine(str(machine), call, away)
            except (CommandError, ErrandError) as error:
                code = _told(call, error) if told is None or (code := told(call, error)) is None else code
            if code is not None:
                raise typer.Exit(code)
            return function(*arguments, **options)

        option = inspect.Parameter("machine", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Machine)
        with_option.__signature__ = signature.replace(  # type: ignore[attr-defined] # what typer reads
            parameters=[*signature.parameters.values(), option]
        )
        with_option.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
        with_option.__annotations__["machine"] = Machine
        return with_option

    return decorated


def behind_the_command(arguments: Sequence[str]) -> list[str]:
    """Return a command line with ``--machine`` behind the words of the command, if it stands before them.

    So it does where another machine's command is read: that line begins with how the command is started there.
    """
    first = next((at for at, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    name = arguments[first] if first < len(arguments) else ""
    if name != OPTION and not name.startswith(f"{OPTION}="):
        return list(arguments)
    behind = first + (2 if name == OPTION else 1)
    until = next((at for at in range(behind, len(arguments)) if arguments[at].startswith("-")), len(arguments))
    return [*arguments[:first], *arguments[behind:until], *arguments[first:behind], *arguments[until:]]


def _on_machine(machine: str, call: Call, away: Callable[[Call, Machines, str], int | None] | None) -> int | None:
    """Have the machine do it that is named; return the exit code, None if that is this one.

    Then this process asks no others any more. Raises CommandError if there is no such machine, and ErrandError.
    """
    from hookrouter.cli.fleet.asking import fleet_of, run_on, said

    if not machine:
        raise CommandError(f"{OPTION}: the name of a machine is missing")
    with fleet_of(f"{OPTION} {machine}") as others:
        if machine == others.here:
            os.environ[ALONE_VARIABLE] = "1"
            return None
        if away is not None and (code := away(call, others, machine)) is not None:
            return code
        try:
            names = others.names()
            if machine in names:
                words, given = call.line()
                if refused := refusal(words):
                    raise CommandError(f"{OPTION} {machine}: {refused}")
                return run_on(others, machine, words, given)
        except (CommandError, ErrandError):
            raise
        except Exception as error:  # noqa: BLE001 - an engine of a third party may raise anything
            why = f"the machine {machine} could not be asked: {said(error)}; nothing was done"
            raise ErrandError(why, may_have_run=False) from None
        close = closest(machine, names)
        hint = f", did you mean {close!r}?" if close else ""
        known = ", ".join(sorted([*names, others.here]))
        raise CommandError(f"{OPTION}: there is no machine {machine!r}{hint}; there are: {known}")


def _elsewhere(call: Call, find: Callable[[Options], Find | None] | None) -> int | None:
    """Have the machine do it that alone has what is meant; return the exit code, None if that is this one, or none.

    Of two that have something of the same name neither is guessed at. Raises CommandError, and ErrandError.
    """
    looks = None if find is None else find(call.options)
    if looks is None:
        return None
    from hookrouter.cli.application import Application
    from hookrouter.cli.fleet.asking import run_on, said

    application = Application.from_environ()
    try:
        with closing(application.machines()) as others:
            found = looks(others, application.store) if others.here else {}
            if len(found) > 1:
                raise SeveralMachinesError(found)
            if not found or others.here in found:
                return None
            (machine,) = found
            words, given = call.line()
            return run_on(others, machine, words, given)
    except (CommandError, ErrandError):
        raise
    except Exception as error:  # noqa: BLE001 - an engine of a third party may raise anything
        # What is on this machine can be answered all the same.
        sys.stderr.write(f"hookrouter: the other machines could not be asked: {printable(said(error))}\n")
        return None


def _told(call: Call, error: CommandError | ErrandError) -> int:
    """Say that no machine has done it; return the exit code. Raises CommandError, which is said where all are."""
    from hookrouter.dialogs.answers.result import ExitCode

    if isinstance(error, CommandError):
        raise error
    if call.options.get("as_json"):
        from hookrouter.cli.options import echo_json

        echo_json({"error": printable(str(error))})
    else:
        sys.stderr.write(f"hookrouter {call.command.split()[0]}: {printable(str(error))}\n")
    return ExitCode.NOT_CONFIRMED if error.may_have_run else ExitCode.NOT_DELIVERED
