"""Whether another client runs that asked: its process id may be another process's by now."""

from __future__ import annotations

import pytest

from hookrouter.util import claude_process
from hookrouter.util.claude_process import is_another_alive, process_space
from hookrouter.util.clock import iso

ASKED = 1_000_000.0


@pytest.mark.parametrize(
    ("began", "expected"),
    [(ASKED - 5, True), (ASKED + 30, True), (ASKED + 90, False), (ASKED + 1e6, False), (None, True)],
)
def test_a_process_that_began_after_the_question_has_not_asked_it(
    monkeypatch: pytest.MonkeyPatch, began: float | None, expected: bool
) -> None:
    monkeypatch.setattr(claude_process, "is_gone", lambda _: False)
    monkeypatch.setattr(claude_process, "process_began", lambda _: began)
    assert is_another_alive(20, process_space(), 30, iso(ASKED)) is expected
    assert is_another_alive(20, process_space(), 30)
    assert is_another_alive(20, process_space(), 30, "no time")
