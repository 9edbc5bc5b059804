"""``hookrouter storage init|migrate|check|copy|forget``: the engine that keeps the documents."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.config import FILES
from hookrouter.shared_documents import shared_kinds
from hookrouter.sharing import machine_name, open_engine
from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.util.text import printable
from hookrouter_fleet import comparing, state
from hookrouter_fleet.forgetting import forget as forget_machine
from hookrouter_fleet.locks import SHARING
from hookrouter_fleet.replica import Brought, Replica, problems

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrouter.storage.interface import Storage

__all__ = ["app", "check", "copy", "forget", "init", "migrate"]

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Set up, check and fill the engine that keeps the documents.",
)

T = TypeVar("T")

_LOCK_SECONDS = 5.0

_COMPARE_SECONDS = 120.0
"""Seconds that the process that writes documents may take to compare all of them."""


class Engine(StrEnum):
    """Where ``copy`` takes documents from, or brings them to."""

    FILES = "files"


@app.command("init")
def init(as_json: Json = False) -> None:
    """Create what the engine of config.toml needs: tables, in their newest form.

    What is there already stays. Nothing to do if files are the engine.

    With --json: engine, machine, and done: what was made, in words.

    \b
    Examples:
      hookrouter storage init

    \b
    Exit codes:
      0  all is there
      2  no engine but files is configured, or it cannot be used
    """
    application, storage = _storage()
    _tell(application, _guarded(storage.init), "all is there already", as_json)


@app.command("migrate")
def migrate(
    to: Annotated[
        int | None,
        typer.Option("--to", metavar="VERSION", help="This version instead of the newest; one back at most."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Migrate what the engine keeps to the form of this release, or one version back.

    Back loses what the former form has no place for, and the output says what that was. Which versions there are is up
    to the engine; it names them if one is not allowed.

    Routers of the former release work with the new form, and those of this one with the former: update one machine
    after the other, and migrate when all are.

    With --json: engine, machine, and done: what was changed, in words.

    \b
    Examples:
      hookrouter storage migrate
      hookrouter storage migrate --to 2

    \b
    Exit codes:
      0  it has that form
      2  no engine but files is configured, it cannot be used, or there is no such version
    """
    application, storage = _storage()
    _tell(application, _guarded(lambda: storage.migrate(to)), "it has this form already", as_json)


@app.command("check")
def check(as_json: Json = False) -> None:
    """Report what is wrong with the engine, or with this machine's name in it, and how to fix it.

    With --json: engine, machine, ok, problems, and machines: the machines that have documents in it.

    \b
    Examples:
      hookrouter storage check

    \b
    Exit codes:
      0  nothing is wrong
      1  something is
      2  no engine but files is configured
    """
    application, storage = _storage()
    config = application.config.storage
    wrong = _guarded(lambda: problems(application.home, storage, machine_name(config), application.warn))
    found = [printable(problem) for problem in wrong]
    machines = [] if found else list(_guarded(storage.machines))
    if not found:
        _guarded(lambda: state.forget(application.store))
    if as_json:
        here = {"engine": config.engine, "machine": machine_name(config)}
        echo_json({**here, "ok": not found, "problems": found, "machines": machines})
    else:
        for problem in found:
            typer.echo(problem)
        if not found:
            others = f"; there are documents of: {', '.join(map(printable, machines))}" if machines else ""
            typer.echo(f"{config.engine}: nothing is wrong; this machine is {machine_name(config)}{others}")
    if found:
        raise typer.Exit(1)


@app.command("copy")
def copy(
    source: Annotated[
        Engine | None, typer.Option("--from", help="files: copy this machine's documents to the engine, now.")
    ] = None,
    target: Annotated[
        Engine | None, typer.Option("--to", help="files: copy this machine's documents back from the engine.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --from: show what would be done, and do nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Copy this machine's documents from its files to the engine of config.toml, or back.

    A process of hookrouter writes changes by itself, so --from files is for the first time, with open questions
    and undelivered messages, and to see that all is there. If that process is at work, it is the one that compares all
    and writes what differs. Nothing is taken away from the files. --to files is for a machine whose disk was lost, or a
    home that has moved: what its files do not have they get from the engine, and from then on this home is the one of
    that name.

    With --json: engine, machine, written, deleted (in the engine, what the files do not have), same (was there), and
    by: the process that wrote them, null if it was this command.

    \b
    Examples:
      hookrouter storage copy --from files --dry-run
      hookrouter storage copy --from files

    \b
    Exit codes:
      0  all are there
      2  no engine but files is configured, it cannot be used, or neither --from nor --to says files
    """
    if (source is None) == (target is None):
        raise CommandError("copy takes --from files or --to files")
    if dry_run and target is not None:
        raise CommandError("--dry-run goes with --from files")
    application, storage = _storage()
    config = application.config.storage
    brought, by = _guarded(partial(_brought, application, storage, is_back=source is None, dry_run=dry_run))
    if as_json:
        here = {"engine": config.engine, "machine": machine_name(config), "dry_run": dry_run}
        echo_json({**here, **brought._asdict(), "by": by})
        return
    would = "would be " if dry_run else ""
    gone = f", {brought.deleted} {would}deleted there" if brought.deleted else ""
    process = f"; by the process that writes documents ({printable(by)})" if by else ""
    typer.echo(f"{brought.written} {would}written{gone}, {brought.same} there already{process}")


@app.command("forget")
def forget(
    machine: Annotated[str, typer.Argument(metavar="MACHINE", help="Its name, as 'storage check' lists it.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed, and remove nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Remove the documents of a machine that is gone for good from the engine.

    Nobody is told of its questions and sessions any more, and what it had queued or not yet sent is lost. Its history
    stays. A machine that is at work is refused; one that comes back anyway writes its documents again.

    With --json: engine, machine (this one), forgotten, dry_run, and removed: how many documents, by kind.

    \b
    Examples:
      hookrouter storage forget build-3 --dry-run
      hookrouter storage forget build-3

    \b
    Exit codes:
      0  they are removed
      2  no engine but files is configured, it cannot be used, or there is no such machine, or it is at work
    """
    application, storage = _storage()
    config = application.config.storage
    here = machine_name(config)
    shared = shared_kinds(application.plugins)
    removed = _guarded(lambda: forget_machine(storage, machine, here, shared, application.warn, dry_run=dry_run))
    if as_json:
        found = {"forgotten": machine, "dry_run": dry_run, "removed": removed}
        echo_json({"engine": config.engine, "machine": here, **found})
        return
    would = "would be " if dry_run else ""
    what = ", ".join(f"{count} {kind}" for kind, count in removed.items())
    typer.echo(f"{printable(machine)}: {would}removed: {what}")


def _brought(application: Application, storage: Storage, *, is_back: bool, dry_run: bool) -> tuple[Brought, str | None]:
    """Return what was brought, and by which other process."""
    shared = shared_kinds(application.plugins)
    replica = Replica(application.home, storage, machine_name(application.config.storage), shared, application.warn)
    if is_back:
        with replica.lock(_LOCK_SECONDS):
            return replica.take_over(), None
    replica.check_home()
    if dry_run:
        return replica.bring(dry_run=True), None
    while True:
        try:
            # Whoever holds it is the one that brings documents.
            with application.store.lock(*SHARING, 0), replica.lock(_LOCK_SECONDS):
                replica.settle(compare=True)
                return replica.bring(), None
        except StoreBusy as busy:
            by = busy.holder
        try:
            counts = comparing.compared(application.store, _COMPARE_SECONDS)
        except TimeoutError:
            raise CommandError(
                f"the process that writes documents ({by}) has not written all of them in {_COMPARE_SECONDS:g} "
                "seconds; "
                "see: hookrouter doctor"
            ) from None
        if counts is not None:
            return Brought(**counts), by


def _storage() -> tuple[Application, Storage]:
    # The plugin is imported for this, and it may print.
    with redirect_stdout(sys.stderr):
        application = Application.from_environ(share=False)
        config = application.config.storage
        if application.config.problems:
            application.warn(
                f"{application.home.config_file} has problems, so [storage] is what the last file without any said; "
                "see: hookrouter config check"
            )
        if config.engine == FILES:
            raise CommandError(
                f"{application.home.config_file}: [storage] engine is files, which need nothing; "
                "another engine comes with a plugin"
            )
        return application, _guarded(lambda: open_engine(application))


def _tell(application: Application, done: Sequence[str], nothing: str, as_json: bool) -> None:
    config = application.config.storage
    if as_json:
        echo_json({"engine": config.engine, "machine": machine_name(config), "done": list(done)})
        return
    for one in done or [nothing]:
        typer.echo(printable(one))


def _guarded(work: Callable[[], T]) -> T:
    try:
        return work()
    except StoreError as error:
        raise CommandError(str(error)) from None
