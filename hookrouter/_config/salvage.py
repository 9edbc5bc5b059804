"""What a ``config.toml`` with problems still says about plugins: those that it closes or switches off are so.

All else is as the last file without problems said. A guard that somebody has just written must not be open because of
a mistake elsewhere in the file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrouter._config.schema import TABLES, plugin_table
from hookrouter._config.validation import FAULTS
from hookrouter.config import NO_PLUGINS, Config, PluginConfig
from hookrouter.util.text import closest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["is_kept", "salvaged"]


def salvaged(last_good: Config, raw: Mapping[str, object] | None, content: bytes) -> Config:
    """Return the config that holds while a file has problems.

    ``raw`` is what the file says; None if it is not even TOML: then the lines that can be made out count, and they
    close a plugin that the last good file left open, and switch off none that it closed. What is said of a failure in a
    word that is not known means closed: a guard must not be open because of a slip.
    """
    if raw is None:
        plugins = _with_lines(last_good.plugins, content)
    else:
        plugins = {**last_good.plugins, **_from_tables(last_good, raw)}
    return last_good._with(plugins=plugins)


def is_kept(config: Config) -> bool:
    """Whether what holds while a file has problems is what a file before it said, and not the defaults.

    What it says of plugins does not count: a file that was never right may close some.
    """
    return config._with(problems=(), plugins={}) != Config()


def _from_tables(last_good: Config, raw: Mapping[str, object]) -> dict[str, PluginConfig]:
    """Return the plugins that this file closes or switches off, and those that it opens with a table that is right.

    What stands below a key that was probably meant for ``plugins`` only closes.
    """
    found = {}
    for name, table in _plugin_tables(raw.get(PLUGINS)):
        try:
            entry = plugin_table(table)
            if entry.is_strict or last_good.plugin(name).is_strict:
                found[name] = entry
        except FAULTS:
            closed, disabled = _is_closed(table), table.get("enabled") is False
            if closed or disabled:
                former = last_good.plugin(name)
                found[name] = former._with(enabled=not disabled, on_error="closed" if closed else "open")
    for key, tables in raw.items():
        if key != PLUGINS and _is_meant(key, PLUGINS, TABLES):
            for name, table in _plugin_tables(tables):
                if _is_closed(table):
                    former = found.get(name) or last_good.plugin(name)
                    enabled = former.enabled or table.get("enabled") is not False
                    found[name] = former._with(enabled=enabled, on_error="closed")
    return found


def _plugin_tables(tables: object) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the tables of plugins."""
    for name, table in tables.items() if isinstance(tables, dict) else ():
        if name not in NO_PLUGINS and isinstance(table, dict):
            yield name, table


def _is_meant(found: str, key: str, keys: Iterable[str]) -> bool:
    """Whether what was found is a key of some, or was probably meant for it."""
    return found == key or closest(found, keys) == key


def _is_closed(table: Mapping[str, object]) -> bool:
    """Whether a table with mistakes says what to do on a failure, by whatever key and word, and not plainly "open"."""
    said = [value for key, value in table.items() if _is_meant(key, ON_ERROR, PluginConfig._fields)]
    return any(not isinstance(value, str) or value.strip().casefold() != "open" for value in said)


PLUGINS = "plugins"
ON_ERROR = "on_error"

_KEY = r"(?:[A-Za-z0-9_-]+|\"[^\"\\]*\"|'[^']*')"
_KEYS = re.compile(rf"{_KEY}(?:\s*\.\s*{_KEY})*")
_CLOSED = re.compile(r"""(?!["']?\s*open\b)""", re.IGNORECASE)
_ASSIGNED = re.compile(rf"""({_KEY})\s*=\s*(?!["']?\s*open\b|\s)""", re.IGNORECASE)
"""A key of an inline table, and a value that is not plainly "open"."""


def _with_lines(last_good: Mapping[str, PluginConfig], content: bytes) -> dict[str, PluginConfig]:
    """Return the plugins of the last good file, with what the lines of a file that is not TOML add to them."""
    closed, disabled = _scan(content.decode("utf-8-sig", "replace"))
    found = dict(last_good)
    for name in closed | disabled:
        former = last_good.get(name)
        if former is None or not former.is_strict:
            former = (former or PluginConfig())._with(enabled=name not in disabled)
        found[name] = former._with(on_error="closed" if name in closed else former.on_error)
    return found


def _scan(text: str) -> tuple[set[str], set[str]]:
    """Return the plugins that the lines of a text close and switch off, taking rather too many than too few.

    A header counts without its bracket, and a value without its quotes. A line that names no table of this file ends
    none, as it may be a line of a list. A key that was probably meant for another one counts as that, but closes only.
    """
    closed: set[str] = set()
    disabled: set[str] = set()
    table: list[str] = []
    meant: list[list[str]] = []
    for line in text.splitlines():
        match = _KEYS.match(line.lstrip(" \t["))
        if match is None:
            continue
        keys = [key.strip("\"'") for key in re.findall(_KEY, match[0])]
        rest = match.string[match.end() :].lstrip()
        if not rest.startswith("="):
            if keys[0] in TABLES:
                table, meant = keys, [keys]
            elif _is_meant(keys[0], PLUGINS, TABLES):
                header = [PLUGINS, *keys[1:]]
                # One word alone may be a line of a list, in the table that was begun before.
                table, meant = (table, [*meant, header]) if len(keys) == 1 else ([], [header])
            continue
        value = rest[1:].lstrip()
        path = keys if keys[0] == PLUGINS else [*table, *keys]
        if path[:1] == [PLUGINS] and path[2:] == ["enabled"] and value.startswith("false"):
            disabled.add(path[1])
        paths = [[*header, *keys] for header in meant]
        if len(keys) > 1 and _is_meant(keys[0], PLUGINS, TABLES):
            paths = [[PLUGINS, *keys[1:]]]
        closed.update(path[1] for path in paths if _closes(path, value))
    return closed, disabled


def _closes(path: list[str], value: str) -> bool:
    """Whether a line closes a plugin: by a key of its table, or by the whole table in one line."""
    if len(path) not in (2, 3) or path[0] != PLUGINS or path[1] in NO_PLUGINS:
        return False
    if len(path) == 3:
        return _CLOSED.match(value) is not None and _is_meant(path[2], ON_ERROR, PluginConfig._fields)
    return any(_is_meant(key.strip("\"'"), ON_ERROR, PluginConfig._fields) for key in _ASSIGNED.findall(value))
