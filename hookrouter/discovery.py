"""Which plugins are installed and which hooks they implement, from a cache that is cheap to check.

Reading entry points needs :mod:`importlib.metadata`, and knowing what a plugin implements needs its import; both cost
more than the rest of a hook run. So a scan (:mod:`hookrouter.discovery_scan`) writes an index once, and every later
process reads it after comparing modification times: of the site folders (which change when a distribution is
installed or removed; where one changed for another reason, its list of distributions decides), of the
``entry_points.txt`` files that announce plugins, and of the source files that hold hook implementations. A folder that
is only on the way of one process, such as the current one, never counts. An index with a broken plugin in it is
good for a minute only, because what broke the plugin may be none of these files.
"""

from __future__ import annotations

import os
import sys

from hookrouter import __version__, _json
from hookrouter.names import digest
from hookrouter.plugin_settings import decode as decode_settings
from hookrouter.values import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.home import Home
    from hookrouter.plugin_settings import OwnSettings

__all__ = ["DiscoveredPlugin", "environment_key", "file_stamp", "load_index", "read_cache", "write_cache"]

BROKEN_SECONDS = 60.0
"""How long an index that holds a broken plugin is trusted."""

NO_CACHE_VARIABLE = "HOOKROUTER_NO_CACHE"
"""Set to anything but the empty string to scan in every process."""


class DiscoveredPlugin(Value):
    """One entry point of the group ``hookrouter``, as the last scan found it."""

    __slots__ = ("distribution", "error", "files", "hints", "hooks", "name", "settings", "value", "version", "waits")

    name: str
    """The entry point's name, which is the plugin's name everywhere."""
    value: str
    """What the entry point refers to: ``package.module`` or ``package.module:attribute``."""
    distribution: str
    version: str
    hooks: tuple[str, ...] | None
    """The hooks that it implements; None where it could not be imported, now or ever before."""
    error: str
    """Why it cannot be used; empty where it can."""
    files: tuple[tuple[str, int], ...]
    """Files whose change makes this record stale, each with its modification time in nanoseconds."""
    hints: tuple[str, ...]
    """What is probably a mistake in it, one line each."""
    waits: tuple[tuple[str, float, str | None], ...]
    """The hooks in which it may wait, each with the most seconds and the setting that it needs
    (:func:`hookrouter.markers.waits`)."""
    settings: OwnSettings | None
    """The class that it declares for its settings, and what an empty table gives; None where it declares none."""

    def __init__(
        self,
        *,
        name: str,
        value: str,
        distribution: str = "",
        version: str = "",
        hooks: tuple[str, ...] | None = None,
        error: str = "",
        files: tuple[tuple[str, int], ...] = (),
        hints: tuple[str, ...] = (),
        waits: tuple[tuple[str, float, str | None], ...] = (),
        settings: OwnSettings | None = None,
    ) -> None:
        """Take the fields as they are."""
        self._set(
            name=name,
            value=value,
            distribution=distribution,
            version=version,
            hooks=hooks,
            error=error,
            files=files,
            hints=hints,
            waits=waits,
            settings=settings,
        )


def load_index(home: Home, environ: Mapping[str, str]) -> tuple[DiscoveredPlugin, ...]:
    """Return the installed plugins in order of their names, scanning only when the cached index is stale.

    Raises whatever a scan raises where the environment cannot be read at all.
    """
    if not environ.get(NO_CACHE_VARIABLE):
        cached = _fresh(home)
        if cached is not None:
            return cached
    from hookrouter.discovery_scan import scan

    return scan(home)


def cache_file(home: Home) -> str:
    """Return the path of the index: one for each interpreter and set of site folders, so that none evicts another."""
    return os.path.join(home.cache, f"plugins-{digest(repr((sys.prefix, sys.version_info[:3], _site_folders())))}.json")


def environment_key() -> dict[str, object]:
    """Return what tells one state of the environment from the next, as JSON values."""
    folders = _site_folders()
    return {
        "version": __version__,
        "folders": [[folder, file_stamp(folder)] for folder in folders],
        "distributions": _distributions(folders),
    }


def file_stamp(path: str) -> int:
    """Return the modification time of a file or folder in nanoseconds, or -1 where there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return -1


def read_cache(home: Home) -> tuple[DiscoveredPlugin, ...]:
    """Return the plugins of the last index, however old; none where there is none."""
    try:
        return _plugins(_document(home))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return ()


def write_cache(home: Home, plugins: tuple[DiscoveredPlugin, ...], key: Mapping[str, object]) -> None:
    """Save the index under the key that was read before the scan began. Failing costs speed, never correctness."""
    from hookrouter.clock import now
    from hookrouter.home import ensure
    from hookrouter.store import replace_file

    records = [
        {
            **{name: getattr(plugin, name) for name in plugin.__slots__},
            "settings": None if plugin.settings is None else plugin.settings.encode(),
        }
        for plugin in plugins
    ]
    document = {**key, "plugins": records, "written": now()}
    try:
        ensure(home.cache)
        replace_file(cache_file(home), _json.dumps(document).encode("ascii"), durable=False)
    except OSError:
        return


def _fresh(home: Home) -> tuple[DiscoveredPlugin, ...] | None:
    """Return the cached index if nothing has changed since it was written, else None."""
    try:
        document = _document(home)
        plugins = _plugins(document)
        if document["version"] != __version__:
            return None
        if any(plugin.error for plugin in plugins) and not _is_recent(document["written"]):
            return None
        if any(file_stamp(path) != stamp for plugin in plugins for path, stamp in plugin.files):
            return None
        folders = _site_folders()
        if document["folders"] == [[folder, file_stamp(folder)] for folder in folders]:
            return plugins
        if document["distributions"] != _distributions(folders):
            return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    write_cache(home, plugins, environment_key())
    return plugins


def _is_recent(written: object) -> bool:
    from hookrouter.clock import now

    return isinstance(written, float) and 0 <= now() - written < BROKEN_SECONDS


def _distributions(folders: list[str]) -> list[list[object]]:
    """Return the metadata folders of the installed distributions, each with its modification time."""
    found: list[list[object]] = []
    for folder in folders:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        metadata = sorted(name for name in names if name.endswith((".dist-info", ".egg-info")))
        found.extend([os.path.join(folder, name), file_stamp(os.path.join(folder, name))] for name in metadata)
    return found


def _document(home: Home) -> dict[str, object]:
    with open(cache_file(home), "rb") as file:
        # The index names modules that are imported: nobody else's is trusted.
        if os.fstat(file.fileno()).st_uid != os.geteuid():
            raise PermissionError
        document = _json.loads(file.read())
    if not isinstance(document, dict):
        raise TypeError
    return document


def _plugins(document: dict[str, object]) -> tuple[DiscoveredPlugin, ...]:
    return tuple(_plugin(record) for record in _items(document["plugins"]))


def _plugin(record: object) -> DiscoveredPlugin:
    if not isinstance(record, dict):
        raise TypeError
    hooks = record["hooks"]
    return DiscoveredPlugin(
        name=_text(record["name"]),
        value=_text(record["value"]),
        distribution=_text(record["distribution"]),
        version=_text(record["version"]),
        hooks=None if hooks is None else tuple(_text(hook) for hook in _items(hooks)),
        error=_text(record["error"]),
        files=tuple((_text(path), _number(stamp)) for path, stamp in map(_items, _items(record["files"]))),
        hints=tuple(_text(hint) for hint in _items(record["hints"])),
        waits=tuple(
            (_text(hook), _seconds(seconds), None if setting is None else _text(setting))
            for hook, seconds, setting in map(_items, _items(record["waits"]))
        ),
        settings=decode_settings(record["settings"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError
    return value


def _seconds(value: object) -> float:
    if not isinstance(value, (int, float)):
        raise TypeError
    return float(value)


def _items(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _site_folders() -> list[str]:
    """Return the folders that hold installed distributions, in the order of the import path."""
    announced = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return [
        path for path in sys.path if path in announced or path.rstrip("/").endswith(("site-packages", "dist-packages"))
    ]
