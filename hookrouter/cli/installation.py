"""``hookrouter install`` and ``hookrouter uninstall``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from hookrouter._diagnostics.checks.settings import registered_files
from hookrouter._installation import settings_file
from hookrouter._installation.front_choice import chosen_front
from hookrouter._installation.front_command import Front
from hookrouter._installation.mirror import mirrored
from hookrouter._installation.mod_keys import enabled_folder
from hookrouter._installation.registrations import GET_PLUGINS, NOBODY_LISTENS, kept_unasked, wanted_registrations
from hookrouter._installation.settings_edit import SettingsError, differences, hooks_disabled, registered, wrapped
from hookrouter._installation.settings_file import is_shared, read_text
from hookrouter._mod.folder import ModError, mod_folder, remove_mod, write_mod
from hookrouter._mod.setup import current_files, missing_parts
from hookrouter._plugins.registry import remedy
from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import DryRun, Json, echo_json
from hookrouter.cli.settings_options import Scope, ScopeOption, SettingsOption, chosen_settings
from hookrouter.storage._exposure import exposed_folders
from hookrouter.storage._exposure import remedy as exposure_remedy
from hookrouter.util.program import script_argv
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrouter._installation.registrations import Registration
    from hookrouter._installation.settings_file import Change
    from hookrouter.context import Services

__all__ = ["Registered", "chosen_file", "install", "register", "register_again", "uninstall"]


class Registered(NamedTuple):
    """What became of a settings file, and the entries that it is to have."""

    change: Change
    wanted: Sequence[Registration]
    front: Front


def install(
    settings: SettingsOption = None,
    scope: ScopeOption = None,
    front: Annotated[
        Front | None,
        typer.Option(
            "--front",
            help="What Claude Code starts for a hook. native: a small program that passes the call to the router "
            "(hookrouter serve); python: the same in Python; both run hookrouter themselves if no router is there. "
            "cold: hookrouter alone; http: nothing, Claude Code sends the call to the address of [serve] http; "
            "mod: a module within Claude Code, beside entries with the fastest front. "
            "Default: the front that is registered, else native if it was built, else python.",
        ),
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Register hookrouter in a Claude Code settings file, for the events and tools that active plugins implement.

    Run it again whenever plugins were added or removed, or their enabled, on_error or timeout was changed: it updates
    its own entries and leaves every other key and hook as it is. The former file is kept beside it. With
    HOOKROUTER_HOME set, the entries set it too. Running sessions notice the change by themselves.

    The entries name the program by its path on this machine: for a project that others share, --scope local is the
    right file. An entry that someone changed by hand (timeout 30 hookrouter run ...) is left as it is, with a warning,
    and nothing is added beside it.

    Some events not every Claude Code knows. They are registered if the claude on PATH does; where there is none, their
    entries stay if there are any, with a warning.

    Each entry starts a front, which passes the call to the router if one runs, and runs hookrouter itself if none does.
    With --front http there is no such way out: a call that finds no router is lost. What cannot be lost, and what
    Claude Code does not send, stays a command. An install without --front takes entries without one, those of
    --front cold too, for those of an older hookrouter.

    --front mod writes a module that Claude Code 2.1.287 and newer load and call themselves, without a process for each
    event; the client calls that interface early access, so it is never a default. It is for your own settings file.

    With --json: settings, changed, dry_run, backup, front, registered (event, matcher, command, timeout,
    block_on_failure, wakes, plugins for each entry), warnings and diff. plugins are the ones that the entry is for.

    \b
    Examples:
      hookrouter install
      hookrouter install --dry-run
      hookrouter install --scope project
      hookrouter install --front cold
      hookrouter install --front mod
      hookrouter install --settings ~/work/.claude/settings.json --json

    \b
    Exit codes:
      0  registered, or nothing had to change
      2  wrong arguments, a settings file that cannot be used as it is, or a home in a folder that other users may
         write; nothing was changed
    """
    if front is Front.MOD and scope in (Scope.PROJECT, Scope.LOCAL):
        raise CommandError(f"the mod is for your own settings file, not for --scope {scope}: leave --scope out")
    path = chosen_file(settings, scope)
    app = Application.from_environ(scan=True, share=False)
    warnings = [printable(problem) for problem in app.config.problems]
    try:
        done = register(app, path, warnings, dry_run=dry_run, is_project=scope is Scope.PROJECT, asked=front)
    finally:
        _warn(warnings)
    _report(done.change, done.wanted, warnings, front=done.front, dry_run=dry_run, as_json=as_json)


def register(
    app: Services,
    path: str,
    warnings: list[str],
    *,
    dry_run: bool,
    is_project: bool = False,
    asked: Front | None = None,
    edit: Callable[[str | None], str | None] | None = None,
) -> Registered:
    """Bring hookrouter's entries in a settings file up to date; return the change, all entries and their front.

    ``edit`` changes the file's text in the same step, before the entries are added.
    ``asked`` is the front that they are to have, None for the one that is there or the fastest. Adds to ``warnings``
    what is wrong beside. Raises CommandError, with the file untouched.
    """
    if exposed := exposed_folders(app.home):
        told = "; ".join(f"{folder} {reason}" for folder, reason in exposed.items())
        raise CommandError(
            printable(
                f"another user could put other files, and another router, in the place of hookrouter's: {told}; "
                f"fix: {exposure_remedy(exposed)}"
            )
        )
    for info in app.plugins.broken():
        warnings.append(printable(f"the plugin {info.name} is broken: {info.reason}; fix: {remedy(info, app.home)}"))
    if is_shared(path, os.environ) or is_project:
        warnings.append(
            printable(
                f"{path}: others who use this file have no {' '.join(script_argv())}, so that their hooks fail; "
                "fix: hookrouter uninstall --scope project, then hookrouter install --scope local"
            )
        )
    try:
        front = _front(path, asked)
        if front is Front.HTTP and not app.config.serve.http:
            raise SettingsError(
                'config.toml has no [serve] http, such as "127.0.0.1:8787", to which hooks could be sent'
            )
        text = read_text(path)
        wanted = wanted_registrations(app, front, present=() if text is None else registered(text))
        if kept := kept_unasked(app, wanted):
            warnings.append(
                f"no claude on PATH says its version, so the entries for {', '.join(kept)} stay as they are: not every "
                "version knows these; fix: run hookrouter install where claude is on PATH"
            )
        mod = _mod(app, warnings, dry_run=dry_run) if front is Front.MOD else None
        # Of a config with problems nothing is known that could be taken back.
        deny = None if app.config.problems else mirrored(app.config.approvals)
        change = settings_file.install(path, wanted, app.store, mod_folder=mod, deny=deny, edit=edit, dry_run=dry_run)
        _remove_unused_mod(app, change, dry_run=dry_run)
        if change.after is not None:
            if hooks_disabled(change.after):
                warnings.append(printable(f"{path}: disableAllHooks is true, so no hook runs; fix: set it to false"))
            for found in differences(change.after, wanted):
                warnings.append(printable(f"{path}: {found.text}; fix: {found.fix}"))
    except (SettingsError, ModError) as error:
        raise CommandError(str(error)) from None
    return Registered(change, wanted, front)


def register_again(app: Services) -> str:
    """Bring the user's own settings file up to date if hookrouter is registered there; return its path.

    Empty if nothing had to be changed, or it could not be, of which the user is warned.
    """
    path, is_stale = registered_files(app).get("user", ("", False))
    if not is_stale:
        return ""
    warnings: list[str] = []
    try:
        register(app, path, warnings, dry_run=False)
    except CommandError as error:
        warnings.append(printable(str(error)))
        path = ""
    _warn(warnings)
    return path


def _mod(app: Services, warnings: list[str], *, dry_run: bool) -> str:
    """Write the mod's files, before any settings name them, and return their folder. Raises ModError."""
    warnings += [
        printable(f"{fault}; until then, processes handle all; fix: {fix}") for fault, fix in missing_parts(app)
    ]
    files = current_files(app)
    return mod_folder(app.home) if dry_run else write_mod(app.home, files)


def _front(path: str, asked: Front | None) -> Front:
    """Return the front that an install gives a settings file. Raises SettingsError."""
    try:
        return chosen_front(read_text(path), asked)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}; the file was left as it is") from None


def _remove_unused_mod(app: Services, change: Change, *, dry_run: bool) -> None:
    """Remove the mod's files once the settings do not name them any more. Raises ModError."""
    was, is_now = (None if text is None else enabled_folder(text) for text in (change.before, change.after))
    if not dry_run and was == mod_folder(app.home) != is_now:
        remove_mod(app.home)


def uninstall(
    settings: SettingsOption = None, scope: ScopeOption = None, dry_run: DryRun = False, as_json: Json = False
) -> None:
    """Take hookrouter's entries out of a Claude Code settings file, the mod, and whatever install had created for them.

    What anyone else wrote into the file since then stays; so does, with a warning, an entry that was changed by hand
    and still runs hookrouter.

    With --json: as install has it, without registered; front is null.

    \b
    Examples:
      hookrouter uninstall
      hookrouter uninstall --scope project --dry-run

    \b
    Exit codes:
      0  taken out, or there was nothing to take out
      2  wrong arguments, or a settings file that cannot be used as it is; nothing was changed
    """
    path = _chosen_or_user(settings, scope)
    app = Application.from_environ(share=False)
    try:
        change = settings_file.uninstall(path, app.store, dry_run=dry_run)
        _remove_unused_mod(app, change, dry_run=dry_run)
    except (SettingsError, ModError) as error:
        raise CommandError(str(error)) from None
    warnings = [
        printable(
            f"{path}: {entry.event} still runs hookrouter by an entry that was changed by hand, {entry.command!r}; "
            "fix: remove that entry by hand"
        )
        for entry in (() if change.after is None else wrapped(change.after))
    ]
    _warn(warnings)
    _report(change, (), warnings, dry_run=dry_run, as_json=as_json)


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings:
        typer.echo(f"hookrouter: warning: {warning}", err=True)


def chosen_file(settings: str | None, scope: Scope | None) -> str:
    """Return the settings file that the options name, the user's by default. Raises CommandError."""
    path = _chosen_or_user(settings, scope)
    if settings is not None:
        _check_folder(path)
    return path


def _chosen_or_user(settings: str | None, scope: Scope | None) -> str:
    return chosen_settings(settings, scope) or chosen_settings(None, Scope.USER) or ""


def _check_folder(path: str) -> None:
    """Refuse a file in a folder that is not there, which is most likely misspelt; a project's ``.claude`` is made."""
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(folder) or (os.path.basename(folder) == ".claude" and os.path.isdir(os.path.dirname(folder))):
        return
    raise CommandError(f"{path}: the folder {folder} does not exist; correct --settings, or make the folder first")


def _report(
    change: Change,
    wanted: Sequence[Registration],
    warnings: Sequence[str],
    *,
    dry_run: bool,
    as_json: bool,
    front: Front | None = None,
) -> None:
    if as_json:
        echo_json(
            {
                "settings": change.path,
                "changed": change.changed,
                "dry_run": dry_run,
                "backup": change.backup,
                "front": front,
                "registered": [
                    {
                        "event": want.event,
                        "matcher": want.matcher,
                        "command": want.command,
                        "timeout": want.timeout,
                        "block_on_failure": want.block_on_failure,
                        "wakes": want.wakes,
                        "plugins": list(want.plugins),
                    }
                    for want in wanted
                ],
                "warnings": list(warnings),
                "diff": change.diff() if dry_run else None,
            }
        )
        return
    if not change.changed:
        typer.echo(f"{change.path}: nothing to change")
    elif dry_run:
        typer.echo(change.diff(), nl=False)
    elif change.after is None:
        typer.echo(f"{change.path}: removed, install had created it")
    else:
        typer.echo(f"{change.path}: {'updated' if change.before is not None else 'created'}")
        if change.backup is not None:
            typer.echo(f"  the former file is {change.backup}")
    if wanted and front is not None:
        typer.echo(f"  front: {front}")
    for want in wanted:
        matcher = "" if want.matcher is None else f" ({want.matcher})"
        typer.echo(printable(f"  {want.event}{matcher}: {', '.join(want.plugins)}"))
    if front is not None and not wanted:
        typer.echo(f"  no entry: {NOBODY_LISTENS}; {GET_PLUGINS}")
