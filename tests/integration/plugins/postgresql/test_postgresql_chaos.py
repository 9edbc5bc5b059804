"""Many processes of two machines at one document, killed and cut off at random: nothing is counted twice or lost."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from hookrouter.storage.interface import StoreError
from hookrouter_postgresql import locks
from support.forked import Forked

_EACH = 25


def test_what_belongs_together_stays_together_whoever_is_killed(storage, open_storage, server, monkeypatch):
    """A count, and what each has added to it, are written as one, under a lock, or by replacing what was read."""
    monkeypatch.setattr(locks, "_LEASE", 2.0)
    monkeypatch.setattr(locks, "_RENEW", 0.5)
    store = storage.store("", pytest.fail)
    for name in ("locked", "replaced"):
        store.write(name, "count", {"n": 0})

    def count(child: Forked) -> None:
        mine = open_storage(f"machine-{os.getpid() % 2}")
        theirs = mine.store("", pytest.fail, machine="one")
        share = f"share-{os.getpid()}"
        done = 0
        while done < _EACH:
            try:
                with theirs.lock("count", "count", 20), mine.together():
                    former: Any = theirs.read("locked", "count")
                    own: Any = theirs.read("locked", share) or {"n": 0}
                    theirs.write("locked", "count", {"n": former["n"] + 1}, durable=False)
                    theirs.write("locked", share, {"n": own["n"] + 1}, durable=False)
                with mine.together():
                    former = theirs.read("replaced", "count")
                    if theirs.replace("replaced", "count", {"n": former["n"] + 1}, unchanged=former):
                        own = theirs.read("replaced", share) or {"n": 0}
                        theirs.write("replaced", share, {"n": own["n"] + 1})
                done += 1
                child.say("counted")
            except StoreError:
                # Cut off; whether it was saved shows in the sums alone.
                continue

    children = [Forked(count) for _ in range(6)]
    try:
        for turn in range(40):
            children[turn % 6].heard()
            if turn % 10 == 5:
                server.ask(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name = 'hookrouter' AND random() < 0.5"
                )
            if turn in (15, 30):
                children[turn % 6].end(signal.SIGKILL)
        for child in children:
            while child.heard() not in ("end", ""):
                pass
    finally:
        for child in children:
            child.__exit__(None, None, None)
    for name in ("locked", "replaced"):
        entries: dict[str, Any] = dict(store.entries(name))
        whole = entries.pop("count")["n"]
        assert whole == sum(share["n"] for share in entries.values()), name
        assert whole >= 4 * _EACH
