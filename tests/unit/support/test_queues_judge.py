"""What the programs in tests/live/queues call a fault."""

from __future__ import annotations

import pytest

from hookrouter.queue.items import DONE, FAILED, QUEUED, Item, new_item
from live.queues.items import COMPACT, KINDS, Made, mixed
from live.queues.judge import Judged, Verdict, judge
from live.queues.results import table
from live.queues.seen import Seen

ONE, TWO = Made(1, "prompt", "n0001 go"), Made(2, "prompt", "n0002 on")
CLEARS = Made(3, "/clear", "/clear"), Made(4, "/clear", "/clear")


def said(made: Made, state: str = DONE, **more: str) -> Item:
    started = "2026-01-01T00:00:01.000Z" if state == DONE else ""
    begun = "2026-01-01T00:00:00.000Z"
    item = new_item(made.text, by="agent")._replace(state=state, started_at=started, delivering_at=begun)
    return item._replace(**more)


def judged(*pairs: tuple[Made, Item | None], seen: list[str], requests: dict[str, int] | None = None) -> list[Judged]:
    items = {made.number: item for made, item in pairs if item is not None}
    everything = Seen(tuple(seen), tuple(seen), requests or {})
    return judge([made for made, _ in pairs], items, everything)


def test_what_was_given_once_and_is_said_to_be_is_proven() -> None:
    found = judged((ONE, said(ONE)), (TWO, said(TWO)), seen=[ONE.text, TWO.text], requests={"n0001": 1, "n0002": 1})
    assert [(one.verdict, one.fault, one.seconds) for one in found] == [(Verdict.PROVEN, "", 1.0)] * 2


@pytest.mark.parametrize(
    ("item", "seen", "requests", "fault"),
    [
        (None, [], {}, "does not know it"),
        (said(ONE), [ONE.text, ONE.text], {}, "more than once"),
        (said(ONE), [ONE.text], {"n0001": 2}, "more than once"),
        (said(ONE), [], {}, "was not given it"),
        (said(ONE), [ONE.text, f"a person's {ONE.text}"], {}, "something else than its text"),
        (said(ONE, FAILED), [], {}, "does not say why"),
        (said(ONE, FAILED, reason="no channel can submit it"), [ONE.text], {}, "says that it failed because"),
        (said(ONE, QUEUED), [ONE.text], {}, "does not say so"),
    ],
)
def test_faults(item: Item | None, seen: list[str], requests: dict[str, int], fault: str) -> None:
    (found,) = judged((ONE, item), seen=seen, requests=requests)
    assert found.verdict == Verdict.FAULT
    assert fault in found.fault


def test_what_may_have_been_submitted_and_what_was_not_are_no_faults() -> None:
    failed = said(ONE, FAILED, reason="it may have been submitted")
    assert [one.verdict for one in judged((ONE, failed), seen=[ONE.text])] == [Verdict.UNPROVEN]
    assert [one.verdict for one in judged((ONE, failed), seen=[])] == [Verdict.UNDELIVERED]
    assert [one.verdict for one in judged((ONE, said(ONE, QUEUED)), seen=[])] == [Verdict.WAITS]


def test_the_order_is_that_of_the_queue() -> None:
    found = judged((ONE, said(ONE)), (TWO, said(TWO)), seen=[TWO.text, ONE.text])
    assert [one.verdict for one in found] == [Verdict.FAULT, Verdict.PROVEN]
    assert "stands behind it" in found[0].fault


@pytest.mark.parametrize(("times", "verdicts"), [(1, "proven fault"), (2, "proven proven"), (3, "proven fault")])
def test_texts_that_several_items_have_are_counted_together(times: int, verdicts: str) -> None:
    first, second = CLEARS
    found = judged((first, said(first)), (second, said(second)), seen=["/clear"] * times)
    assert [one.verdict for one in found] == verdicts.split()


def test_items_are_of_every_kind_and_all_different_where_they_can_be() -> None:
    made = mixed(60, 3)
    assert {one.kind for one in made} == set(KINDS)
    marks = [one.mark for one in made if one.mark]
    assert len(set(marks)) == len(marks)
    turns = 0
    for one in made:
        assert one.kind != COMPACT or turns
        turns = 0 if one.kind in (COMPACT, "/clear") else turns + one.kind.startswith(("prompt", "long"))


def test_the_table_has_a_row_for_each_kind_and_a_column_for_each_run() -> None:
    found = judged((ONE, said(ONE)), (TWO, said(TWO, FAILED, reason="it may have been submitted")), seen=[ONE.text])
    lines = [{"version": "2.1.330", "channel": "keys", **one.document()} for one in found]
    assert table(lines).splitlines() == [
        "| | keys, 2.1.330 |",
        "|---|---|",
        "| prompt | 1 of 2<sup>1</sup> |",
        "| all | 1 of 2 |",
        "",
        "1. undelivered: it may have been submitted",
    ]
