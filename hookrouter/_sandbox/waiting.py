"""Waiting for a condition, with more patience on a machine under load."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, TypeVar

from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PATIENCE_VARIABLE", "WaitTimeoutError", "wait_until"]

PATIENCE_VARIABLE = "HOOKROUTER_TEST_PATIENCE"
"""How many times longer than on an idle machine everything is waited for."""

_POLL, _LONGEST_POLL = 0.05, 1.0
"""Seconds from one look to the next: at least as long as a look takes."""

T = TypeVar("T")


class WaitTimeoutError(HookrouterError):
    """What was waited for did not come in time; the message holds the last observation."""


def wait_until(probe: Callable[[], T | None], timeout: float, what: str, last: Callable[[], str] | None = None) -> T:
    """Call ``probe`` until it returns something true, and return that.

    ``timeout`` is in seconds, for an idle machine: the variable HOOKROUTER_TEST_PATIENCE multiplies it. ``what`` names
    what is waited for, and ``last`` describes the final state, both for the error. Raises WaitTimeoutError.
    """
    timeout *= float(os.environ.get(PATIENCE_VARIABLE) or 1)
    deadline = time.monotonic() + timeout
    while True:
        began = time.monotonic()
        value = probe()
        if value is not None and value:
            return value
        if time.monotonic() >= deadline:
            state = f"; last seen:\n{last()}" if last is not None else ""
            raise WaitTimeoutError(f"no {what} within {timeout:g} s{state}")
        # What is waited for needs the processor more than the looks do, which may each start a program.
        time.sleep(min(max(_POLL, time.monotonic() - began), _LONGEST_POLL))
