"""Whether a process that has served a call may serve another one: only if the call has left nothing in it.

That its plugins say so (:func:`hookrouter.markers.stateless`) is asked elsewhere; here is looked at what can be seen.
"""

from __future__ import annotations

import gc

from hookrouter._serving.process_state import exit_functions, has_children, interpreter_state, process_state
from hookrouter.util.system import peak_memory

__all__ = ["GROWTH_KB", "MOST_CALLS", "Fitness"]

MOST_CALLS = 1000
"""Calls after which a process is replaced all the same: what cannot be seen does not pile up."""

GROWTH_KB = 16 * 1024
"""How much more memory than before its first call a process may have had in use."""


class Fitness:
    """The process as it is when this is made, before its first call."""

    def __init__(self) -> None:
        """Take it as it is."""
        self.calls = 0
        """How many calls were served."""
        self._state = _state()
        self._exit_functions = exit_functions()
        self._peak = peak_memory()

    def owes_nothing(self) -> bool:
        """Whether no function is to be called at the end of this process that was not before."""
        return exit_functions() == self._exit_functions

    def holds(self) -> bool:
        """Whether another call may be served, once one is over and all that it had is let go of.

        What the call has left to be collected is collected here, and not in a call.
        """
        self.calls += 1
        gc.collect()
        if self.calls == 1:
            # What the first call has kept, such as caches, is looked at no more.
            gc.freeze()
        is_fit = not has_children() and _state() == self._state
        return is_fit and self.calls < MOST_CALLS and peak_memory() - self._peak <= GROWTH_KB


def _state() -> tuple[object, ...]:
    return *process_state(), *interpreter_state()
