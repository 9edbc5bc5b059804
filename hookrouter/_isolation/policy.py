"""Decides, for one run, which plugins are called and how they are kept from harming the hook process.

``inline``: in the hook process, unwatched: all of them are hookrouter's own. ``marked``: in the hook process, which is
put right after each call, with a mark on disk that names the call. ``supervised``: in a child process, because a plugin
is set to fail closed (any other one could end the process before that is asked), or has ended a hook process before.
"""

from __future__ import annotations

import time

from hookrouter.storage.engine import look
from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hookrouter._isolation.circuit_breaker import Health
    from hookrouter._plugins.registry import PluginInfo
    from hookrouter.config import Config
    from hookrouter.storage.home import Home

__all__ = ["HEALTH", "INLINE", "MARKED", "SUPERVISED", "Isolation", "choose", "third_party"]

HEALTH = "plugins", "health"
"""Kind and name of the document of :mod:`hookrouter._isolation.circuit_breaker`; without it that module is not
loaded."""

INLINE = "inline"
MARKED = "marked"
SUPERVISED = "supervised"

_OWN = "hookrouter"
"""The distribution whose plugins need no containment."""


class Isolation(Value):
    """How the plugins of one run are called."""

    how: str
    """INLINE, MARKED or SUPERVISED."""
    third_party: frozenset[str]
    """The names of the listeners of other distributions that are called."""
    switched_off: frozenset[str]
    """The names of the listeners that are not called, because they failed too often."""
    health: Mapping[str, Health]
    """What is known of plugins that have failed, by name."""


def choose(home: Home, listeners: Sequence[PluginInfo], config: Config, warn: Callable[[str], None]) -> Isolation:
    """Return how the listeners of one run are called.

    Takes note of plugins in which an earlier run has ended, and tells ``warn`` of them. Raises nothing.
    """
    _isolate_ended(home, warn)
    health: Mapping[str, Health] = {}
    switched_off: frozenset[str] = frozenset()
    document = look(home, *HEALTH)
    if document:
        from hookrouter._isolation import circuit_breaker

        health, now = circuit_breaker.of_run(circuit_breaker.decoded(document), config), time.time()
        names = config.project_plugins
        circuits = circuit_breaker.open_circuits(health, config)
        switched_off = frozenset(
            info.name
            for info in listeners
            if info.name in circuits
            and not (
                circuit_breaker.is_due(circuits[info.name], now)
                and circuit_breaker.claim_trial(home, names.get(info.name, info.name))
            )
        )
    called = third_party(info for info in listeners if info.name not in switched_off)
    if not called:
        how = INLINE
    elif any(config.plugin(info.name).on_error == "closed" for info in listeners) or any(
        name in health and health[name].isolated for name in called
    ):
        how = SUPERVISED
    else:
        how = MARKED
    return Isolation(how, called, switched_off, health)


def third_party(listeners: Iterable[PluginInfo]) -> frozenset[str]:
    """Return the names of the plugins of other distributions."""
    return frozenset(info.name for info in listeners if info.distribution != _OWN)


def _isolate_ended(home: Home, warn: Callable[[str], None]) -> None:
    """Have plugins in which an earlier run ended called in another process from now on."""
    from hookrouter._isolation.crash_marks import stale_marks

    ended = stale_marks(home)
    if not ended:
        return
    from hookrouter._isolation.circuit_breaker import isolate

    isolate(home, ended)
    for name, hook in ended.items():
        warn(f"plugin {name}: an earlier hook run ended in its {hook}; it is called in another process from now on")
