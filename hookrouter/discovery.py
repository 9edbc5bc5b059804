"""Which plugins are installed and which hooks they implement, from a cache that is cheap to check.

Reading entry points needs :mod:`importlib.metadata`, and knowing what a plugin implements needs its import; both cost
more than the rest of a hook run. So a scan (:mod:`hookrouter.discovery_scan`) writes an index once, and every later
process reads it after comparing a key: the modification times of the site folders (which change when a distribution
is installed or removed), of the ``entry_points.txt`` files that announce plugins, and of the source files that hold
hook implementations. A folder that is only on the way of one process, such as the current one, is never in the key.
"""

from __future__ import annotations

import os
import sys

from hookrouter import __version__, _json
from hookrouter.names import encode_name
from hookrouter.values import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.home import Home

__all__ = ["DiscoveredPlugin", "environment_key", "file_stamp", "load_index", "read_cache", "write_cache"]

NO_CACHE_VARIABLE = "HOOKROUTER_NO_CACHE"
"""Set to anything but the empty string to scan in every process."""


class DiscoveredPlugin(Value):
    """One entry point of the group ``hookrouter``, as the last scan found it."""

    __slots__ = ("distribution", "error", "files", "hooks", "name", "value", "version")

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
    ) -> None:
        """Take the fields as they are."""
        self._set(
            name=name, value=value, distribution=distribution, version=version, hooks=hooks, error=error, files=files
        )


def load_index(home: Home, environ: Mapping[str, str]) -> tuple[DiscoveredPlugin, ...]:
    """Return the installed plugins in order of their names, scanning only when the cached index is stale."""
    if not environ.get(NO_CACHE_VARIABLE):
        cached = read_cache(home, fresh=True)
        if cached is not None:
            return cached
    from hookrouter.discovery_scan import scan

    return scan(home)


def cache_file(home: Home) -> str:
    """Return the path of the index: one per Python environment, so that two never evict each other."""
    return os.path.join(home.cache, f"plugins-{encode_name(sys.prefix)}.json")


def environment_key() -> list[object]:
    """Return what identifies the set of installed distributions, JSON-able."""
    return [__version__, list(sys.version_info[:3]), [[folder, file_stamp(folder)] for folder in _site_folders()]]


def file_stamp(path: str) -> int:
    """Return the modification time of a file or folder in nanoseconds, or -1 where there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return -1


def read_cache(home: Home, *, fresh: bool) -> tuple[DiscoveredPlugin, ...] | None:
    """Return the cached index, or None where it is missing, unreadable or (with ``fresh``) stale."""
    try:
        with open(cache_file(home), "rb") as file:
            document = _json.loads(file.read())
        if not isinstance(document, dict):
            return None
        if fresh and document["key"] != environment_key():
            return None
        plugins = tuple(_plugin(record) for record in document["plugins"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if fresh and any(file_stamp(path) != stamp for plugin in plugins for path, stamp in plugin.files):
        return None
    return plugins


def write_cache(home: Home, plugins: tuple[DiscoveredPlugin, ...], key: list[object]) -> None:
    """Save the index under the key that was read before the scan began. Failing costs speed, never correctness."""
    from hookrouter.home import ensure
    from hookrouter.store import replace_file

    records = [{name: getattr(plugin, name) for name in plugin.__slots__} for plugin in plugins]
    try:
        ensure(home.cache)
        replace_file(cache_file(home), _json.dumps({"key": key, "plugins": records}).encode("ascii"), durable=False)
    except OSError:
        return


def _plugin(record: dict[str, object]) -> DiscoveredPlugin:
    hooks = record["hooks"]
    return DiscoveredPlugin(
        name=_text(record["name"]),
        value=_text(record["value"]),
        distribution=_text(record["distribution"]),
        version=_text(record["version"]),
        hooks=None if hooks is None else tuple(_text(hook) for hook in _items(hooks)),
        error=_text(record["error"]),
        files=tuple((_text(path), _number(stamp)) for path, stamp in map(_items, _items(record["files"]))),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError
    return value


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
