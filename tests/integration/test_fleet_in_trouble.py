"""Three machines on one database, to which everything happens: a small run of ``tests/live/fleet_chaos``."""

from __future__ import annotations

from live.fleet_chaos.run import Size, run


def test_every_question_is_answered_once_and_every_item_comes_once() -> None:
    told: list[str] = []
    result = run(Size(questions=24, items=6, at_once=6), 1, told.append)
    assert result.breaches == [], result.line
