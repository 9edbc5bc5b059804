"""``hookrouter serve --install-unit`` and ``--remove-unit``."""

from __future__ import annotations

import os
import shlex
import time
from typing import TYPE_CHECKING

import typer

from hookrouter._serving.units import UnitError, service, switch, switch_on
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import echo_json
from hookrouter.serving import control
from hookrouter.util.difference import unified
from hookrouter.util.program import script_argv
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter._serving.units import Service
    from hookrouter.storage.home import Home

__all__ = ["change_unit"]

_ENDING = 5.0
"""Seconds for which a router that was started in another way may take to end."""


def change_unit(home: Home, *, install: bool, dry_run: bool, as_json: bool) -> int:
    """Install or remove the service of a home, say what was done, and return the exit code. Raises CommandError."""
    try:
        unit = service(home, os.environ, script_argv())
        before = unit.present()
    except (UnitError, OSError, UnicodeDecodeError) as error:
        raise CommandError(str(error)) from None
    after: dict[str, str | None] = dict(unit.files) if install else dict.fromkeys(unit.files)
    commands = (*unit.end, *unit.enable) if install else (*unit.disable, *unit.forget)
    is_there = any(text is not None for text in before.values())
    problem = ""
    if not install and not is_there:
        commands = ()
    elif not dry_run:
        try:
            problem = _install(home, unit) if install else _remove(unit)
        except OSError as error:
            raise CommandError(str(error)) from None
    if as_json:
        echo_json(
            {
                "unit": unit.name,
                "files": [{"path": path, "text": text} for path, text in after.items()],
                "changed": before != after,
                "dry_run": dry_run,
                "commands": [list(words) for words in commands],
                "switched": not dry_run and not problem,
                "problem": printable(problem),
            }
        )
    else:
        _tell(unit, before, after, commands, dry_run=dry_run, problem=problem)
    return 1 if problem else 0


def _install(home: Home, unit: Service) -> str:
    unit.write()
    _end_router(home)
    return switch_on(unit)


def _remove(unit: Service) -> str:
    problem = switch(unit.disable)
    unit.remove()
    return problem or switch(unit.forget)


def _end_router(home: Home) -> None:
    """End the router that runs: it would put its own socket in the place of the system's."""
    deadline = time.monotonic() + _ENDING
    try:
        control.ask(home.router, "stop")
        while time.monotonic() < deadline:
            control.ask(home.router)
            time.sleep(0.05)
    except control.NotServedError:
        return


def _tell(
    unit: Service,
    before: Mapping[str, str | None],
    after: Mapping[str, str | None],
    commands: Sequence[Sequence[str]],
    *,
    dry_run: bool,
    problem: str,
) -> None:
    if before == after:
        typer.echo("nothing to change in the files" if commands else "no unit is installed for this home")
    for path, text in after.items():
        if before[path] == text:
            continue
        if dry_run:
            typer.echo(printable(unified(path, before[path], text), keep_newlines=True), nl=False)
        else:
            typer.echo(printable(f"{'removed' if text is None else 'wrote'} {path}"))
    if not commands:
        return
    lines = [printable(shlex.join(words)) for words in commands]
    if dry_run:
        typer.echo("would run:")
    elif problem:
        typer.echo(f"hookrouter: the unit was not switched: {printable(problem)}; where the system is, run:", err=True)
    else:
        typer.echo(printable(f"done: {unit.name}"))
        return
    for line in lines:
        typer.echo(f"  {line}", err=bool(problem))
