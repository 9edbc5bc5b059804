"""What a process that is forked from this one must not keep: one that a plugin forks may live for long.

A function that is registered with :func:`os.register_at_fork` stays registered. A process that serves many calls needs
some that count for one call only.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["close_in_forked", "stays_closed"]

_closing: list[Callable[[], None]] = []


def close_in_forked(close: Callable[[], None]) -> None:
    """Have a function called in each process that is forked from now on; it raises nothing."""
    _closing.append(close)


def stays_closed(close: Callable[[], None]) -> None:
    """Have it called no more: what it closes was closed here, too, and its number may be another file's."""
    if close in _closing:
        _closing.remove(close)


def _close_all() -> None:
    # The forked process may fork others, in which the numbers are other files'.
    closing = _closing[:]
    _closing.clear()
    for close in closing:
        close()


os.register_at_fork(after_in_child=_close_all)
