"""The hookrouter plugin ``redis``: the storage engine of that name, on Redis or Valkey."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import hookimpl, stateless

if TYPE_CHECKING:
    from hookrouter_redis.engine import RedisEngine


@hookimpl
@stateless
def storage_engine() -> RedisEngine:
    """Contribute the engine; imported here, so that a hook run without documents does not load it."""
    from hookrouter_redis.engine import RedisEngine

    return RedisEngine()
