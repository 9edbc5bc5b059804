"""The server: how it is reached, what is changed on it at once, and what its errors mean.

All documents of one kind are a hash, by their names, and so are their stamps, which are new with every change. A third
hash has the stamp of the last change of each kind. One script changes all three, and tells of it.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import attrs
import redis
from hookrouter.messaging.secrets import SecretError, read_secret
from hookrouter.storage.interface import StoreError
from redis.backoff import NoBackoff
from redis.retry import Retry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from hookrouter_redis.engine import RedisSettings

__all__ = ["ANY", "GONE", "Change", "Server"]

_SECONDS = 5.0
"""How long the server may take for one answer."""
ANY = b"*"
"""As the stamp that a change expects: it is made whatever is there."""
GONE = b""
"""As a stamp, or as a body: there is no document."""

_APPLY = """
local marks = KEYS[#KEYS]
for i = 0, #ARGV / 5 - 1 do
  local place, name, expected = ARGV[5 * i + 1], ARGV[5 * i + 2], ARGV[5 * i + 5]
  if expected ~= '*' and (redis.call('HGET', KEYS[2 * i + 2], name) or '') ~= expected then
    return 0
  end
end
for i = 0, #ARGV / 5 - 1 do
  local bodies, stamps = KEYS[2 * i + 1], KEYS[2 * i + 2]
  local place, name, body, stamp = ARGV[5 * i + 1], ARGV[5 * i + 2], ARGV[5 * i + 3], ARGV[5 * i + 4]
  if body == '' then
    redis.call('HDEL', bodies, name)
    redis.call('HDEL', stamps, name)
  else
    redis.call('HSET', bodies, name, body)
    redis.call('HSET', stamps, name, stamp)
  end
  redis.call('HSET', marks, place, stamp)
  redis.call('PUBLISH', bodies, stamp)
end
return 1
"""
"""Makes all changes, or none of them and returns 0 if a document is not the expected one."""


@attrs.frozen
class Change:
    """One document that is written, or with the body :data:`GONE` deleted."""

    place: bytes
    """Machine, area and kind."""
    name: bytes
    body: bytes
    expected: bytes = ANY
    """The stamp that the document must have."""
    stamp: bytes = attrs.field(init=False, factory=lambda: os.urandom(12).hex().encode())


class _Open(threading.local):
    """The block of changes that this thread is in."""

    changes: dict[tuple[bytes, bytes], Change] | None = None
    pid = 0


class Server:
    """One server, as the stores of a process see it; a forked child makes connections of its own, as redis-py does."""

    def __init__(self, settings: RedisSettings) -> None:
        self._settings = settings
        self._open = _Open()
        self._client: Any = None
        self._apply: Any = None

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Return redis-py's client for a block. What it raises becomes StoreError."""
        if self._client is None:
            try:
                url = read_secret(self._settings, "url", os.environ)
                # Tried once: of a change that may have been made it must not be said that somebody else was first.
                limits = {"socket_timeout": _SECONDS, "socket_connect_timeout": 2.0, "retry": Retry(NoBackoff(), 0)}
                self._client = redis.Redis.from_url(url, **limits)
            except SecretError as error:
                raise StoreError(f"[storage] {error}") from None
            except ValueError:
                # What is said of it repeats parts of it.
                raise StoreError(
                    "[storage] url: this is not where a Redis is; allowed: redis://, rediss:// or unix:// and a place"
                ) from None
            self._apply = self._client.register_script(_APPLY)
        try:
            yield self._client
        except redis.RedisError as error:
            raise StoreError(f"Redis: {error or type(error).__name__}; check that the server is there") from None

    def key(self, what: str, place: bytes = b"") -> bytes:
        """Return the name of a key. The braces have a cluster keep all of them together."""
        return f"{{{self._settings.prefix}}}:{what}:".encode() + place

    def change(self, *changes: Change) -> bool:
        """Make some changes or none, at the end of the block if there is one; say whether what they expect was there.

        Only that of the first change of a document counts in a block.
        """
        block = self._mine()
        if block is None:
            return self._made(changes)
        for change in changes:
            former = block.get((change.place, change.name))
            block[change.place, change.name] = (
                change if former is None else attrs.evolve(change, expected=former.expected)
            )
        return True

    @contextmanager
    def together(self) -> Iterator[None]:
        """Return a block whose changes are made at its end, or not at all; within another one, part of that."""
        if self._mine() is not None:
            yield
            return
        changes: dict[tuple[bytes, bytes], Change] = {}
        self._open.changes, self._open.pid = changes, os.getpid()
        try:
            yield
        finally:
            self._open.changes = None
        if changes and not self._made(changes.values()):
            raise StoreError("Redis: nothing of what belongs together was saved: a part of it was changed meanwhile")

    def found(self, what: str, place: bytes, names: list[bytes] | None = None) -> dict[bytes, bytes]:
        """Return the ``body`` or the ``stamp`` of documents by their names, without ``names`` of all of a kind."""
        with self.client() as client:
            if names is None:
                found = dict(client.hgetall(self.key(what, place)))
            else:
                values = client.hmget(self.key(what, place), names) if names else []
                found = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        for change in (self._mine() or {}).values():
            if change.place == place and (names is None or change.name in names):
                found.pop(change.name, None)
                if change.body != GONE:
                    found[change.name] = getattr(change, what)
        return found

    def one(self, place: bytes, name: bytes) -> tuple[bytes, bytes] | None:
        """Return a document's body and stamp as they were at one moment; None if there is none."""
        if (change := (self._mine() or {}).get((place, name))) is not None:
            return None if change.body == GONE else (change.body, change.stamp)
        with self.client() as client, client.pipeline() as pipeline:
            pipeline.hget(self.key("body", place), name)
            pipeline.hget(self.key("stamp", place), name)
            body, stamp = pipeline.execute()
        return None if body is None or stamp is None else (body, stamp)

    def mark(self, place: bytes, name: bytes | None) -> bytes | None:
        """Return what is another one after each change of a document, or without ``name`` of a kind."""
        with self.client() as client:
            found: bytes | None = (
                client.hget(self.key("mark"), place) if name is None else client.hget(self.key("stamp", place), name)
            )
        return found

    def places(self) -> list[str]:
        """Return machine, area and kind, with zeros between, of all kinds that have documents."""
        with self.client() as client, client.pipeline() as pipeline:
            places = client.hkeys(self.key("mark"))
            for place in places:
                pipeline.exists(self.key("body", place))
            there = pipeline.execute()
        return [
            place.decode("utf-8", "surrogatepass") for place, is_there in zip(places, there, strict=True) if is_there
        ]

    def configured(self, key: str) -> str:
        """Return a setting of the server; empty if it does not tell."""
        with self.client() as client:
            try:
                found = client.config_get(key)
            except redis.ResponseError:
                client.ping()
                found = {}
        return str(found.get(key, ""))

    def close(self) -> None:
        """Close the connections. Raises nothing."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(redis.RedisError, OSError):
                client.close()

    def _mine(self) -> dict[tuple[bytes, bytes], Change] | None:
        return self._open.changes if self._open.pid == os.getpid() else None

    def _made(self, changes: Collection[Change]) -> bool:
        keys = [self.key(what, change.place) for change in changes for what in ("body", "stamp")]
        values = [
            value
            for change in changes
            for value in (change.place, change.name, change.body, change.stamp, change.expected)
        ]
        with self.client():
            return bool(self._apply([*keys, self.key("mark")], values))
