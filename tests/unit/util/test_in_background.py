"""Whether a client gets what is typed at its terminal, by what the system says of it."""

from __future__ import annotations

import pytest

from hookrouter.util import claude_process
from hookrouter.util.claude_process import is_in_background, is_suspended


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        # State, parent, group, session, terminal, the terminal's foreground group.
        ("S 10 20 10 34816 20", False),
        ("R 10 20 10 34816 20", False),
        ("T 10 20 10 34816 20", True),
        ("t 10 20 10 34816 20", True),
        ("T 10 20 10 34816 10", True),
        ("S 10 20 10 34816 10", True),
        # Without a terminal nothing is typed at it.
        ("S 10 20 10 0 -1", False),
        # Its terminal is another container's: the group has no number here.
        ("S 10 20 10 34816 0", False),
        ("S 10", False),
        ("", False),
    ],
)
def test_a_client_that_is_not_in_the_foreground_gets_no_keys(
    monkeypatch: pytest.MonkeyPatch, said: str, expected: bool
) -> None:
    monkeypatch.setattr(claude_process, "_stat", lambda _pid: said.encode().split())
    assert is_in_background(20) is expected
    assert is_suspended(20) is said.startswith(("T", "t"))
