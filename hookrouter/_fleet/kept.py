"""What an engine has kept of the history of machines, for whoever shows it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from hookrouter._fleet.spawn import ALONE_VARIABLE
from hookrouter._plugins.storage_engines import machine_name, open_engine
from hookrouter.config import FILES
from hookrouter.storage.history import StoryQuery, history_of
from hookrouter.storage.interface import StoreError
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter.context import Services
    from hookrouter.storage.history import HistoryStore
    from hookrouter.storage.interface import Storage

__all__ = ["KeptHistory", "KeptHistoryError", "all_kept", "kept_elsewhere"]

_PAGE = 200
_ASK_AGAIN = 15.0
"""Seconds for which an engine is not asked again that could not be used, or keeps no history."""
_OPEN_AGAIN = 300.0
"""Seconds after which one that does is opened anew: what its settings name may have changed."""


class KeptHistoryError(StoreError):
    """The engine cannot be asked for its history now; the message says why."""


def kept_elsewhere(
    services: Services, *, session: str | None, since: float | None, limit: int, machine: str | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Return, of each other machine whose history the engine keeps, the last ``limit`` stories, the oldest first.

    With ``machine``, of this one alone. 0 is all of them. Empty if nothing is shared, or the engine keeps no history or
    cannot be used: then the machines themselves are asked, and that says what is wrong. Raises nothing.
    """
    config = services.config.storage
    if config.engine == FILES or services.environ.get(ALONE_VARIABLE):
        return {}
    found: dict[str, list[dict[str, Any]]] = {}
    try:
        storage = open_engine(services.home, config, services.plugins)
        try:
            history = history_of(storage)
            for name in () if history is None else history.machines():
                if history is not None and name != machine_name(config) and machine in (None, name):
                    query = StoryQuery(session=session or "", since=since, machine=name)
                    found[name] = list(all_kept(history, query, limit))[::-1]
        finally:
            storage.close()
    except Exception:  # noqa: BLE001 - an engine of a third party may raise anything
        return {}
    return found


def all_kept(history: HistoryStore, query: StoryQuery, limit: int) -> Iterator[dict[str, Any]]:
    """Yield the newest ``limit`` stories that fit, all of them if it is 0, newest first. Raises StoreError."""
    after, left = "", limit
    while True:
        page = history.stories(query, min(left, _PAGE) if limit else _PAGE, after)
        yield from (dict(kept.story) for kept in page.stories)
        left -= len(page.stories)
        after = page.after
        if not after or (limit and left <= 0):
            return


class KeptHistory:
    """The history of the engine that the config names, for a process that goes on. May be used by many threads."""

    def __init__(self) -> None:
        """Opens nothing yet."""
        self._lock = threading.Lock()
        self._config: object = None
        self._storage: Storage | None = None
        self._history: HistoryStore | None = None
        self._problem = ""
        self._ask_at = float("-inf")

    def of(self, services: Services) -> HistoryStore | None:
        """Return it; None if nothing is shared, or the engine keeps none. Raises KeptHistoryError."""
        config = services.config.storage
        if config.engine == FILES:
            return None
        with self._lock:
            if self._config != config or time.monotonic() >= self._ask_at:
                self._config = config
                self._open(services)
                self._ask_at = time.monotonic() + (_ASK_AGAIN if self._history is None else _OPEN_AGAIN)
            if self._problem:
                raise KeptHistoryError(self._problem)
            return self._history

    def failed(self, error: Exception) -> KeptHistoryError:
        """Take note that a call has failed, so that nobody waits for the next one for a while; return it in words."""
        with self._lock:
            self._problem = str(error) if isinstance(error, StoreError) else describe_error(error)
            self._ask_at = time.monotonic() + _ASK_AGAIN
            return KeptHistoryError(self._problem)

    def _open(self, services: Services) -> None:
        former, self._storage, self._history, self._problem = self._storage, None, None, ""
        try:
            if former is not None:
                former.close()
            self._storage = open_engine(services.home, services.config.storage, services.plugins)
            self._history = history_of(self._storage)
        except Exception as error:  # noqa: BLE001 - an engine of a third party may raise anything
            self._problem = str(error) if isinstance(error, StoreError) else describe_error(error)
