"""One run of ``hookrouter init``: find out what is wanted, show it, write it, test it."""

from __future__ import annotations

import os
import sys
import textwrap
from contextlib import redirect_stdout, suppress
from typing import TYPE_CHECKING

import attrs
import typer

from hookrouter._config import edit
from hookrouter._config.reader import survey
from hookrouter._diagnostics.checks.check import OK
from hookrouter._diagnostics.doctor import examine
from hookrouter._installation.settings_edit import SettingsError
from hookrouter._installation.settings_file import read_text
from hookrouter._setup.choices import ChoiceError, Choices, Words, choices_of
from hookrouter._setup.plan import guards_plan, make_plan
from hookrouter._setup.summary import first_question, guards_next, routes
from hookrouter._setup.trial import send_test
from hookrouter.cli.application import Application
from hookrouter.cli.doctor import has_errors, tell
from hookrouter.cli.errors import CommandError
from hookrouter.cli.init_questions import Questions
from hookrouter.cli.installation import register
from hookrouter.cli.terminal import Waiting, width
from hookrouter.config import IMPLICIT_AGENT
from hookrouter.terminals import terminal_backends
from hookrouter.util.text import describe_error, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter._installation.registrations import Registration
    from hookrouter._installation.settings_file import Change
    from hookrouter._setup.plan import Plan
    from hookrouter._setup.trial import Arrival

__all__ = ["set_up"]

_DONE, _FAULT, _NOT_ARRIVED, _STOPPED = 0, 1, 3, 130

_NOT_ARRIVED_TEXT = (
    "The test message did not arrive through {gateways}: config.toml and the hooks stay as they are. Fix that and "
    "run hookrouter init again, which tests once more."
)


def set_up(words: Words, settings: str, *, is_project: bool, asks: bool, test: bool, dry_run: bool) -> int:
    """Set hookrouter up as ``words`` say, with the hooks in the file ``settings``; return the exit code.

    With ``asks`` a person on this terminal is asked for what the words leave open, and before anything is written.
    ``is_project`` says that the file is shared. Raises CommandError, which says what was done until then.
    """
    setup: _Setup | None = None
    try:
        setup = _prepare(words, settings, is_project=is_project, asks=asks)
        _show(setup.plan, setup.settings, dry_run=dry_run)
        if dry_run:
            return _DONE
        if asks and not _agreed(setup.plan, setup.settings, test=test and not setup.guards):
            typer.echo("Nothing was written.")
            return _FAULT
        return _carry_out(setup, test=test)
    except (ChoiceError, edit.ConfigEditError, CommandError) as error:
        raise CommandError(f"{error}{_so_far(setup)}") from None
    except (KeyboardInterrupt, typer.Abort):
        typer.echo(err=True)
        typer.echo(printable(f"hookrouter init: stopped{_so_far(setup) or '; nothing was changed'}"), err=True)
        return _STOPPED


@attrs.define
class _Setup:
    """One run: what is to be written, and what has been."""

    app: Application
    plan: Plan
    settings: Change
    """What becomes of the settings file."""
    is_project: bool
    agent: str | None
    """The agent that was asked for; None for those that config.toml has."""
    guards: bool = False
    """Whether guards alone are set up."""
    wanted: Sequence[Registration] = ()
    """The entries that were registered."""

    def done(self) -> list[str]:
        """Return what was changed so far, a line each: read from the files, so that no moment is missed."""
        found = []
        with suppress(edit.ConfigEditError):
            if self.plan.changes and edit.content_of(self.app.home) == self.plan.after:
                found.append(f"{self.plan.path}: {self._verb}")
        with suppress(SettingsError):
            if self.settings.changed and read_text(self.settings.path) != self.settings.before:
                found.append(f"{self.settings.path}: hooks registered; hookrouter uninstall takes them out")
        return found

    @property
    def _verb(self) -> str:
        return "written" if self.plan.before is None else "changed"

    def write(self) -> None:
        """Write config.toml, then register the hooks. Raises CommandError."""
        path = self.plan.path
        if self.plan.changes and self.plan.after is not None:
            edit.put(self.app.home, self.plan.before, self.plan.after)
            typer.echo(printable(f"{path}: {self._verb}"))
        self.app = Application.from_environ(scan=True, share=False)
        warnings: list[str] = []
        done = register(self.app, self.settings.path, warnings, dry_run=False, is_project=self.is_project)
        change, self.wanted = done.change, done.wanted
        kept = "" if change.backup is None else f"; the former file is {change.backup}"
        _tell([f"{change.path}: {len(self.wanted)} hooks registered{kept}", *(f"warning: {one}" for one in warnings)])

    def test(self) -> list[Arrival]:
        """Send a test message through every gateway that counts; return what became of each."""
        arrivals = []
        for agent, gateway in routes(self.app.config, self.agent):
            kind = (self.app.config.gateway(gateway) or ("", {}))[0]
            with Waiting(f"hookrouter init: waiting for the test message through {printable(gateway)}"):
                arrival = send_test(self.app, agent, gateway)
            arrivals.append(arrival)
            what = f"arrived after {arrival.seconds:.1f} s" if arrival.arrived else "did NOT arrive"
            _tell([f"test message through {gateway} ({kind}): {what}: {arrival.reason}"])
        return arrivals

    def check(self) -> bool:
        """Run doctor, and show what is not well; return whether there is an error."""
        with redirect_stdout(sys.stderr), Waiting("hookrouter init: doctor is checking"):
            findings = examine(self.app, self.settings.path)
        bad = [finding for finding in findings if finding.level != OK]
        typer.echo(f"doctor: {len(findings) - len(bad)} findings are well{', these are not:' if bad else ''}")
        tell(bad)
        return has_errors(findings)


def _prepare(words: Words, settings: str, *, is_project: bool, asks: bool) -> _Setup:
    """Find out what is wanted, and what that changes; ask for what the options leave open."""
    app = Application.from_environ(scan=True, share=False)
    if app.config.problems:
        raise CommandError(f"{app.config.problems[0]}; correct the file first: hookrouter config check")
    folder = _folder()
    # Where guards are alone, nobody answers yet.
    exists = edit.content_of(app.home) is not None and (app.config.is_set_up or not app.config.guards_alone)
    chosen: Words | None = words
    if asks:
        agents = [agent.id for agent in app.config.agents if agent != IMPLICIT_AGENT]
        chosen = Questions(app, folder).ask(words, agents=agents)
    elif not (words.names_who_answers or words.guards):
        if exists and words != Words():
            raise CommandError("who answers is not said; add --command, --openclaw, --webhook or --person")
        chosen = None if exists else attrs.evolve(words, person=True)
    guards = chosen is not None and chosen.guards
    choices: Choices | None = None if chosen is None or guards else choices_of(chosen, folder)
    agent = None if choices is None else choices.agent
    plan = guards_plan(app) if guards else make_plan(app, choices)
    meant = survey(plan.after, app.plugins.tables)[1] if plan.changes and plan.after is not None else None
    then = app if meant is None else app.under(meant)
    change = register(then, settings, [], dry_run=True, is_project=is_project).change
    return _Setup(app, plan, change, is_project, agent, guards)


def _folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise CommandError("the working folder does not exist any more; change to one that does") from None


def _show(plan: Plan, change: Change, *, dry_run: bool) -> None:
    """Show what is to be written; the change of settings.json in whole only with --dry-run."""
    if plan.changes and plan.before is None and plan.after is not None and not dry_run:
        typer.echo(printable(f"{plan.path} is to be written:\n\n{plan.after.decode()}", keep_newlines=True))
    elif plan.changes:
        typer.echo(printable(plan.diff(), keep_newlines=True))
    else:
        typer.echo(printable(f"{plan.path}: stays as it is"))
    if not change.changed:
        typer.echo(printable(f"{change.path}: nothing to change"))
    elif dry_run:
        typer.echo(printable(change.diff(), keep_newlines=True), nl=False)
    else:
        verb = "created" if change.before is None else "changed, with a copy beside it"
        _tell([f"{change.path} is to be {verb}: hookrouter's hooks (--dry-run shows them)"])


def _agreed(plan: Plan, change: Change, *, test: bool) -> bool:
    if not (plan.changes or change.changed or test):
        return True
    acts = [*(["write this"] if plan.changes or change.changed else []), *(["send a test message"] if test else [])]
    return typer.confirm(f"{' and '.join(acts).capitalize()}?", default=True)


def _carry_out(setup: _Setup, *, test: bool) -> int:
    """Write, test, check, and say what comes next; return the exit code."""
    setup.write()
    arrivals = setup.test() if test and not setup.guards else []
    faulty = setup.check()
    typer.echo("")
    if setup.guards:
        _tell(guards_next(setup.wanted))
        return _FAULT if faulty else _DONE
    _tell(first_question(setup.app.config, without_terminal=_without_terminal(setup.app)))
    lost = ", ".join(arrival.gateway for arrival in arrivals if not arrival.arrived)
    if lost:
        typer.echo("")
        _tell([_NOT_ARRIVED_TEXT.format(gateways=lost)])
        return _NOT_ARRIVED
    return _FAULT if faulty else _DONE


def _without_terminal(app: Application) -> str:
    """Say why sessions have no names; empty if they have."""
    backend = terminal_backends(app.plugins).get(app.config.answer.terminal)
    if backend is None:
        return ""
    try:
        usable, message, _ = backend.probe() or (True, "", "")
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a fault of that plugin
        usable, message = False, describe_error(error)
    return "" if usable else message


def _tell(paragraphs: Sequence[str]) -> None:
    columns = min(width(), 100)
    for text in paragraphs:
        indent = " " * (len(text) - len(text.lstrip()))
        typer.echo(_filled(text.strip(), columns, indent))


def _filled(text: str, columns: int, indent: str) -> str:
    return textwrap.fill(
        printable(text),
        columns,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _so_far(setup: _Setup | None) -> str:
    return "".join(f"; done: {line}" for line in (setup.done() if setup is not None else ()))
