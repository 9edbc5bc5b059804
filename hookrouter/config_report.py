"""What is wrong with a configuration, and where each of its values comes from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import attrs

from hookrouter import config as compiled
from hookrouter.config_reader import AnswerTable, PluginTable, examine, parse
from hookrouter.home import HOME_VARIABLE
from hookrouter.structuring import Problem, hide, suggestion
from hookrouter.toml_statements import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hookrouter.context import Services

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
]

FROM_FILE, BUILT_IN, PLUGIN, KEPT = "config.toml", "default", "plugin default", "last good file"
"""Where a value comes from."""

_TOML_LINE = re.compile(r"at line (\d+)")


class ConfigError(Exception):
    """The file is there and cannot be read."""


class Located(NamedTuple):
    """A problem of a configuration, with its place."""

    level: str
    """``error``, or ``warning`` for what may be on purpose."""
    line: int | None
    """The line in config.toml; None where it is not known or the fault is a key that is missing altogether."""
    problem: Problem


class Setting(NamedTuple):
    """One value that holds."""

    key: str
    value: object
    """As JSON; what is, by its key, a secret is not shown."""
    source: str
    """``config.toml``, ``default``, ``plugin default``, or ``last good file`` where this file has problems."""
    line: int | None
    """The line in config.toml, where it comes from there."""


def home_source(environ: Mapping[str, str]) -> str:
    """Return what says where config.toml is: the name of an environment variable, or ``platform``."""
    return HOME_VARIABLE if environ.get(HOME_VARIABLE) else "platform"


def read_lines(path: str) -> tuple[bytes, dict[str, int]]:
    """Return the content of config.toml and the line of each key; empty where there is none. Raises ConfigError."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        return b"", {}
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    return content, {} if parse(content)[0] is None else lines_of(content.decode("utf-8"))


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
    found = [Located("error", _line(problem, lines), problem) for problem in examine(content)]
    if not found:
        # Of a file with problems nothing is used, so that there is nothing more to compare.
        problems = [*_own_settings(app), *_gateways(app), *_answering(app)]
        found += [Located("error", line_of(problem.key, lines), problem) for problem in problems]
        found += [Located("warning", line_of(problem.key, lines), problem) for problem in _not_installed(app)]
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
    offered = app.plugins.gateways()
    for name in app.config.gateways:
        kind, own = app.config.gateway(name) or ("", {})
        key = f"gateways.{name}"
        gateway = offered.get(kind)
        if gateway is None:
            yield _not_offered(f"{key}.type", kind, offered)
            continue
        try:
            faults = gateway.check(own)
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a problem of that plugin
            faults = [f"the plugin's check failed: {type(error).__name__}: {error}"]
        for fault in faults:
            inner, _, text = fault.partition(": ")
            known = bool(text) and re.fullmatch(r"[\w.-]+", inner) is not None
            yield Problem(f"{key}.{inner}", text) if known else Problem(key, fault)


def _answering(app: Services) -> Iterator[Problem]:
    answer, plugins = app.config.answer, app.plugins
    channels = plugins.answer_channels()
    for index, name in enumerate(answer.channels):
        if name not in channels:
            yield _not_offered(f"answer.channels[{index}]", name, channels)
    planners, terminals = plugins.keystroke_planners(), plugins.terminal_backends()
    if answer.planner not in planners:
        yield _not_offered("answer.planner", answer.planner, planners)
    if answer.terminal not in terminals:
        yield _not_offered("answer.terminal", answer.terminal, terminals)


def _not_offered(key: str, name: str, offered: Iterable[str]) -> Problem:
    return _unknown(key, name, offered, "no active plugin offers it")


def _unknown(key: str, name: str, names: Iterable[str], why: str) -> Problem:
    known = sorted(names)
    close = suggestion(name, known)
    hint = f", did you mean {close!r}?" if close else ""
    listed = ", ".join(known) or "none"
    return Problem(key, f"found {name!r}{hint}; {why}; there are: {listed}", repr(name), listed, close)


def _not_installed(app: Services) -> Iterator[Problem]:
    names = [info.name for info in app.plugins.listing()]
    for index, name in enumerate(app.config.plugin_order):
        if name not in names:
            yield _unknown(f"plugins.order[{index}]", name, names, "no such plugin is installed")
    for name in app.config.plugins:
        if name not in names:
            yield _unknown(f"plugins.{name}", name, names, "no such plugin is installed")


def settings(app: Services) -> list[Setting]:
    """Return every value that holds, in the order of the file's documentation. Raises ConfigError."""
    _, lines = read_lines(app.home.config_file)
    if app.config.problems:
        lines = {}
    # What a plugin does not get does not come from the file.
    wrong = tuple(f"plugins.{info.name}.settings." for info in app.plugins.listing() if info.problems)
    lines = {key: line for key, line in lines.items() if not key.startswith(wrong)} if wrong else lines
    return [Setting(key, hide(_last(key), value), *_source(key, source, lines)) for key, value, source in _values(app)]


def _source(key: str, source: str, lines: Mapping[str, int]) -> tuple[str, int | None]:
    return (FROM_FILE, lines[key]) if key in lines else (source, None)


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _values(app: Services) -> Iterator[tuple[str, object, str]]:
    config = app.config
    for index, agent in enumerate(config.agents):
        key = f"agents[{index}]"
        for name in ("id", "sessions", "workdirs", "enabled"):
            yield f"{key}.{name}", _json(getattr(agent, name)), BUILT_IN
        if agent.fallbacks:
            yield f"{key}.gateways", [agent.gateway, *agent.fallbacks], BUILT_IN
        else:
            yield f"{key}.gateway", agent.gateway, BUILT_IN
        yield f"{key}.fallback_after", agent.fallback_after, BUILT_IN
    for gateway, table in config.gateways.items():
        for name, value in table.items():
            yield f"gateways.{gateway}.{name}", value, BUILT_IN
    for field in attrs.fields(AnswerTable):
        yield f"answer.{field.name}", _json(getattr(config.answer, field.name)), BUILT_IN
    yield "journal.payloads", config.journal_payloads, BUILT_IN
    yield f"plugins.{compiled.ORDER}", _json(config.plugin_order), BUILT_IN
    for name in sorted({*config.plugins, *(info.name for info in app.plugins.listing())}):
        yield from _plugin_values(app, name)


def _plugin_values(app: Services, name: str) -> Iterator[tuple[str, object, str]]:
    entry = app.config.plugin(name)
    kept = KEPT if app.config.problems and name in app.config.plugins else BUILT_IN
    for field in attrs.fields(PluginTable):
        if field.name != "settings":
            yield f"plugins.{name}.{field.name}", getattr(entry, field.name), kept
    for key, value in app.plugins.settings(name).items():
        yield f"plugins.{name}.settings.{key}", value, KEPT if kept == KEPT and key in entry.settings else PLUGIN


def _json(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
