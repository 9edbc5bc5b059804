"""``hookrouter trust`` and ``untrust``: whether a project's own plugins may run."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookrouter._config.validation import hide
from hookrouter._diagnostics.checks.projects import RULES_OFF
from hookrouter._diagnostics.checks.settings import stale_registrations
from hookrouter._plugins.files import FOLDER
from hookrouter._plugins.project import is_project_plugin, read_record, record_file, trusted_projects
from hookrouter._plugins.project_tree import TreeError
from hookrouter._plugins.project_trust import forget, look_at, said_hooks
from hookrouter._plugins.project_trust import trust as keep
from hookrouter._plugins.registry import PluginStatus
from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.config import HOLDING
from hookrouter.storage.own_file import read_own_json
from hookrouter.util.text import printable
from hookrouter.util.value import encode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter._plugins.project import TrustRecord
    from hookrouter._plugins.project_trust import Candidate
    from hookrouter.config import ApprovalRule, PluginConfig
    from hookrouter.storage.home import Home

__all__ = ["trust", "untrust"]

_Folder = Annotated[
    str,
    typer.Argument(metavar="[FOLDER]", help="The project's folder; the current one without it.", show_default=False),
]


def trust(
    folder: _Folder = ".",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask: you have read the files.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the projects that are trusted.")] = False,
    as_json: Json = False,
) -> int:
    """Let a project's own plugins run: those of its folder .claude/hookrouter, in sessions of that folder.

    What it holds is shown, and you are asked. Then a copy of it is kept in the home, and the copy runs: of what is
    changed in the project afterwards nothing does, until you have trusted it again. Plugins are code. They can do
    what you can, in each hook that they listen to.

    \b
    With --json: folder, digest, files (path, size, change), plugins (name, file, hooks, status, reason), settings,
    notes and run (the commands to run now); with --list: projects (folder, digest, problem, plugins).

    \b
    Examples:
      hookrouter trust
      hookrouter trust ~/work/shop --yes
      hookrouter trust --list

    \b
    Exit codes:
      0  it is trusted, or listed
      1  it is trusted, and a plugin of it is broken; or the question was answered with no
      2  it has no plugins of its own, or holds what cannot be trusted
    """
    app = Application.from_environ(share=False)
    if listed:
        return _list(app.home, as_json=as_json)
    if os.environ.get("CLAUDECODE"):
        raise CommandError("that is for a person to decide: run it in a terminal of your own, not in Claude Code")
    place = _real(folder)
    taken = {plugin.name for plugin in app.plugins.index}
    try:
        candidate = look_at(place, taken)
    except TreeError as error:
        raise CommandError(f"it cannot be trusted: {error}") from None
    if candidate is None:
        raise CommandError(f"{place} has no plugins of its own: there is no folder {os.path.join(place, FOLDER)}")
    if candidate.problems:
        raise CommandError("it cannot be trusted: " + "; ".join(candidate.problems))
    told = _described(app.home, candidate, holds_rules=app.config.plugin(HOLDING).enabled)
    if not as_json:
        typer.echo("\n".join(printable(line) for line in _lines(told)))
    if not yes:
        if as_json or not sys.stdin.isatty():
            raise CommandError("nobody can be asked here; read the files, then add --yes")
        if not typer.confirm("Let it run?", default=False):
            return 1
    try:
        record = keep(app.home, candidate)
    except OSError as error:
        raise CommandError(f"it cannot be kept in {app.home.trusted}: {error.strerror}") from None
    return _tell(told, record, place, as_json=as_json)


def untrust(folder: _Folder = ".", as_json: Json = False) -> None:
    """Take back that a project's own plugins may run, and remove the copy of them.

    With --json: folder, and run (the commands to run now).

    \b
    Examples:
      hookrouter untrust ~/work/shop

    \b
    Exit codes:
      0  they do not run any more
      2  the folder was not trusted
    """
    app = Application.from_environ(share=False)
    place = _real(folder)
    try:
        was_trusted = forget(app.home, place)
    except OSError as error:
        raise CommandError(f"{record_file(app.home, place)} cannot be removed: {error.strerror}") from None
    if not was_trusted:
        raise CommandError(f"{place} is not trusted; hookrouter trust --list shows what is")
    run = stale_registrations(app)
    if as_json:
        echo_json({"folder": place, "run": run})
        return
    typer.echo(printable(f"{place}: its own plugins do not run any more"))
    _echo_commands(run)


def _real(folder: str) -> str:
    try:
        return os.path.realpath(os.path.expanduser(folder))
    except (OSError, ValueError) as error:
        raise CommandError(f"{folder!r} cannot be a folder: {error}") from None


def _list(home: Home, *, as_json: bool) -> int:
    rows = []
    for path, project in trusted_projects(home):
        names = [plugin.name for plugin in project.plugins]
        digest = project.scope.partition(" ")[0]
        rows.append({"folder": project.folder, "digest": digest, "problem": project.problem, "plugins": names})
        if not as_json:
            typer.echo(printable(f"{project.folder or path}: {', '.join(names) or 'no plugins'}"))
            if project.problem:
                typer.echo(f"  {printable(project.problem)}")
    if as_json:
        echo_json({"projects": rows})
    elif not rows:
        typer.echo("no project is trusted")
    return 0


def _described(home: Home, candidate: Candidate, *, holds_rules: bool) -> dict[str, Any]:
    """Return what is shown before the question, as JSON values."""
    former = _former(home, candidate.folder)
    named = {path: name for name, path in candidate.plugins.items()}
    files, plugins = [], []
    for path, content in candidate.tree.files.items():
        files.append({"path": path, "size": len(content), "change": former(path, content)})
        if path in named:
            hooks = said_hooks(content)
            plugins.append({"name": named[path], "file": path, "hooks": None if hooks is None else list(hooks)})
    return {
        "folder": candidate.folder,
        "digest": candidate.tree.digest,
        "files": files,
        "plugins": plugins,
        "settings": {**_settings(candidate.tables), **_rules(candidate.rules)},
        "notes": [*candidate.notes, *([RULES_OFF] if candidate.rules and not holds_rules else [])],
    }


def _former(home: Home, folder: str) -> Any:
    """Return what tells how a file differs from what was trusted before: ``new``, ``changed``, ``same``."""
    from hashlib import sha256

    try:
        known = dict(read_record(read_own_json(record_file(home, folder)), folder).files)
    except TypeError:
        known = {}

    def change(path: str, content: bytes) -> str:
        if path not in known:
            return "new"
        return "same" if known[path] == sha256(content).hexdigest() else "changed"

    return change


def _settings(tables: Mapping[str, PluginConfig]) -> dict[str, Any]:
    """Return what the project's config.toml sets, by key."""
    found: dict[str, Any] = {}
    for name, table in tables.items():
        rows = encode(table, sparse=True)
        for key, value in rows.pop("settings", {}).items():
            found[f"plugins.{name}.settings.{key}"] = hide(key, value)
        found.update({f"plugins.{name}.{key}": value for key, value in rows.items()})
    return found


def _rules(rules: Sequence[ApprovalRule]) -> dict[str, Any]:
    return {f"approvals.rules[{at}]": f"{rule.decide} {rule.tool}" for at, rule in enumerate(rules)}


def _lines(told: Mapping[str, Any]) -> list[str]:
    lines = [f"{told['folder']} has plugins of its own, which would run in its sessions:"]
    hooks = {plugin["file"]: plugin for plugin in told["plugins"]}
    for file in told["files"]:
        lines.append(f"  {file['path']}  {file['size']} bytes, {file['change']}")
        if file["path"] in hooks:
            said = hooks[file["path"]]["hooks"]
            listens = "it is no Python" if said is None else f"says that it listens to {', '.join(said) or 'nothing'}"
            lines.append(f"    plugin {hooks[file['path']]['name']}: {listens}")
    lines += [f"  {key} = {value!r}" for key, value in told["settings"].items()]
    return [*lines, *(f"  note: {note}" for note in told["notes"])]


def _tell(told: dict[str, Any], record: TrustRecord, place: str, *, as_json: bool) -> int:
    app = Application.from_environ({**os.environ, "CLAUDE_PROJECT_DIR": place}, share=False, project=place)
    infos = {info.name: info for info in app.plugins.listing() if is_project_plugin(info.distribution)}
    run = stale_registrations(app)
    is_broken = any(info.status == PluginStatus.BROKEN for info in infos.values())
    if as_json:
        rows = [
            {**row, "hooks": list(info.hooks), "status": info.status, "reason": info.reason}
            for row in told["plugins"]
            if (info := infos.get(row["name"])) is not None
        ]
        echo_json({**told, "plugins": rows, "run": run})
    else:
        typer.echo(printable(f"{record.folder} is trusted, as it is now ({record.tree[:12]})"))
        for info in infos.values():
            why = f": {info.reason}" if info.reason else ""
            typer.echo(printable(f"  {info.name} is {info.status}{why}; hooks: {', '.join(info.hooks) or 'none'}"))
        _echo_commands(run)
    return 1 if is_broken else 0


def _echo_commands(run: list[str]) -> None:
    for command in run:
        typer.echo(f"  run now, so that Claude Code knows: {printable(command)}")
