"""The history of all machines, from the engine that they share, for the whole of the page's life."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from hookrouter.config import FILES
from hookrouter.storage.interface import StoreError
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.machines import Machines
    from hookrouter.storage.history import HistoryStore

__all__ = ["KeptHistory", "KeptHistoryError"]

_ASK_AGAIN = 15.0
"""Seconds for which an engine is not asked again that could not be used, or keeps no history."""
_OPEN_AGAIN = 300.0
"""Seconds after which one that does is opened anew: what its settings name may have changed."""


class KeptHistoryError(StoreError):
    """The engine cannot be asked for its history now; the message says why."""


class KeptHistory:
    """The history of the engine that the config names, for a process that goes on. May be used by many threads."""

    def __init__(self) -> None:
        """Opens nothing yet."""
        self._lock = threading.Lock()
        self._config: object = None
        self._machines: Machines | None = None
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
        former, self._machines, self._history, self._problem = self._machines, None, None, ""
        try:
            if former is not None:
                former.close()
            self._machines = services.machines()
            self._history = self._machines.history()
        except Exception as error:  # noqa: BLE001 - an engine of a third party may raise anything
            self._problem = str(error) if isinstance(error, StoreError) else describe_error(error)
