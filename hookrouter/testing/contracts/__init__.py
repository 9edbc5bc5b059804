"""Contract tests for authors: what every terminal backend and every keystroke planner must do, as pytest classes.

Subclass :class:`TerminalBackendContract` or :class:`KeystrokePlannerContract` in a test module of your own, under a
name that starts with ``Test``, and give the fixtures that the class names. Needs pytest and hypothesis, which
hookrouter itself does not: ``pip install pytest hypothesis``.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "hookrouter.testing.contracts.terminal_backend", "hookrouter.testing.contracts.keystroke_planner"
)

from hookrouter.testing.contracts.keystroke_planner import KeystrokePlannerContract  # noqa: E402 - rewritten first
from hookrouter.testing.contracts.terminal_backend import TerminalBackendContract, TerminalHost  # noqa: E402

__all__ = ["KeystrokePlannerContract", "TerminalBackendContract", "TerminalHost"]
