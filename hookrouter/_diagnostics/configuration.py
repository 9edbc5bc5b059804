"""What is wrong with a configuration, and where each of its values comes from."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from hookrouter._config.cache import read_config
from hookrouter._config.reader import decoded, parse, survey
from hookrouter._config.schema import HOLDING, keys_of
from hookrouter._config.toml_lines import lines_of
from hookrouter._config.validation import Problem, hide
from hookrouter._plugins.registry import ALONE, DECLARED, PluginStatus
from hookrouter.config import (
    DIALOG_KINDS,
    EVERY_KIND,
    FILES,
    GUARDS_ALONE,
    INBOX,
    LAST,
    ORDER,
    SESSION_KINDS,
    PluginConfig,
    Script,
)
from hookrouter.sharing import sharing
from hookrouter.storage.home import HOME_VARIABLE
from hookrouter.storage.interface import StoreError
from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import closest, describe_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hookrouter.config import Agent, Config
    from hookrouter.context import Services
    from hookrouter.util.value import Value

__all__ = [
    "BUILT_IN",
    "FROM_FILE",
    "KEPT",
    "PLUGIN",
    "ConfigError",
    "Located",
    "Setting",
    "check",
    "home_source",
    "line_of",
    "read_lines",
    "settings",
    "storage_problems",
    "unheard_warning",
    "untold",
    "untold_warning",
]

FROM_FILE, BUILT_IN, PLUGIN, KEPT = "config.toml", "default", "plugin default", "last good file"
"""Where a value comes from."""

_TOML_LINE = re.compile(r"at line (\d+)")


class ConfigError(HookrouterError):
    """The file is there and cannot be read."""


class Located(NamedTuple):
    """A problem of a configuration, with its place."""

    level: str
    """``error``, or ``warning`` for what may be on purpose."""
    line: int | None
    """The line in config.toml; None if it is not known or the fault is a key that is missing altogether."""
    problem: Problem


class Setting(NamedTuple):
    """One value that holds."""

    key: str
    value: object
    """As JSON; what is, by its key, a secret is not shown."""
    source: str
    """``config.toml``, ``default``, ``plugin default``, or ``last good file`` if this file has problems."""
    line: int | None
    """The line in config.toml, if it comes from there."""


def home_source(environ: Mapping[str, str]) -> str:
    """Return what says where config.toml is: the name of an environment variable, or ``platform``."""
    return HOME_VARIABLE if environ.get(HOME_VARIABLE) else "platform"


def read_lines(path: str) -> tuple[bytes, dict[str, int]]:
    """Return the content of config.toml and the line of each key; empty if there is none. Raises ConfigError."""
    try:
        content = read_config(path) or b""
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    return content, {} if parse(content)[0] is None else lines_of(decoded(content))


def line_of(key: str, lines: Mapping[str, int]) -> int | None:
    """Return the line of a key; of one that is missing, the line of what it is missing from."""
    while key and key not in lines:
        key = key[: key.rindex("[")] if key.endswith("]") else key.rpartition(".")[0]
    return lines.get(key)


def check(app: Services) -> list[Located]:
    """Return all that is wrong with config.toml: the file itself, plugins' settings, and names that nothing has.

    Plugins are imported for it. Raises ConfigError.
    """
    content, lines = read_lines(app.home.config_file)
    problems, config = survey(content, app.plugins.tables)
    found = [Located("error", _line(problem, lines), problem) for problem in problems]
    if config is not None:
        # Of a file with problems nothing is used; what it says is compared all the same, to name every mistake at once.
        meant = app.under(config) if problems else app
        told = {problem.key for problem in problems}
        further = [*_own_settings(meant), *_gateways(meant), *storage_problems(meant)]
        further += [] if config.guards_alone else _answering(meant)
        found += [Located("error", line_of(one.key, lines), one) for one in further if one.key not in told]
        found += [Located(level, line_of(problem.key, lines), problem) for level, problem in _not_installed(meant)]
        for text in filter(None, (unheard_warning(config), unheld_warning(config))):
            found.append(Located("warning", line_of("approvals.rules[0]", lines), Problem("approvals.rules", text)))
        further = [*_missed(meant), *_unused(meant, lines), *_unanswered(config), *_nowhere(config)]
        found += [Located("warning", line_of(one.key, lines), one) for one in further]
    return sorted(found, key=lambda located: (located.level, located.line or 0))


def _line(problem: Problem, lines: Mapping[str, int]) -> int | None:
    if problem.key:
        return line_of(problem.key, lines)
    match = _TOML_LINE.search(problem.text)
    return int(match[1]) if match else None


def _own_settings(app: Services) -> Iterator[Problem]:
    for info in app.plugins.listing():
        own = app.plugins.own_settings(info.name)
        for problem in () if own is None else own.problems:
            yield Problem(*problem)


def _gateways(app: Services) -> Iterator[Problem]:
    offered = app.plugins.contributions("gateway", "type")
    for name in app.config.gateways:
        kind, own = app.config.gateway(name) or ("", {})
        key = f"gateways.{name}"
        gateway = offered.get(kind)
        if gateway is None:
            yield _not_offered(f"{key}.type", kind, offered)
            continue
        try:
            yield from app.plugins.read_gateway_settings(gateway, name, own)[1]
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a problem of that plugin
            yield Problem(key, f"the plugin's check failed: {describe_error(error)}")


def _answering(app: Services) -> Iterator[Problem]:
    answer, plugins = app.config.answer, app.plugins
    channels = plugins.contributions("answer_channel")
    for index, name in enumerate(answer.channels):
        if name not in channels:
            yield _not_offered(f"answer.channels[{index}]", name, channels)
    prompting = plugins.contributions("prompt_channel")
    for index, name in enumerate(app.config.sessions.channels):
        if name not in prompting:
            yield _not_offered(f"sessions.channels[{index}]", name, prompting)
    planners = plugins.contributions("keystroke_planner")
    terminals = plugins.contributions("terminal_backend")
    if answer.planner not in planners:
        yield _not_offered("answer.planner", answer.planner, planners)
    if answer.terminal not in terminals:
        yield _not_offered("answer.terminal", answer.terminal, terminals)
    kinds = (*DIALOG_KINDS, *SESSION_KINDS, *plugins.contributions("dialog_kinds", several=True))
    for number, agent in enumerate(app.config.agents):
        for index, name in enumerate(agent.wake_on):
            if name not in (EVERY_KIND, *kinds):
                yield _not_offered(f"agents[{number}].wake_on[{index}]", name, kinds)


def storage_problems(app: Services) -> Iterator[Problem]:
    """Yield what is wrong with ``[storage]`` by its engine, and by what shares documents; both are imported for it."""
    storage = app.config.storage
    if storage.engine == FILES:
        return
    offered = app.plugins.contributions("storage_engine")
    engine = offered.get(storage.engine)
    if engine is None:
        yield _not_offered("storage.engine", storage.engine, [FILES, *offered])
        return
    yield from app.plugins.read_engine_settings(engine, storage.settings)[1]
    try:
        sharing(app.plugins)
    except StoreError as error:
        yield Problem("storage.engine", str(error), repr(storage.engine))


def _not_offered(key: str, name: str, offered: Iterable[str]) -> Problem:
    return _unknown(key, name, offered, "no active plugin offers it")


def _unknown(key: str, name: str, names: Iterable[str], why: str) -> Problem:
    known = sorted(names)
    close = closest(name, known)
    hint = f", did you mean {close!r}?" if close else ""
    listed = ", ".join(known) or "none"
    return Problem(key, f"found {name!r}{hint}; {why}; there are: {listed}", repr(name), listed, close)


def _not_installed(app: Services) -> Iterator[tuple[str, Problem]]:
    """Return the level and the problem of each name that is no plugin's."""
    names, why = [plugin.name for plugin in app.plugins.index], "no such plugin is installed"
    for key, listed in ((ORDER, app.config.plugin_order), (LAST, app.config.plugin_last)):
        for index, name in enumerate(listed):
            if name not in names:
                yield "warning", _unknown(f"plugins.{key}[{index}]", name, names, why)
    for name, plugin in app.config.plugins.items():
        if name in names:
            continue
        if plugin.enabled and plugin.on_error == "closed":
            yield "error", _unknown(f"plugins.{name}", name, names, f"{why}, and as it fails closed, calls are refused")
        else:
            yield "warning", _unknown(f"plugins.{name}", name, names, why)


def settings(app: Services) -> list[Setting]:
    """Return every value that holds, in the order of the file's documentation. Raises ConfigError."""
    _, lines = read_lines(app.home.config_file)
    if app.config.problems:
        lines = {}
    # What a plugin does not get does not come from the file.
    wrong = tuple(f"{info.settings_key}." for info in app.plugins.listing() if info.problems)
    lines = {key: line for key, line in lines.items() if not key.startswith(wrong)} if wrong else lines
    return [Setting(key, hide(_last(key), value), *_source(key, source, lines)) for key, value, source in _values(app)]


def untold(config: Config) -> list[Agent]:
    """Return the enabled agents of whose silence nobody is told.

    Those are told of only by the inbox, or not reminded, while ``[answer] escalate_to`` names no gateway but an inbox.
    A person is none of them: who chooses to answer alone need not be warned of it.
    """
    answer = config.answer
    if answer.escalate_to and not config.is_inbox(answer.escalate_to):
        return []
    return [
        agent
        for agent in config.agents
        if agent.enabled and not agent.is_person and not (answer.reminds and not config.is_inbox(agent.gateway))
    ]


def untold_warning(config: Config) -> str:
    """Return in one clause of whose silence nobody is told, and why; empty if somebody always is."""
    names = ", ".join(repr(agent.id) for agent in untold(config))
    if not names:
        return ""
    why = "an inbox gets no reminders" if config.answer.reminds else "reminders are off"
    return (
        f"if {names} does not answer a question, nobody is told: {why}, and [answer] escalate_to names no gateway to a "
        "person"
    )


def unheard_warning(config: Config) -> str:
    """Return in one clause that rules leave calls to a person, and no person is told; empty if one is, or none does."""
    rules = [rule.tool for rule in config.approvals.rules if rule.decide == "person"]
    told = config.answer.escalate_to and not config.is_inbox(config.answer.escalate_to)
    if not rules or told or all(agent.is_person for agent in config.agents if agent.enabled):
        return ""
    listed = ", ".join(repr(tool) for tool in rules[:3]) + (", …" if len(rules) > 3 else "")
    return (
        f"the rules {listed} leave calls to a person, and [answer] escalate_to names no gateway to one: nobody hears "
        "of them who does not look at the terminal, the page or `hookrouter questions`"
    )


def unheld_warning(config: Config) -> str:
    """Return in one clause that rules are not held before each call; empty if they are, or there is nothing to hold."""
    held = [rule for rule in config.approvals.rules if rule.decide in ("deny", "person") or rule.ask == "always"]
    if config.plugin(HOLDING).enabled or not held:
        return ""
    return (
        f"the plugin {HOLDING} is switched off ([plugins.{HOLDING}] enabled = false), so the rules hold only where "
        "Claude Code asks: not in bypassPermissions, and not for what its mode or its own rules run unasked"
    )


_MISSED = {
    "dialog_kinds": "dialogs of its kinds reach nobody",
    "message_composer": "its messages are not written",
    "resident_process": "its process beside the router does not run",
    "session_watcher": "what it looks for is not found",
}
"""What is missing without a plugin, by the hooks by which it has a part in what agents are for."""

_SWEEPING = "hookrouter.dialogs.hooks"
"""The entry point of what closes dialogs at the end of turns and sessions."""


def _missed(app: Services) -> Iterator[Problem]:
    """Yield what agents miss of plugins that are switched off. What the file names, and nobody offers, is an error."""
    if not any(agent.enabled for agent in app.config.agents):
        return
    for info in app.plugins.listing():
        missed = [text for hook, text in _MISSED.items() if hook in info.hooks]
        if info.value == _SWEEPING:
            missed.append("a dialog that ends without a hook of its own stays open until somebody answers it")
        if missed and info.reason != ALONE and info.status == PluginStatus.DISABLED:
            yield Problem(f"plugins.{info.name}.enabled", f"false, so {', and '.join(missed)}")


def _unanswered(config: Config) -> Iterator[Problem]:
    """Yield that agents hear of nothing, because the plugins that tell them are switched off."""
    if config.guards_alone and config.is_set_up:
        names = ", ".join(repr(agent.id) for agent in config.agents)
        text = f"true, so {names} of [[agents]] hear of nothing: `hookrouter init` switches the rest on"
        yield Problem(f"plugins.{GUARDS_ALONE}", text)


def _nowhere(config: Config) -> Iterator[Problem]:
    """Yield the scripts that run in no session: the folder of their project has gone, or has another name now."""
    for index, script in enumerate(config.scripts):
        if script.project and not os.path.isdir(script.project):
            text = f"found {script.project!r}; there is no such folder, so the script runs in no session"
            yield Problem(f"scripts[{index}].project", text)


def _unused(app: Services, lines: Mapping[str, int]) -> Iterator[Problem]:
    """Yield the tables of plugins that nobody reads, because the plugin is switched off or not installed."""
    names = {info.name: info for info in app.plugins.listing()}
    for table, plugin in app.plugins.tables.items():
        if table in lines and (plugin not in names or names[plugin].status == PluginStatus.DISABLED):
            why = "switched off" if plugin in names else "not installed"
            yield Problem(table, f"nobody reads it: the plugin {plugin}, whose table it is, is {why}")


def _source(key: str, source: str, lines: Mapping[str, int]) -> tuple[str, int | None]:
    return (FROM_FILE, lines[key]) if key in lines else (source, None)


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _values(app: Services) -> Iterator[tuple[str, object, str]]:
    config = app.config
    # What a file with problems leaves as it was comes from the one before it, unless nothing was ever set.
    held = KEPT if config.problems and config.is_set_up else BUILT_IN
    for index, agent in enumerate(config.agents):
        key = f"agents[{index}]"
        for name in ("id", "sessions", "workdirs", "enabled"):
            yield f"{key}.{name}", _json(getattr(agent, name)), held
        if agent.fallbacks:
            yield f"{key}.gateways", [agent.gateway, *agent.fallbacks], held
        else:
            yield f"{key}.gateway", agent.gateway, held
        yield f"{key}.fallback_after", agent.fallback_after, held
        yield f"{key}.kind", agent.kind, held
        yield f"{key}.wake_on", _json(agent.wake_on), held
    for gateway, table in config.gateways.items():
        for name, value in table.items():
            yield f"gateways.{gateway}.{name}", value, _held(app, value, INBOX if gateway == INBOX else None)
    tables = {name: getattr(config, name) for name in ("answer", "sessions", "serve", "storage")}
    for header, found in tables.items():
        yield from _table_values(app, header, found)
    for key, value in config.storage.settings.items():
        yield f"storage.{key}", value, _held(app, value, None)
    rules = [{"tool": rule.tool, "decide": rule.decide} for rule in config.approvals.rules]
    yield "approvals.rules", rules, _held(app, rules, [])
    yield from _table_values(app, "approvals", config.approvals)
    yield "journal.payloads", config.journal_payloads, _held(app, config.journal_payloads, False)
    for index, script in enumerate(config.scripts):
        for name in keys_of(Script):
            yield f"scripts[{index}].{name}", _json(getattr(script, name)), held
    yield f"plugins.{ORDER}", _json(config.plugin_order), _held(app, config.plugin_order, ())
    yield f"plugins.{LAST}", _json(config.plugin_last), _held(app, config.plugin_last, ())
    yield f"plugins.{GUARDS_ALONE}", config.guards_alone, _held(app, config.guards_alone, False)
    for name in sorted({*config.plugins, *(info.name for info in app.plugins.listing())}):
        yield from _plugin_values(app, name)


def _table_values(app: Services, header: str, table: Value) -> Iterator[tuple[str, object, str]]:
    for key in keys_of(type(table)):
        value = getattr(table, key)
        yield f"{header}.{key}", _json(value), _held(app, value, getattr(type(table), key))


def _held(app: Services, value: object, default: object) -> str:
    """Return where a value comes from that this file does not set."""
    return KEPT if app.config.problems and value != default else BUILT_IN


def _plugin_values(app: Services, name: str) -> Iterator[tuple[str, object, str]]:
    entry = app.config.plugin(name)
    kept = KEPT if app.config.problems and name in app.config.plugins else BUILT_IN
    info = next((info for info in app.plugins.listing() if info.name == name), None)
    for field in keys_of(PluginConfig):
        if field != "settings":
            value, source = getattr(entry, field), kept
            if field == "enabled" and info is not None and info.reason == ALONE:
                value = False
            if field == "timeout" and info is not None:
                value, source = info.timeout, PLUGIN if info.timeout_from == DECLARED else kept
            yield f"plugins.{name}.{field}", value, source
    where = f"plugins.{name}.settings" if info is None else info.settings_key
    for key, value in app.plugins.settings(name).items():
        yield f"{where}.{key}", value, KEPT if kept == KEPT and key in entry.settings else PLUGIN


def _json(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
