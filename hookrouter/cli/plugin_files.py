"""``hookrouter plugins add`` and ``remove``: plugins that are single files, in the folder ``plugins`` of the home."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from hookrouter._diagnostics.checks.settings import stale_registrations
from hookrouter._plugins.files import may_be_named, plugin_files
from hookrouter._plugins.registry import PluginStatus, remedy
from hookrouter.cli.application import Application
from hookrouter.cli.completion import plugin_names
from hookrouter.cli.errors import CommandError
from hookrouter.cli.installation import register_again
from hookrouter.cli.options import Json, echo_json
from hookrouter.cli.text_file import read_text
from hookrouter.config import NO_PLUGINS
from hookrouter.storage.documents import replace_file
from hookrouter.storage.home import ensure
from hookrouter.util.text import printable

__all__ = ["add", "put", "remove", "tell"]


def add(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file of the plugin, such as ./guard.py.")],
    replace: Annotated[bool, typer.Option("--replace", help="Put it in the place of one of the same name.")] = False,
    as_json: Json = False,
) -> None:
    """Add a plugin that is one file: copy it into the folder `plugins` of the home, and say what it listens to.

    It is a plugin as any other, named by its file: `guard.py` is `guard`, with its settings in
    [plugins.guard.settings]. The copy runs in each hook that it listens to: what you change in FILE later does not,
    until it is added again.

    With --json: name, file, status, reason, hooks, and run (the commands to run now).

    \b
    Examples:
      hookrouter plugins add ./guard.py
      hookrouter plugins add --replace ./guard.py

    \b
    Exit codes:
      0  it is added
      1  it is added, and broken
      2  it cannot be read or written, its name cannot be a plugin's, or there is one already
    """
    name, target = put(file, replace=replace)
    tell(name, target, as_json=as_json)


def put(file: str, *, replace: bool) -> tuple[str, str]:
    """Copy a plugin into the folder; return its name, and the copy's path. Raises CommandError."""
    app = Application.from_environ(share=False)
    name, ending = os.path.splitext(os.path.basename(file))
    if ending != ".py" or not may_be_named(name) or name in NO_PLUGINS:
        others = " or ".join(NO_PLUGINS)
        allowed = f"letters, digits, - and _, not beginning with _, and .py; not {others}"
        raise CommandError(f"{file!r} cannot be a plugin by its name; allowed: {allowed}")
    content = read_text(file, "FILE").encode()
    target = os.path.join(app.home.plugins, name + ending)
    other = next((one for one in app.plugins.listing() if one.name == name), None)
    if other is not None and other.value and other.value != target:
        raise CommandError(f"there is a plugin {name!r} already: {other.distribution or other.value}; rename the file")
    if os.path.exists(target) and not replace and not _is_same(target, content):
        raise CommandError(f"{target} is there already, and another one; --replace puts this one in its place")
    try:
        ensure(app.home.plugins)
        replace_file(target, content, durable=True)
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror}") from None
    return name, target


def remove(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The plugin, as it is listed.", autocompletion=plugin_names)
    ],
    as_json: Json = False,
) -> None:
    """Remove a plugin that is one file from the folder `plugins` of the home. Its settings in config.toml stay.

    With --json: name, file, and run (the commands to run now).

    \b
    Examples:
      hookrouter plugins remove guard

    \b
    Exit codes:
      0  it is removed
      2  there is no such file, or it cannot be removed
    """
    app = Application.from_environ(share=False)
    files = [path for one, path in plugin_files(app.home.plugins) if one == name and not os.path.isdir(path)]
    path = next(iter(files), None)
    if path is None:
        raise CommandError(f"there is no file of a plugin {name!r} in {app.home.plugins}")
    try:
        os.unlink(path)
    except OSError as error:
        raise CommandError(f"{path} cannot be removed: {error.strerror}") from None
    run = stale_registrations(Application.from_environ(scan=True, share=False))
    if as_json:
        echo_json({"name": name, "file": path, "run": run})
        return
    typer.echo(printable(f"{name}: {path} is removed"))
    for command in run:
        typer.echo(f"  run now, so that Claude Code knows: {printable(command)}")


def _is_same(path: str, content: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(content) + 1) == content
    except OSError:
        return False


def tell(name: str, path: str, *, as_json: bool, registers: bool = False) -> None:
    """Say what was added, and what it listens to. Raises typer.Exit if it is broken.

    ``registers``: the user's settings are brought up to date first, if hookrouter is registered there.
    """
    app = Application.from_environ(scan=True, share=False)
    (plugin,) = [one for one in app.plugins.listing() if one.name == name]
    is_broken = plugin.status == PluginStatus.BROKEN
    settings = register_again(app) if registers and not is_broken else ""
    run = [] if is_broken else stale_registrations(app)
    if as_json:
        told: dict[str, object] = {"name": name, "file": path, "status": plugin.status, "reason": plugin.reason}
        if registers:
            told["registered"] = settings or None
        echo_json({**told, "hooks": list(plugin.hooks), "run": run})
    else:
        typer.echo(printable(f"{name}: {path} is {plugin.status}"))
        lines = [("hooks", ", ".join(plugin.hooks)), ("why", plugin.reason), ("fix", remedy(plugin, app.home))]
        lines += [("hint", hint) for hint in plugin.hints]
        lines += [("registered", settings and f"in {settings}")]
        lines += [("run now, so that Claude Code knows", command) for command in run]
        for label, text in lines:
            if text:
                typer.echo(printable(f"  {label}: {text}"))
    if is_broken:
        raise typer.Exit(1)
