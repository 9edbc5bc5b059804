"""Queues as documents: nothing is lost by changes at once, nothing that has ended comes back, nothing broken breaks."""

from __future__ import annotations

import functools
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrouter.queue import documents, editing
from hookrouter.queue.documents import (
    Hold,
    Queue,
    change_queue,
    end_many,
    ended_items,
    list_queues,
    prune_ended,
    queue_lock,
    read_queue,
    remove_queue,
    watch_queue,
)
from hookrouter.queue.editing import added
from hookrouter.queue.items import DELIVERING, DONE, DROPPED, FAILED, QUEUED, STARTED, STATES, Item, new_item
from hookrouter.storage import documents as files
from hookrouter.storage.documents import Store
from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.util.clock import iso, now
from support.memory_storage import MemoryStore
from support.stepped_time import SteppedTime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

NAMES = ["work", "a/b", "../../x", "", "käse \x1b[1m", "x" * 300]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "state"), lambda _: None)


def item(text: str = "go on") -> Item:
    return new_item(text, by="agent")


def ending(one: Item, state: str, reason: str) -> Callable[[Queue], Queue]:
    return lambda queue: queue.ended(one.id, state, reason=reason)


def put(store: Any, session: str, *texts: str) -> list[Item]:
    items = [item(text) for text in texts]
    change_queue(store, session, lambda queue: added(queue, items))
    return items


@pytest.mark.parametrize("name", NAMES, ids=repr)
@pytest.mark.parametrize("engine", ["files", "memory"])
def test_a_queue_is_read_as_it_was_written(store: Store, engine: str, name: str, tmp_path: Path) -> None:
    engines: dict[str, Any] = {"files": store, "memory": MemoryStore()}
    kept = engines[engine]
    first, second = put(kept, name, "/clear", "two\nlines")
    proof = {"event": "UserPromptSubmit", "at": 3, "parts": ["x"]}
    change_queue(kept, name, lambda queue: queue.with_item(first._replace(state=STARTED, proof=proof, boot="b 1")))
    held = change_queue(
        kept, name, lambda queue: queue.held("person", "a prompt")._replace(session_id="s-1", client_pid=7)
    )
    found = read_queue(kept, name)
    assert found == held
    assert found.items == (first._replace(state=STARTED, proof=proof, boot="b 1"), second)
    assert (found.under_way, found.next) == (found.items[0], second)
    assert (found.session_id, found.client_pid, found.hold and found.hold.cause) == ("s-1", 7, "person")
    assert list_queues(kept) == [found]
    # Nothing is written outside the folder.
    assert {path.name for path in tmp_path.iterdir()} <= {"state"}


def test_a_queue_with_nothing_in_it_is_removed_and_one_that_is_held_stays(store: Store) -> None:
    (one,) = put(store, "work", "a")
    change_queue(store, "work", lambda queue: queue.ended(one.id, DONE, proof={"event": "Stop"}))
    assert list_queues(store) == []
    assert store.read("queue", "work") is None
    change_queue(store, "work", lambda queue: queue.held("asked", "wait"))
    assert [queue.session for queue in list_queues(store)] == ["work"]
    change_queue(store, "work", lambda queue: queue._replace(hold=None))
    assert list_queues(store) == []


def test_what_has_ended_is_kept_with_its_proof(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    # None ends in the same moment as another: of such, no order is promised.
    moments = map(iso, count(now()))
    monkeypatch.setattr(documents, "iso", lambda: next(moments))
    items = put(store, "work", "a", "b", "c")
    for one, state in zip(items, (DONE, FAILED, DROPPED), strict=True):
        change_queue(store, "work", ending(one, state, f"it {state}"))
    found = ended_items(store)
    assert [(session, one.id, one.state, one.reason) for session, one in found] == [
        ("work", items[0].id, DONE, "it done"),
        ("work", items[1].id, FAILED, "it failed"),
        ("work", items[2].id, DROPPED, "it dropped"),
    ]
    assert all(one.ended_at for _, one in found)
    assert [one.id for _, one in ended_items(store, [items[1].id, "nothing"])] == [items[1].id]


def test_ending_what_is_not_there_changes_nothing(store: Store) -> None:
    (one,) = put(store, "work", "a")
    change_queue(store, "work", lambda queue: queue.ended("other", DONE))
    assert read_queue(store, "work").items == (one,)
    assert ended_items(store) == []


def test_ended_items_are_kept_for_a_while(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = put(store, "work", "a", "b")
    with monkeypatch.context() as patch:
        patch.setattr(documents, "iso", lambda: iso(now() - documents.KEPT_SECONDS - 60))
        change_queue(store, "work", lambda queue: queue.ended(old.id, DONE))
    change_queue(store, "work", lambda queue: queue.ended(new.id, DONE))
    prune_ended(store)
    assert [one.id for _, one in ended_items(store)] == [new.id]


def test_a_hold_stays_unless_it_would_end_by_itself() -> None:
    limited = Queue("work").held("limited", "5-hour limit", until=iso(now() + 60))
    assert limited.held("person", "a prompt").hold != limited.hold
    asked = Queue("work").held("asked", "wait")
    assert asked.held("person", "a prompt").hold == asked.hold


def test_no_change_writes_nothing(store: Store) -> None:
    put(store, "work", "a")
    before = store.stamps("queue")
    change_queue(store, "work", lambda _: None)
    change_queue(store, "work", lambda queue: queue)
    assert store.stamps("queue") == before


def test_a_change_that_fails_changes_nothing(store: Store) -> None:
    put(store, "work", "a")
    before = read_queue(store, "work")

    def change(_: Queue) -> Queue:
        raise LookupError

    with pytest.raises(LookupError):
        change_queue(store, "work", change)
    assert read_queue(store, "work") == before
    put(store, "work", "b")


def test_an_end_that_cannot_be_kept_leaves_the_item_in_the_queue(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    (one,) = put(store, "work", "a")
    write = store.write

    def full(kind: str, name: str, document: Any, **more: Any) -> str:
        if kind == documents.ENDED_KIND:
            raise StoreError("disk full")
        return write(kind, name, document, **more)

    monkeypatch.setattr(store, "write", full)
    with pytest.raises(StoreError):
        change_queue(store, "work", lambda queue: queue.ended(one.id, DONE))
    assert read_queue(store, "work").items == (one,)


def test_the_queue_goes_on_under_another_name(store: Store) -> None:
    items = put(store, "claude-1", "a", "b")
    moved = remove_queue(store, "claude-1")
    change_queue(store, "claude-2", lambda queue: queue._replace(items=moved.items))
    assert [queue.session for queue in list_queues(store)] == ["claude-2"]
    assert read_queue(store, "claude-2").items == tuple(items)


def test_a_watch_hears_of_changes(store: Store) -> None:
    with watch_queue(store, "work") as one, watch_queue(store) as every:
        put(store, "work", "a")
        assert one.wait(10)
        assert every.wait(10)


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "null", '{"items": 3}', '{"items": [null, 3, {"id": "x"}]}'])
def test_a_broken_document_breaks_nothing(store: Store, tmp_path: Path, text: str) -> None:
    put(store, "other", "b")
    (tmp_path / "state" / "queue-work.json").write_text(text)
    assert read_queue(store, "work").items == ()
    assert [one.text for queue in list_queues(store) for one in queue.items] == ["b"]
    (one,) = put(store, "work", "a")
    assert read_queue(store, "work").items == (one,)


def test_a_hold_that_an_edit_by_hand_has_broken_still_holds(store: Store) -> None:
    put(store, "work", "a")
    document = store.read("queue", "work")
    assert document is not None
    store.write("queue", "work", {**document, "hold": "yes"})
    assert read_queue(store, "work").hold == Hold("asked", "")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(STATES) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from([*Item._fields]), inner, max_size=9),
    max_leaves=12,
)
_ENTRIES = st.lists(
    st.one_of(_VALUES, st.fixed_dictionaries({"id": st.text(max_size=3), "text": st.text(max_size=3)})), max_size=4
)
_DOCUMENTS = st.fixed_dictionaries(
    {}, optional={"items": st.one_of(_ENTRIES, _VALUES), "hold": _VALUES, "session_id": _VALUES, "client_pid": _VALUES}
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_DOCUMENTS, _DOCUMENTS)
def test_whatever_documents_hold(store: Store, document: dict[str, Any], ended: dict[str, Any]) -> None:
    store.write("queue", "work", document, durable=False)
    store.write("queued-item", "x", ended, durable=False)
    queue = read_queue(store, "work")
    assert all(one.state in STATES and one.id and one.text for one in queue.items)
    assert (queue.hold is None) == (document.get("hold") is None)
    assert all(one.id == "x" for _, one in ended_items(store))
    # What was read can be written, and is then read as it is.
    new = item()
    after = change_queue(store, "work", lambda found: added(found, [new]))
    assert read_queue(store, "work") == after
    assert new in after.items


def _changes() -> st.SearchStrategy[list[tuple[str, int]]]:
    return st.lists(
        st.tuples(st.sampled_from(["add", "first", "done", "drop", "begin", "hold", "go on"]), st.integers(0, 5)),
        max_size=25,
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_changes())
def test_every_item_is_somewhere_exactly_once(changes: list[tuple[str, int]]) -> None:
    store = MemoryStore()
    made: dict[str, Item] = {}

    def apply(queue: Queue, what: str, at: int) -> Queue | None:
        if what in ("add", "first"):
            new = item(f"{len(made)}")
            made[new.id] = new
            return added(queue, [new], first=what == "first")
        if what == "hold":
            return queue.held("asked", "x")
        if what == "go on":
            return queue._replace(hold=None)
        if at >= len(queue.items):
            return None
        one = queue.items[at]
        if what == "begin":
            return queue.with_item(one._replace(state=DELIVERING))
        return queue.ended(one.id, DONE if what == "done" else DROPPED)

    def replay() -> Iterator[None]:
        for what, at in changes:
            change_queue(store, "work", functools.partial(apply, what=what, at=at))
            yield

    seen_ended: set[str] = set()
    for _ in replay():
        waiting = [one.id for one in read_queue(store, "work").items]
        ended = {one.id for _, one in ended_items(store)}
        assert len(waiting) == len(set(waiting))
        assert not set(waiting) & ended
        assert set(waiting) | ended == set(made)
        assert seen_ended <= ended
        seen_ended = ended


def test_who_keeps_the_lock_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_LOCK_SECONDS", 0.05)
    monkeypatch.setattr(files, "time", SteppedTime())
    with queue_lock(store, "work"), pytest.raises(StoreBusy, match="the lock on the queue of session work is held"):
        put(store, "work", "a")


class _Watched(MemoryStore):
    """Documents that tell what is done to them while the lock on a queue is held, and how often a queue is read."""

    def __init__(self) -> None:
        super().__init__()
        self.under_lock: list[str] = []
        self.reads = 0

    def write(self, kind: str, name: str, document: Mapping[str, object], *, durable: bool = True) -> str:
        if ("queue", "work") in self.held:
            self.under_lock.append(kind)
        return super().write(kind, name, document, durable=durable)

    def read(self, kind: str, name: str) -> dict[str, object] | None:
        self.reads += kind == "queue"
        return super().read(kind, name)


def _filled(store: MemoryStore, count: int) -> list[str]:
    items = editing.new_items([f"prompt {number}" for number in range(count)], by="agent")
    change_queue(store, "work", lambda queue: editing.added(queue, items))
    return [item.id for item in items]


def test_a_command_that_drops_many_items_holds_the_lock_for_one_write() -> None:
    store = _Watched()
    names = _filled(store, 500)
    store.under_lock.clear()
    store.reads = 0
    left = end_many(store, "work", lambda queue: editing.dropped(queue, names[:-1], "dropped"))
    assert [item.id for item in left.items] == names[-1:]
    assert store.under_lock == ["queue"]
    assert store.reads == 2
    assert sorted(item.id for _, item in ended_items(store)) == sorted(names[:-1])


@pytest.mark.parametrize("state", [DELIVERING, DONE])
def test_an_item_whose_delivery_begins_meanwhile_is_not_dropped(state: str) -> None:
    store = _Watched()
    names = _filled(store, 3)
    calls = 0

    def change(queue: Queue) -> Queue:
        nonlocal calls
        calls += 1
        if calls == 1:
            after = editing.dropped(queue, names, "dropped")
            # Another process comes first.
            item = queue.items[0]._replace(state=state)
            change_queue(store, "work", lambda there: there.with_item(item))
            return after
        return editing.dropped(queue, names, "dropped")

    with pytest.raises(editing.EditError):
        end_many(store, "work", change)
    waits = [item.id for item in read_queue(store, "work").items if item.state == QUEUED]
    assert waits == names[1:]
    assert [(item.id, item.state) for _, item in ended_items(store)] == ([(names[0], DONE)] if state == DONE else [])
