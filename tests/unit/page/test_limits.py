"""Wrong tokens are counted for each sender, and for each address, by the minute."""

from __future__ import annotations

import pytest

from hookrouter._page.security import limits
from hookrouter._page.security.limits import MOST, MOST_OF_ADDRESS, SECONDS, Sender, WrongTokens

ANNA, BOB = Sender("127.0.0.1", "anna"), Sender("127.0.0.1", "bob")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of now, as the only element."""
    now = [1000.0]
    monkeypatch.setattr(limits.time, "monotonic", lambda: now[0])
    return now


def test_one_sender_is_shut_out_for_a_minute_and_no_other(clock: list[float]) -> None:
    wrong = WrongTokens()
    for _ in range(MOST):
        assert not wrong.is_too_many(ANNA)
        wrong.note(ANNA)
    assert wrong.is_too_many(ANNA)
    assert not wrong.is_too_many(BOB)
    assert not wrong.is_too_many(Sender("127.0.0.1"))
    clock[0] += SECONDS
    assert not wrong.is_too_many(ANNA)


def test_names_without_end_are_of_no_use(clock: list[float]) -> None:
    wrong = WrongTokens()
    taken = 0
    for number in range(10 * MOST_OF_ADDRESS):
        made_up = Sender("127.0.0.1", f"user-{number}")
        if not wrong.is_too_many(made_up):
            wrong.note(made_up)
            taken += 1
    assert taken == MOST_OF_ADDRESS
    assert not wrong.is_too_many(Sender("192.0.2.7", "anna"))
    clock[0] += SECONDS
    assert not wrong.is_too_many(ANNA)


def test_one_of_many_users_cannot_shut_the_others_out(clock: list[float]) -> None:
    wrong = WrongTokens()
    for _ in range(10 * MOST_OF_ADDRESS):
        if not wrong.is_too_many(ANNA):
            wrong.note(ANNA)
    assert not wrong.is_too_many(BOB)
