"""Calls functions of plugins for the page, so that one that hangs or raises costs no more than its own result.

Each call has a thread of its own that nobody waits for in the end: a pool would be used up by functions that hang, and
all other views with it.
"""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable

    T = TypeVar("T")

__all__ = ["MOST_AT_ONCE", "CallFailed", "PluginCalls"]

MOST_AT_ONCE = 8
"""Calls of one plugin that may run at once: those that hang are counted as long as they do."""


class CallFailed(HookrouterError):
    """A plugin's function has not done what it should; the message says why."""

    def __init__(self, reason: str, details: str = "") -> None:
        """``details`` is the traceback, if there is one."""
        super().__init__(reason)
        self.details = details


class PluginCalls:
    """The calls of one page."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self._lock = threading.Lock()
        self._running: Counter[str] = Counter()

    async def call(self, plugin: str, function: Callable[[], T], seconds: float) -> T:
        """Return what a function of a plugin returns. Raises CallFailed.

        What it does after ``seconds`` is not waited for, and cannot be stopped.
        """
        with self._lock:
            if self._running[plugin] >= MOST_AT_ONCE:
                raise CallFailed(f"{MOST_AT_ONCE} earlier calls of it have not ended yet")
            self._running[plugin] += 1
        loop = asyncio.get_running_loop()
        result: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            outcome: Any = None
            failure: CallFailed | None = None
            try:
                outcome = function()
            except BaseException as error:  # noqa: BLE001 - whatever a plugin raises, sys.exit included
                failure = CallFailed(describe_error(error), _traceback(error))
            finally:
                with self._lock:
                    self._running[plugin] -= 1
            # The page may have ended meanwhile.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_settle, result, outcome, failure)

        try:
            threading.Thread(target=run, name=f"plugin {plugin}", daemon=True).start()
        except RuntimeError as error:
            with self._lock:
                self._running[plugin] -= 1
            raise CallFailed(describe_error(error)) from None
        try:
            return await asyncio.wait_for(result, seconds)
        except TimeoutError:
            raise CallFailed(f"it took longer than {seconds:g} s") from None


def _settle(result: asyncio.Future[Any], outcome: object, failure: CallFailed | None) -> None:
    if result.done():
        # Too late: nobody waits any more.
        return
    if failure is not None:
        result.set_exception(failure)
    else:
        result.set_result(outcome)


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except BaseException:  # noqa: BLE001 - an exception of somebody else's may raise when it is shown
        return ""
