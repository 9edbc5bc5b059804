"""``hookrouter adopt``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookrouter._config.edit import ConfigEditError
from hookrouter._config.toml_edit import TomlEditError
from hookrouter._installation.adopting import adopt_hooks, return_hooks
from hookrouter._installation.settings_edit import SettingsError
from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.installation import chosen_file, register
from hookrouter.cli.options import DryRun, Json, echo_json
from hookrouter.cli.settings_options import Scope, ScopeOption, SettingsOption
from hookrouter.storage.interface import StoreError
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["adopt"]


def adopt(
    settings: SettingsOption = None,
    scope: ScopeOption = None,
    undo: Annotated[bool, typer.Option("--undo", help="Give them back to the settings file.")] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Take the command hooks out of a settings file into [[scripts]] of config.toml, and register hookrouter.

    hookrouter runs them from then on, as Claude Code did. Hooks of other kinds stay, and those with a key that a script
    has nothing for, such as async or if: each is told with the reason. All else of both files stays as it is. Those of
    a project's file run in that project alone.

    --undo gives them back: if the settings file was not changed since, but by hookrouter, it is byte for byte what it
    was; else they come at the ends of their events.

    With --json: settings, config, undone, dry_run, exact (null without --undo), hooks (event, matcher, command for
    each), left (event, matcher, hook, reason for each), backup, warnings and diff.

    \b
    Examples:
      hookrouter adopt --dry-run
      hookrouter adopt
      hookrouter adopt --scope project
      hookrouter adopt --undo

    \b
    Exit codes:
      0  done, or there was nothing to take
      2  wrong arguments, nothing to undo, or a file that cannot be used as it is; nothing was changed
    """
    named = chosen_file(settings, scope)
    app = Application.from_environ(scan=True, share=False)
    if app.config.problems:
        raise CommandError(f"{printable(app.config.problems[0])}; correct that first (hookrouter config check)")
    try:
        if undo:
            told = return_hooks(app, named, _register, dry_run=dry_run)
        else:
            told = adopt_hooks(app, named, _register, is_project=scope is Scope.PROJECT, dry_run=dry_run)
    except (SettingsError, ConfigEditError, StoreError) as error:
        raise CommandError(printable(str(error))) from None
    except TomlEditError as error:
        raise CommandError(
            f"{app.home.config_file}: cannot be changed by a program as it is written; {error}"
        ) from None
    _report(told, as_json=as_json)


def _register(
    path: str,
    warnings: list[str],
    *,
    is_project: bool = False,
    edit: Callable[[str | None], str | None] | None = None,
) -> str | None:
    app = Application.from_environ(share=False)
    return register(app, path, warnings, dry_run=False, is_project=is_project, edit=edit).change.backup


def _report(told: Mapping[str, Any], *, as_json: bool) -> None:
    for warning in told["warnings"]:
        typer.echo(f"hookrouter: warning: {warning}", err=True)
    if as_json:
        echo_json(told)
        return
    if told["diff"] is not None:
        typer.echo(printable(told["diff"], keep_newlines=True), nl=False)
    elif not told["hooks"]:
        typer.echo(f"{told['settings']}: no command hook to take")
    elif told["undone"]:
        typer.echo(f"{told['settings']}: has its {len(told['hooks'])} hooks again, {told['config']} has none of them")
    else:
        typer.echo(f"{told['settings']}: {len(told['hooks'])} hooks are in {told['config']} now")
    if told["backup"]:
        typer.echo(f"  the former file is {told['backup']}")
    for one in told["hooks"] if told["diff"] is None else ():
        typer.echo(printable(f"  {_label(one)}: {one['command']}"))
    for one in told["left"]:
        typer.echo(printable(f"  left: {_label(one)}: {one['hook']}: {one['reason']}"))


def _label(one: Mapping[str, Any]) -> str:
    return f"{one['event']} ({one['matcher']})" if one["matcher"] else str(one["event"])
