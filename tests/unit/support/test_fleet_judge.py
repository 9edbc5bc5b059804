"""The judge of a fleet in trouble: it sees each thing that must not be, and nothing where all is well."""

from __future__ import annotations

import pytest

from live.fleet_chaos.events import Answered, Asked, Events, Reported, Seen, Sent, Submitted, Told, Tried
from live.fleet_chaos.judge import breaches

WELL: list[Seen] = [
    Asked("s", "q1"),
    Told("1", "question", "s", "q1"),
    Tried("q1", "m2", "Left", 4, "not_delivered"),
    Tried("q1", "m1", "Left", 0, "verified"),
    Answered("q1", "Left"),
    Told("1", "question", "s", "q1"),
    Asked("s", "q2"),
    Told("2", "question", "s", "q2"),
    Tried("q2", "m2", "Left", 3, "mismatch"),
    Tried("q2", "m3", "Right", 5, "not_confirmed"),
    Answered("q2", "Right"),
    Asked("s", "q3"),
    Told("3", "question", "s", "q3"),
    Tried("q3", "m2", "Left", 4, "answered_by_person"),
    Answered("q3", "Right", by_person=True),
    Sent("s", "a, refused", 4),
    Sent("s", "a", 0),
    Sent("s", "b", 5),
    Sent("s", "c", 0),
    Sent("s", "d", 0),
    Submitted("s", "a"),
    Submitted("s", "c"),
    Reported("s", "d", "unknown"),
]


def judged(*without: int, more: tuple[Seen, ...] = ()) -> list[str]:
    events = Events()
    for event in [*(one for number, one in enumerate(WELL) if number not in without), *more]:
        events.add(event)
    return breaches(events)


def test_nothing_is_wrong_where_all_is_well() -> None:
    assert judged() == []


def test_what_an_agent_answers_before_its_message_goes_out_needs_none() -> None:
    assert judged(7) == []


@pytest.mark.parametrize("code", [-15, 143])
def test_who_was_ended_by_a_signal_was_not_told_that_nothing_came_of_it(code: int) -> None:
    assert judged(3, more=(Tried("q1", "m1", "Left", code, "interrupted"),)) == []


@pytest.mark.parametrize(
    ("without", "more", "said"),
    [
        ((4,), (), "q1 of s: answered 0 times"),
        ((4,), (Answered("q1", ""),), "q1 of s: answered 0 times"),
        ((), (Answered("q1", "Left"),), "q1 of s: answered 2 times"),
        ((4,), (Answered("q1", "Straight"),), "which nobody meant"),
        ((), (Tried("q3", "m1", "Left", 0, "verified"),), "confirmed to whoever meant something else"),
        ((), (Tried("q1", "m1", "Left", 3, "mismatch"),), "a mismatch was told"),
        ((3,), (), "whoever meant it was told that nothing came of it"),
        ((12,), (), "q3 of s: its message came under 0 ids"),
        ((), (Told("4", "question", "s", "q1"),), "q1 of s: its message came under 2 ids"),
        ((1, 5), (Told("1", "question", "s", "q1"),), "s: messages came out of order"),
        ((), (Submitted("s", "a"),), "'a' for s: submitted 2 times"),
        ((), (Submitted("s", "a, refused"),), "'a, refused' for s: submitted, and its sender was told"),
        ((22,), (), "'d' for s: queued, and neither submitted nor reported"),
        ((20,), (Submitted("s", "a"),), "s: items were submitted out of order"),
        ((), (Submitted("s", "e"),), "'e' was submitted, which nobody sent"),
    ],
)
def test_it_sees_what_must_not_be(without: tuple[int, ...], more: tuple[Seen, ...], said: str) -> None:
    found = judged(*without, more=more)
    assert any(said in breach for breach in found), found
