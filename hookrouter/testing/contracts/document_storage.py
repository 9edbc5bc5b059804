"""What every engine of documents must do, tried on the real engine and in several processes at once."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from hookrouter.storage.interface import StoreBusy
from hookrouter.util.system import fork

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.storage.interface import DocumentStore

__all__ = ["DocumentStorageContract", "StoreMaker"]

_SECONDS = 20.0
"""How long anything may take that happens at once on an idle machine."""

NAMES = [
    "a",
    "warden-main",
    "",
    ".",
    "..",
    "../../x",
    "a/b",
    "a b",
    "Ä日👍",
    "%",
    "a.json",
    "-",
    "\x00",
    "\ud800",
    "s-1:main:toolu_1",
    "x" * 400,
]

DOCUMENTS: dict[str, dict[str, object]] = {
    "empty": {},
    "nested": {"a": [1, 2.5, None, True, {"b": ["c"]}], "": {"": ""}},
    "text": {"text": 'Ä日👍 \x00\x1b\u2028 \ud800 "\\\n'},
    "large": {"text": "x" * 200_000},
}


class StoreMaker(Protocol):
    """What an author gives to the contract: makes objects over one and the same set of documents, empty at first."""

    def __call__(self) -> DocumentStore:
        """Return another object over the same documents, as another process would make it; also in a forked child."""


class DocumentStorageContract:
    """Subclass it, and give one fixture, in the class or its module: ``make_store``, a :class:`StoreMaker`.

    Several tests fork, because what holds between processes is what matters. A child must not use an object that was
    made before the fork, so each calls ``make_store`` itself.
    """

    @pytest.fixture
    def store(self, make_store: StoreMaker) -> DocumentStore:
        return make_store()

    @pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
    def test_a_document_comes_back_as_it_was(
        self, store: DocumentStore, make_store: StoreMaker, document: dict[str, object]
    ) -> None:
        assert store.read("thing", "a") is None
        assert isinstance(store.write("thing", "a", document), str)
        assert make_store().read("thing", "a") == document

    @pytest.mark.parametrize("durable", [True, False])
    def test_a_later_document_takes_the_place_of_the_former(self, store: DocumentStore, *, durable: bool) -> None:
        store.write("thing", "a", {"n": 1, "only": "here"}, durable=durable)
        store.write("thing", "a", {"n": 2}, durable=durable)
        assert store.read("thing", "a") == {"n": 2}
        assert store.entries("thing") == [("a", {"n": 2})]

    def test_any_name_stands_for_itself_alone(self, store: DocumentStore) -> None:
        for name in NAMES:
            store.write("thing", name, {"session": name})
        for name in NAMES:
            assert store.read("thing", name) == {"session": name}, name
        assert store.entries("thing") == sorted((name, {"session": name}) for name in NAMES)

    def test_entries_are_chosen_by_their_names(self, store: DocumentStore) -> None:
        for name in NAMES:
            store.write("thing", name, {"session": name})
        store.write("other-thing", "a:b", {})
        for part in ("a", ":", "/", ".", "..", "Ä", "日👍", "%", "\ud800", "3A", "nowhere"):
            found = [name for name, _ in store.entries("thing", lambda name, part=part: part in name)]  # type: ignore[misc]
            assert [name for name in found if len(name) < 100] == sorted(name for name in NAMES if part in name), part
        assert "x" * 400 in [name for name, _ in store.entries("thing", lambda name: name.startswith("xx"))]

    def test_kinds_are_kept_apart(self, store: DocumentStore) -> None:
        store.write("thing", "a", {"kind": "thing"})
        store.write("other-thing", "a", {"kind": "other"})
        assert store.read("thing", "a") == {"kind": "thing"}
        assert store.entries("other-thing") == [("a", {"kind": "other"})]
        assert store.entries("nothing") == []

    @pytest.mark.parametrize("kind", ["", "../x", "a/b", "a b"])
    def test_a_kind_is_a_plain_word(self, store: DocumentStore, kind: str) -> None:
        with pytest.raises(ValueError, match="kind"):
            store.read(kind, "a")

    @pytest.mark.parametrize("document", [{"a": object()}, {"a": float("nan")}], ids=["object", "nan"])
    def test_what_is_no_json_is_refused_and_changes_nothing(
        self, store: DocumentStore, document: dict[str, object]
    ) -> None:
        store.write("thing", "a", {"n": 1})
        for save in (store.write, store.create):
            with pytest.raises((TypeError, ValueError)):
                save("thing", "a", document)
        with pytest.raises((TypeError, ValueError)):
            store.replace("thing", "a", document, unchanged={"n": 1})
        assert store.read("thing", "a") == {"n": 1}

    def test_deleting_says_whether_there_was_one(self, store: DocumentStore) -> None:
        assert store.delete("thing", "a") is False
        store.write("thing", "a", {})
        assert store.delete("thing", "a") is True
        assert store.read("thing", "a") is None
        assert store.entries("thing") == []

    def test_what_is_changed_by_its_reader_stays_as_it_was_saved(self, store: DocumentStore) -> None:
        store.write("thing", "a", {"list": [1]})
        read: Any = store.read("thing", "a")
        read["list"].append(2)
        assert store.read("thing", "a") == {"list": [1]}

    def test_who_creates_first_wins_and_the_second_is_told(self, store: DocumentStore, make_store: StoreMaker) -> None:
        assert store.create("thing", "a", {"by": "first"}) is None
        assert make_store().create("thing", "a", {"by": "second"}) == {"by": "first"}
        assert store.read("thing", "a") == {"by": "first"}
        store.delete("thing", "a")
        assert store.create("thing", "a", {"by": "third"}, durable=False) is None

    def test_of_many_processes_one_creates(self, make_store: StoreMaker) -> None:
        def create(number: int) -> bool:
            return make_store().create("thing", "race", {"by": number}) is None

        won = _forked(8, create)
        assert sum(won) == 1
        assert make_store().read("thing", "race") == {"by": won.index(True)}

    def test_a_document_is_replaced_if_it_is_what_was_read(self, store: DocumentStore, make_store: StoreMaker) -> None:
        assert not store.replace("thing", "a", {"n": 1}, unchanged={})
        assert store.read("thing", "a") is None
        store.write("thing", "a", {"n": 1})
        assert store.replace("thing", "a", {"n": 2}, unchanged={"n": 1})
        assert not make_store().replace("thing", "a", {"n": 3}, unchanged={"n": 1}, durable=False)
        assert store.read("thing", "a") == {"n": 2}

    def test_no_count_is_lost_between_processes_that_replace(self, make_store: StoreMaker) -> None:
        make_store().write("thing", "count", {"n": 0})

        def count(_number: int) -> bool:
            store = make_store()
            for _ in range(10):
                while True:
                    former: Any = store.read("thing", "count")
                    if store.replace("thing", "count", {"n": former["n"] + 1}, unchanged=former, durable=False):
                        break
            return True

        assert all(_forked(4, count))
        assert make_store().read("thing", "count") == {"n": 40}

    def test_a_reader_sees_the_old_document_or_the_new_one(self, make_store: StoreMaker) -> None:
        make_store().write("thing", "a", {"text": "0" * 50_000})

        def write(number: int) -> bool:
            store = make_store()
            for _ in range(30):
                store.write("thing", "a", {"text": str(number) * 50_000}, durable=False)
                document: Any = store.read("thing", "a")
                if document is None or len(document["text"]) != 50_000 or len(set(document["text"])) != 1:
                    return False
            return True

        assert all(_forked(4, write))

    def test_stamps_tell_of_every_change_of_every_document(self, store: DocumentStore, make_store: StoreMaker) -> None:
        assert dict(store.stamps("thing")) == {}
        for name in ("a", "", "a/b"):
            store.write("thing", name, {"n": 1})
        store.write("other-thing", "c", {})
        first = dict(store.stamps("thing"))
        assert sorted(first) == ["", "a", "a/b"]
        assert dict(make_store().stamps("thing")) == first
        store.replace("thing", "a", {"n": 2}, unchanged={"n": 1}, durable=False)
        store.delete("thing", "")
        second = dict(store.stamps("thing"))
        assert sorted(second) == ["a", "a/b"]
        assert second["a"] != first["a"]
        assert second["a/b"] == first["a/b"]

    def test_nothing_is_put_aside_that_is_sound(self, store: DocumentStore) -> None:
        store.write("thing", "a", {})
        store.read("thing", "a")
        place, names = store.put_aside()
        assert isinstance(place, str)
        assert list(names) == []

    def test_a_watch_wakes_for_each_kind_of_change(self, store: DocumentStore, make_store: StoreMaker) -> None:
        other = make_store()
        changes: list[Callable[[], object]] = [
            lambda: other.write("thing", "a", {"n": 1}),
            lambda: other.write("thing", "a", {"n": 2}),
            lambda: other.replace("thing", "a", {"n": 3}, unchanged={"n": 2}),
            lambda: other.delete("thing", "a"),
            lambda: other.create("thing", "a", {"n": 4}),
        ]
        with store.watch("thing", "a") as one, store.watch("thing") as all_of_them:
            assert not one.wait(0)
            for change in changes:
                change()
                assert one.wait(_SECONDS)
                assert all_of_them.wait(_SECONDS)
                assert not one.wait(0)
                assert not all_of_them.wait(0)

    def test_a_watch_wakes_a_process_that_waits(self, make_store: StoreMaker) -> None:
        waiting, woken = threading.Event(), []

        def wait() -> None:
            with make_store().watch("thing", "a") as changes:
                waiting.set()
                woken.append(changes.wait(_SECONDS))

        thread = threading.Thread(target=wait)
        thread.start()
        assert waiting.wait(_SECONDS)
        assert _forked(1, lambda _number: bool(make_store().write("thing", "a", {})))
        thread.join(_SECONDS)
        assert woken == [True]

    def test_a_watch_does_not_tell_of_other_documents(self, store: DocumentStore) -> None:
        with store.watch("thing", "a") as one, store.watch("thing") as all_of_them:
            store.write("other-thing", "a", {})
            store.write("thing-of-another-kind", "a", {})
            with store.lock("thing", "a", 0):
                pass
            assert not one.wait(0.2)
            store.delete("thing-of-another-kind", "a")
            store.write("thing", "b", {})
            assert all_of_them.wait(_SECONDS)
            assert not one.wait(0.2)

    def test_a_watch_counts_from_its_beginning(self, store: DocumentStore) -> None:
        watch = store.watch("thing", "a")
        store.write("thing", "a", {"n": 1})
        with watch as changes:
            assert not changes.wait(0)
            store.write("thing", "a", {"n": 2})
            store.write("thing", "a", {"n": 3})
            assert changes.wait(0) or changes.wait(_SECONDS)
            assert store.read("thing", "a") == {"n": 3}

    def test_one_process_at_a_time_holds_a_lock(self, store: DocumentStore, make_store: StoreMaker) -> None:
        other = make_store()
        assert other.lock_holder("thing", "a") is None
        with store.lock("thing", "a", 0):
            holder = other.lock_holder("thing", "a")
            assert holder
            with pytest.raises(StoreBusy) as refused, other.lock("thing", "a", 0):
                pass
            assert refused.value.holder == holder
            with other.lock("thing", "b", 0), other.lock("other", "a", 0):
                pass
            assert other.lock_holder("thing", "a") == holder
        assert other.lock_holder("thing", "a") is None
        with other.lock("thing", "a", 0):
            pass

    def test_looking_at_a_lock_disturbs_nobody_who_takes_it(self, make_store: StoreMaker) -> None:
        def look(_number: int) -> bool:
            store = make_store()
            for _ in range(300):
                store.lock_holder("thing", "free")
            return True

        def take(_number: int) -> bool:
            store = make_store()
            for _ in range(100):
                with store.lock("thing", "free", 0):
                    pass
            return True

        assert all(_forked(4, lambda number: take(number) if number == 0 else look(number)))

    def test_a_lock_ends_with_its_process(self, make_store: StoreMaker) -> None:
        def die(_number: int) -> bool:
            make_store().lock("thing", "a", 0).__enter__()
            os._exit(0)

        assert _forked(1, die) == [True]
        with make_store().lock("thing", "a", _SECONDS):
            pass

    def test_a_forked_child_leaves_the_lock_to_its_parent(self, store: DocumentStore, make_store: StoreMaker) -> None:
        with store.lock("thing", "a", 0) as lock:

            def forget(_number: int) -> bool:
                lock.forget()
                return True

            assert _forked(1, forget) == [True]
            assert make_store().lock_holder("thing", "a")

    def test_pruning_keeps_documents_and_locks_that_are_held(self, store: DocumentStore) -> None:
        store.write("thing", "a", {"n": 1})
        with store.lock("thing", "a", 0):
            store.prune(-3600)
            assert store.lock_holder("thing", "a")
        store.prune(-3600)
        assert store.read("thing", "a") == {"n": 1}
        with store.lock("thing", "a", 0):
            pass


def _forked(count: int, work: Callable[[int], bool]) -> list[bool]:
    """Do some work in so many processes at once; return what each said, False for one that raised."""
    children = []
    for number in range(count):
        child = fork()
        if child == 0:
            code = 1
            try:
                code = 0 if work(number) else 2
            finally:
                os._exit(code)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 for child in children]
