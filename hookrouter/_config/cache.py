"""Loads the configuration: from a compiled form in the cache folder while ``config.toml`` is what it was.

Reading and checking the file itself is slow: :mod:`hookrouter._config.reader` does it when the file has changed. The
last configuration without problems is kept in the state folder too, because the cache may be lost: while the file has
problems, it holds.
"""

from __future__ import annotations

import os
import stat

from hookrouter.config import Config, PluginConfig
from hookrouter.storage.home import DocumentKind
from hookrouter.storage.own_file import keep_own_json, read_own_json, read_trusted
from hookrouter.util.filenames import digest
from hookrouter.util.value import NO_ITEMS, decode

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrouter.storage.home import Home
    from hookrouter.storage.interface import DocumentStore

__all__ = ["ALARM", "KIND", "config_name", "file_key", "forget", "keep", "load", "read_config"]

KIND = DocumentKind("config")
"""The kind of the document in the state folder, and of its lock."""

ALARM = DocumentKind("broken-config")
"""The kind of the documents that say who was told of the file's problems; they go once it has none."""

_FORMER_TABLES = ("page", "monitor")
"""The tables that were hookrouter's own before they were their plugins'."""

FORMAT = 16
"""The version of the compiled form; a cache of another one is not read."""


def load(
    home: Home,
    changed: Callable[[bool], None] | None = None,
    tables: Callable[[], Mapping[str, str]] | None = None,
) -> Config:
    """Return the configuration of a home: what is wrong with the file is in ``problems``.

    Raises OSError if what it says cannot be known, because no descriptor or no memory is left.

    The compiled form is taken from the cache while size, times and inode of the file are what they were. ``changed``
    is called if this is the first look at a file without problems that was another one before: with whether that one
    had problems. ``tables`` is asked for the tables that plugins declare, each with the plugin's name, if the file is
    read anew and has some that hookrouter does not.
    """
    key = file_key(home.config_file)
    if key is None:
        return Config()
    cached = read_own_json(_cache_file(home), certain=True)
    if cached.get("key") == key:
        config = _decoded(cached)
        if config is not None:
            return config
    config = _read_anew(home, key, cached, tables)
    former = _decoded(cached)
    if changed is not None and former is not None and not config.problems:
        changed(bool(former.problems))
    return config


def keep(home: Home) -> None:
    """Keep the compiled form in this process while its file is what it is, for the processes that it forks."""
    keep_own_json(_cache_file(home))


def forget(home: Home, tables: Mapping[str, str]) -> None:
    """Have the file read anew by the next who asks, if it has tables of plugins, and plugins declare others by now."""
    if read_own_json(_cache_file(home)).get("tables") in (None, tables):
        return
    try:
        os.unlink(_cache_file(home))
    except OSError:
        # There is none, or it cannot be written either.
        return


def file_key(path: str) -> list[object] | None:
    """Return what tells one state of a file from the next; None if there is no file: it is not there to be read.

    A link, or a folder above, that leads nowhere is no removed file: what it leads to may not be mounted at the moment.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        is_missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
        return None if is_missing and _is_removed(path) else [path, -1, -1, -1, -1]
    # The time of the last change of permissions too: a file that could not be read may be readable now.
    return [path, status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns]


def read_config(path: str) -> bytes | None:
    """Return what a ``config.toml`` holds; None if there is none. Raises OSError if it cannot be read.

    So also for a link that leads nowhere: what it leads to may not be mounted at the moment.
    """
    try:
        return read_trusted(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        if file_key(path) is None:
            return None
        if isinstance(error, FileNotFoundError):
            raise FileNotFoundError(error.errno, "it is behind a link that leads nowhere", path) from None
        raise


def _is_removed(path: str) -> bool:
    """Whether the nearest of a path's folders that has a name is one; then what is missing below it was removed.

    Below a device, such as the HOME ``/dev/null`` of many service users, there never was anything.
    """
    while True:
        try:
            status = os.lstat(path)
        except OSError:
            path = os.path.dirname(path)
            continue
        return os.path.isdir(path) or stat.S_ISCHR(status.st_mode)


def config_name(home: Home) -> str:
    """Return the name under which documents about this home's config.toml are kept."""
    return digest(home.config_file)


def _cache_file(home: Home) -> str:
    return os.path.join(home.cache, f"config-{config_name(home)}.json")


_last: tuple[Mapping[str, object], Config | None] = {}, None
"""The cached document that was decoded last, and what it says: a process may keep one (:func:`keep`)."""


def _decoded(cached: Mapping[str, object]) -> Config | None:
    """Return the config of a cached document; None if it is another version's, or nonsense."""
    global _last
    if _last[0] is not cached:
        try:
            config = decode(Config, cached["config"]) if cached["format"] == FORMAT else None
        except (KeyError, TypeError):
            config = None
        _last = cached, config
    return _last[1]


def _read_anew(
    home: Home, key: object, cached: Mapping[str, object], tables: Callable[[], Mapping[str, str]] | None
) -> Config:
    """Read the file, and save what it says in the cache and, as far as it holds, in the state folder."""
    from contextlib import suppress

    from hookrouter._config.reader import read
    from hookrouter.storage.engine import open_store
    from hookrouter.storage.interface import StoreError
    from hookrouter.storage.own_file import write_own_json
    from hookrouter.util.clock import now
    from hookrouter.util.value import encode

    store = open_store(home, lambda _text: None)
    kept = _kept(store, home)
    former = _decoded(cached)
    candidates = [(cached.get("saved_at"), former), (kept.get("saved_at"), _last_good(kept))]
    known = [(at, config) for at, config in candidates if isinstance(at, float) and config is not None]
    # Either may be the older one, because either may not have been writable.
    last_good = max(known, key=lambda one: one[0], default=(0.0, Config()))[1]
    asked: list[Mapping[str, str]] = []

    def declared() -> Mapping[str, str]:
        asked[:] = [tables()] if tables is not None else [NO_ITEMS]
        return asked[0]

    config = read(home.config_file, last_good, declared)
    holds = config._with(problems=())
    if _last_good(kept) != holds and (kept or holds != Config()):
        document = {"version": 2, "saved_at": now(), "config": encode(holds)}
        # What cannot be saved is read again by the next run.
        with suppress(StoreError):
            store.write(KIND, config_name(home), document)
    if not config.problems:
        _forget_alarms(store, home)
    document = {"format": FORMAT, "key": key, "saved_at": now(), "config": encode(config, sparse=True)}
    document["tables"] = dict(asked[0]) if asked else None
    write_own_json(_cache_file(home), document)
    return config


def _forget_alarms(store: DocumentStore, home: Home) -> None:
    """Have everybody told again of problems that the file has later."""
    from contextlib import suppress

    from hookrouter.storage.interface import StoreError

    with suppress(StoreError):
        for name in list(store.stamps(ALARM)):
            if name.startswith(f"{config_name(home)}-"):
                store.delete(ALARM, name)


def _kept(store: DocumentStore, home: Home) -> dict[str, object]:
    """Return what the state folder holds of the last good file."""
    from hookrouter.storage.interface import StoreError

    try:
        return store.read(KIND, config_name(home)) or {}
    except StoreError:
        return {}


def _in_plugins(config: object) -> object:
    """Return the config of a document with the tables where their plugins have them: older versions had two apart."""
    if not isinstance(config, dict) or not isinstance(plugins := config.get("plugins", {}), dict):
        return config
    rest, moved = dict(config), dict(plugins)
    for name in _FORMER_TABLES:
        table = rest.pop(name, {})
        # They had every key, with an empty text for one that was not set.
        if isinstance(table, dict) and (settings := {key: value for key, value in table.items() if value != ""}):
            moved[name] = {**moved.get(name, {}), "settings": settings}
    return {**rest, "plugins": moved}


def _last_good(kept: Mapping[str, object]) -> Config | None:
    """Return the config in a document of the state folder; of an older one, its plugins alone."""
    try:
        if kept.get("version") != 1:
            return decode(Config, _in_plugins(kept["config"]))
        plugins = kept["plugins"]
        return Config(plugins={name: decode(PluginConfig, row) for name, row in plugins.items()})  # type: ignore[attr-defined]
    except (KeyError, TypeError, AttributeError):
        return None
