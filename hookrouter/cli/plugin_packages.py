"""``hookrouter plugins install`` and ``uninstall``: packages with plugins, in the environment that runs hookrouter."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer
from packaging.utils import canonicalize_name

from hookrouter._diagnostics.checks.settings import stale_registrations
from hookrouter._plugins.files import is_file
from hookrouter._plugins.registry import PluginStatus
from hookrouter._setup.packages import PackageError, environment, run, wanted
from hookrouter.cli.application import Application
from hookrouter.cli.completion import plugin_names
from hookrouter.cli.errors import CommandError
from hookrouter.cli.installation import register_again
from hookrouter.cli.options import DryRun, Json, echo_json
from hookrouter.cli.plugin_files import put, tell
from hookrouter.cli.terminal import Waiting
from hookrouter.markers import ENTRY_POINT_GROUP
from hookrouter.util.program import PROGRAM
from hookrouter.util.text import did_you_mean, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrouter._plugins.index import DiscoveredPlugin
    from hookrouter._setup.packages import Environment

__all__ = ["install", "uninstall"]

_NoRegister = Annotated[bool, typer.Option("--no-register", help="Leave your Claude Code settings as they are.")]


def install(
    what: Annotated[str, typer.Argument(metavar="PACKAGE", help="Its name, with a version if need be, or its file.")],
    no_register: _NoRegister = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Install a package with plugins into the environment that runs hookrouter.

    PACKAGE is a name, with a version if need be, a wheel, a source distribution or a folder with pyproject.toml; a .py
    file is added as `hookrouter plugins add` does. Addresses and options of the installer are refused. The tool that
    keeps the environment does it: pipx, uv tool, or pip in a virtual environment; its command is shown. A Python that
    the system manages is left alone. Code of the package may run while it is installed, and runs in each hook after.

    If hookrouter is registered in your own Claude Code settings, `hookrouter install` is done at once, so that Claude
    Code knows what the plugins listen to.

    With --json: package, environment, command, dry_run, plugins (name, distribution, version, status, reason, hooks for
    each that came), registered (your settings file, if it was updated; else null), and run (the commands to
    run now).

    \b
    Examples:
      hookrouter plugins install hookrouter-night-guard
      hookrouter plugins install 'hookrouter-night-guard>=1.2'
      hookrouter plugins install ./hookrouter-night-guard
      hookrouter plugins install ./guard.py

    \b
    Exit codes:
      0  it is installed, or was already
      1  it is installed, and no plugin came with it, or one is broken
      2  it cannot be installed, or must not be; nothing was changed unless the installer says so
    """
    try:
        asked = wanted(what)
        if asked.is_single_file:
            _add(what, asked.words, registers=not no_register, dry_run=dry_run, as_json=as_json)
            return
        app = Application.from_environ(scan=True, share=False)
        place = environment(app.environ)
        command = place.installing(asked)
        told: dict[str, Any] = {"package": what, **_told(place, command, dry_run=dry_run)}
        _announce(told, as_json=as_json)
        if not dry_run:
            _run(place, command, app)
    except PackageError as error:
        raise CommandError(str(error)) from None
    if dry_run:
        return
    before = app.plugins.index
    app = Application.from_environ(scan=True, share=False)
    came = [one for one in _packaged(app.plugins.index) if one not in before]
    was_there = not came
    came = came or [one for one in _packaged(app.plugins.index) if canonicalize_name(one.distribution) == asked.name]
    infos = {info.name: info for info in app.plugins.listing()}
    plugins = [
        {
            "name": one.name,
            "distribution": one.distribution,
            "version": one.version,
            "status": infos[one.name].status,
            "reason": infos[one.name].reason,
            "hooks": list(infos[one.name].hooks),
        }
        for one in came
    ]
    settings, commands = _registered(app, registers=not no_register)
    if as_json:
        echo_json({**told, "plugins": plugins, "registered": settings or None, "run": commands})
    elif not came:
        group = f"no entry point of the group {ENTRY_POINT_GROUP!r}"
        typer.echo(
            printable(f"{what} is installed, and no new plugin came with it: it has {group}, or was there already")
        )
    for plugin in () if as_json else plugins:
        where = "was installed already" if was_there else "installed"
        typer.echo(
            printable(f"{plugin['name']}: {where}, {plugin['distribution']} {plugin['version']}, {plugin['status']}")
        )
        for label, text in (("hooks", ", ".join(plugin["hooks"])), ("why", plugin["reason"])):
            if text:
                typer.echo(printable(f"  {label}: {text}"))
    if not as_json:
        _tell_registered(settings, commands)
    if not came or any(plugin["status"] == PluginStatus.BROKEN for plugin in plugins):
        raise typer.Exit(1)


def uninstall(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The plugin, or its package.", autocompletion=plugin_names)
    ],
    no_register: _NoRegister = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Remove a package with plugins from the environment that runs hookrouter, with all its plugins.

    What config.toml says of them stays, and is named. hookrouter's own plugins are switched off instead
    (`hookrouter plugins disable`), and a plugin that is a file is removed with `hookrouter plugins remove`.

    If hookrouter is registered in your own Claude Code settings, `hookrouter install` is done at once.

    With --json: package, environment, command, dry_run, plugins (their names), left (what config.toml still says of
    them), registered (your settings file, if it was updated; else null), and run (the commands to run now).

    \b
    Examples:
      hookrouter plugins uninstall night-guard

    \b
    Exit codes:
      0  it is removed
      2  there is no such package with plugins, or it cannot be removed, or must not be
    """
    app = Application.from_environ(scan=True, share=False)
    distribution = _distribution(app, name)
    plugins = [one.name for one in app.plugins.index if one.distribution == distribution]
    try:
        place = environment(app.environ)
        command = place.removing(canonicalize_name(distribution))
        told = {"package": distribution, **_told(place, command, dry_run=dry_run), "plugins": plugins}
        _announce(told, as_json=as_json)
        if dry_run:
            return
        left = [line for plugin in app.plugins.index if plugin.name in plugins for line in _left(app, plugin)]
        _run(place, command, app)
    except PackageError as error:
        raise CommandError(str(error)) from None
    app = Application.from_environ(scan=True, share=False)
    still = [one.name for one in app.plugins.index if one.distribution == distribution]
    if still:
        raise CommandError(f"the installer ended well, and the plugins {', '.join(still)} are still there")
    settings, commands = _registered(app, registers=not no_register)
    if as_json:
        echo_json({**told, "left": left, "registered": settings or None, "run": commands})
        return
    typer.echo(printable(f"{distribution}: removed, with the plugins {', '.join(plugins)}"))
    for line in left:
        typer.echo(printable(f"  left in {app.home.config_file}: {line}"))
    _tell_registered(settings, commands)


def _add(what: str, path: str, *, registers: bool, dry_run: bool, as_json: bool) -> None:
    """Add a plugin that is one file, or say that it would be."""
    if not dry_run:
        tell(*put(path, replace=False), as_json=as_json, registers=registers)
        return
    folder = Application.from_environ(share=False).home.plugins
    command = [PROGRAM, "plugins", "add", path]
    _announce({"package": what, "environment": folder, "command": command, "dry_run": True}, as_json=as_json)


def _packaged(index: Sequence[DiscoveredPlugin]) -> list[DiscoveredPlugin]:
    """Return the plugins of packages, without hookrouter's own."""
    return [one for one in index if one.distribution and canonicalize_name(one.distribution) != PROGRAM]


def _distribution(app: Application, name: str) -> str:
    """Return the distribution of a plugin, or of a distribution's name. Raises CommandError for what must stay."""
    wanted_name = canonicalize_name(name)
    found = [one for one in app.plugins.index if name == one.name]
    found += [
        one for one in app.plugins.index if one.distribution and wanted_name == canonicalize_name(one.distribution)
    ]
    if not found:
        known = [one.name for one in _packaged(app.plugins.index)]
        hint = did_you_mean(name, known, f"there are: {', '.join(known) or 'none'}")
        raise CommandError(f"no plugin and no package with plugins is called {printable(name)!r}; {hint}")
    (plugin, *_) = found
    if is_file(plugin.value):
        raise CommandError(f"{name!r} is a file: hookrouter plugins remove {plugin.name}")
    if canonicalize_name(plugin.distribution) == PROGRAM:
        if name != plugin.name:
            raise CommandError(f"{name!r} is hookrouter itself; the tool that installed it removes it")
        raise CommandError(f"{name!r} is hookrouter's own: hookrouter plugins disable {name} switches it off")
    return plugin.distribution


def _left(app: Application, plugin: DiscoveredPlugin) -> Iterator[str]:
    """Yield what config.toml says of a plugin."""
    config = app.config
    if plugin.name in config.plugins:
        closed = config.plugins[plugin.name].on_error == "closed" and config.plugins[plugin.name].enabled
        refuses = ", which fails closed: what it guarded is refused until the table is gone" if closed else ""
        yield f"[plugins.{plugin.name}]{refuses}"
    for key, names in (("order", config.plugin_order), ("last", config.plugin_last)):
        if plugin.name in names:
            yield f"{plugin.name!r} in plugins.{key}"
    if plugin.table and config.plugin(plugin.name).settings:
        yield f"[{plugin.table}]"


def _told(place: Environment, command: Sequence[str], *, dry_run: bool) -> dict[str, Any]:
    return {"environment": place.kind, "command": list(command), "dry_run": dry_run}


def _announce(told: dict[str, Any], *, as_json: bool) -> None:
    """Say which command is run, before it is; all there is to say of one that is not."""
    if as_json and told["dry_run"]:
        echo_json(told)
    if not as_json:
        typer.echo(printable(f"{told['environment']}: {shlex.join(told['command'])}"))


def _run(place: Environment, command: Sequence[str], app: Application) -> None:
    with Waiting(f"hookrouter: {printable(place.kind)} is being changed"):
        run(command, {**app.environ, **place.environ})


def _registered(app: Application, *, registers: bool) -> tuple[str, list[str]]:
    """Update the user's settings, if they are to be; return that file, and the commands to run now."""
    return register_again(app) if registers else "", stale_registrations(app)


def _tell_registered(settings: str, commands: Sequence[str]) -> None:
    if settings:
        typer.echo(printable(f"  registered: in {settings}"))
    for command in commands:
        typer.echo(f"  run now, so that Claude Code knows: {printable(command)}")
