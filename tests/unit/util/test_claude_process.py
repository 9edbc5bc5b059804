"""Whether a client still runs."""

from __future__ import annotations

import os

from hookrouter.util.claude_process import is_gone


def test_one_that_runs_is_not_gone() -> None:
    assert not is_gone(os.getpid())
    assert not is_gone(0)
