"""Answers dialogs whose layout is not known, by counting keys: the planner ``key-counting``, off unless chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.markers import hookimpl, stateless

if TYPE_CHECKING:
    from hookrouter.answering.interfaces import KeystrokePlanner

__all__ = ["keystroke_planner"]


@hookimpl
@stateless
def keystroke_planner() -> KeystrokePlanner:
    """Contribute the planner named ``key-counting``."""
    from hookrouter_key_counting.planner import KeyCountingPlanner

    return KeyCountingPlanner()
