"""Work in the background rests from time to time, until somebody waits for it."""

from __future__ import annotations

import pytest

from hookrouter_page.reading import pace
from hookrouter_page.reading.pace import REST_SECONDS, WORK_SECONDS, Pace


def test_it_rests_after_each_stretch_of_work_until_somebody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    now, rests = [1000.0], []
    monkeypatch.setattr(pace.time, "monotonic", lambda: now[0])
    one = Pace()
    monkeypatch.setattr(one._hurry, "wait", rests.append)
    for _ in range(4):
        one.rest()
        assert rests == []
    for _ in range(4):
        now[0] += WORK_SECONDS / 2
        one.rest()
    # Floating point may see the half of a stretch as a little less.
    assert set(rests) == {REST_SECONDS}
    before = len(rests)
    one.hurry()
    now[0] += 100
    one.rest()
    assert len(rests) == before
