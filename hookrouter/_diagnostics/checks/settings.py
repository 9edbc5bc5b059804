"""Do Claude Code's settings start hookrouter as the plugins need it?"""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from hookrouter._diagnostics.checks.check import ERROR, OK, WARNING, Finding
from hookrouter._diagnostics.checks.system import working_folder
from hookrouter._installation.adoption import is_same, take
from hookrouter._installation.claude_plugin import enabled_names, first_party_registrations
from hookrouter._installation.command_line import parse_command
from hookrouter._installation.front_choice import current_front, entries_front
from hookrouter._installation.front_command import Front, native_fault
from hookrouter._installation.mirror import denied, mirrored
from hookrouter._installation.registrations import GET_PLUGINS, NOBODY_LISTENS, kept_unasked, wanted_registrations
from hookrouter._installation.settings_edit import SettingsError, differences, hooks_disabled, registered, wrapped
from hookrouter._installation.settings_file import SCOPES, own_denials, read_text, settings_path
from hookrouter.util.program import script_argv

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hookrouter._diagnostics.checks.check import Place
    from hookrouter._installation.command_line import OurCommand
    from hookrouter._installation.front_command import FrontWords
    from hookrouter._installation.registrations import Registration
    from hookrouter.context import Services


__all__ = ["SettingsCheck", "registered_files", "stale_registrations"]


class SettingsCheck:
    """The user's, the project's and the local settings file."""

    name = "settings"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found."""
        try:
            scopes = [settings_path("user", place.app.environ, "")]
        except SettingsError as error:
            yield Finding(ERROR, self.name, str(error), "export HOME=...")
            return
        if place.folder is None:
            message = "the working folder does not exist any more, so its settings were not read"
            yield Finding(WARNING, self.name, message, "cd to a folder that exists")
        else:
            scopes += [settings_path(scope, place.app.environ, place.folder) for scope in SCOPES[1:]]
        chosen = [] if place.settings_file is None else [place.settings_file]
        texts: dict[str, str] = {}
        yield from _read([*chosen, *scopes], texts)
        wanted = wanted_registrations(place.app)
        if not wanted:
            yield Finding(WARNING, self.name, NOBODY_LISTENS, GET_PLUGINS)
        ours = chosen or [path for path in scopes if path in texts and _starts_hookrouter(texts[path])]
        plugins = {name: path for path, text in texts.items() for name in enabled_names(text)}
        if plugins and not ours:
            # It is one text for all clients, so it registers what all of them know.
            every = wanted_registrations(place.app, for_any_client=True)
            yield from _claude_plugin(place.app, next(iter(plugins)), every)
            return
        ours = ours or scopes[:1]
        for name, path in plugins.items():
            yield Finding(
                WARNING,
                self.name,
                f"{path}: the Claude Code plugin {name} is enabled too; it does nothing beside what install registered",
                f"claude plugin disable {name}, or hookrouter uninstall",
            )
        wanted_by_path = {path: _wanted(place.app, texts.get(path)) for path in ours}
        for path in ours:
            yield from _registration(path, texts.get(path), wanted_by_path[path], is_user=path == scopes[0])
            yield from _mirror(place.app, path, texts.get(path), is_user=path == scopes[0])
            if kept := kept_unasked(place.app, wanted_by_path[path]):
                message = (
                    f"{path}: no claude on PATH says its version, so whether it knows {', '.join(kept)} is not known"
                )
                yield Finding(WARNING, self.name, message, "run hookrouter doctor where claude is on PATH")
        yield from _others(texts, ours, [want for wants in wanted_by_path.values() for want in wants])
        ours_there = {path: texts[path] for path in ours if path in texts}
        yield from _fronts_at_odds(ours_there)
        commands = _commands(ours_there)
        yield from _scripts(commands)
        yield from _adopted_twice(place.app)
        yield from _fronts(commands, place.app.home.router)


def _wanted(app: Services, text: str | None) -> list[Registration]:
    """Return the entries that a settings text (None: no file) is to have. Raises SettingsError."""
    return wanted_registrations(app, current_front(text), present=() if text is None else registered(text))


def _read(paths: Sequence[str], texts: dict[str, str]) -> Iterator[Finding]:
    """Read settings files into ``texts``; return what is wrong with those that cannot be used, or switch hooks off."""
    for path in dict.fromkeys(paths):
        try:
            text = read_text(path)
            if text is None or not text.strip():
                continue
            disabled = hooks_disabled(text)
        except SettingsError as error:
            message = str(error) if str(error).startswith(path) else f"{path}: {error}"
            yield Finding(ERROR, "settings", message, "correct the file; Claude Code may not read it either")
            continue
        texts[path] = text
        if disabled:
            message = f"{path}: disableAllHooks is true, so no hook runs"
            yield Finding(ERROR, "settings", message, "set disableAllHooks to false")


def _claude_plugin(app: Services, name: str, wanted: Sequence[Registration]) -> Iterator[Finding]:
    """Compare what is wanted with what hookrouter's plugin of Claude Code registers, the only one that does."""
    known = {(want.event, want.matcher) for want in first_party_registrations(app)}
    missing = [want for want in wanted if (want.event, want.matcher) not in known or want.block_on_failure]
    if not missing:
        yield Finding(OK, "settings", f"registered by the Claude Code plugin {name}")
        return
    events = ", ".join(dict.fromkeys(want.event for want in missing))
    message = f"the Claude Code plugin {name} registers hookrouter's own plugins only; others need more: {events}"
    yield Finding(ERROR, "settings", message, f"hookrouter install, and claude plugin disable {name}")


def _registration(path: str, text: str | None, wanted: Sequence[Registration], *, is_user: bool) -> Iterator[Finding]:
    fix = _install_command(path, is_user=is_user)
    if wanted and (text is None or not _starts_hookrouter(text)):
        yield Finding(ERROR, "settings", f"{path}: hookrouter is not registered", fix)
        return
    found = differences(text, wanted)
    if not found:
        yield Finding(OK, "settings", f"{path}: registered and current ({len(wanted)} entries)")
    for difference in found:
        level = WARNING if difference.harmless else ERROR
        yield Finding(level, "settings", f"{path}: {difference.text}", difference.fix or fix)


def _mirror(app: Services, path: str, text: str | None, *, is_user: bool) -> Iterator[Finding]:
    """Compare ``permissions.deny`` with what ``[approvals] mirror`` has it hold."""
    if app.config.problems or text is None or not _starts_hookrouter(text):
        return
    wanted, there = mirrored(app.config.approvals), denied(text)
    lacking = [rule for rule in wanted if rule not in there]
    left = [rule for rule in own_denials(path, app.store) if rule in there and rule not in wanted]
    for rules, said in ((lacking, "lacks"), (left, "still has")):
        if rules:
            message = f"{path}: permissions.deny {said} {', '.join(rules)}, for [approvals] mirror"
            yield Finding(WARNING, "settings", message, _install_command(path, is_user=is_user))


def _starts_hookrouter(text: str) -> bool:
    return bool(registered(text) or wrapped(text))


def _others(texts: Mapping[str, str], ours: Sequence[str], wanted: Sequence[Registration]) -> Iterator[Finding]:
    """Look for entries in further files: Claude Code runs equal commands once, and others a second time."""
    commands = {want.command for want in wanted}
    for path, text in texts.items():
        entries = () if path in ours else (*registered(text), *wrapped(text))
        if any(entry.command not in commands for entry in entries):
            yield Finding(
                WARNING,
                "settings",
                f"{path}: registers hookrouter with other commands, so that hooks run twice",
                f"hookrouter uninstall --settings {shlex.quote(path)}",
            )


def _adopted_twice(app: Services) -> Iterator[Finding]:
    """Look for hooks that were adopted and are in their settings file still, or again."""
    for path in dict.fromkeys(script.adopted_from for script in app.config.scripts if script.adopted_from):
        with suppress(SettingsError):
            there = take(read_text(path) or "", path, "").taken
            ours = [script._with(project="") for script in app.config.scripts if script.adopted_from == path]
            twice = [one.script.command for one in there if any(is_same(one.script, script) for script in ours)]
            if twice:
                message = f"{path}: has hooks that config.toml has too, so that they run twice: {', '.join(twice)}"
                yield Finding(ERROR, "settings", message, f"hookrouter adopt --settings {shlex.quote(path)}")


def _fronts_at_odds(texts: Mapping[str, str]) -> Iterator[Finding]:
    """Look for files whose entries have another front than those of the first file: both would run."""
    fronts = {path: entries_front(text) or Front.COLD for path, text in texts.items() if registered(text)}
    first = next(iter(fronts.values()), Front.COLD)
    for path, front in fronts.items():
        if front is not first:
            message = f"{path}: its entries have the front {front}, others {first}, so that hooks run twice"
            fix = f"hookrouter install --settings {shlex.quote(path)} --front {first}"
            yield Finding(WARNING, "settings", message, fix)


def _commands(texts: Mapping[str, str]) -> list[tuple[str, OurCommand]]:
    """Return the registered command lines, taken apart, each with its file."""
    found = []
    for path, text in texts.items():
        commands = (parse_command(entry.command) for entry in registered(text))
        found += [(path, command) for command in commands if command is not None]
    return found


def _scripts(commands: Sequence[tuple[str, OurCommand]]) -> Iterator[Finding]:
    programs = {command.program: path for path, command in reversed(commands)}
    for program, path in reversed(programs.items()):
        if problem := _program_fault(program):
            message = f"{path}: the registered program {program} {problem}"
            yield Finding(ERROR, "settings", message, "hookrouter install")
    if len(script_argv()) > 1:
        yield Finding(
            WARNING,
            "settings",
            f"no hookrouter script is installed beside {sys.executable}; the module runs instead, which is slower",
            "reinstall hookrouter with pip, pipx or uv",
        )


def _program_fault(program: str) -> str:
    """Say why a hook cannot start a program; empty if it can."""
    if not os.path.isabs(program):
        return "is not an absolute path, and hooks do not have your PATH"
    if not os.path.isfile(program):
        return "does not exist"
    return "" if os.access(program, os.X_OK) else "is not executable"


def _fronts(commands: Sequence[tuple[str, OurCommand]], folder: str) -> Iterator[Finding]:
    """Look for registered fronts that cannot run, or that call the router of another home than this one."""
    fronts = {command.front: path for path, command in reversed(commands) if command.front is not None}
    for front, path in reversed(fronts.items()):
        if problem := _front_fault(front):
            message = f"{path}: the registered front {front.file} {problem}"
            yield Finding(ERROR, "settings", message, "hookrouter install")
        if front.folder != folder:
            message = f"{path}: the registered front calls the router of another home, in {front.folder}"
            yield Finding(ERROR, "settings", message, "hookrouter install")


def _front_fault(front: FrontWords) -> str:
    if front.front is Front.PYTHON:
        if not os.path.isfile(front.file):
            return "does not exist"
        fault = _program_fault(front.program)
        return f"needs {front.program}, which {fault}" if fault else ""
    fault = _program_fault(front.program)
    if fault:
        return fault
    fault = native_fault(front.program)
    return f"does not run here: {fault}" if fault else ""


def stale_registrations(app: Services) -> list[str]:
    """Return the commands that bring the settings files up to date in which hookrouter is registered already.

    Where guards are alone, and were none until now, no file has it: the user's own is the one that it comes into.
    """
    files = registered_files(app)
    found = [_install_command(path, is_user=scope == "user") for scope, (path, is_stale) in files.items() if is_stale]
    if app.config.guards_alone and not files and wanted_registrations(app):
        found.append(_install_command("", is_user=True))
    return found


def registered_files(app: Services) -> dict[str, tuple[str, bool]]:
    """Return the settings files in which hookrouter is registered, by scope: the path, and whether it is out of date.

    One that cannot be read is none: what is wrong with it, doctor says.
    """
    folder = working_folder()
    found: dict[str, tuple[str, bool]] = {}
    for scope in SCOPES:
        if scope != "user" and folder is None:
            continue
        with suppress(SettingsError):
            path = settings_path(scope, app.environ, folder or "")
            text = read_text(path)
            # In the home folder the project's file is the user's own.
            if text is None or not registered(text) or path in dict(found.values()):
                continue
            found[scope] = path, False
            # What has a remedy of its own, an install does not mend.
            is_stale = any(not difference.fix for difference in differences(text, _wanted(app, text)))
            found[scope] = path, is_stale
    return found


def _install_command(path: str, *, is_user: bool) -> str:
    return "hookrouter install" if is_user else f"hookrouter install --settings {shlex.quote(path)}"
