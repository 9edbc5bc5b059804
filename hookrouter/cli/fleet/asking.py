"""Has other machines run a command, and says what they said."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from hookrouter._fleet.errands import ErrandError
from hookrouter._fleet.others import Others
from hookrouter._fleet.spawn import ALONE_VARIABLE
from hookrouter._plugins.storage_engines import machine_name
from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.terminal import is_attended
from hookrouter.config import FILES
from hookrouter.dialogs.answers.identity import login_name
from hookrouter.dialogs.answers.result import AnswerResult, ExitCode
from hookrouter.storage.interface import StoreError
from hookrouter.util.field_docs import with_field_docs
from hookrouter.util.text import describe_error, printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

__all__ = ["Told", "echo_others", "fleet_of", "rows_of_others", "run_on", "told_by_others", "with_others"]

_AT_ONCE = 16


@with_field_docs
class Told(NamedTuple):
    """What one machine said."""

    machine: str
    """The machine."""
    stdout: str
    """What the command printed there; empty if it could not be asked."""
    problem: str
    """Why it could not be asked, or what it said on stderr; empty if nothing is wrong."""


@contextmanager
def fleet_of(what: str) -> Iterator[Others]:
    """Give the machines of this environment's fleet, in the block. Raises CommandError if there is none.

    ``what`` begins the message: what asks for them.
    """
    application = Application.from_environ()
    try:
        others = Others.of(application)
        if others is None:
            raise CommandError(f"{what}: no machines share an engine here; see [storage] in config.toml")
        try:
            yield others
        finally:
            others.close()
    except StoreError as error:
        raise CommandError(f"{what}: {error}") from None


def run_on(others: Others, machine: str, words: Sequence[str], given: str) -> int:
    """Run a command on another machine, write what it wrote, and return its exit code.

    That is 4 if it was certainly not done, and 5 if that is not known. Raises StoreError.
    """
    person = login_name() if is_attended() else ""
    try:
        done = others.run(machine, words, given, person=person)
    except ErrandError as error:
        return _told_failure(error, words)
    sys.stdout.write(printable(done.stdout, keep_newlines=True))
    sys.stderr.write(printable(done.stderr, keep_newlines=True))
    if done.is_cut:
        sys.stderr.write(f"hookrouter {printable(words[0])}: {_cut(machine)}\n")
        return done.code or 1
    return done.code


def _told_failure(error: ErrandError, words: Sequence[str]) -> int:
    """Say that a command was not run, or may not have been, as the command would; return the exit code."""
    code = ExitCode.NOT_CONFIRMED if error.may_have_run else ExitCode.NOT_DELIVERED
    options = words[: words.index("--")] if "--" in words else words
    if "--json" not in options:
        sys.stderr.write(f"hookrouter {printable(words[0])}: {printable(str(error))}\n")
    elif words[0] == "answer":
        outcome = "not_confirmed" if error.may_have_run else "not_delivered"
        typer.echo(json.dumps(AnswerResult(outcome, code, "", reason=str(error)).document()))
    else:
        typer.echo(json.dumps({"error": printable(str(error))}))
    return code


def told_by_others(application: Application, words: Sequence[str], but: Collection[str] = ()) -> list[Told]:
    """Have all other machines run a command that only reads; return what each said, by name. Raises nothing.

    Those of ``but`` are left out. Without an engine there is none. If the engine cannot be asked, that is the one thing
    told, of no machine.
    """
    try:
        others = Others.of(application)
        if others is None:
            return []
        try:
            names = [name for name in others.names() if name not in but]
            with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
                return list(pool.map(lambda name: _told(others, name, words), names))
        finally:
            others.close()
    except Exception as error:  # noqa: BLE001 - an engine of a third party may raise anything
        return [Told("", "", f"only this machine is shown: {_said(error)}")]


def with_others(
    application: Application,
    document: dict[str, Any],
    words: Sequence[str],
    key: str,
    kept: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> dict[str, Any]:
    """Return a JSON document of this machine with the rows under ``key`` of all others in it.

    Without an engine it is returned as it is. Else each row gets ``machine``, and ``machines`` says of each machine
    whether it could be asked (``problem`` is empty then). ``words`` is the command that prints such a document.
    ``kept`` holds the rows of machines that need not be asked.
    """
    known = kept or {}
    if application.config.storage.engine == FILES or application.environ.get(ALONE_VARIABLE):
        return document
    here = machine_name(application.config.storage)
    told = [_readable(one) for one in told_by_others(application, words, known)]
    rows = [{**row, "machine": here} for row in document[key]] + rows_of_others(told, key)
    rows += [{**row, "machine": machine} for machine, found in known.items() for row in found]
    machines = [{"machine": machine, "problem": ""} for machine in (here, *known)]
    machines += [{"machine": one.machine, "problem": one.problem} for one in told]
    return {**document, key: rows, "machines": machines}


def echo_others(application: Application, words: Sequence[str], but: Collection[str] = ()) -> None:
    """Write for a person what the other machines but some say to a command, each under its name."""
    for one in told_by_others(application, words, but):
        name = f"Machine {printable(one.machine)}" if one.machine else "Other machines"
        said = "\n".join(filter(None, (one.stdout.strip("\n"), one.problem))) or "nothing"
        typer.echo(f"\n{name}:\n{printable(said, keep_newlines=True)}")


def _readable(one: Told) -> Told:
    """Return what a machine said; if it is no JSON, the problem says so."""
    if one.problem or not one.machine:
        return one
    try:
        is_document = isinstance(json.loads(one.stdout), dict)
    except ValueError:
        is_document = False
    if is_document:
        return one
    return one._replace(problem=f"what the machine {printable(one.machine)} said is no JSON document")


def rows_of_others(told: Sequence[Told], key: str) -> list[dict[str, Any]]:
    """Return the rows under ``key`` of the JSON that machines printed, each with its ``machine``."""
    rows = []
    for one in told:
        try:
            document = json.loads(one.stdout) if one.stdout else {}
        except ValueError:
            continue
        found = document.get(key) if isinstance(document, dict) else None
        rows += [{**row, "machine": one.machine} for row in found or () if isinstance(row, dict)]
    return rows


def _cut(machine: str) -> str:
    return f"the machine {printable(machine)} wrote more than can be sent from there, so the end is missing"


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, StoreError) else describe_error(error)


def _told(others: Others, machine: str, words: Sequence[str]) -> Told:
    try:
        done = others.run(machine, words)
    except Exception as error:  # noqa: BLE001 - as above
        return Told(machine, "", _said(error))
    if done.is_cut:
        return Told(machine, done.stdout, _cut(machine))
    return Told(machine, done.stdout, done.stderr.strip() if done.code else "")
