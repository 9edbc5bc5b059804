"""Whether a client gets what is typed at its terminal, by what the system says of it."""

from __future__ import annotations

import pytest

from hookrouter.util import claude_process
from hookrouter.util.claude_process import is_in_background, is_suspended
from hookrouter.util.system import ProcessStatus


def status(state: str, foreground: int, *, has_terminal: bool = True) -> ProcessStatus:
    return ProcessStatus(state, 20, foreground, "", has_terminal=has_terminal)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (status("S", 20), False),
        (status("R", 20), False),
        (status("T", 20), True),
        (status("T", 10), True),
        (status("S", 10), True),
        # Without a terminal nothing is typed at it.
        (status("S", -1, has_terminal=False), False),
        # Its terminal is another container's: the group has no number here.
        (status("S", 0), False),
        (None, False),
    ],
)
def test_a_client_that_is_not_in_the_foreground_gets_no_keys(
    monkeypatch: pytest.MonkeyPatch, said: ProcessStatus | None, expected: bool
) -> None:
    monkeypatch.setattr(claude_process, "process_status", lambda _pid: said)
    assert is_in_background(20) is expected
    assert is_suspended(20) is (said is not None and said.state == "T")
