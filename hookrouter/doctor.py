"""Checks an installation of hookrouter, and says for each finding what mends it."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from hookrouter import breaker, settings
from hookrouter.answering import ProbingGateway
from hookrouter.clock import now, seconds
from hookrouter.commands import contributed
from hookrouter.delivery import PLUGIN_FAULT
from hookrouter.executable import script_argv
from hookrouter.figures import Figures, Times
from hookrouter.journal_reading import entry_of
from hookrouter.registry import NOT_INSTALLED, PluginStatus
from hookrouter.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hookrouter.answering import Gateway
    from hookrouter.context import Services
    from hookrouter.home import Home
    from hookrouter.registry import PluginInfo

__all__ = ["ERROR", "MINIMUM_CLIENT", "OK", "WARNING", "Finding", "examine", "remedy", "stale_registrations"]

OK = "ok"
WARNING = "warning"
ERROR = "error"

MINIMUM_CLIENT = (2, 0, 76)
"""The oldest Claude Code whose question dialog is known."""

FAILURE_CLIENT = (2, 1, 295)
"""The oldest Claude Code that knows ``onFailure``."""

MINIMUM_TMUX = (3, 0)
"""The oldest tmux of which all that the backend uses is documented."""

_CLIENT_SECONDS = 20.0
_TMUX_SECONDS = 5.0
_SLOW_MS = 100.0
"""The median above which a plugin is slow: a tool call waits for it."""
_SLOW_CALLS = 10
"""Calls below which nothing is said about a plugin's speed."""
_SLOW_DAYS = 3
_LOW_DISK = 50 * 1024 * 1024
"""Free bytes below which a warning is due: documents and journal need a few megabytes."""


class Finding(NamedTuple):
    """One result of one check."""

    level: str
    """``ok``, ``warning`` or ``error``."""
    check: str
    """What was looked at: one word or two."""
    message: str
    fix: str = ""
    """What to do; empty for ``ok``."""


def examine(
    app: Services,
    settings_file: str | None = None,
    folder: str | None = None,
    *,
    tell: Callable[[str], None] | None = None,
) -> list[Finding]:
    """Run every check and return the findings, in a fixed order of checks.

    ``settings_file`` is the settings file that should register hookrouter; None for whichever of the user's, the
    project's and the local one of ``folder`` (the current one by default) does. ``tell`` is called with the name of
    each check as it begins. Starts tmux and Claude Code to ask for their versions. Mends nothing; as anywhere, an
    unreadable document that it comes across is set aside.
    """
    here = _working_folder() if folder is None else folder
    checks: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
        ("tmux", lambda: _tmux(app)),
        ("client", lambda: _client(app)),
        ("settings", lambda: _settings(app, settings_file, here)),
        ("config", lambda: _config(app)),
        ("agents", lambda: _agents(app)),
        ("answering", lambda: _answering(app)),
        ("gateways", lambda: _gateways(app)),
        ("plugins", lambda: _plugins(app)),
        ("home", lambda: _home(app)),
        ("outbox", lambda: _outbox(app)),
        ("speed", lambda: _speed(app.environ)),
        ("slow plugins", lambda: _slow_plugins(app)),
    )
    findings: list[Finding] = []
    for name, check in checks:
        if tell is not None:
            tell(name)
        try:
            findings.extend(check())
        except Exception as error:  # noqa: BLE001 - a check that fails is a finding, and the others still count
            findings.append(
                Finding(
                    ERROR,
                    name,
                    f"the check failed: {type(error).__name__}: {error}",
                    "report this as a bug of hookrouter",
                )
            )
    return findings


def remedy(plugin: PluginInfo, home: Home) -> str:
    """Return what mends a plugin that is broken; empty for any other."""
    if plugin.status != PluginStatus.BROKEN:
        return ""
    if plugin.reason == NOT_INSTALLED:
        return f"install the plugin {plugin.name}, or remove [plugins.{plugin.name}] from {home.config_file}"
    if plugin.problems:
        return f"correct [plugins.{plugin.name}.settings] in {home.config_file} (hookrouter config check)"
    return (
        f"mend, upgrade or uninstall {plugin.distribution}, or disable the plugin: "
        f"[plugins.{plugin.name}] enabled = false in {home.config_file}"
    )


def stale_registrations(app: Services) -> list[str]:
    """Return the commands that bring the settings files up to date in which hookrouter is registered already."""
    folder = _working_folder()
    found = []
    for scope in settings.SCOPES:
        if scope != "user" and folder is None:
            continue
        try:
            path = settings.settings_path(scope, app.environ, folder or "")
            text = settings.read_text(path)
            if text is None or not settings.registered(text):
                continue
            if settings.differences(text, settings.wanted_registrations(app)):
                found.append(_install_command(path, is_user=scope == "user"))
        except SettingsError:
            # What is wrong with the file, doctor says.
            continue
    return found


def _install_command(path: str, *, is_user: bool) -> str:
    return "hookrouter install" if is_user else f"hookrouter install --settings {shlex.quote(path)}"


def _working_folder() -> str | None:
    """Return the current folder; None where it was deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None


def _tmux(app: Services) -> Iterator[Finding]:
    if app.config.answer.terminal != "tmux":
        return
    need = "sessions outside tmux cannot be answered with keys"
    path = shutil.which("tmux", path=app.environ.get("PATH"))
    if path is None:
        yield Finding(ERROR, "tmux", f"tmux is not on PATH; {need}", "install tmux 3.0 or newer")
        return
    output, problem = _ask([path, "-V"], _TMUX_SECONDS)
    version = re.search(r"(\d+)\.(\d+)", output)
    if problem or version is None:
        said = problem or f"it says {output!r}"
        yield Finding(ERROR, "tmux", f"{path} -V does not tell its version: {said}", "repair or reinstall tmux")
    elif (int(version[1]), int(version[2])) < MINIMUM_TMUX:
        yield Finding(WARNING, "tmux", f"{output} is older than 3.0, which is not tested", "install tmux 3.0 or newer")
    else:
        yield Finding(OK, "tmux", f"{output} at {path}")


def _client(app: Services) -> Iterator[Finding]:
    fix = "npm install -g @anthropic-ai/claude-code"
    path = shutil.which("claude", path=app.environ.get("PATH"))
    if path is None:
        yield Finding(WARNING, "client", "Claude Code (claude) is not on PATH, its version is not known", fix)
        return
    output, problem = _ask([path, "--version"], _CLIENT_SECONDS)
    version = re.search(r"(\d+)\.(\d+)\.(\d+)", output)
    minimum = ".".join(map(str, MINIMUM_CLIENT))
    if problem or version is None:
        said = problem or f"it says {output!r}"
        yield Finding(WARNING, "client", f"{path} --version does not tell its version: {said}", fix)
        return
    known = tuple(map(int, version.groups()))
    if known < MINIMUM_CLIENT:
        yield Finding(ERROR, "client", f"Claude Code {version[0]} at {path} is older than {minimum}", "claude update")
        return
    yield Finding(OK, "client", f"Claude Code {version[0]} at {path}")
    if known < FAILURE_CLIENT and any(want.block_on_failure for want in settings.wanted_registrations(app)):
        since = ".".join(map(str, FAILURE_CLIENT))
        yield Finding(
            WARNING,
            "client",
            f"Claude Code {version[0]} is older than {since}: it lets a call through where a plugin that is set to "
            "fail closed crashes the whole hook",
            "claude update",
        )


def _ask(arguments: Sequence[str], seconds: float) -> tuple[str, str]:
    """Run a program that prints its version; return the first line of its output, and what went wrong."""
    try:
        done = subprocess.run(
            arguments,
            # The current folder may be gone, and Node does not start in one that is.
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {seconds:g} s"
    except OSError as error:
        return "", error.strerror or str(error)
    output = (done.stdout.strip() or done.stderr.strip()).split("\n")[0]
    return output, f"exit code {done.returncode}: {output}" if done.returncode else ""


def _settings(app: Services, settings_file: str | None, folder: str | None) -> Iterator[Finding]:
    try:
        scopes = [settings.settings_path("user", app.environ, "")]
    except SettingsError as error:
        yield Finding(ERROR, "settings", str(error), "export HOME=...")
        return
    if folder is None:
        yield Finding(
            WARNING,
            "settings",
            "the working folder does not exist any more, so its settings were not looked at",
            "cd to a folder that exists",
        )
    else:
        scopes += [settings.settings_path(scope, app.environ, folder) for scope in settings.SCOPES[1:]]
    chosen = [settings_file] if settings_file is not None else []
    texts: dict[str, str] = {}
    for path in dict.fromkeys([*chosen, *scopes]):
        try:
            text = settings.read_text(path)
            if text is not None and text.strip():
                settings.registered(text)
                texts[path] = text
        except SettingsError as error:
            message = str(error) if str(error).startswith(path) else f"{path}: {error}"
            yield Finding(ERROR, "settings", message, "correct the file; Claude Code may not read it either")
    for path, text in texts.items():
        if settings.hooks_disabled(text):
            yield Finding(
                ERROR, "settings", f"{path}: disableAllHooks is true, so no hook runs", "set disableAllHooks to false"
            )
    wanted = settings.wanted_registrations(app)
    if not wanted:
        yield Finding(
            WARNING, "settings", "no active plugin implements a hook about an event", "hookrouter plugins list"
        )
    ours = chosen or [path for path in scopes if path in texts and settings.registered(texts[path])]
    plugins = {name: path for path, text in texts.items() for name in settings.claude_plugins(text)}
    if plugins and not ours:
        yield from _claude_plugin(next(iter(plugins)), wanted)
        return
    ours = ours or scopes[:1]
    for name, path in plugins.items():
        yield Finding(
            WARNING,
            "settings",
            f"{path}: the Claude Code plugin {name} is enabled too; it does nothing beside what install registered",
            f"claude plugin disable {name}, or hookrouter uninstall",
        )
    for path in ours:
        yield from _registration(path, texts.get(path), wanted, is_user=path == scopes[0])
    yield from _others(texts, ours, wanted)
    yield from _scripts({path: texts[path] for path in ours if path in texts})


def _claude_plugin(name: str, wanted: Sequence[settings.Registration]) -> Iterator[Finding]:
    """Compare what is wanted with what hookrouter's plugin of Claude Code registers, the only one that does."""
    from hookrouter.claude_plugin import first_party_registrations

    known = {(want.event, want.matcher) for want in first_party_registrations()}
    missing = [want for want in wanted if (want.event, want.matcher) not in known or want.block_on_failure]
    if not missing:
        yield Finding(OK, "settings", f"registered by the Claude Code plugin {name}")
        return
    events = ", ".join(dict.fromkeys(want.event for want in missing))
    message = f"the Claude Code plugin {name} registers hookrouter's own plugins only; others need more: {events}"
    yield Finding(ERROR, "settings", message, f"hookrouter install, and claude plugin disable {name}")


def _registration(
    path: str, text: str | None, wanted: Sequence[settings.Registration], *, is_user: bool
) -> Iterator[Finding]:
    fix = _install_command(path, is_user=is_user)
    if wanted and (text is None or not settings.registered(text)):
        yield Finding(ERROR, "settings", f"{path}: hookrouter is not registered", fix)
        return
    found = settings.differences(text, wanted)
    if not found:
        yield Finding(OK, "settings", f"{path}: registered and current ({len(wanted)} entries)")
    for difference in found:
        yield Finding(WARNING if difference.harmless else ERROR, "settings", f"{path}: {difference.text}", fix)


def _others(
    texts: Mapping[str, str], ours: Sequence[str], wanted: Sequence[settings.Registration]
) -> Iterator[Finding]:
    """Look for entries in further files: Claude Code runs equal commands once, and others a second time."""
    commands = {want.command for want in wanted}
    for path, text in texts.items():
        if path not in ours and any(entry.command not in commands for entry in settings.registered(text)):
            yield Finding(
                WARNING,
                "settings",
                f"{path}: registers hookrouter with other commands, so that hooks run twice",
                f"hookrouter uninstall --settings {shlex.quote(path)}",
            )


def _scripts(texts: Mapping[str, str]) -> Iterator[Finding]:
    programs: dict[str, str] = {}
    for path, text in texts.items():
        for entry in settings.registered(text):
            command = settings.parse_command(entry.command)
            if command is not None:
                programs.setdefault(command.program, path)
    for program, path in programs.items():
        if not os.path.isabs(program):
            problem = "is not an absolute path, and hooks do not have your PATH"
        elif not os.path.isfile(program):
            problem = "does not exist"
        elif not os.access(program, os.X_OK):
            problem = "is not executable"
        else:
            continue
        yield Finding(ERROR, "settings", f"{path}: the registered program {program} {problem}", "hookrouter install")
    if len(script_argv()) > 1:
        yield Finding(
            WARNING,
            "settings",
            f"no hookrouter script is installed beside {sys.executable}; the module runs instead, which is slower",
            "reinstall hookrouter with pip, pipx or uv",
        )


def _config(app: Services) -> Iterator[Finding]:
    path = app.home.config_file
    for problem in app.config.problems:
        yield Finding(ERROR, "config", problem, f"edit {path}; until then {_meanwhile(app)}")
    if not app.config.problems:
        yield Finding(OK, "config", path if os.path.exists(path) else f"no {path}: the defaults hold")


def _meanwhile(app: Services) -> str:
    """Say what holds while the config cannot be used."""
    plugins = app.config.plugins
    kept = {
        "fail closed": [name for name, entry in plugins.items() if entry.on_error == "closed"],
        "disabled": [name for name, entry in plugins.items() if not entry.enabled],
    }
    stay = " and ".join(f"{state}: {', '.join(names)}" for state, names in kept.items() if names)
    return (
        "agents, gateways and answering have their defaults, so that every session is managed and its questions wait "
        f"in the inbox; plugins that this file or the last good one closes or disables stay so ({stay or 'none'})"
    )


def _agents(app: Services) -> Iterator[Finding]:
    path = app.home.config_file
    agents = [agent for agent in app.config.agents if agent.enabled]
    if not agents:
        yield Finding(
            WARNING, "agents", "no agent is enabled, so no session is answered", f"enable an [[agents]] entry in {path}"
        )
        return
    reachable = True
    for agent in agents:
        if not reachable:
            yield Finding(
                WARNING,
                "agents",
                f"agent {agent.id!r} never gets a session: an earlier one takes them all",
                f"move its [[agents]] entry up in {path}",
            )
        if any(pattern in ("*", "**") for pattern in agent.sessions or ("*",)) and not agent.workdirs:
            reachable = False
        for name in (agent.gateway, *agent.fallbacks):
            if name not in app.config.gateways:
                yield Finding(
                    ERROR,
                    "agents",
                    f"agent {agent.id!r} has the gateway {name!r}, which is not configured",
                    f"add [gateways.{name}] to {path}, or name one of: {', '.join(sorted(app.config.gateways))}",
                )
        for folder in agent.workdirs:
            if not set(folder) & set("*?[") and not os.path.isdir(os.path.expanduser(folder)):
                yield Finding(
                    WARNING,
                    "agents",
                    f"agent {agent.id!r} has the workdir {folder!r}, which is not a folder",
                    f"correct workdirs in {path}",
                )
    yield Finding(OK, "agents", f"enabled: {', '.join(agent.id for agent in agents)}")


def _answering(app: Services) -> Iterator[Finding]:
    answer, plugins = app.config.answer, app.plugins
    chosen: tuple[tuple[str, Sequence[str], Mapping[str, object]], ...] = (
        ("channels", answer.channels, plugins.answer_channels()),
        ("planner", (answer.planner,), plugins.keystroke_planners()),
        ("terminal", (answer.terminal,), plugins.terminal_backends()),
    )
    complete = True
    for key, names, offered in chosen:
        for name in names:
            if name not in offered:
                complete = False
                yield Finding(
                    ERROR,
                    "answering",
                    f"[answer] {key} names {name!r}, which no active plugin offers",
                    f"choose one of: {', '.join(sorted(offered)) or 'none is offered'}; see hookrouter plugins list",
                )
    if complete:
        channels = ", ".join(answer.channels)
        yield Finding(OK, "answering", f"channels {channels}; planner {answer.planner}; terminal {answer.terminal}")


def _gateways(app: Services) -> Iterator[Finding]:
    offered = app.plugins.gateways()
    path = app.home.config_file
    for name in app.config.gateways:
        kind, own = app.config.gateway(name) or ("", {})
        gateway = offered.get(kind)
        if gateway is None:
            yield Finding(
                ERROR,
                "gateways",
                f"[gateways.{name}] has the type {kind!r}, which no active plugin offers",
                f"choose one of: {', '.join(sorted(offered)) or 'none is offered'}; see hookrouter plugins list",
            )
            continue
        try:
            problems = gateway.check(own)
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a finding about that plugin
            problems = [f"the plugin's check failed: {type(error).__name__}: {error}"]
        for problem in problems:
            yield Finding(
                ERROR,
                "gateways",
                f"[gateways.{name}]: {problem}",
                f"correct [gateways.{name}] in {path}, or provide what it names",
            )
        if not problems:
            yield _reached(name, kind, gateway, own)


def _reached(name: str, kind: str, gateway: Gateway, own: Mapping[str, object]) -> Finding:
    """Look whether the other side of a gateway is there, where its plugin can tell."""
    if not isinstance(gateway, ProbingGateway):
        return Finding(OK, "gateways", f"{name} ({kind})")
    try:
        usable, message, fix = gateway.probe(own)
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a finding about that plugin
        usable, message, fix = False, f"the plugin's probe failed: {type(error).__name__}: {error}", ""
    if usable:
        return Finding(OK, "gateways", f"{name} ({kind}): {message}")
    return Finding(WARNING, "gateways", f"{name} ({kind}): {message}", fix or "mend that; messages wait until then")


def _plugins(app: Services) -> Iterator[Finding]:
    listing = app.plugins.listing()
    for info in listing:
        closed = app.config.plugin(info.name).on_error == "closed"
        if info.status == PluginStatus.BROKEN:
            refuses = "; it is set to fail closed, so all that it guards is refused" if closed else ""
            yield Finding(
                ERROR, "plugins", f"{_described(info)} is broken: {info.reason}{refuses}", remedy(info, app.home)
            )
        elif info.status == PluginStatus.DISABLED and closed:
            yield Finding(
                WARNING,
                "plugins",
                f"{_described(info)} is set to fail closed, but disabled, so it guards nothing",
                f"remove enabled = false from [plugins.{info.name}] in {app.home.config_file}, or the table",
            )
    known = breaker.read(app.home)
    for name, health in breaker.off(known, app.config).items():
        reset = f"mend it, then: hookrouter plugins enable {name}"
        yield Finding(WARNING, "plugins", health.describe(name), reset)
    for name in sorted(name for name, health in known.items() if health.apart):
        yield Finding(
            WARNING,
            "plugins",
            f"a hook process ended in a call of plugin {name}, or could not interrupt it ({known[name].error}), so it "
            "is called in a process of its own, which takes longer",
            f"mend it, then: hookrouter plugins enable {name}",
        )
    for name in app.config.plugins:
        if name not in {info.name for info in listing}:
            yield Finding(
                WARNING,
                "plugins",
                f"config.toml has [plugins.{name}], but no such plugin is installed",
                "correct the name (hookrouter plugins list), or remove the table",
            )
    for name in app.config.plugin_order:
        if name not in {info.name for info in listing}:
            yield Finding(
                WARNING,
                "plugins",
                f"config.toml has {name!r} in [plugins] order, but no such plugin is installed",
                "correct the name (hookrouter plugins list), or take it out: hookrouter plugins order",
            )
    for info, text in app.plugins.misset():
        yield Finding(
            WARNING,
            "plugins",
            f"{_described(info)} runs with its defaults, because its settings are wrong: {text}",
            f"correct [plugins.{info.name}.settings] in {app.home.config_file}",
        )
    for problem in contributed(app.plugins.cli_commands())[1]:
        yield Finding(WARNING, "plugins", problem, "disable one of the plugins, or have its command renamed")
    active = sum(info.status == PluginStatus.ACTIVE for info in listing)
    yield Finding(OK if active else WARNING, "plugins", f"{active} active", "" if active else "install a plugin")


def _described(plugin: PluginInfo) -> str:
    installed = f"{plugin.distribution} {plugin.version}".strip()
    return f"{plugin.name} ({installed})" if installed else plugin.name


def _home(app: Services) -> Iterator[Finding]:
    home = app.home
    problems = [finding for folder in (home.state, home.logs, home.cache) for finding in _folder(folder)]
    yield from problems
    for name in (home.state, home.logs, home.cache, home.root, home.prompts):
        yield from _modes(name)
    disk = os.statvfs(_existing(home.state))
    free = disk.f_bavail * disk.f_frsize
    if free < _LOW_DISK:
        yield Finding(
            WARNING, "home", f"{free // 1024 // 1024} MiB are free on the disk of {home.state}", "free some space there"
        )
    if not problems:
        yield Finding(OK, "home", f"{home.state}, {home.logs} and {home.cache} can be written")


def _existing(path: str) -> str:
    while not os.path.lexists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path


def _folder(folder: str) -> Iterator[Finding]:
    nearest = _existing(folder)
    fix = "make it yours, or set HOOKROUTER_HOME to a folder that you can write"
    if not os.path.isdir(nearest):
        yield Finding(ERROR, "home", f"{nearest} is in the way of a folder", "move it away")
    elif not os.access(nearest, os.W_OK | os.X_OK):
        yield Finding(ERROR, "home", f"{nearest} cannot be written", fix)


def _modes(folder: str) -> Iterator[Finding]:
    """Look for what others may read: the folder, and the files directly in it."""
    if not os.path.isdir(folder):
        return
    mode = stat.S_IMODE(os.stat(folder).st_mode)
    if mode & 0o077:
        yield Finding(
            WARNING,
            "home",
            f"{folder} has mode {mode:04o}, so that other users may look into it",
            f"chmod 700 {shlex.quote(folder)}",
        )
        with os.scandir(folder) as entries:
            names = sorted(
                entry.name
                for entry in entries
                if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mode & 0o077
            )
        if names:
            yield Finding(
                WARNING,
                "home",
                f"{folder}: {len(names)} files are open to other users, {names[0]} among them",
                f"chmod go= {shlex.quote(folder)}/*",
            )


def _outbox(app: Services) -> Iterator[Finding]:
    messages = [message for message in app.outbox.pending() if not app.outbox.is_early(message)]
    for message in messages:
        given_up = message["given_up"] is not None
        reason = message["last_error"] or "not tried yet"
        if reason.startswith(PLUGIN_FAULT):
            fix = (
                "update the plugin that brings this gateway type, or report it to its authors; then: "
                f"hookrouter outbox retry {message['id']}"
            )
        elif given_up:
            fix = (
                f"correct [gateways.{message.get('gateway')}] in {app.home.config_file}, or what it names; then run: "
                f"hookrouter outbox retry {message['id']}"
            )
        else:
            fix = "hookrouter deliver"
        yield Finding(
            ERROR if given_up else WARNING,
            "outbox",
            f"message {message['id']} to agent {message.get('agent')!r} ({message.get('subject')}) "
            f"{'was given up' if given_up else 'waits'}; gateway {message.get('gateway')!r}: {reason}",
            fix,
        )
    if not messages:
        yield Finding(OK, "outbox", "no message waits for delivery")
    for folder in (app.home.state, app.outbox.folder):
        place = os.path.join(folder, "quarantine")
        names = sorted(os.listdir(place)) if os.path.isdir(place) else []
        if names:
            yield Finding(
                WARNING,
                "documents",
                f"{place} holds {len(names)} documents that could not be read, the latest is {names[-1]}",
                "look into them, then delete them",
            )


def _speed(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Look for compiled modules: without them, every hook run compiles anew, four times as slow."""
    if environ.get("PYTHONDONTWRITEBYTECODE"):
        yield Finding(
            WARNING,
            "speed",
            "PYTHONDONTWRITEBYTECODE is set: where Claude Code is started with it, every hook run compiles anew what "
            "is not compiled yet",
            "unset PYTHONDONTWRITEBYTECODE",
        )
    folder = os.path.dirname(os.path.abspath(__file__))
    missing = []
    for name in ("__main__.py", "run.py", "discovery.py", "manager.py"):
        source = os.path.join(folder, name)
        try:
            compiled = os.stat(importlib.util.cache_from_source(source)).st_mtime >= os.stat(source).st_mtime
        except (OSError, NotImplementedError):
            compiled = False
        if not compiled:
            missing.append(name)
    cache = _existing(os.path.join(folder, "__pycache__"))
    if not missing:
        yield Finding(OK, "speed", "hookrouter's modules are compiled")
    elif sys.dont_write_bytecode or not os.access(cache, os.W_OK):
        yield Finding(
            WARNING,
            "speed",
            f"hookrouter's modules ({', '.join(missing)}) are not compiled and cannot be here: every hook is slow",
            f"{shlex.quote(sys.executable)} -m compileall {shlex.quote(folder)}",
        )
    else:
        yield Finding(OK, "speed", "hookrouter's modules are compiled when they first run")


def _slow_plugins(app: Services) -> Iterator[Finding]:
    """Look at how long plugins took in the last days; a hook in which a plugin may wait is left out."""
    figures, since = Figures(), now() - _SLOW_DAYS * 86400
    for line in app.journal.lines(since):
        # Of a large journal, only the runs in which somebody was called are worth reading.
        entry = entry_of(line) if b'"plugins":[{' in line else None
        if entry is not None and (seconds(entry.record.get("at")) or 0.0) >= since:
            figures.add(entry.record)
    infos = {info.name: info for info in app.plugins.listing()}
    slow, counted = 0, 0
    for (name, hook), calls in sorted(figures.by_plugin.items()):
        info = infos.get(name)
        times = Times.of(calls.ms)
        if info is None or hook in info.waits or times.median is None or times.p95 is None:
            continue
        counted += calls.count
        table = app.config.plugin(name)
        is_close = times.p95 > table.timeout * 500
        if len(calls.ms) < _SLOW_CALLS or not (times.median > _SLOW_MS or is_close):
            continue
        slow += 1
        path = app.home.config_file
        advice = f"raise its timeout, [plugins.{name}] timeout = {2 * table.timeout:g} in {path}, " if is_close else ""
        yield Finding(
            WARNING,
            "slow plugins",
            f"plugin {name} is slow in {hook}: median {times.median:g} ms, 95 % of {calls.count} calls within "
            f"{times.p95:g} ms, its timeout is {table.timeout:g} s",
            f"{advice}have it do its work after the hook, or disable it ([plugins.{name}] enabled = false in {path}); "
            f"figures: hookrouter stats --plugin {name}",
        )
    if not slow:
        yield Finding(OK, "slow plugins", f"no plugin was slow in the last {_SLOW_DAYS} days ({counted} calls)")
