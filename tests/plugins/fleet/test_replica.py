"""Documents that are brought to an engine: whatever happens to files and engine, in the end both hold the same."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.storage.documents import Store
from hookrouter.storage.home import Home
from hookrouter.storage.interface import StoreError
from hookrouter.util.filenames import encode_name
from hookrouter_fleet import comparing
from hookrouter_fleet.kinds import FLEET
from hookrouter_fleet.locks import SHARING
from hookrouter_fleet.replica import Brought, Replica, ReplicaError, problems
from support.changes import once_saved
from support.memory_storage import MemoryStorage
from support.shared_kinds import SHARED, SHARED_KINDS

KEYS = st.tuples(
    st.sampled_from([("", "question"), ("", "queue"), ("outbox", "wake")]),
    st.one_of(st.text(max_size=6), st.just("x" * 400)),
)
DOCUMENTS = st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), KEYS, DOCUMENTS),
        st.tuples(st.just("delete"), KEYS, st.none()),
        st.tuples(
            st.sampled_from(
                ["bring", "away", "unheard", "anew", "reopened", "other", "keep", "lose", "lag", "written"]
            ),
            st.none(),
            st.none(),
        ),
    ),
    max_size=20,
)


class Away(MemoryStorage):
    """An engine whose next transaction may fail, with nothing of it saved, or with all of it."""

    is_away = is_unheard = False

    @contextmanager
    def together(self) -> Iterator[None]:
        before = self.state()
        try:
            yield
        except StoreError:
            self.restore(before)
            raise
        if self.is_unheard:
            self.is_unheard = False
            raise StoreError("it is not known whether it was saved")
        if self.is_away:
            self.is_away = False
            self.restore(before)
            raise StoreError("the engine is away")

    def state(self) -> dict[tuple[str, str], tuple[dict[Any, Any], dict[Any, Any]]]:
        return {key: (dict(store.documents), dict(store.changes)) for key, store in self.areas.items()}

    def restore(self, state: Mapping[tuple[str, str], tuple[dict[Any, Any], dict[Any, Any]]]) -> None:
        for key, (documents, changes) in state.items():
            self.areas[key].documents, self.areas[key].changes = dict(documents), dict(changes)


def go_on(replica: Replica, storage: MemoryStorage) -> None:
    """Bring what has changed, as the process does: what the engine refuses is brought when it was opened anew."""
    try:
        replica.bring()
    except StoreError:
        replica.go_on_with(storage)
        replica.settle()
        replica.bring()


def counted(storage: MemoryStorage) -> list[str]:
    """Have an engine note each kind of which all documents are read; return the notes."""
    found: list[str] = []
    for area in SHARED:
        store = storage.store(area, pytest.fail)
        former = store.entries

        def entries(kind: str, named: Any = None, former: Any = former) -> Any:
            if named is None:
                found.append(kind)
            return former(kind, named)

        store.entries = entries  # type: ignore[method-assign]
    return found


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.in_folder(str(tmp_path / "home"))


def held(home: Home, area: str, kind: str) -> dict[str, Any]:
    store = Store(f"{home.state}/{area}" if area else home.state, pytest.fail)
    return {str(sorted(document.items())): document for _name, document in store.entries(kind)}


def brought(storage: MemoryStorage, area: str, kind: str) -> dict[str, Any]:
    found = storage.store(area, pytest.fail).entries(kind)
    return {str(sorted(document.items())): document for _name, document in found}


@given(steps=STEPS)
def test_whatever_is_done_and_fails_in_between_both_hold_the_same_in_the_end(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any, Any]]
) -> None:
    home = Home.in_folder(str(tmp_path_factory.mktemp("home")))
    storage = Away()
    replica = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    replica.settle()
    names: set[tuple[tuple[str, str], str]] = set()
    backup = storage.state()
    for step, key, document in steps:
        if key is not None:
            (area, kind), name = key
            store = Store(f"{home.state}/{area}" if area else home.state, pytest.fail)
            if step == "write":
                store.write(kind, name, {**document, "session": name}, durable=False)
                names.add(key)
            else:
                store.delete(kind, name)
                names.discard(key)
        elif step == "anew":
            replica = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
            replica.settle()
        elif step in ("away", "unheard"):
            storage.is_away, storage.is_unheard = step == "away", step == "unheard"
            with suppress(StoreError):
                replica.bring()
            storage.is_away = storage.is_unheard = False
            replica.go_on_with(storage)
            replica.settle()
        elif step == "reopened":
            replica.go_on_with(storage)
            replica.settle()
        elif step == "other":
            # Another process of this home was at work meanwhile, and has brought what is newer.
            other = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
            other.settle()
            other.bring()
            replica.go_on_with(storage)
            replica.settle()
        elif step == "keep":
            backup = storage.state()
        elif step == "lose":
            # Its last moments, or days.
            storage.restore(backup)
            replica.go_on_with(storage)
            replica.settle()
        elif step == "written":
            replica._remembered._written_at = float("-inf")
        elif step == "lag":
            # The same, and nobody says so.
            storage.restore(backup)
        else:
            go_on(replica, storage)
    replica.go_on_with(storage)
    replica.settle()
    replica.bring()
    for area, kinds in SHARED.items():
        for kind in kinds:
            assert brought(storage, area, kind) == held(home, area, kind)
    assert replica.bring() == Brought()
    again = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    assert again.bring(dry_run=True) == again.bring() == Brought(same=len(names))


def test_what_is_known_of_an_engine_is_not_read_again_when_it_is_opened_anew(home: Home) -> None:
    storage, store = Away(), Store(home.state, pytest.fail)
    replica = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    replica.settle()
    store.write("question", "a", {})
    replica.bring()
    before, read = storage.state(), counted(storage)
    store.write("question", "b", {})
    storage.is_unheard = True
    with pytest.raises(StoreError):
        replica.bring()
    replica.go_on_with(storage)
    replica.settle()
    assert replica.bring() == Brought(written=1)
    assert not read
    # It has lost what it had said to be saved.
    storage.restore(before)
    replica.go_on_with(storage)
    replica.settle()
    assert replica.bring() == Brought(written=1, same=1)
    assert set(read) == {kind for kinds in SHARED.values() for kind in kinds}


def test_a_process_that_begins_compares_nothing_if_the_last_one_has_left_what_is_there(home: Home) -> None:
    storage, store = Away(), Store(home.state, pytest.fail)
    replica = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    replica.settle()
    for name in ("stays", "changes", "goes"):
        store.write("question", name, {"session": name})
    replica.bring()
    # Killed before it wrote down what came later, and with a transaction of which it has not heard.
    store.write("question", "late", {"session": "late"})
    replica.bring()
    store.write("question", "unheard", {"session": "unheard"})
    storage.is_unheard = True
    with pytest.raises(StoreError):
        replica.bring()
    read = counted(storage)
    store.write("question", "changes", {"session": "otherwise"})
    for name in ("goes", "late"):
        store.delete("question", name)
    following = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    following.settle()
    assert following.bring() == Brought(written=2, deleted=2)
    assert not read
    assert brought(storage, "", "question") == held(home, "", "question")
    assert following.bring() == Brought()


@pytest.mark.parametrize("broken", [{}, {"version": 1, "id": "x"}, {"places": 3}, {"places": [["", "question"]]}])
def test_what_was_left_and_does_not_hold_has_all_compared(home: Home, broken: dict[str, Any]) -> None:
    storage, store = Away(), Store(home.state, pytest.fail)
    store.write("question", "a", {"session": "a"})
    replica = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    replica.settle()
    replica.bring()
    left = store.read(FLEET, "known") or {}
    store.write(FLEET, "known", {**left, **broken} if broken else {})
    following = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    following.settle()
    assert following.bring() == Brought(same=1)
    compared = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    compared.settle(compare=True)
    assert compared.bring() == Brought(same=1)


def test_an_engine_that_has_lost_something_in_silence_is_found_out_by_the_next_transaction(home: Home) -> None:
    storage, store = Away(), Store(home.state, pytest.fail)
    replica = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    replica.settle()
    before = storage.state()
    store.write("question", "a", {})
    replica.bring()
    storage.restore(before)
    store.write("question", "b", {})
    with pytest.raises(StoreError, match="has lost what was written last under the name 'one'"):
        replica.bring()
    go_on(replica, storage)
    assert brought(storage, "", "question") == held(home, "", "question")


def test_what_is_open_is_brought_before_the_rest_is_compared(home: Home) -> None:
    storage, store = Away(), Store(home.state, pytest.fail)
    for kind in ("answer-result", "question"):
        store.write(kind, "a", {})
    replica = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    replica.settle()
    there = storage.store("", pytest.fail)
    former = there.entries

    def entries(kind: str, named: Any = None) -> Any:
        if kind == "answer-result":
            raise StoreError("the engine is away")
        return former(kind, named)

    there.entries = entries  # type: ignore[method-assign]
    with pytest.raises(StoreError):
        replica.bring()
    assert there.read("question", "a") == {}


LONG = st.one_of(st.text(min_size=100), st.text(st.sampled_from("aäé日%~.\ud800"), min_size=20, max_size=200))


@given(names=st.sets(st.one_of(st.text(), LONG), max_size=5), document=DOCUMENTS)
def test_any_name_reads_the_same_in_files_and_engine_and_comes_back_from_there(
    tmp_path_factory: pytest.TempPathFactory, names: set[str], document: dict[str, int]
) -> None:
    folder = tmp_path_factory.mktemp("home")
    home, storage, fresh = Home.in_folder(str(folder)), MemoryStorage(), Home.in_folder(str(folder / "fresh"))
    names |= {encode_name(name) for name in names}
    store = Store(home.state, pytest.fail)
    for number, name in enumerate(names):
        store.write("question", name, {**document, "n": number}, durable=False)
    replica = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    replica.settle()
    assert replica.bring() == Brought(written=len(names))
    there = storage.store("", pytest.fail)
    for number, name in enumerate(names):
        assert store.read("question", name) == there.read("question", name) == {**document, "n": number}
    assert store.entries("question") == there.entries("question")
    assert store.stamps("question").keys() == there.stamps("question").keys() == names
    Replica(fresh, storage, "one", SHARED_KINDS, pytest.fail).take_over()
    assert files(fresh) == files(home)


def files(home: Home) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(home.state).glob("question-*")}


def test_a_file_of_an_earlier_release_is_brought_under_its_whole_name_once_that_is_known(home: Home) -> None:
    storage, store, name = MemoryStorage(), Store(home.state, pytest.fail), "日" * 60
    path = Path(home.state, f"question-{encode_name(name)}.json")
    Path(store.write("question", name, {})).write_text('{"n": 1}')
    replica = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    replica.settle()
    replica.bring()
    assert storage.store("", pytest.fail).entries("question") == [(encode_name(name), {"n": 1})]
    assert store.replace("question", name, {"n": 2}, unchanged={"n": 1})
    assert replica.bring() == Brought(written=1, deleted=1)
    assert storage.store("", pytest.fail).entries("question") == [(name, {"n": 2})]
    path.write_text('{"session": "%s"}' % name)  # noqa: UP031 - braces
    assert replica.bring() == Brought(written=1)
    assert storage.store("", pytest.fail).read("question", name) == {"session": name}


def test_what_stands_in_the_engine_and_in_no_file_goes(home: Home) -> None:
    storage = MemoryStorage()
    storage.store("", pytest.fail).write("question", "gone", {})
    storage.store("", pytest.fail, "two").write("question", "of another", {})
    storage.store("", pytest.fail).write("call", "local", {})
    replica = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    assert replica.bring(dry_run=True) == Brought(deleted=1)
    assert storage.store("", pytest.fail).entries("question") != []
    replica.settle()
    assert replica.bring() == Brought(deleted=1)
    assert storage.store("", pytest.fail).entries("question") == []
    assert storage.store("", pytest.fail, "two").entries("question") != []


def test_documents_of_another_home_are_left_alone(home: Home, tmp_path: Path) -> None:
    storage = MemoryStorage()
    first = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    first.settle()
    first.settle()
    other = Replica(Home.in_folder(str(tmp_path / "other")), storage, "one", SHARED_KINDS, pytest.fail)
    for _ in range(2):
        with pytest.raises(ReplicaError, match=r"under the name 'one' are another home's \(.*home/state on .*\); give"):
            other.settle()
    other.take_over()
    other.settle()
    with pytest.raises(ReplicaError, match="are another home's"):
        first.settle()


def test_a_copy_of_a_home_is_another_home(home: Home, tmp_path: Path) -> None:
    storage = MemoryStorage()
    first = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    first.settle()
    shutil.copytree(home.state, tmp_path / "copy" / "state")
    copy = Replica(Home.in_folder(str(tmp_path / "copy")), storage, "one", SHARED_KINDS, pytest.fail)
    with pytest.raises(ReplicaError, match="home/state on "):
        copy.settle()
    copy.take_over()
    copy.settle()
    with pytest.raises(ReplicaError, match="copy/state on "):
        first.settle()


def test_an_empty_disk_gets_back_what_the_engine_has_and_keeps_what_it_has_itself(home: Home, tmp_path: Path) -> None:
    storage = MemoryStorage()
    store = Store(home.state, pytest.fail)
    for name in ("a", "b"):
        store.write("question", name, {"n": name})
    replica = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    replica.settle()
    replica.bring()
    fresh = Home.in_folder(str(tmp_path / "fresh"))
    Store(fresh.state, pytest.fail).write("question", "b", {"n": "newer"})
    again = Replica(fresh, storage, "one", SHARED_KINDS, pytest.fail)
    assert again.take_over() == Brought(written=1, same=1)
    assert Store(fresh.state, pytest.fail).entries("question") == [("a", {"n": "a"}), ("b", {"n": "newer"})]
    again.settle()
    assert again.bring() == Brought(written=1, same=1)


def test_one_process_at_a_time_is_there_for_a_machine(home: Home) -> None:
    storage = MemoryStorage()
    first, second = (Replica(home, storage, "one", SHARED_KINDS, pytest.fail) for _ in range(2))
    with first.lock():
        first.check_lock()
        with pytest.raises(ReplicaError, match="another process writes documents under the name 'one'"), second.lock():
            pass
    with pytest.raises(StoreError, match="the lock of the machine 'one' was lost"):
        first.check_lock()
    with second.lock():
        second.check_lock()


def test_a_process_that_stood_still_sees_that_another_one_has_taken_its_place(home: Home) -> None:
    storage = MemoryStorage()
    first, second = (Replica(home, storage, "one", SHARED_KINDS, pytest.fail) for _ in range(2))
    with first.lock():
        for store in storage.areas.values():
            store.held.clear()
        with second.lock():
            second.check_lock()
            with pytest.raises(StoreError, match="the lock of the machine 'one' was lost to holder 2"):
                first.check_lock()


@pytest.mark.parametrize("there", [{}, {"id": 7}, {"id": ["x"]}, {"version": 9, "state": None}])
def test_whatever_stands_in_the_engine_is_no_reason_to_write_over_it(home: Home, there: Mapping[str, object]) -> None:
    storage = MemoryStorage()
    storage.store("fleet", pytest.fail).write("fleet", "home", there)
    with pytest.raises(ReplicaError):
        Replica(home, storage, "one", SHARED_KINDS, pytest.fail).settle()


def test_a_comparison_that_is_asked_for_finds_what_the_engine_has_lost_and_what_it_has_too_much(home: Home) -> None:
    storage, store = MemoryStorage(), Store(home.state, pytest.fail)
    there = storage.store("", pytest.fail)
    for name in ("a", "b"):
        store.write("question", name, {})
    replica = Replica(home, storage, "one", SHARED_KINDS, pytest.fail)
    replica.settle()
    replica.bring()
    there.delete("question", "a")
    there.write("question", "c", {})
    assert replica.bring() == Brought()
    with store.lock(*SHARING, 0), ThreadPoolExecutor() as threads:
        found = threads.submit(comparing.compared, store, 60)
        once_saved(store, FLEET, lambda: comparing.asked(store), "the request")
        brought = replica.bring()
        assert found.result() == brought._asdict() == Brought(written=1, deleted=1, same=1)._asdict()
    assert sorted(name for name, _ in there.entries("question")) == ["a", "b"]
    assert store.stamps("fleet").keys() == {"home", "last", "known"}
    assert replica.bring() == Brought()


def test_whoever_asks_for_a_comparison_hears_that_nobody_is_there_or_answers(home: Home) -> None:
    store = Store(home.state, pytest.fail)
    assert comparing.compared(store, 60) is None
    with store.lock(*SHARING, 0), pytest.raises(TimeoutError):
        comparing.compared(store, 0)
    assert comparing.asked(store) == ""


def test_whose_documents_they_are_is_looked_at_without_a_trace(home: Home, tmp_path: Path) -> None:
    storage, other = MemoryStorage(), Home.in_folder(str(tmp_path / "other"))
    assert problems(home, storage, "one", pytest.fail) == []
    assert Store(home.state, pytest.fail).stamps("fleet") == storage.store("fleet", pytest.fail).stamps("fleet") == {}
    Replica(home, storage, "one", SHARED_KINDS, pytest.fail).settle()
    assert problems(home, storage, "one", pytest.fail) == []
    (problem,) = problems(other, storage, "one", pytest.fail)
    assert "the documents under the name 'one' are another home's" in problem
    shutil.rmtree(home.state)
    (problem,) = problems(home, storage, "one", pytest.fail)
    assert "hookrouter storage copy --to files" in problem
