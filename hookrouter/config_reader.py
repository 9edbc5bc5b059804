"""Reads and checks ``config.toml``, and saves the compiled form that :mod:`hookrouter.config` loads.

Not imported on the way of ``hookrouter run`` unless the file has changed.
"""

from __future__ import annotations

import math
import os
import re
import time
import tomllib
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NewType, TypeVar, get_args, get_origin

import attrs
import cattrs

from hookrouter import config as compiled
from hookrouter.store import Store, StoreError
from hookrouter.structuring import (
    FAULTS,
    Fault,
    Problem,
    each,
    is_secret,
    plain,
    problems_of,
    suggestion,
    table_hook,
    wrong,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrouter.home import Home

__all__ = ["examine", "parse", "read"]

Folders = NewType("Folders", tuple[str, ...])
OnError = NewType("OnError", str)
Patience = NewType("Patience", float)
Count = NewType("Count", int)
Names = NewType("Names", tuple[str, ...])
Order = NewType("Order", tuple[str, ...])
Free = NewType("Free", dict[str, object])
GatewayTable = NewType("GatewayTable", dict[str, object])

T = TypeVar("T")

_ANSWER = compiled.AnswerConfig()
_PLUGIN = compiled.PluginConfig()

_KIND = "config"
"""The kind of both documents in the store, the cached one and the one of the state folder."""
_MAX_TIMEOUT = 86400
_MAX_WAIT = 86400
_MAX_COUNT = 100


@attrs.frozen
class AgentTable:
    """``[[agents]]``."""

    id: str
    sessions: tuple[str, ...] = ()
    workdirs: Folders = Folders(())
    enabled: bool = True
    gateway: str | None = None
    gateways: Names | None = None
    fallback_after: float = compiled.FALLBACK_AFTER

    def route(self) -> tuple[str, ...]:
        """Return the names of the agent's gateways, in order."""
        return self.gateways or (compiled.INBOX if self.gateway is None else self.gateway,)


@attrs.frozen
class AnswerTable:
    """``[answer]``."""

    channels: tuple[str, ...] = _ANSWER.channels
    planner: str = _ANSWER.planner
    terminal: str = _ANSWER.terminal
    wait: Patience = Patience(_ANSWER.wait)
    remind_after: Patience = Patience(_ANSWER.remind_after)
    remind_every: Patience = Patience(_ANSWER.remind_every)
    reminders: Count = Count(_ANSWER.reminders)
    escalate_after: float = _ANSWER.escalate_after
    escalate_to: str | None = None


@attrs.frozen
class PluginTable:
    """``[plugins.NAME]``."""

    enabled: bool = _PLUGIN.enabled
    on_error: OnError = OnError(_PLUGIN.on_error)
    timeout: float = _PLUGIN.timeout
    settings: Free = attrs.field(factory=lambda: Free({}))
    breaker: Count = Count(_PLUGIN.breaker)


@attrs.frozen
class PluginTables:
    """``[plugins]``: the calling order, and a table for each plugin."""

    order: Order = Order(())
    tables: dict[str, PluginTable] = attrs.field(factory=dict)


@attrs.frozen
class JournalTable:
    """``[journal]``."""

    payloads: bool = False


@attrs.frozen
class ConfigFile:
    """The whole file."""

    agents: list[AgentTable] = attrs.field(factory=list)
    gateways: dict[str, GatewayTable] = attrs.field(factory=dict)
    answer: AnswerTable = attrs.field(factory=AnswerTable)
    journal: JournalTable = attrs.field(factory=JournalTable)
    plugins: PluginTables = attrs.field(factory=PluginTables)


def read(home: Home, cached: Mapping[str, object] | None = None) -> compiled.Config:
    """Read, check and compile ``config.toml``. Never raises: what is wrong is in ``problems``.

    ``cached`` is a former cached document of this file. Of a file with problems nothing is used, except that a plugin
    keeps what makes hookrouter stricter: ``on_error = "closed"`` and ``enabled = false``, as this file says or, where
    its table is broken, as the last good file said. The latter is kept in the cache and in the state folder, because
    either may be lost or not writable. Of a file that is not even TOML, the lines that can be made out count; they
    close a plugin that the last good file left open, and switch off none that it closed.
    """
    path = home.config_file
    key = compiled.file_key(path)
    store = Store(home.state, lambda _text: None)
    kept = _kept(store, home)
    lasting = _latest(cached.get("lasting") if cached else None, kept)
    content, strict = b"", None
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        result, problems = None, [Problem("", f"cannot be read: {error.strerror or error}")]
    else:
        raw, problems = parse(content)
        if raw is not None:
            strict = _strict_plugins(raw)
        result, problems = (None, problems) if raw is None else _check(raw)
    if result is None:
        found = _with_lines(lasting, content) if strict is None else {**lasting, **strict}
    else:
        found = dict(result.plugins)
    lasting = {name: entry for name, entry in found.items() if entry.on_error == "closed" or not entry.enabled}
    if result is None:
        result = compiled.Config(
            plugins=lasting, problems=tuple(f"{os.path.basename(path)}: {problem.line}" for problem in problems)
        )
    _save(home, store, key, result, lasting, kept)
    return result


_TOO_DEEP = "not TOML: nested too deeply"


def parse(content: bytes) -> tuple[dict[str, Any] | None, list[Problem]]:
    """Return what a file holds, or None and why it is no TOML."""
    try:
        return tomllib.loads(content.decode("utf-8")), []
    except UnicodeDecodeError as error:
        text = f"found a byte that is not UTF-8 at position {error.start}; allowed: TOML in UTF-8"
    except tomllib.TOMLDecodeError as error:
        text = f"not TOML: {error}"
    except RecursionError:
        text = _TOO_DEEP
    return None, [Problem("", text)]


def examine(content: bytes) -> list[Problem]:
    """Return what is wrong with the content of a ``config.toml``, all of it at once."""
    raw, problems = parse(content)
    return problems if raw is None else _check(raw)[1]


def _kept(store: Store, home: Home) -> dict[str, object] | None:
    """Return what the state folder holds of the last good file: ``saved_at`` and ``plugins``."""
    try:
        return store.read(_KIND, compiled.cache_name(home))
    except StoreError:
        return None


def _latest(*documents: object) -> dict[str, compiled.PluginConfig]:
    """Return the plugins of the document that was saved last, of those that can be read."""
    latest, plugins = -math.inf, {}
    for document in documents:
        try:
            saved_at, found = document["saved_at"], compiled.decode_plugins(document["plugins"])  # type: ignore[index]
            if saved_at > latest:
                latest, plugins = saved_at, found
        except (KeyError, TypeError, AttributeError):
            continue
    return plugins


def _save(
    home: Home,
    store: Store,
    key: object,
    config: compiled.Config,
    lasting: Mapping[str, compiled.PluginConfig],
    kept: Mapping[str, object] | None,
) -> None:
    """Save the compiled form in the cache, and what lasts in the state folder too, if it is not there already."""
    name = compiled.cache_name(home)
    saved = {"saved_at": time.time(), "plugins": compiled.encode_plugins(lasting)}
    # What cannot be saved is read again by the next run.
    with suppress(StoreError):
        if _latest(kept) != lasting:
            store.write(_KIND, name, {"version": 1, **saved})
    document = {"format": compiled.FORMAT, "key": key, "config": compiled.encode(config), "lasting": saved}
    with suppress(StoreError):
        Store(home.cache, lambda _text: None).write(_KIND, name, document, durable=False)


def _check(raw: Mapping[str, object]) -> tuple[compiled.Config | None, list[Problem]]:
    """Return the config, or None and what is wrong."""
    try:
        file = _CONVERTER.structure(raw, ConfigFile)
    except (cattrs.BaseValidationError, cattrs.ForbiddenExtraKeysError) as error:
        return None, problems_of(error)
    except RecursionError:
        return None, [Problem("", _TOO_DEEP)]
    problems = _cross_check(file)
    if problems:
        return None, problems
    return (
        compiled.Config(
            agents=tuple(
                compiled.Agent(
                    one.id,
                    one.sessions,
                    one.workdirs,
                    one.enabled,
                    one.route()[0],
                    one.route()[1:],
                    float(one.fallback_after),
                )
                for one in file.agents
            )
            or (compiled.IMPLICIT_AGENT,),
            gateways=dict(file.gateways),
            answer=compiled.AnswerConfig(
                file.answer.channels,
                file.answer.planner,
                file.answer.terminal,
                wait=float(file.answer.wait),
                remind_after=float(file.answer.remind_after),
                remind_every=float(file.answer.remind_every),
                reminders=file.answer.reminders,
                escalate_after=file.answer.escalate_after,
                escalate_to=file.answer.escalate_to or "",
            ),
            plugins={name: _plugin(table) for name, table in file.plugins.tables.items()},
            plugin_order=file.plugins.order,
            journal_payloads=file.journal.payloads,
        ),
        [],
    )


def _plugin(table: PluginTable) -> compiled.PluginConfig:
    return compiled.PluginConfig(table.enabled, table.on_error, table.timeout, table.settings, table.breaker)


def _cross_check(file: ConfigFile) -> list[Problem]:
    """Return what is wrong between tables that are each right."""
    problems = []
    gateways = {compiled.INBOX, *file.gateways}
    first: dict[str, int] = {}
    for index, agent in enumerate(file.agents):
        key = f"agents[{index}]"
        if agent.id in first:
            text = f"found {agent.id!r} again; agents[{first[agent.id]}] has it already"
            problems.append(Problem(f"{key}.id", text, repr(agent.id)))
        first.setdefault(agent.id, index)
        if agent.gateway is not None and agent.gateways is not None:
            problems.append(
                _problem(key, Fault("gateway and gateways", "gateway for one, or gateways for several in order"))
            )
        names = ["gateway"] if agent.gateways is None else [f"gateways[{at}]" for at in range(len(agent.route()))]
        for name, gateway in zip(names, agent.route(), strict=True):
            if gateway not in gateways:
                problems.append(_problem(f"{key}.{name}", _unknown(gateway, gateways)))
        if len(set(agent.route())) != len(agent.route()):
            problems.append(_problem(f"{key}.gateways", Fault(repr(list(agent.route())), "each gateway once")))
    if file.answer.escalate_to is not None and file.answer.escalate_to not in gateways:
        problems.append(_problem("answer.escalate_to", _unknown(file.answer.escalate_to, gateways)))
    channels = list(file.answer.channels)
    if not channels:
        problems.append(_problem("answer.channels", Fault("an empty list", "one or more channel names")))
    if len(set(channels)) != len(channels):
        problems.append(_problem("answer.channels", Fault(repr(channels), "each channel once")))
    return problems


def _problem(key: str, fault: Fault) -> Problem:
    (problem,) = problems_of(fault, key)
    return problem


def _strict_plugins(raw: Mapping[str, object]) -> dict[str, compiled.PluginConfig]:
    """Return the plugin tables of a file with problems, a table that is wrong itself only with what makes it strict."""
    found = {}
    tables = raw.get("plugins")
    for name, table in tables.items() if isinstance(tables, dict) else ():
        if name == compiled.ORDER:
            continue
        try:
            found[name] = _plugin(_CONVERTER.structure(table, PluginTable))
        except FAULTS:
            closed = isinstance(table, dict) and table.get("on_error") == "closed"
            disabled = isinstance(table, dict) and table.get("enabled") is False
            if closed or disabled:
                found[name] = compiled.PluginConfig(enabled=not disabled, on_error="closed" if closed else "open")
    return found


_KEY = r"(?:[A-Za-z0-9_-]+|\"[^\"\\]*\"|'[^']*')"
_KEYS = re.compile(rf"{_KEY}(?:\s*\.\s*{_KEY})*")
_CLOSED = re.compile(r"""["']?closed\b""")
_CLOSED_INLINE = re.compile(r"""\bon_error["']?\s*=\s*["']?closed\b""")


def _with_lines(lasting: Mapping[str, compiled.PluginConfig], content: bytes) -> dict[str, compiled.PluginConfig]:
    """Return the plugins of the last good file, with what the lines of a file that is not TOML add to them."""
    closed, disabled = _scan(content.decode("utf-8", "replace"))
    found = dict(lasting)
    for name in closed | disabled:
        former = lasting.get(name) or compiled.PluginConfig(enabled=name not in disabled)
        on_error = "closed" if name in closed else former.on_error
        found[name] = compiled.PluginConfig(former.enabled, on_error, former.timeout, former.settings, former.breaker)
    return found


def _scan(text: str) -> tuple[set[str], set[str]]:
    """Return the plugins that the lines of a text close and switch off, taking rather too many than too few.

    A header counts without its bracket, and a value without its quotes. A line that names no table of this file ends
    none, as it may be a line of a list.
    """
    tables = {field.name for field in attrs.fields(ConfigFile)}
    closed, disabled = set(), set()
    table: list[str] = []
    for line in text.splitlines():
        match = _KEYS.match(line.lstrip(" \t["))
        if match is None:
            continue
        keys = [key.strip("\"'") for key in re.findall(_KEY, match[0])]
        rest = match.string[match.end() :].lstrip()
        if not rest.startswith("="):
            if keys[0] in tables:
                table = keys
            continue
        path, value = [*table, *keys], rest[1:].lstrip()
        if keys[0] == "plugins":
            path = keys
        if len(path) < 2 or path[0] != "plugins":
            continue
        if path[2:] == ["on_error"] and _CLOSED.match(value):
            closed.add(path[1])
        elif path[2:] == ["enabled"] and value.startswith("false"):
            disabled.add(path[1])
        elif len(path) == 2 and _CLOSED_INLINE.search(value):
            closed.add(path[1])
    return closed, disabled


def _unknown(name: str, gateways: Iterable[str]) -> Fault:
    return Fault(repr(name), ", ".join(sorted(gateways)), suggestion(name, gateways))


def _text(value: object, _kind: object = None) -> str:
    if not isinstance(value, str) or not value.strip():
        raise wrong(value, "a text that is not empty")
    return value


def _texts(value: object, _kind: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise wrong(value, "a list of texts")
    return tuple(each(enumerate(value), _text, tuple))


def _folder(value: object) -> str:
    text = _text(value)
    if not text.startswith(("/", "~/", "*")) and text != "~":
        raise wrong(value, "an absolute folder, or one that begins with ~/ or *")
    return text


def _folders(value: object, _kind: object) -> Folders:
    if not isinstance(value, list):
        raise wrong(value, "a list of folders")
    return Folders(tuple(each(enumerate(value), _folder, Folders)))


def _flag(value: object, _kind: object) -> bool:
    if not isinstance(value, bool):
        raise wrong(value, "true or false")
    return value


def _seconds(value: object, _kind: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= _MAX_TIMEOUT:
        raise wrong(value, f"seconds, more than 0 and at most {_MAX_TIMEOUT}")
    return float(value)


def _patience(value: object, _kind: object) -> Patience:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MAX_WAIT:
        raise wrong(value, f"seconds, at least 0 and at most {_MAX_WAIT}")
    return Patience(float(value))


def _count(value: object, _kind: object) -> Count:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MAX_COUNT:
        raise wrong(value, f"a whole number, at least 0 and at most {_MAX_COUNT}")
    return Count(value)


def _names(value: object, _kind: object) -> Names:
    if not isinstance(value, list) or not value:
        raise wrong(value, "a list of one or more gateway names")
    return Names(tuple(each(enumerate(value), _text, tuple)))


def _order(value: object) -> Order:
    if not isinstance(value, list):
        raise wrong(value, "a list of plugin names; no plugin can be called order")
    names = tuple(each(enumerate(value), _text, Order))
    if len(set(names)) != len(names):
        raise Fault(repr(list(names)), "each plugin once")
    return Order(names)


def _on_error(value: object, _kind: object) -> OnError:
    if value not in ("open", "closed"):
        raise wrong(value, '"open" or "closed"')
    return OnError(str(value))


def _free(value: object, _kind: object = None) -> Free:
    if not isinstance(value, dict):
        raise wrong(value, "a table")
    table = plain(value)
    assert isinstance(table, dict)  # noqa: S101 - for the type checker
    return Free(table)


def _gateway(value: object, _kind: object) -> GatewayTable:
    table = _free(value)
    each(table.items(), _no_secret, GatewayTable, keyed=True)
    if "type" not in table:
        raise ValueError('type is missing; allowed: the name of a gateway plugin\'s type, such as "inbox"')
    each([("type", table["type"])], _text, GatewayTable)
    return GatewayTable(table)


def _no_secret(entry: object) -> None:
    """Refuse a key that names a secret, in a gateway's table and the tables in it. Never shows the value."""
    key, value = entry if isinstance(entry, tuple) else ("", entry)
    if is_secret(key):
        raise ValueError(f"a secret does not belong here; allowed: {key}_env or {key}_file, which name where it is")
    if isinstance(value, dict):
        each(value.items(), _no_secret, GatewayTable, keyed=True)
    elif isinstance(value, list):
        each(enumerate(value), _no_secret, GatewayTable)


def _make_converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    for kind, hook in (
        (str, _text),
        (bool, _flag),
        (float, _seconds),
        (Patience, _patience),
        (Count, _count),
        (Folders, _folders),
        (OnError, _on_error),
        (Free, _free),
        (GatewayTable, _gateway),
    ):
        converter.register_structure_hook(kind, hook)

    def list_hook(value: Any, kind: Any) -> list[Any]:
        (item,) = get_args(kind)
        if not isinstance(value, list):
            raise wrong(value, "a list of tables")
        return each(enumerate(value), lambda one: converter.structure(one, item), kind)

    def plugins_hook(value: Any, _kind: Any) -> PluginTables:
        if not isinstance(value, dict):
            raise wrong(value, "tables with a name each")

        def one(entry: tuple[str, Any]) -> Any:
            name, table = entry
            return _order(table) if name == compiled.ORDER else converter.structure(table, PluginTable)

        tables = dict(zip(value, each(value.items(), one, PluginTables, keyed=True), strict=True))
        return PluginTables(tables.pop(compiled.ORDER, Order(())), tables)

    def named_hook(value: Any, kind: Any) -> dict[str, Any]:
        _, item = get_args(kind)
        if not isinstance(value, dict):
            raise wrong(value, "tables with a name each")
        return dict(zip(value, each(value.items(), lambda one: converter.structure(one, item), kind), strict=True))

    converter.register_structure_hook_func(lambda kind: kind == tuple[str, ...], _texts)
    converter.register_structure_hook_func(lambda kind: kind == Names | None, _names)
    converter.register_structure_hook_func(lambda kind: kind == str | None, _text)
    converter.register_structure_hook_factory(attrs.has, lambda kind: table_hook(kind, converter))
    converter.register_structure_hook(PluginTables, plugins_hook)
    converter.register_structure_hook_func(lambda kind: _origin(kind) is list, list_hook)
    converter.register_structure_hook_func(lambda kind: _origin(kind) is dict, named_hook)
    return converter


def _origin(kind: object) -> object:
    return get_origin(kind)


_CONVERTER = _make_converter()
