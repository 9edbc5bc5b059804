"""Moves command hooks from a settings file to config.toml and back, step by step, so that none is lost or runs twice.

What was taken is saved first, with both files as they were; then it is in both files, and last in one again.
"""

from __future__ import annotations

import codecs
import json
import os
import tomllib
from typing import TYPE_CHECKING, Any, Protocol

from hookrouter._config.edit import ConfigEditError, content_of, put
from hookrouter._config.reader import examine
from hookrouter._config.toml_edit import add_tables
from hookrouter._installation.adoption import give_back, is_same, take, toml_of, without_scripts
from hookrouter._installation.settings_edit import SettingsError, registered
from hookrouter._installation.settings_file import is_user_file, put_back, read_text, text_without_ours
from hookrouter.storage.home import DocumentKind
from hookrouter.util.clock import iso
from hookrouter.util.difference import unified
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter._installation.adoption import Taking
    from hookrouter.config import Script
    from hookrouter.context import Services

__all__ = ["Register", "adopt_hooks", "return_hooks"]

KIND = DocumentKind("adoption")
"""Kind of the documents that hold what was adopted from a settings file, and how it was."""

_PLUGIN = "scripts"


class Register(Protocol):
    """Brings hookrouter's entries in a settings file up to date, by the config as it is then."""

    def __call__(
        self,
        path: str,
        warnings: list[str],
        *,
        is_project: bool = False,
        edit: Callable[[str | None], str | None] | None = None,
    ) -> str | None:
        """Return the path of the former file's copy, None for none; ``edit`` changes the text in the same step."""


def adopt_hooks(app: Services, named: str, register: Register, *, is_project: bool, dry_run: bool) -> dict[str, Any]:
    """Move the command hooks of a settings file, ``named`` as a person did, to config.toml; return what was done.

    As ``hookrouter adopt --json`` prints it. Raises SettingsError, ConfigEditError, TomlEditError and StoreError, with
    both files as they were, and what ``register`` raises.
    """
    path = os.path.realpath(named)
    known = next((script.project for script in app.config.scripts if script.adopted_from == path), None)
    project = _project(named) if known is None else known
    return _adopt(app, path, project, register, is_project=is_project, dry_run=dry_run)


def _adopt(
    app: Services, path: str, project: str, register: Register, *, is_project: bool, dry_run: bool
) -> dict[str, Any]:
    text = read_text(path)
    if text is None:
        raise SettingsError(f"{path}: there is no such file")
    if not app.config.plugin(_PLUGIN).enabled:
        raise SettingsError(
            f"the plugin {_PLUGIN} is switched off, so nothing would run them; hookrouter plugins enable it"
        )
    taking = _taking(text, path, project)
    told = _told(app, path, taking, dry_run=dry_run)
    if not project and not is_user_file(path, os.environ):
        why = "is neither your own nor a project's, so its hooks are to run in every session that runs hookrouter"
        told["warnings"].append(printable(f"{path}: {why}"))
    if not taking.taken:
        return told
    content = content_of(app.home)
    mark, config = _text_of(content)
    edited = _with_scripts(app, config, taking)
    if dry_run:
        told["diff"] = unified(path, text, taking.text) + unified(app.home.config_file, config, edited)
        return told
    hooks = [[one.script.event, one.matcher, one.handler] for one in taking.taken]
    step = {"before": text, "after": text_without_ours(path, taking.text, app.store), "hooks": hooks}
    step |= {"config_before": config, "config_after": edited}
    former = _steps(app, path) if _adopted(app, path) else []
    steps = former
    if not steps or steps[-1]["before"] != text:
        steps = [*steps, step]
    # First, so that what was taken can always be given back; then they are in both files, and last in one again.
    _save(app, path, steps)
    after = mark + edited.encode()
    put(app.home, content, after)

    def edit(now: str | None) -> str:
        if now != text:
            raise SettingsError(f"{path}: another program changed the file just now; run the command again")
        return taking.text

    try:
        told["backup"] = register(path, told["warnings"], is_project=is_project, edit=edit)
    except BaseException:
        if read_text(path) == text:
            # They run from the settings file still, and must not run twice.
            put(app.home, after, content or b"")
            _save(app, path, former)
        raise
    return told


def _with_scripts(app: Services, config: str, taking: Taking) -> str:
    """Return the text of config.toml with what was taken. Raises ConfigEditError and TomlEditError."""
    # A run that was ended in between has written them already; and a program may have put back what it once wrote.
    # Of two that differ in their time alone both are written: the last one's counts, as in Claude Code.
    missing: list[Script] = []
    for one in taking.taken:
        former = next((other for other in reversed(missing) if is_same(one.script, other)), None)
        if former != one.script and not any(is_same(one.script, other) for other in app.config.scripts):
            missing.append(one.script)
    edited = add_tables(config, toml_of(missing)) if missing else config
    if problems := examine(edited.encode(), app.plugins.tables):
        raise ConfigEditError(f"{app.home.config_file}: {problems[0].line}")
    return edited


def return_hooks(app: Services, named: str, register: Register, *, dry_run: bool) -> dict[str, Any]:
    """Give a settings file back what was taken from it; return what was done, as :func:`adopt_hooks` does.

    Raises the same.
    """
    path = os.path.realpath(named)
    steps = _steps(app, path)
    if not steps:
        raise SettingsError(f"{path}: nothing was adopted from it")
    before = read_text(path)
    text, exact, hooks = before or "", True, []
    for step in reversed(steps):
        hooks += step["hooks"]
        if text == step["before"]:
            # A run that was ended in between has not taken them out, or has put them back.
            continue
        if text and text_without_ours(path, text, app.store) == step["after"]:
            text = step["before"]
        else:
            exact = False
            text = give_back(text, [(event, matcher, handler) for event, matcher, handler in step["hooks"]])
    content = content_of(app.home)
    mark, config = _text_of(content)
    gone = _adopted(app, path)
    states = [(step["config_before"], step["config_after"]) for step in steps]
    # Nobody has changed it since the first, and between two.
    is_untouched = all(one[1] == then for one, then in zip(states, [*(s[0] for s in states[1:]), config], strict=True))
    edited = states[0][0] if is_untouched else without_scripts(config, gone)
    _check_rest(app, config, edited, gone)
    told: dict[str, Any] = {"settings": path, "config": app.home.config_file, "undone": True, "dry_run": dry_run}
    shown = [
        {"event": event, "matcher": json.loads(matcher or '""'), "command": json.loads(entry)["command"]}
        for event, matcher, entry in hooks
    ]
    told |= {"exact": exact, "hooks": shown, "left": [], "backup": None, "warnings": [], "diff": None}
    if not exact:
        why = "was changed since, so they come at the ends of their events"
        told["warnings"].append(printable(f"{path}: {why}"))
    entries = [(event, json.loads(entry)) for event, _, entry in hooks]
    # These are closed in the settings file, too.
    blocking = {(event, entry["command"]) for event, entry in entries if entry.get("onFailure") == "block"}
    scripts = [one for one in app.config.scripts if _is_closed(one, path)]
    if closed := [one.command for one in scripts if (one.event, one.command) not in blocking]:
        what = ", ".join(closed)
        told["warnings"].append(printable(f"what was set to fail closed is not in the settings file: {what}"))
    if dry_run:
        told["diff"] = unified(path, before, text) + unified(app.home.config_file, config, edited)
        return told
    # In both files first, as above.
    told["backup"] = put_back(path, before, text, app.store)
    if edited != config:
        put(app.home, content, mark + edited.encode())
    _save(app, path, [])
    if registered(text):
        register(path, told["warnings"])
    return told


def _adopted(app: Services, path: str) -> list[int]:
    """Return the places of the scripts that a settings file had."""
    return [at for at, script in enumerate(app.config.scripts) if script.adopted_from == path]


def _text_of(content: bytes | None) -> tuple[bytes, str]:
    """Return the byte order mark of config.toml, empty without one, and the text after it."""
    mark = codecs.BOM_UTF8 if content is not None and content.startswith(codecs.BOM_UTF8) else b""
    return mark, (content or b"").removeprefix(mark).decode("utf-8")


def _save(app: Services, path: str, steps: list[dict[str, Any]]) -> None:
    if steps:
        app.store.write(KIND, path, {"version": 1, "settings": path, "saved_at": iso(), "steps": steps})
    else:
        app.store.delete(KIND, path)


def _taking(text: str, path: str, project: str) -> Taking:
    try:
        return take(text, path, project)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}; the file was left as it is") from None


def _is_closed(script: Script, path: str) -> bool:
    return script.adopted_from == path and script.on_error == "closed"


def _check_rest(app: Services, config: str, edited: str, gone: list[int]) -> None:
    """Raise ConfigEditError if the edit has changed anything but what it was to change."""
    wanted = tomllib.loads(config)
    kept = [one for at, one in enumerate(wanted.pop("scripts", [])) if at not in gone]
    if {**wanted, **({"scripts": kept} if kept else {})} != tomllib.loads(edited):
        raise ConfigEditError(
            f"{app.home.config_file}: the tables of [[scripts]] cannot be removed; remove them yourself"
        )


def _project(path: str) -> str:
    """Return the project whose settings file it is; empty for the user's own, and one that is no project's.

    Raises CommandError for one that is kept outside of the project: others may have it, too.
    """
    folder = os.path.dirname(path)
    default = {name: value for name, value in os.environ.items() if name != "CLAUDE_CONFIG_DIR"}
    if os.path.basename(folder) != ".claude" or is_user_file(path, os.environ) or is_user_file(path, default):
        return ""
    project = os.path.realpath(os.path.dirname(folder))
    target = os.path.realpath(path)
    if os.path.commonpath([project, target]) != project:
        raise SettingsError(
            printable(f"{path}: is a link to {target}, outside of the project, so that others may have these hooks")
        )
    return project


def _steps(app: Services, path: str) -> list[dict[str, Any]]:
    document = app.store.read(KIND, path)
    steps = None if document is None else document.get("steps")
    return [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []


def _told(app: Services, path: str, taking: Taking, *, dry_run: bool) -> dict[str, Any]:
    hooks = [
        {"event": one.script.event, "matcher": one.script.matcher, "command": one.script.command}
        for one in taking.taken
    ]
    left = [{"event": one.event, "matcher": one.matcher, "hook": one.what, "reason": one.why} for one in taking.left]
    return {
        "settings": path,
        "config": app.home.config_file,
        "undone": False,
        "dry_run": dry_run,
        "exact": None,
        "hooks": hooks,
        "left": left,
        "backup": None,
        "warnings": [],
        "diff": None,
    }
