"""The engine ``redis``: documents as fields of hashes, one hash for each kind of a machine's documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from hookrouter.messaging.fields import FilePath, VariableName
from hookrouter.messaging.secrets import secret_faults
from hookrouter.storage.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from hookrouter_redis.server import Server
    from hookrouter_redis.store import RedisStore

__all__ = ["RedisEngine", "RedisSettings", "RedisStorage"]

_NEEDED = {
    "appendonly": ("yes", "what was saved is lost if the server ends"),
    "appendfsync": ("always", "what was saved in the last second is lost if the server's machine ends"),
    "maxmemory-policy": ("noeviction", "documents are thrown away when memory is short"),
}
"""Settings of the server, what they must be, and what happens if they are not."""


@attrs.frozen
class RedisSettings:
    """The keys of ``[storage]`` besides ``engine`` and ``machine``. Raises ValueError unless one names the server."""

    url_env: VariableName = attrs.field(
        default="",
        metadata={"help": "the environment variable that holds where the server is: redis://... or unix://..."},
    )
    url_file: FilePath = attrs.field(default="", metadata={"help": "the file (0600) that holds it"})
    prefix: str = attrs.field(default="hookrouter", metadata={"help": "what the names of all keys begin with"})

    def __attrs_post_init__(self) -> None:
        for fault in secret_faults(self, "url", "where the server is"):
            raise ValueError(fault)


class RedisEngine:
    """What ``[storage] engine = "redis"`` names."""

    name = "redis"
    settings = RedisSettings

    def open(self, settings: RedisSettings, machine: str, state: str) -> RedisStorage:
        """Return the documents of the server; makes no connection, and imports no driver, yet."""
        return RedisStorage(settings, machine)


class RedisStorage:
    """The documents of all machines on one server."""

    def __init__(self, settings: RedisSettings, machine: str) -> None:
        self._settings = settings
        self._machine = machine
        self._server: Server | None = None

    def store(self, area: str, report: Callable[[str], None], machine: str | None = None) -> RedisStore:
        """Return one area of a machine's documents, of this one's without ``machine``."""
        from hookrouter_redis.store import RedisStore

        return RedisStore(self._opened(), self._machine if machine is None else machine, area, report)

    def together(self) -> AbstractContextManager[None]:
        """Return a block at whose end all that was written in it is there, or nothing of it."""
        return self._opened().together()

    def machines(self) -> list[str]:
        """Return the machines that have documents, sorted."""
        return sorted({place.split("\0")[0] for place in self._opened().places()})

    def everywhere(self) -> None:
        """Return nothing: machines are looked at one after the other."""

    def init(self) -> list[str]:
        """Do nothing but look whether the server is there: keys come into being when they are written."""
        self._opened().configured("appendonly")
        return []

    def migrate(self, version: int | None = None) -> list[str]:
        """Do nothing: there is one version of this engine."""
        if version not in (None, 1):
            raise StoreError(f"there is no version {version}; allowed: 1")
        return []

    def check(self) -> list[str]:
        """Say where the server would lose what it was given."""
        try:
            found = {key: self._opened().configured(key) for key in _NEEDED}
        except StoreError as error:
            return [str(error)]
        return [
            f"Redis: {key} is {found[key] or 'not told'}, so {why}; run: redis-cli CONFIG SET {key} {needed}, "
            "and set it in the server's configuration"
            for key, (needed, why) in _NEEDED.items()
            if found[key] != needed
        ]

    def close(self) -> None:
        """Let go of connections that are not in use."""
        if self._server is not None:
            self._server.close()

    def _opened(self) -> Server:
        if self._server is None:
            try:
                from hookrouter_redis.server import Server
            except ImportError as error:
                raise StoreError(f"the engine redis needs redis-py ({error}); run: pip install redis") from error
            self._server = Server(self._settings)
        return self._server
