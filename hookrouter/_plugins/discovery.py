"""Which plugins are installed, and which settings they have: from caches that are cheap to check, or looked at anew.

Looking anew imports the plugins in a process of their own (:mod:`hookrouter._plugins.scan`). A settings class is known
by what the last scan noted of it, and a table was checked once, when it or the plugin had changed.
"""

from __future__ import annotations

import os

from hookrouter._config.cache import load
from hookrouter._plugins.index import OwnSettings, cache_file, declared_tables, read_cache, read_fresh
from hookrouter.storage.own_file import read_own_json, write_own_json
from hookrouter.util import fastjson
from hookrouter.util.filenames import digest
from hookrouter.util.value import decode, encode

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hookrouter._plugins.index import DiscoveredPlugin
    from hookrouter.config import Config
    from hookrouter.storage.home import Home

__all__ = ["load_config", "load_index", "resolve_settings"]

NO_CACHE_VARIABLE = "HOOKROUTER_NO_CACHE"
"""Set to anything but the empty string to scan in every process."""


def load_index(home: Home, environ: Mapping[str, str], *, anew: bool = False) -> tuple[DiscoveredPlugin, ...]:
    """Return the installed plugins in order of their names; with ``anew`` even if the cached index looks fresh.

    Raises whatever a scan raises if the environment cannot be read at all.
    """
    if not anew and not environ.get(NO_CACHE_VARIABLE):
        cached = read_fresh(home)
        if cached is not None:
            return cached
    from hookrouter._plugins.scan import scan

    return scan(home)


def load_config(home: Home, environ: Mapping[str, str], changed: Callable[[bool], None] | None = None) -> Config:
    """Return the configuration of a home, in which plugins may have tables: :func:`hookrouter._config.cache.load`.

    If the environment cannot be read, as while hookrouter is being installed, those of the last index count: what the
    file says of guards holds in any case.
    """

    def tables() -> Mapping[str, str]:
        try:
            return declared_tables(load_index(home, environ))
        except Exception:  # noqa: BLE001 - whatever a scan raises
            return declared_tables(read_cache(home))

    return load(home, changed, tables)


def resolve_settings(
    home: Home, index: Iterable[DiscoveredPlugin], config: Config, scope: str = ""
) -> dict[str, OwnSettings]:
    """Return the settings of each enabled plugin that declares a class, by the plugin's name. Never raises.

    A table that was not checked before is checked now, which imports the plugin in another process. ``scope`` tells
    plugins that are not the home's from these.
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
    path = os.path.join(
        home.cache, f"settings-{digest(repr((home.config_file, cache_file(home)) + ((scope,) if scope else ())))}.json"
    )
    cached = read_own_json(path)
    known = {name: own for name, key in keys.items() if (own := _known(cached.get(name), key)) is not None}
    if len(known) < len(asked):
        from hookrouter._plugins.scan import check_settings

        unknown = [(plugin, config.plugin(name).settings) for name, plugin in asked.items() if name not in known]
        known.update(check_settings(unknown))
        # What could not be checked is tried again by the next run.
        write_own_json(path, {name: [keys[name], encode(own)] for name, own in known.items() if own.target})
    return {**found, **known}


def _key(plugin: DiscoveredPlugin, table: Mapping[str, object]) -> str:
    return digest(fastjson.dumps([plugin.value, plugin.version, plugin.files, table]))


def _known(entry: object, key: str) -> OwnSettings | None:
    if not isinstance(entry, list) or len(entry) != 2 or entry[0] != key:
        return None
    try:
        return decode(OwnSettings, entry[1])
    except TypeError:
        return None
