"""The other machines that share this one's engine, for all requests and threads of the page."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from hookrouter.storage.interface import StoreError
from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from hookrouter import machines as fleet
    from hookrouter.context import Services

    T = TypeVar("T")

__all__ = ["Machines", "SeveralMachinesError"]

_AGAIN_SECONDS = 2.0
"""Seconds for which an engine that has failed is not asked again: each request would wait for it."""


class SeveralMachinesError(HookrouterError):
    """Several machines have what an address names without its machine; none of them is guessed at."""

    def __init__(self, what: str, machines: Sequence[str]) -> None:
        """``what`` they have, such as ``a session of this name``."""
        self.machines = sorted(machines)
        """Their names."""
        super().__init__(f"several machines have {what}: {', '.join(self.machines)}")


class Machines:
    """Keeps the engine open as long as ``[storage]`` stays as it is."""

    def __init__(self) -> None:
        """Opens nothing."""
        self._lock = threading.Lock()
        self._config: object = None
        self._others: fleet.Machines | None = None
        self._not_before = float("-inf")
        self.problem = ""
        """Why only this machine is shown; empty if the others are too, or if there are none."""

    @staticmethod
    def here(services: Services) -> str:
        """Return what this machine is called beside the others; empty if it shares nothing.

        That is known while the engine is away, too: an address that is made then may come to another machine's page.
        """
        return services.machines().here

    def ask(self, services: Services, ask: Callable[[fleet.Machines], T], otherwise: T) -> T:
        """Return what the others are asked for; ``otherwise`` without others, or if the engine cannot be used.

        Raises nothing that an engine does: :attr:`problem` says it.
        """
        if time.monotonic() < self._not_before:
            return otherwise
        try:
            others = self._opened(services)
            found = ask(others) if others.here else otherwise
        except Exception as error:  # noqa: BLE001 - an engine of a third party may raise anything
            self._not_before = time.monotonic() + _AGAIN_SECONDS
            self.problem = str(error) if isinstance(error, StoreError) else describe_error(error)
            return otherwise
        self.problem = ""
        return found

    def _opened(self, services: Services) -> fleet.Machines:
        with self._lock:
            if self._others is None or self._config != services.config.storage:
                former, self._others = self._others, None
                if former is not None:
                    former.close()
                opened = services.machines()
                opened.open()
                self._others = opened
                self._config = services.config.storage
            return self._others
