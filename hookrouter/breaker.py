"""The circuit breaker: what is remembered of plugins that fail, and which of them are switched off for a while.

A plugin whose runs fail one after the other (``[plugins.NAME] breaker``, 5 by default, each within an hour of the one
before) is not called for ten minutes. Then one run tries it again: it is back when that run succeeds, and off for
another ten minutes when not. A plugin that is set to fail closed is never switched off: it is asked every time, and
refuses every time that it fails.

One document in the state folder holds it, ``plugins-health.json``. It is written when a plugin fails, when one is back,
and when one leaves something changed for the first time in a day; a hook run reads it where some plugin listens. It
also says which plugins are called in a process of their own from now on, since they have ended the hook's.
"""

from __future__ import annotations

import os
import time

from hookrouter import _json
from hookrouter.clock import iso
from hookrouter.containment import CLOSED
from hookrouter.course import FAILURES
from hookrouter.values import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from hookrouter.config import Config
    from hookrouter.home import Home

__all__ = [
    "COOL_DOWN",
    "FAILURES",
    "WINDOW",
    "Health",
    "claim_trial",
    "is_due",
    "keep_apart",
    "note",
    "off",
    "read",
    "reset",
    "switched_off",
    "will_trip",
]

COOL_DOWN = 600.0
"""Seconds for which a plugin is switched off before it is tried again."""

WINDOW = 3600.0
"""Seconds after which a failure does not count any more towards the next one."""

_KIND, _NAME = "plugins", "health"
_LOCK_SECONDS = 1.0
_MAX_DOCUMENT = 256 * 1024
_MAX_ERROR = 500
_FORGOTTEN = 30 * 24 * 3600.0
"""Seconds after which nothing is known any more of a plugin that has done nothing wrong since."""
_DAY = 24 * 3600.0
_LATEST = 253402300800.0
"""Seconds since 1970 at the end of the year 9999."""


class Health(Value):
    """What is remembered of one plugin that has failed, or left something changed. Times are seconds since 1970."""

    __slots__ = ("apart", "at", "error", "failures", "left", "told", "until")

    apart: bool
    """Whether it has ended the hook's process, or could not be interrupted: it is called in another process then."""
    failures: int
    """Runs that have failed since the last one that succeeded."""
    error: str
    """What went wrong the last time, with the hook; empty where nothing did."""
    at: float
    """When that was; 0.0 where nothing went wrong."""
    until: float
    """When a plugin that is switched off will be tried again; 0.0 where it is not switched off."""
    told: bool
    """Whether the user was told that it is switched off."""
    left: Mapping[str, float]
    """What it did that was put right after the call, such as "changed the working folder", and when last."""

    def __init__(
        self,
        failures: int = 0,
        error: str = "",
        at: float = 0.0,
        until: float = 0.0,
        told: bool = False,
        left: Mapping[str, float] | None = None,
        apart: bool = False,
    ) -> None:
        """Take the values as they are."""
        self._set(failures=failures, error=error, at=at, until=until, told=told, left=dict(left or {}), apart=apart)

    def describe(self, name: str) -> str:
        """Return one line about a plugin of this name that is switched off, for the user."""
        return f"plugin {name} has failed in {self.failures} runs in a row ({self.error}); {switched_off(name)}"

    def trouble(self) -> list[str]:
        """Return what it has done wrong, one line each, with the time."""
        lines = [f"{self.error} (at {iso(self.at)})"] if self.error else []
        return lines + [f"{what} (at {iso(when)})" for what, when in self.left.items()]


def read(home: Home) -> dict[str, Health]:
    """Return what is known, by the plugin's name; nothing where there is no document or it cannot be used."""
    try:
        descriptor = os.open(_path(home), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return {}
    try:
        document = _json.loads(os.read(descriptor, _MAX_DOCUMENT))
    except (OSError, ValueError):
        return {}
    finally:
        os.close(descriptor)
    tables = document.get("plugins") if isinstance(document, dict) else None
    if not isinstance(tables, dict):
        return {}
    return {name: health for name, table in tables.items() if (health := _decoded(table)) is not None}


def off(known: Mapping[str, Health], config: Config) -> dict[str, Health]:
    """Return those that are switched off, as the config has it now; some of them may be due for a trial."""
    return {
        name: health
        for name, health in known.items()
        if health.until and (table := config.plugin(name)).breaker and table.on_error != "closed"
    }


def is_due(health: Health, now: float) -> bool:
    """Whether a plugin that is switched off is to be tried again."""
    # A clock that was set back must not keep it off for longer.
    return not now < health.until <= now + COOL_DOWN


def claim_trial(home: Home, name: str) -> bool:
    """Take it upon this run to try a plugin again; False where another run has done so just now."""

    def claim(known: dict[str, Health], now: float) -> bool:
        health = known.get(name)
        if health is None or not health.until or not is_due(health, now):
            return False
        known[name] = _with(health, until=now + COOL_DOWN)
        return True

    return _change(home, claim)


def note(home: Home, known: Mapping[str, Health], records: Sequence[Mapping[str, Any]], config: Config) -> None:
    """Remember what the calls of one run showed; ``known`` is what was read at its beginning.

    ``records`` are the journal's entries of the calls. Nothing is written where there is nothing new. Never raises:
    what cannot be remembered must not stop a hook.
    """
    failed: dict[str, str] = {}
    apart: set[str] = set()
    called: set[str] = set()
    left: dict[str, set[str]] = {}
    said = {record["plugin"] for record in records if record.get("told")}
    for record in records:
        name, outcome = record["plugin"], record["outcome"]
        if outcome in FAILURES:
            failed[name] = f"{outcome} in {record['hook']}: {record.get('error', '')}"[:_MAX_ERROR]
            if outcome == "died" or record.get("killed"):
                apart.add(name)
        elif outcome in ("none", "replied", "wrapped"):
            called.add(name)
        if record.get("left"):
            if CLOSED in record["left"]:
                # The reply may be lost with them.
                apart.add(name)
            # Which variables it were is in the journal.
            left.setdefault(name, set()).update(what.partition(" (")[0] for what in record["left"])
    now = time.time()
    back = [name for name in called - failed.keys() if name in known and (known[name].failures or known[name].until)]
    fresh = [
        name
        for name, what in left.items()
        if any(not now - _DAY < (known.get(name) or Health()).left.get(one, 0.0) <= now for one in what)
    ]
    if not failed and not back and not fresh and not said and not apart:
        return

    def change(found: dict[str, Health], now: float) -> bool:
        for name, error in failed.items():
            found[name] = _failed(found.get(name) or Health(), error, config.plugin(name).breaker, now)
        for name in apart:
            found[name] = _with(found.get(name) or Health(), apart=True)
        for name in back:
            if name in found:
                found[name] = _with(found[name], failures=0, until=0.0, told=False)
        for name in said & found.keys():
            found[name] = _with(found[name], told=True)
        for name in fresh:
            health = found.get(name) or Health()
            found[name] = _with(health, left={**health.left, **dict.fromkeys(sorted(left[name]), now)})
        return True

    _change(home, change)


def keep_apart(home: Home, ended: Mapping[str, str]) -> None:
    """Remember that these plugins are to be called in another process; ``ended`` says in which hook each was.

    A hook run ended there, by the plugin or because somebody killed it: what is remembered is no failure. Never raises.
    """

    def change(known: dict[str, Health], now: float) -> bool:
        for name, hook in ended.items():
            text = f"a hook run ended in {hook}, and left no record"[:_MAX_ERROR]
            known[name] = _with(known.get(name) or Health(), error=text, at=now, apart=True)
        return True

    _change(home, change)


def will_trip(known: Mapping[str, Health], name: str, config: Config) -> bool:
    """Whether one more failure now switches a plugin off, or keeps it so."""
    table = config.plugin(name)
    if not table.breaker or table.on_error == "closed":
        return False
    health = _failed(known.get(name) or Health(), "", table.breaker, time.time())
    return bool(health.until)


def switched_off(name: str) -> str:
    """Return, as the end of a sentence, what it means for a plugin to be switched off."""
    minutes = f"{COOL_DOWN / 60:.0f} minutes"
    return f"it is switched off and will be tried again after {minutes}, or after `hookrouter plugins enable {name}`"


def reset(home: Home, name: str) -> bool:
    """Forget what is known of a plugin, so that it is called again; return whether anything was known of it.

    Raises hookrouter.store.StoreError where the document cannot be written.
    """
    return _changed(home, lambda known, _now: known.pop(name, None) is not None)


def _failed(health: Health, error: str, breaker: int, now: float) -> Health:
    in_a_row = health.failures + 1 if health.until or now - health.at <= WINDOW else 1
    trips = bool(breaker) and in_a_row >= breaker
    return _with(
        health,
        failures=in_a_row,
        error=error,
        at=now,
        until=now + COOL_DOWN if trips else 0.0,
        told=health.told and trips and bool(health.until),
    )


def _change(home: Home, change: Callable[[dict[str, Health], float], bool]) -> bool:
    from hookrouter.store import StoreError

    try:
        return _changed(home, change)
    except (StoreError, TypeError, ValueError):
        return False


def _changed(home: Home, change: Callable[[dict[str, Health], float], bool]) -> bool:
    """Read the document, change it and write it again, one process at a time; return what ``change`` returns.

    Where that is False nothing is written.
    """
    from hookrouter.store import Store

    store = Store(home.state, lambda _text: None)
    with store.lock(_KIND, _NAME, _LOCK_SECONDS):
        now = time.time()
        known = read(home)
        changed = change(known, now)
        if changed:
            kept = {name: _encoded(health) for name, health in known.items() if now - _latest(health) < _FORGOTTEN}
            store.write(_KIND, _NAME, {"version": 1, "plugins": kept}, durable=False)
    return changed


def _path(home: Home) -> str:
    return os.path.join(home.state, f"{_KIND}-{_NAME}.json")


def _with(health: Health, **changes: Any) -> Health:
    return Health(**{**dict(health._items()), **changes})


def _latest(health: Health) -> float:
    return max(health.at, *health.left.values(), 0.0)


def _encoded(health: Health) -> dict[str, object]:
    return {name: value for name, value in health._items() if value}


def _decoded(table: object) -> Health | None:
    """Return one plugin's entry, or None where something else has written it."""
    if not isinstance(table, dict) or not isinstance(table.get("left", {}), dict):
        return None
    kinds: dict[str, Any] = {
        "failures": int,
        "error": str,
        "at": (int, float),
        "until": (int, float),
        "told": bool,
        "left": dict,
        "apart": bool,
    }
    fields = {name: table[name] for name in kinds if name in table}
    # A bool is a number too, and harmless.
    usable = all(isinstance(value, kinds[name]) for name, value in fields.items())
    times = (fields.get("at", 0), fields.get("until", 0), *fields.get("left", {}).values())
    usable = usable and all(isinstance(when, int | float) and 0 <= when < _LATEST for when in times)
    return Health(**fields) if usable else None
