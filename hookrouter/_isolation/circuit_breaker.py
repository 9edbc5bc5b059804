"""The circuit breaker: what is remembered of plugins that fail, and which of them are not called for a while.

A plugin whose runs fail one after the other (``[plugins.NAME] breaker``, 5 by default, each within an hour of the one
before) is not called for ten minutes. Then one run tries it again: it is back when that run succeeds, and off for
another ten minutes when not. A plugin that is set to fail closed is never switched off: it is asked every time, and
refuses every time that it fails.

One document in the state folder holds it, ``plugins-health.json``. It is written when a plugin fails, when one is back,
and when one leaves something changed for the first time in a day; a hook run reads it if some plugin listens. It
also says which plugins are called in a process of their own from now on, since they have ended the hook's. A project's
plugin has its folder behind its name there, because another project may have one of the same name.
"""

from __future__ import annotations

import time

from hookrouter._isolation.containment import CLOSED
from hookrouter.storage.engine import look
from hookrouter.storage.home import DocumentKind
from hookrouter.storage.journal import FAILURES
from hookrouter.util.clock import iso
from hookrouter.util.value import NO_ITEMS, Value, decode

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from hookrouter.config import Config, PluginConfig
    from hookrouter.storage.home import Home

__all__ = [
    "COOL_DOWN",
    "KIND",
    "NAME",
    "WINDOW",
    "Health",
    "bare",
    "claim_trial",
    "decoded",
    "is_due",
    "isolate",
    "note",
    "of_run",
    "open_circuits",
    "read",
    "reset",
    "switched_off",
    "will_trip",
]

COOL_DOWN = 600.0
"""Seconds for which a plugin is switched off before it is tried again."""

WINDOW = 3600.0
"""Seconds after which a failure does not count any more towards the next one."""

KIND, NAME = DocumentKind("plugins"), "health"
"""The document."""

_OF_PROJECT = " of /"
"""What begins, behind a plugin's name in the document, its project's folder: no plugin's name has it."""

_KEYS = {"isolated": "apart", "isolated_by": "apart_by", "notified": "told", "side_effects": "left"}
"""The fields of :class:`Health` whose keys in the document are other words."""

_LOCK_SECONDS = 1.0
_MAX_ERROR = 500
_FORGOTTEN = 30 * 24 * 3600.0
"""Seconds after which nothing is known any more of a plugin that has done nothing wrong since."""
_DAY = 24 * 3600.0
_LATEST = 253402300800.0
"""Seconds since 1970 at the end of the year 9999."""


class Health(Value):
    """What is remembered of one plugin that has failed, or left something changed. Times are seconds since 1970."""

    failures: int = 0
    """Runs that have failed since the last one that succeeded."""
    error: str = ""
    """What went wrong the last time, with the hook; empty if nothing did."""
    at: float = 0.0
    """When that was; 0.0 if nothing went wrong."""
    until: float = 0.0
    """When a plugin that is switched off will be tried again; 0.0 if it is not switched off."""
    notified: bool = False
    """Whether the user was told that it is switched off."""
    side_effects: Mapping[str, float] = NO_ITEMS
    """What it did that was put right after the call, such as "changed the working folder", and when last."""
    isolated: bool = False
    """Whether it has ended the hook's process, or could not be interrupted: it is called in another process then."""
    isolated_by: str = ""
    """What it did then, with the hook; empty if that was written by an older version."""
    closed: bool = False
    """Whether ``failures`` were counted while it was set to fail closed: they say nothing of when it fails open."""
    recovered: float = 0.0
    """When it first worked again after what ``error`` says; 0.0 if it has not."""

    @property
    def is_open(self) -> bool:
        """Whether the circuit is open: the plugin is not called, if its table has a breaker."""
        return bool(self.until)

    def describe(self, name: str) -> str:
        """Return one line about a plugin of this name that is switched off, for the user."""
        return f"plugin {name} has failed in {self.failures} runs in a row ({self.error}); {switched_off(name)}"

    def trouble(self) -> list[str]:
        """Return what it has done wrong, one line each, with the time; no error that is over for a day."""
        lines = []
        if self.error and not self.recovered:
            lines.append(f"{self.error} (at {iso(self.at)})")
        elif self.error and time.time() - self.recovered < _DAY:
            lines.append(f"{self.error} (at {iso(self.at)}; it works since {iso(self.recovered)})")
        return lines + [f"{what} (at {iso(when)})" for what, when in self.side_effects.items()]

    @property
    def is_failing(self) -> bool:
        """Whether its latest run failed."""
        return bool(self.failures)

    def has_just_recovered(self, now: float) -> bool:
        """Whether it works again, but has failed within the last hour, so that it may again."""
        return bool(self.recovered) and not self.failures and 0 <= now - self.at <= WINDOW


def read(home: Home) -> dict[str, Health]:
    """Return what is known, by the name in the document; nothing if there is none or it cannot be used."""
    return decoded(look(home, KIND, NAME))


def decoded(document: Mapping[str, object]) -> dict[str, Health]:
    """Return what the document says, by the name in it; nothing for what something else has written."""
    tables = document.get("plugins")
    if not isinstance(tables, dict):
        return {}
    return {name: health for name, table in tables.items() if (health := _decoded(table)) is not None}


def of_run(known: Mapping[str, Health], config: Config) -> dict[str, Health]:
    """Return what is known of the plugins of one run, by their names."""
    names = config.project_plugins
    own = {name: known[key] for name, key in names.items() if key in known}
    return {**{name: health for name, health in known.items() if name not in names}, **own}


def bare(name: str) -> str:
    """Return a plugin's own name for one of the document."""
    return name.partition(_OF_PROJECT)[0]


def open_circuits(known: Mapping[str, Health], config: Config) -> dict[str, Health]:
    """Return the plugins that are switched off, as the config has it now; some of them may be due for a trial."""
    return {
        name: health
        for name, health in known.items()
        if health.is_open and (table := config.plugin(name)).breaker and table.on_error != "closed"
    }


def is_due(health: Health, now: float) -> bool:
    """Whether it is time to try a plugin that is switched off again."""
    # A clock that was set back must not keep it off for longer.
    return not now < health.until <= now + COOL_DOWN


def claim_trial(home: Home, name: str) -> bool:
    """Take it upon this run to try a plugin again; False if another has done so. ``name`` is that in the document."""

    def claim(known: dict[str, Health], now: float) -> bool:
        health = known.get(name)
        if health is None or not health.is_open or not is_due(health, now):
            return False
        known[name] = health._with(until=now + COOL_DOWN)
        return True

    return _change(home, claim)


def note(home: Home, known: Mapping[str, Health], records: Sequence[Mapping[str, Any]], config: Config) -> None:
    """Remember what the calls of one run showed; ``known`` is what was known of its plugins at its beginning.

    ``records`` are the journal's entries of the calls. Nothing is written if there is nothing new. Never raises:
    what cannot be remembered must not stop a hook.
    """
    failed: dict[str, str] = {}
    isolated: dict[str, str] = {}
    called: set[str] = set()
    left: dict[str, set[str]] = {}
    said = {record["plugin"] for record in records if record.get("told")}
    for record in records:
        name, outcome = record["plugin"], record["outcome"]
        if outcome in FAILURES:
            failed[name] = f"{outcome} in {record['hook']}: {record.get('error', '')}"[:_MAX_ERROR]
            if outcome == "died" or record.get("killed"):
                isolated[name] = failed[name]
        elif outcome in ("none", "replied", "wrapped"):
            called.add(name)
        if record.get("left"):
            if CLOSED in record["left"]:
                # The reply may be lost with them.
                isolated[name] = f"{CLOSED} in {record['hook']}"
            # Which variables it were is in the journal.
            left.setdefault(name, set()).update(what.partition(" (")[0] for what in record["left"])
    now = time.time()
    back = [name for name in called - failed.keys() if name in known and _is_to_recover(known[name])]
    fresh = [
        name
        for name, what in left.items()
        if any(not now - _DAY < (known.get(name) or Health()).side_effects.get(one, 0.0) <= now for one in what)
    ]
    if not failed and not back and not fresh and not said and not isolated:
        return

    def change(known: dict[str, Health], now: float) -> bool:
        found = of_run(known, config)
        for name, error in failed.items():
            found[name] = _failed(found.get(name) or Health(), error, config.plugin(name), now)
        for name, reason in isolated.items():
            found[name] = (found.get(name) or Health())._with(isolated=True, isolated_by=reason)
        for name in back:
            if name in found:
                found[name] = found[name]._with(failures=0, until=0.0, notified=False, recovered=now)
        for name in said & found.keys():
            found[name] = found[name]._with(notified=True)
        for name in fresh:
            health = found.get(name) or Health()
            side_effects = {**health.side_effects, **dict.fromkeys(sorted(left[name]), now)}
            found[name] = health._with(side_effects=side_effects)
        known.update({config.project_plugins.get(name, name): health for name, health in found.items()})
        return True

    _change(home, change)


def isolate(home: Home, ended: Mapping[str, str]) -> None:
    """Have these plugins, by their names in the document, called in another process from now on.

    ``ended`` says in which hook each was.

    A hook run ended there, by the plugin or because somebody killed it: what is remembered is no failure. Never raises.
    """

    def change(known: dict[str, Health], now: float) -> bool:
        for name, hook in ended.items():
            text = f"a hook run ended in {hook}, and left no record"[:_MAX_ERROR]
            health = known.get(name) or Health()
            known[name] = health._with(error=text, at=now, recovered=0.0, isolated=True, isolated_by=text)
        return True

    _change(home, change)


def will_trip(known: Mapping[str, Health], name: str, config: Config) -> bool:
    """Whether one more failure now switches a plugin off, or keeps it so."""
    table = config.plugin(name)
    if not table.breaker or table.on_error == "closed":
        return False
    health = _failed(known.get(name) or Health(), "", table, time.time())
    return health.is_open


def switched_off(name: str) -> str:
    """Return, as the end of a sentence, what it means for a plugin to be switched off."""
    name = bare(name)
    minutes = f"{COOL_DOWN / 60:.0f} minutes"
    return f"it is switched off and will be tried again after {minutes}, or after `hookrouter plugins enable {name}`"


def reset(home: Home, name: str) -> bool:
    """Forget what is known of all plugins of a name, so that they are called again; return whether anything was.

    Raises hookrouter.storage.interface.StoreError if the document cannot be written.
    """

    def forget(known: dict[str, Health], _now: float) -> bool:
        named = [one for one in known if bare(one) == name]
        for one in named:
            del known[one]
        return bool(named)

    return _changed(home, forget)


def _is_to_recover(health: Health) -> bool:
    return bool(health.failures or health.is_open or (health.error and not health.recovered))


def _failed(health: Health, error: str, table: PluginConfig, now: float) -> Health:
    closed = table.on_error == "closed"
    counts = closed == health.closed and (health.is_open or now - health.at <= WINDOW)
    in_a_row = health.failures + 1 if counts else 1
    trips = bool(table.breaker) and in_a_row >= table.breaker and not closed
    return health._with(
        failures=in_a_row,
        error=error,
        at=now,
        until=now + COOL_DOWN if trips else 0.0,
        notified=health.notified and trips and health.is_open,
        closed=closed,
        recovered=0.0,
    )


def _change(home: Home, change: Callable[[dict[str, Health], float], bool]) -> bool:
    from hookrouter.storage.interface import StoreError

    try:
        return _changed(home, change)
    except (StoreError, TypeError, ValueError):
        return False


def _changed(home: Home, change: Callable[[dict[str, Health], float], bool]) -> bool:
    """Read the document, change it and write it again, one process at a time; return what ``change`` returns.

    Nothing is written if that is False.
    """
    from hookrouter.storage.engine import open_store

    store = open_store(home, lambda _text: None)
    with store.lock(KIND, NAME, _LOCK_SECONDS):
        now = time.time()
        known = read(home)
        changed = change(known, now)
        if changed:
            kept = {name: _encoded(health) for name, health in known.items() if now - _latest(health) < _FORGOTTEN}
            store.write(KIND, NAME, {"version": 1, "plugins": kept}, durable=False)
    return changed


def _latest(health: Health) -> float:
    return max(health.at, *health.side_effects.values(), 0.0)


def _encoded(health: Health) -> dict[str, object]:
    return {_KEYS.get(name, name): value for name, value in health._items() if value}


def _decoded(table: object) -> Health | None:
    """Return one plugin's entry, or None if something else has written it."""
    if not isinstance(table, dict):
        return None
    named = {name: table[key] for name in Health._fields if (key := _KEYS.get(name, name)) in table}
    try:
        health = decode(Health, named)
    except (TypeError, OverflowError):
        return None
    times = (health.at, health.until, health.recovered, *health.side_effects.values())
    return health if all(0 <= when < _LATEST for when in times) else None
