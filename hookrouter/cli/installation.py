"""``hookrouter install`` and ``hookrouter uninstall``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import typer

from hookrouter import settings as settings_file
from hookrouter.application import Application
from hookrouter.cli.options import DryRun, Json, Scope, ScopeOption, SettingsOption, chosen_settings, echo_json, fail
from hookrouter.names import printable
from hookrouter.settings import SettingsError, wanted_registrations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.settings import Change, Registration

__all__ = ["install", "uninstall"]


def install(
    settings: SettingsOption = None, scope: ScopeOption = None, dry_run: DryRun = False, as_json: Json = False
) -> None:
    """Register hookrouter in a Claude Code settings file, for the events and tools that active plugins implement.

    Run it again whenever plugins were added, removed, enabled or disabled: it updates its own entries and leaves every
    other key and hook as it is. The former file is kept beside it. With HOOKROUTER_HOME set, the entries set it too.
    Running sessions notice the change by themselves.
    """
    path = chosen_settings(settings, scope) or _user_settings()
    app = Application.from_environ()
    for problem in app.config.problems:
        typer.echo(f"hookrouter: warning: {printable(problem)}", err=True)
    try:
        wanted = wanted_registrations(app)
        change = settings_file.install(path, wanted, app.store, dry_run=dry_run)
    except SettingsError as error:
        fail(str(error))
    for info in app.plugins.listing():
        if info.status == "broken":
            typer.echo(f"hookrouter: warning: the plugin {info.name} is broken: {printable(info.reason)}", err=True)
    _report(change, wanted, dry_run=dry_run, as_json=as_json)


def uninstall(
    settings: SettingsOption = None, scope: ScopeOption = None, dry_run: DryRun = False, as_json: Json = False
) -> None:
    """Take hookrouter's entries out of a Claude Code settings file, and whatever install had created for them.

    What anyone else wrote into the file since then stays.
    """
    path = chosen_settings(settings, scope) or _user_settings()
    app = Application.from_environ()
    try:
        change = settings_file.uninstall(path, app.store, dry_run=dry_run)
    except SettingsError as error:
        fail(str(error))
    _report(change, (), dry_run=dry_run, as_json=as_json)


def _user_settings() -> str:
    return settings_file.settings_path(Scope.USER.value, os.environ, os.getcwd())


def _report(change: Change, wanted: Sequence[Registration], *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        echo_json(
            {
                "settings": change.path,
                "changed": change.changed,
                "dry_run": dry_run,
                "backup": change.backup,
                "registered": [
                    {"event": want.event, "matcher": want.matcher, "command": want.command, "timeout": want.timeout}
                    for want in wanted
                ],
                "diff": change.diff() if dry_run else None,
            }
        )
        return
    if not change.changed:
        typer.echo(f"{change.path}: nothing to change")
    elif dry_run:
        typer.echo(change.diff(), nl=False)
        return
    elif change.after is None:
        typer.echo(f"{change.path}: removed, install had created it")
    else:
        typer.echo(f"{change.path}: {'updated' if change.before is not None else 'created'}")
        if change.backup is not None:
            typer.echo(f"  the former file is {change.backup}")
    for want in wanted:
        typer.echo(f"  {want.event}{'' if want.matcher is None else f' ({want.matcher})'}")
