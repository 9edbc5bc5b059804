"""Which plugins are installed and which hooks they implement, from a cache that is cheap to check.

Reading entry points needs :mod:`importlib.metadata`, and knowing what a plugin implements needs its import; both cost
more than the rest of a hook run. So a scan (:mod:`hookrouter._plugins.scan`) writes an index once, and every later
process reads it after comparing what tells a change (times, size, inode): of the site folders (which change when a
distribution is installed or removed; if one changed for another reason, its list of distributions decides), of the
``entry_points.txt`` files that announce plugins, and of the source files that hold hook implementations. A folder that
is only on the way of one process, such as the current one, never counts. An index with a broken plugin in it is
good for a minute only, because what broke the plugin may be none of these files.
"""

from __future__ import annotations

import os
import sys

from hookrouter._version import __version__
from hookrouter.storage.own_file import is_out_of_means, keep_own_json, read_own_json, write_own_json
from hookrouter.util.filenames import digest
from hookrouter.util.value import Value, decode, encode

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypeVar

    from hookrouter.storage.home import Home

    T = TypeVar("T")

__all__ = [
    "NOTHING_KNOWN",
    "NOT_INSTALLED",
    "DiscoveredPlugin",
    "OwnSettings",
    "declared_tables",
    "environment_key",
    "file_stamp",
    "keep_cache",
    "read_cache",
    "read_fresh",
    "read_scanned",
    "status_stamp",
    "write_cache",
    "write_scanned",
]

NOT_INSTALLED = "not installed, although config.toml sets it to fail closed"
"""The error of a plugin that was installed once: its hooks are kept, for a guard that is being reinstalled."""

NOTHING_KNOWN: Mapping[str, Any] = {
    "hooks": None,
    "waits": {},
    "ruled": [],
    "scripted": [],
    "stateless": [],
    "if_known": [],
    "matching": [],
    "wakes": [],
    "timeout": None,
    "files": [],
    "hints": [],
    "settings": None,
    "table": "",
}
"""What is told of a plugin that could not be imported, beside the error."""

BROKEN_SECONDS = 60.0
"""How long an index that holds a broken plugin is trusted."""


class OwnSettings(Value, kw_only=True):
    """What is known of one plugin's settings: of the class, and of the table in config.toml."""

    target: str = ""
    """``module:class`` of the attrs class."""
    fields: tuple[tuple[str, str, bool, object, str], ...] = ()
    """Of each key: name, type in words, whether it is required, default as a JSON value, and help."""
    values: dict[str, object] | None = None
    """The settings as JSON values with all defaults filled in; if there are problems, the defaults alone. None if the
    class has no defaults for all."""
    problems: tuple[tuple[str, str, str, str, str], ...] = ()
    """What is wrong with the table: the items of :class:`hookrouter._config.validation.Problem`."""
    tuples: tuple[str, ...] | None = None
    """The fields that are tuples, if the object can be built from ``values``; None if that needs cattrs."""

    @property
    def faults(self) -> tuple[str, ...]:
        """The problems in one line each, beginning with the key."""
        return tuple(f"{problem[0]}: {problem[1]}" for problem in self.problems)

    def quickly_built(self, kind: type[T]) -> T | None:
        """Return the settings as an object of their class; None if that needs cattrs."""
        values: dict[str, Any] | None = self.values
        if self.tuples is None or values is None:
            return None
        return kind(**{**values, **{name: tuple(values[name]) for name in self.tuples}})


class DiscoveredPlugin(Value, kw_only=True):
    """One entry point of the group ``hookrouter``, as the last scan found it."""

    name: str
    """The entry point's name, which is the plugin's name everywhere."""
    value: str
    """What the entry point refers to: ``package.module`` or ``package.module:attribute``."""
    distribution: str = ""
    version: str = ""
    hooks: tuple[str, ...] | None = None
    """The hooks that it implements; None if it could not be imported, now or ever before."""
    former_hooks: tuple[str, ...] = ()
    """Of one in which no hook is found, those that were found before: its file may be half written."""
    error: str = ""
    """Why it cannot be used; empty if it can."""
    files: tuple[tuple[str, str | int], ...] = ()
    """Files whose change makes this record stale, each with its :func:`file_stamp`; with a number in the records of
    older versions, which are stale."""
    hints: tuple[str, ...] = ()
    """What is probably a mistake in it, one line each."""
    waits: tuple[tuple[str, float, str | None], ...] = ()
    """The hooks in which it may wait, each with the most seconds and the setting that it needs
    (:func:`hookrouter.markers.waits`)."""
    ruled: tuple[str, ...] = ()
    """The hooks that are about the calls of ``[[approvals.rules]]`` alone (:func:`hookrouter.markers.ruled`)."""
    scripted: tuple[str, ...] = ()
    """The hooks that are about the calls of ``[[scripts]]`` alone (:func:`hookrouter.markers.scripted`)."""
    stateless: tuple[str, ...] = ()
    """The hooks in which it leaves nothing in its process (:func:`hookrouter.markers.stateless`)."""
    if_known: tuple[str, ...] = ()
    """The hooks that are registered only for clients that know their events (:func:`hookrouter.markers.if_known`)."""
    matching: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The hooks that are about some calls of their events, each with the values that matchers look at
    (:func:`hookrouter.markers.matching`)."""
    wakes: tuple[str, ...] = ()
    """The hooks that may begin a turn of Claude's (:func:`hookrouter.markers.wakes`)."""
    timeout: float | None = None
    """How many seconds it says that it needs in one run (:data:`hookrouter.markers.TIMEOUT`); None if it does not."""
    settings: OwnSettings | None = None
    """The class that it declares for its settings, and what an empty table gives; None if it declares none."""
    table: str = ""
    """The table of config.toml of its own that holds its settings; empty if ``[plugins.NAME.settings]`` does."""

    @property
    def settings_key(self) -> str:
        """The key of config.toml below which its settings stand."""
        return self.table or f"plugins.{self.name}.settings"

    @property
    def known_hooks(self) -> tuple[str, ...] | None:
        """The hooks that it implements, or did when some were found; None if it could never be imported."""
        return self.hooks or self.former_hooks or self.hooks


def cache_file(home: Home) -> str:
    """Return the path of the index: one for each interpreter and set of site folders, so that none evicts another."""
    return os.path.join(home.cache, f"plugins-{digest(repr((sys.prefix, sys.version_info[:3], _site_folders())))}.json")


def environment_key(home: Home) -> dict[str, object]:
    """Return what tells one state of the environment from the next, and of the home's own plugins, as JSON values.

    Raises OSError if that cannot be known, because no descriptor or no memory is left.
    """
    folders = _site_folders()
    return {
        "version": __version__,
        "folders": [[folder, file_stamp(folder)] for folder in folders],
        "distributions": _distributions(folders),
        "own": file_stamp(home.plugins),
    }


def file_stamp(path: str) -> str:
    """Return what tells one state of a file or folder from the next; empty if there is none.

    Not the time of modification alone: who copies a file, or unpacks it, may set that to what it was.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ""
    return status_stamp(status)


def status_stamp(status: os.stat_result) -> str:
    """Return what tells one state of a file or folder from the next."""
    return f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}-{status.st_ctime_ns}"


def read_cache(home: Home) -> tuple[DiscoveredPlugin, ...]:
    """Return the plugins of the last index, however old; none if there is none.

    Raises OSError if it cannot be read because no descriptor or no memory is left; so does :func:`read_fresh`.
    """
    document = read_own_json(cache_file(home), certain=True)
    try:
        return _plugins(document)
    except (TypeError, KeyError):
        return ()


def write_cache(home: Home, plugins: tuple[DiscoveredPlugin, ...], key: Mapping[str, object]) -> None:
    """Save the index under the key that was read before the scan began. Failing costs speed, never correctness."""
    from hookrouter.util.clock import now

    write_own_json(cache_file(home), {**key, "plugins": encode(plugins, sparse=True), "written": now()})


def read_fresh(home: Home) -> tuple[DiscoveredPlugin, ...] | None:
    """Return the cached index if nothing has changed since it was written, else None."""
    document = read_own_json(cache_file(home), certain=True)
    try:
        plugins = _plugins(document)
        if not _holds(document, plugins) or document["own"] != file_stamp(home.plugins):
            return None
        folders = _site_folders()
        if document["folders"] == [[folder, file_stamp(folder)] for folder in folders]:
            return plugins
        if document["distributions"] != _distributions(folders):
            return None
    except (TypeError, KeyError):
        return None
    write_cache(home, plugins, environment_key(home))
    return plugins


def read_scanned(home: Home, tree: str) -> tuple[DiscoveredPlugin, ...] | None:
    """Return what was found in the copy of a project's own plugins, if it holds; else None. Raises as above."""
    document = read_own_json(_scanned_file(home, tree), certain=True)
    try:
        plugins = _decoded_plugins(document)
        return plugins if document["tree"] == tree and _holds(document, plugins) else None
    except (TypeError, KeyError):
        return None


def write_scanned(home: Home, tree: str, plugins: tuple[DiscoveredPlugin, ...]) -> None:
    """Save what was found in the copy of a project's own plugins. Failing costs speed, never correctness."""
    from hookrouter.util.clock import now

    document = {"version": __version__, "tree": tree, "plugins": encode(plugins, sparse=True), "written": now()}
    write_own_json(_scanned_file(home, tree), document)


def _scanned_file(home: Home, tree: str) -> str:
    return os.path.join(home.cache, f"trusted-{digest(repr((tree, home.root, cache_file(home))))}.json")


def _holds(document: Mapping[str, object], plugins: tuple[DiscoveredPlugin, ...]) -> bool:
    """Whether what a scan found is still so, as far as the plugins' own files tell."""
    if document["version"] != __version__:
        return False
    if any(plugin.error not in ("", NOT_INSTALLED) for plugin in plugins) and not _is_recent(document["written"]):
        return False
    # Plugins of one distribution share its files.
    return all(file_stamp(path) == stamp for path, stamp in {pair for plugin in plugins for pair in plugin.files})


def declared_tables(plugins: Iterable[DiscoveredPlugin]) -> dict[str, str]:
    """Return the tables of config.toml that plugins declare, each with the plugin's name."""
    return {plugin.table: plugin.name for plugin in plugins if plugin.table}


def _is_recent(written: object) -> bool:
    from hookrouter.util.clock import now

    return isinstance(written, float) and 0 <= now() - written < BROKEN_SECONDS


def _distributions(folders: list[str]) -> str:
    """Return a digest of the metadata folders of the installed distributions, each with its stamp.

    A digest, because every hook run reads it, and there may be hundreds of them.
    """
    found: list[list[str]] = []
    for folder in folders:
        try:
            names = os.listdir(folder)
        except OSError as error:
            if is_out_of_means(error):
                raise
            continue
        metadata = sorted(name for name in names if name.endswith((".dist-info", ".egg-info")))
        found.extend([os.path.join(folder, name), file_stamp(os.path.join(folder, name))] for name in metadata)
    return digest(repr(found))


_decoded: tuple[object, tuple[DiscoveredPlugin, ...]] = None, ()
"""The document that was decoded last, and what it says: a process may keep one (:func:`keep_cache`)."""


def keep_cache(home: Home) -> None:
    """Keep the index in this process while its file is what it is, for the processes that it forks."""
    keep_own_json(cache_file(home))
    try:
        read_cache(home)
    except OSError:
        # No descriptor is left at this moment: each call reads it for itself.
        return


def _plugins(document: Mapping[str, object]) -> tuple[DiscoveredPlugin, ...]:
    global _decoded
    if _decoded[0] is document:
        return _decoded[1]
    plugins = _decoded_plugins(document)
    _decoded = document, plugins
    return plugins


def _decoded_plugins(document: Mapping[str, object]) -> tuple[DiscoveredPlugin, ...]:
    records = document["plugins"]
    if not isinstance(records, list):
        raise TypeError
    return tuple(decode(DiscoveredPlugin, record) for record in records)


def _site_folders() -> list[str]:
    """Return the folders that hold installed distributions, in the order of the import path."""
    announced = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return [
        path for path in sys.path if path in announced or path.rstrip("/").endswith(("site-packages", "dist-packages"))
    ]
