"""The changes that people make to a queue, and those that they may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.queue import editing
from hookrouter.queue.documents import Hold, Queue, change_queue, ended_items, read_queue
from hookrouter.queue.editing import EditError, NotThereError, added, cleared, dropped, edited, find_id, moved
from hookrouter.queue.items import DELIVERING, DROPPED, QUEUED, STARTED, Item, ItemError, new_item
from support.memory_storage import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable

BUSY = [DELIVERING, STARTED]


def items(*texts: str) -> tuple[Item, ...]:
    # Two calls make the same.
    made = (new_item(text, by="agent") for text in texts)
    return tuple(one._replace(id=f"2026-{one.text}", queued_at="2026-01-01T00:00:00.000Z") for one in made)


def queue(*texts: str, under_way: str | None = None) -> Queue:
    found = Queue("work", items(*texts))
    return found if under_way is None else found.with_item(found.items[0]._replace(state=under_way))


def texts(found: Queue) -> list[str]:
    return [one.text for one in found.items]


def test_items_are_added_last_or_first_in_their_order() -> None:
    assert texts(added(queue("a", "b"), items("c", "d"))) == ["a", "b", "c", "d"]
    assert texts(added(queue("a", "b"), items("c", "d"), first=True)) == ["c", "d", "a", "b"]
    assert texts(added(queue(), items("c", "d"), first=True)) == ["c", "d"]


@pytest.mark.parametrize("state", BUSY)
def test_nothing_is_put_before_what_is_under_way(state: str) -> None:
    assert texts(added(queue("a", "b", under_way=state), items("c"), first=True)) == ["a", "c", "b"]
    assert texts(added(queue("a", under_way=state), items("c"), first=True)) == ["a", "c"]


def test_an_edit_keeps_the_place_and_names_who_made_it() -> None:
    after = edited(queue("a", "b", "c"), "2026-b", " /clear ", by="person", who="kim")
    assert texts(after) == ["a", "/clear", "c"]
    one = after.items[1]
    assert (one.id, one.kind, one.by, one.who, one.state) == ("2026-b", "command", "person", "kim", QUEUED)


def test_an_edit_is_checked_as_a_new_text_is() -> None:
    with pytest.raises(ItemError, match="U\\+001B"):
        edited(queue("a"), "2026-a", "x\x1b", by="agent")


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (lambda one: moved(one, "2026-c", first=True), "cabd"),
        (lambda one: moved(one, "2026-a"), "bcda"),
        (lambda one: moved(one, "2026-a", before="2026-d"), "bcad"),
        (lambda one: moved(one, "2026-d", before="2026-a"), "dabc"),
        (lambda one: moved(one, "2026-b", before="2026-c"), "abcd"),
        (lambda one: dropped(one, ["2026-a", "2026-c"], "x"), "abcd"),
    ],
)
def test_moves(change: Callable[[Queue], Queue], after: str) -> None:
    assert "".join(texts(change(queue(*"abcd")))) == after


@pytest.mark.parametrize("state", BUSY)
@pytest.mark.parametrize(
    "change",
    [
        lambda one: edited(one, "2026-a", "x", by="agent"),
        lambda one: moved(one, "2026-a"),
        lambda one: moved(one, "2026-a", first=True),
        lambda one: moved(one, "2026-b", before="2026-a"),
        lambda one: dropped(one, ["2026-b", "2026-a"], "x"),
    ],
)
def test_what_is_under_way_is_nobodys_any_more(state: str, change: Callable[[Queue], Queue]) -> None:
    with pytest.raises(EditError, match=f"the delivery of item 2026-a has begun \\(it is {state}\\)"):
        change(queue("a", "b", under_way=state))


@pytest.mark.parametrize("state", BUSY)
def test_nothing_is_moved_before_what_is_under_way(state: str) -> None:
    assert texts(moved(queue("a", "b", "c", under_way=state), "2026-c", first=True)) == ["a", "c", "b"]


@pytest.mark.parametrize(
    "change",
    [
        lambda one: edited(one, "2026-x", "y", by="agent"),
        lambda one: moved(one, "2026-x"),
        lambda one: moved(one, "2026-a", before="2026-x"),
        lambda one: dropped(one, ["2026-x"], "y"),
    ],
)
def test_what_is_not_there(change: Callable[[Queue], Queue]) -> None:
    with pytest.raises(EditError, match="item 2026-x has ended, or has left this queue"):
        change(queue("a"))


def test_an_item_cannot_stand_before_itself() -> None:
    with pytest.raises(EditError, match="cannot be moved before itself"):
        moved(queue("a"), "2026-a", before="2026-a")


def test_dropping_ends_items_with_a_reason() -> None:
    after = dropped(queue("a", "b"), ["2026-b"], "dropped by person kim")
    assert [(one.state, one.reason) for one in after.items] == [(QUEUED, ""), (DROPPED, "dropped by person kim")]
    # Twice the same is no fault.
    with pytest.raises(EditError, match="it is dropped"):
        dropped(after, ["2026-b"], "x")


@pytest.mark.parametrize("state", BUSY)
def test_clearing_leaves_what_is_under_way(state: str) -> None:
    after = cleared(queue("a", "b", "c", under_way=state), "cleared")
    assert [one.state for one in after.items] == [state, DROPPED, DROPPED]


def test_holding_and_going_on() -> None:
    store = MemoryStore()
    change_queue(store, "work", lambda found: added(found, items("a")))
    held = editing.hold(store, "work", "red tests").hold
    assert held is not None
    assert (held.cause, held.reason) == ("asked", "red tests")
    assert editing.hold(store, "work", "another reason").hold == held
    assert editing.end_hold(store, "work") == held
    assert editing.end_hold(store, "work") is None
    assert read_queue(store, "work").items == items("a")


def test_a_hold_of_an_empty_queue_is_kept_until_it_ends() -> None:
    store = MemoryStore()
    editing.hold(store, "work", "")
    assert isinstance(read_queue(store, "work").hold, Hold)
    editing.end_hold(store, "work")
    assert store.documents == {}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("20261124T221009-1a2b3c4d", "20261124T221009-1a2b3c4d"),
        ("20261124T221009-1", "20261124T221009-1a2b3c4d"),
        ("1a2", "20261124T221009-1a2b3c4d"),
        ("9f", "20261124T221010-9f000000"),
        ("20261124T221010", "20261124T221010-9f000000"),
        # An id that another one begins with is itself.
        ("ab", "ab"),
    ],
)
def test_ids_may_be_abbreviated(name: str, found: str) -> None:
    ids = ["20261124T221009-1a2b3c4d", "20261124T221010-9f000000", "ab", "abc"]
    assert find_id(name, dict.fromkeys(ids)) == found


@pytest.mark.parametrize(
    ("name", "reason"), [("2026", "2 items have an id like '2026'"), ("x", "there is no item 'x'"), ("", "no item")]
)
def test_ids_that_mean_none_or_several(name: str, reason: str) -> None:
    with pytest.raises(NotThereError, match=reason):
        find_id(name, dict.fromkeys(["20261124T221009-1a2b3c4d", "20261124T221010-9f000000"]))


@given(st.permutations("abcdef"), st.sampled_from("abcdef"), st.sampled_from("abcdef"))
def test_a_move_only_moves(order: list[str], name: str, other: str) -> None:
    before = queue(*order)
    for after in (moved(before, f"2026-{name}"), moved(before, f"2026-{name}", first=True)):
        assert sorted(texts(after)) == sorted(order)
        assert [one for one in texts(after) if one != name] == [one for one in order if one != name]
    if name != other:
        found = texts(moved(before, f"2026-{name}", before=f"2026-{other}"))
        assert found.index(name) + 1 == found.index(other)


def test_what_was_dropped_is_in_the_history_and_not_in_the_queue() -> None:
    store = MemoryStore()
    change_queue(store, "work", lambda found: added(found, items("a", "b")))
    change_queue(store, "work", lambda found: dropped(found, ["2026-a"], "not needed"))
    assert texts(read_queue(store, "work")) == ["b"]
    assert [(one.id, one.state, one.reason) for _, one in ended_items(store)] == [("2026-a", DROPPED, "not needed")]


def test_what_held_the_items_that_are_dropped_ends_with_them_unless_somebody_has_asked_for_it() -> None:
    held = queue("a", "b")._replace(hold=Hold("unproven", "nothing has proven it"))
    assert dropped(held, ["2026-a"], "dropped").hold == held.hold
    assert cleared(held, "cleared").hold is None
    asked = held._replace(hold=Hold("asked", "not before noon"))
    assert cleared(asked, "cleared").hold == asked.hold
    begun = queue("a", "b", under_way=STARTED)._replace(hold=held.hold)
    assert cleared(begun, "cleared").hold == held.hold
