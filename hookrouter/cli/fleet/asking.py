"""Has other machines run a command, and says what they said."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.terminal import is_attended
from hookrouter.dialogs.answers.identity import login_name
from hookrouter.machines import ErrandError
from hookrouter.storage.interface import StoreError
from hookrouter.util.text import describe_error, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from hookrouter.machines import Machines
    from hookrouter.storage.interface import DocumentStore

__all__ = ["AWAY", "Kept", "Told", "echo_others", "fleet_of", "run_on", "said", "told_by_others", "with_others"]

_AT_ONCE = 16
AWAY = (
    "no process of hookrouter is at work there, so it cannot be asked (one ends when nothing is open, and 'hookrouter "
    "serve' keeps one)"
)
"""What is said of a machine that is not there."""


class Told(NamedTuple):
    """What one machine said."""

    machine: str
    """The machine."""
    stdout: str
    """What the command printed there; empty if it could not be asked."""
    problem: str
    """Why it could not be asked, or what it said on stderr; empty if nothing is wrong."""
    kept: Mapping[str, Sequence[Mapping[str, Any]]] | None = None
    """If it could not be asked, the rows of what stands in the engine of it, by key; ``stdout`` shows them."""


class Kept(NamedTuple):
    """Reads what stands in the engine of a machine that cannot be asked. Both may raise StoreError."""

    rows: Callable[[DocumentStore], Mapping[str, Sequence[Mapping[str, Any]]]]
    """Returns the rows of the JSON document, by key."""
    lines: Callable[[DocumentStore], Sequence[str]]
    """Returns the lines for a person."""


@contextmanager
def fleet_of(what: str) -> Iterator[Machines]:
    """Give the machines of this environment's fleet, in the block.

    Raises CommandError if there is none, or its engine cannot be used. ``what`` begins the message: what asks for them.
    """
    try:
        with closing(Application.from_environ().machines()) as others:
            if not others.here:
                why = others.missing or "no machines share an engine here; see [storage] in config.toml"
                raise CommandError(f"{what}: {why}")
            others.open()
            yield others
    except ErrandError:
        raise
    except StoreError as error:
        raise CommandError(f"{what}: {error}") from None


def run_on(others: Machines, machine: str, words: Sequence[str], given: str) -> int:
    """Run a command on another machine, write what it wrote, and return its exit code. Raises StoreError."""
    done = others.run(machine, words, given, person=login_name() if is_attended() else "")
    sys.stdout.write(printable(done.stdout, keep_newlines=True))
    sys.stderr.write(printable(done.stderr, keep_newlines=True))
    if done.is_cut:
        sys.stderr.write(f"hookrouter {printable(words[0])}: {_cut(machine)}\n")
        return done.code or 1
    return done.code


def told_by_others(
    application: Application, words: Sequence[str], but: Collection[str] = (), kept: Kept | None = None
) -> list[Told]:
    """Have all other machines run a command that only reads; return what each said, by name. Raises nothing.

    Those of ``but`` are left out. Without an engine there is none. If the engine cannot be asked, that is the one thing
    told, of no machine. Of a machine that cannot be asked, ``kept`` reads what stands in the engine.
    """
    try:
        with closing(application.machines()) as others:
            names = [name for name in others.names() if name not in but]
            with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
                return list(pool.map(lambda name: _told(others, name, words, kept), names))
    except Exception as error:  # noqa: BLE001 - an engine of a third party may raise anything
        return [Told("", "", f"only this machine is shown: {said(error)}")]


def with_others(
    application: Application,
    document: dict[str, Any],
    words: Sequence[str],
    keys: Sequence[str],
    known: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    kept: Kept | None = None,
) -> dict[str, Any]:
    """Return a JSON document of this machine with the rows under ``keys`` of all others in it.

    Without an engine it is returned as it is. Else each row gets ``machine``, and ``machines`` says of each machine
    whether it could be asked (``problem`` is empty then). ``words`` is the command that prints such a document.
    ``known`` holds the rows under the first key of machines that need not be asked. With ``kept`` each row says by
    ``machine_away`` whether it is what stands in the engine of a machine that could not be asked.
    """
    done = known or {}
    if not (here := application.machines().here):
        return document
    told = [_readable(one) for one in told_by_others(application, words, done, kept)]
    found = dict(document)
    for key in keys:
        mark: dict[str, Any] = {} if kept is None else {"machine_away": False}
        found[key] = [{**row, "machine": here, **mark} for row in document[key]]
        for one in told:
            away = {"machine_away": True} if one.kept is not None else mark
            found[key] += [{**row, "machine": one.machine, **away} for row in _rows(one, key)]
    found[keys[0]] += [{**row, "machine": machine} for machine, rows in done.items() for row in rows]
    machines = [{"machine": machine, "problem": ""} for machine in (here, *done)]
    machines += [{"machine": one.machine, "problem": one.problem} for one in told]
    return {**found, "machines": machines}


def echo_others(
    application: Application, words: Sequence[str], but: Collection[str] = (), kept: Kept | None = None
) -> None:
    """Write for a person what the other machines but some say to a command, each under its name."""
    for one in told_by_others(application, words, but, kept):
        name = f"Machine {printable(one.machine)}" if one.machine else "Other machines"
        text = "\n".join(filter(None, (one.problem, one.stdout.strip("\n")))) or "nothing"
        typer.echo(f"\n{name}:\n{printable(text, keep_newlines=True)}")


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
    return one._replace(problem=f"what the machine {printable(one.machine)} said is not a JSON document")


def _rows(one: Told, key: str) -> list[Mapping[str, Any]]:
    """Return the rows under ``key`` of the JSON that a machine printed, or of what stands in the engine of it."""
    if one.kept is not None:
        return list(one.kept.get(key, ()))
    try:
        document = json.loads(one.stdout) if one.stdout else {}
    except ValueError:
        return []
    found = document.get(key) if isinstance(document, dict) else None
    return [row for row in found or () if isinstance(row, dict)]


def _cut(machine: str) -> str:
    return f"the machine {printable(machine)} wrote more than can be sent from there, so the end is missing"


def said(error: Exception) -> str:
    """Return in words what an engine raised."""
    return str(error) if isinstance(error, StoreError) else describe_error(error)


def _told(others: Machines, machine: str, words: Sequence[str], kept: Kept | None) -> Told:
    try:
        if kept is not None and not others.is_there(machine):
            return _of_engine(others, machine, AWAY, kept)
        done = others.run(machine, words)
    except Exception as error:  # noqa: BLE001 - as above
        return Told(machine, "", said(error)) if kept is None else _of_engine(others, machine, said(error), kept)
    if done.is_cut:
        return Told(machine, done.stdout, _cut(machine))
    return Told(machine, done.stdout, done.stderr.strip() if done.code else "")


def _of_engine(others: Machines, machine: str, problem: str, kept: Kept) -> Told:
    """Return what stands in the engine of a machine that cannot be asked, because of ``problem``."""
    try:
        store = others.store(machine)
        rows, lines = kept.rows(store), kept.lines(store)
    except Exception as error:  # noqa: BLE001 - as above
        return Told(machine, "", f"{problem}; {said(error)}")
    return Told(machine, "\n".join(lines), f"{problem}; this is what it had written before:", rows)
