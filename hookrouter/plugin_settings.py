"""The settings of plugins: ``[plugins.NAME.settings]`` against the class that a plugin declares.

A class is known by what the last scan noted of it, and a table was checked once, in a process of its own, when it or
the plugin had changed. So a hook run reads plain values, and neither attrs nor cattrs are imported for them.
"""

from __future__ import annotations

import os

from hookrouter import _json
from hookrouter.names import digest
from hookrouter.values import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypeVar

    from hookrouter.config import Config
    from hookrouter.discovery import DiscoveredPlugin
    from hookrouter.home import Home

    T = TypeVar("T")

__all__ = ["OwnSettings", "build", "quickly_built", "settle"]


class OwnSettings(Value):
    """What is known of one plugin's settings: of the class, and of the table in config.toml."""

    __slots__ = ("fields", "problems", "target", "tuples", "values")

    target: str
    """``module:class`` of the attrs class."""
    fields: tuple[tuple[str, str, bool, object, str], ...]
    """Of each key: name, type in words, whether it is required, default as a JSON value, and help."""
    values: Mapping[str, object] | None
    """The settings as JSON values with all defaults filled in; where there are problems, the defaults alone. None
    where the class has no defaults for all."""
    problems: tuple[tuple[str, ...], ...]
    """What is wrong with the table: the items of :class:`hookrouter.structuring.Problem`."""
    tuples: tuple[str, ...] | None
    """The fields that are tuples, where the object can be built from ``values``; None where that needs cattrs."""

    def __init__(
        self,
        *,
        target: str = "",
        fields: tuple[tuple[str, str, bool, object, str], ...] = (),
        values: Mapping[str, object] | None = None,
        problems: tuple[tuple[str, ...], ...] = (),
        tuples: tuple[str, ...] | None = None,
    ) -> None:
        """Take the fields as they are."""
        self._set(target=target, fields=fields, values=values, problems=problems, tuples=tuples)

    @property
    def faults(self) -> tuple[str, ...]:
        """The problems in one line each, beginning with the key."""
        return tuple(f"{problem[0]}: {problem[1]}" for problem in self.problems)

    def encode(self) -> dict[str, object]:
        """Return this as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


def decode(record: object) -> OwnSettings | None:
    """Return what :meth:`OwnSettings.encode` gave; None for None. Raises TypeError or KeyError for anything else."""
    if record is None:
        return None
    if not isinstance(record, dict):
        raise TypeError
    values, tuples, problems = record["values"], record["tuples"], record["problems"]
    if not isinstance(values, dict | None) or not isinstance(record["target"], str):
        raise TypeError
    if any(not isinstance(text, str) for problem in problems for text in problem) or not all(map(len, problems)):
        raise TypeError
    return OwnSettings(
        target=record["target"],
        fields=tuple(
            (str(name), str(kind), bool(need), of, str(text)) for name, kind, need, of, text in record["fields"]
        ),
        values=values,
        problems=tuple(map(tuple, problems)),
        tuples=None if tuples is None else tuple(map(str, tuples)),
    )


def settle(home: Home, index: Iterable[DiscoveredPlugin], config: Config) -> dict[str, OwnSettings]:
    """Return the settings of each enabled plugin that declares a class, by the plugin's name. Never raises.

    A table that was not checked before is checked now, which imports the plugin in another process.
    """
    found: dict[str, OwnSettings] = {}
    asked = {}
    for plugin in index:
        entry = config.plugin(plugin.name)
        if plugin.settings is None or plugin.error or not entry.enabled:
            continue
        found[plugin.name] = plugin.settings
        if entry.settings:
            asked[plugin.name] = plugin
    if not asked:
        return found
    keys = {name: _key(plugin, config.plugin(name).settings) for name, plugin in asked.items()}
    path = _cache_file(home)
    cached = _read_cache(path)
    known = {name: own for name, key in keys.items() if (own := _known(cached.get(name), key)) is not None}
    if len(known) < len(asked):
        from hookrouter.discovery_scan import check_settings

        unknown = [(plugin, config.plugin(name).settings) for name, plugin in asked.items() if name not in known]
        known.update(check_settings(unknown))
        # What could not be checked is tried again by the next run.
        checked = {name: {"key": keys[name], **own.encode()} for name, own in known.items() if own.target}
        _write_cache(path, checked)
    return {**found, **known}


def build(kind: type[T], own: OwnSettings, table: Mapping[str, object]) -> T:
    """Return the settings object of a plugin whose table is ``table``. Raises what the class raises."""
    if own.tuples is not None and own.values is not None:
        return quickly_built(kind, own.values, own.tuples)
    from hookrouter.settings_classes import structure

    return structure(kind, {} if own.problems else table)


def quickly_built(kind: type[T], values: Mapping[str, Any], tuples: Iterable[str]) -> T:
    """Return an object of a class whose fields are the plain values, but for some that are tuples instead of lists."""
    return kind(**{**values, **{name: tuple(values[name]) for name in tuples}})


def _key(plugin: DiscoveredPlugin, table: Mapping[str, object]) -> str:
    return digest(_json.dumps([plugin.value, plugin.version, plugin.files, table]))


def _known(entry: object, key: str) -> OwnSettings | None:
    if not isinstance(entry, dict) or entry.get("key") != key:
        return None
    try:
        return decode(entry)
    except (KeyError, TypeError, ValueError):
        return None


def _cache_file(home: Home) -> str:
    from hookrouter.discovery import cache_file

    return os.path.join(home.cache, f"settings-{digest(repr((home.config_file, cache_file(home))))}.json")


def _read_cache(path: str) -> dict[str, object]:
    try:
        with open(path, "rb") as file:
            # What it says decides whether a guard runs: nobody else's is trusted.
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                return {}
            document = _json.loads(file.read())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _write_cache(path: str, document: Mapping[str, object]) -> None:
    from hookrouter.home import ensure
    from hookrouter.store import replace_file

    try:
        ensure(os.path.dirname(path))
        replace_file(path, _json.dumps(document).encode("ascii"), durable=False)
    except OSError:
        return
