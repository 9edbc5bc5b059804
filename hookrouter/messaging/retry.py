"""When a message is tried again, and when no more: the one retry policy.

backoff is imported with the first failure: it brings asyncio along, which costs a deliverer a third of its start.
"""

from __future__ import annotations

from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING

import attrs

from hookrouter.messaging.message import LONGEST_WAIT

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BLOCKING_FAILURES", "FIRST_WAIT", "KEEP_TRYING", "LONGEST_PAUSE", "RetryPolicy", "longest_wait"]

FIRST_WAIT = 1.0
"""Upper limit in seconds of the wait after the first failure; each further one is twice as long."""

KEEP_TRYING = 86400.0
"""Seconds of trying after which a message is given up."""

BLOCKING_FAILURES = 10
"""Failures after which a message no longer holds up those behind it."""

LONGEST_PAUSE = 3600.0
"""Upper limit in seconds of the pause that the other side may ask for."""


@cache
def _waits() -> tuple[float, ...]:
    import backoff

    waits = backoff.expo(base=2, factor=FIRST_WAIT)
    # The generators of backoff wait to be started, and then go on for ever.
    next(waits)
    return tuple(takewhile(lambda wait: wait < LONGEST_WAIT, waits))


def _full_jitter(longest: float) -> float:
    import backoff

    return backoff.full_jitter(longest)


def longest_wait(failures: int) -> float:
    """Return the upper limit in seconds of the wait after so many failures in a row."""
    step = max(failures - 1, 0)
    waits = _waits()
    return waits[step] if step < len(waits) else LONGEST_WAIT


@attrs.frozen
class RetryPolicy:
    """How long to wait between two tries: a random time up to a limit that doubles with each failure (full jitter)."""

    jitter: Callable[[float], float] = _full_jitter
    """Returns the wait, of the longest one in seconds."""

    def wait(self, failures: int) -> float:
        """Return the seconds to wait after so many failures in a row."""
        return self.jitter(longest_wait(failures))

    def asked(self, retry_after: float | None) -> float:
        """Return the seconds of a pause that the other side asks for, as far as it is granted; 0 for none."""
        return min(retry_after or 0.0, LONGEST_PAUSE)

    def is_over(self, tried_seconds: float) -> bool:
        """Whether a message has been tried for long enough."""
        return tried_seconds >= KEEP_TRYING
