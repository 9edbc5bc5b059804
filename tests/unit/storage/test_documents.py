from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.storage.documents import Store, StoreBusy, StoreError, durable_together, replace_file

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=10,
)


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def store(tmp_path, reports) -> Store:
    return Store(str(tmp_path / "state"), reports.append)


def test_a_document_comes_back(store):
    path = store.write("question", "warden-main", {"session": "warden-main", "n": 1})
    assert os.path.basename(path) == "question-warden-main.json"
    assert store.read("question", "warden-main") == {"session": "warden-main", "n": 1}
    assert store.read("question", "warden") is None
    assert store.read("pending-answer", "warden-main") is None


def test_only_the_user_can_read_it(store):
    path = store.write("question", "a", {})
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(store.folder).st_mode) == 0o700


def test_no_name_leaves_the_folder(store, tmp_path):
    path = store.write("question", "../../x", {"session": "../../x"})
    assert os.path.dirname(path) == store.folder
    assert store.entries("question") == [("../../x", {"session": "../../x"})]
    assert os.listdir(tmp_path) == ["state"]


def test_a_kind_is_a_plain_word(store):
    with pytest.raises(ValueError, match="kind"):
        store.read("../x", "a")


def test_deleting_says_whether_there_was_one(store):
    assert store.delete("question", "a") is False
    store.write("question", "a", {})
    assert store.delete("question", "a") is True
    assert store.read("question", "a") is None


def test_entries_are_sorted_by_name_and_of_one_kind(store):
    long = "long" * 100
    for name in ("b", "a/1", long, "C"):
        store.write("question", name, {"session": name})
    store.write("pending-answer", "a", {})
    assert [name for name, _ in store.entries("question")] == ["C", "a/1", "b", long]
    assert store.entries("no-such") == []


def test_a_folder_that_is_not_there_holds_nothing(store):
    assert store.entries("question") == []
    assert store.read("question", "a") is None
    assert not os.path.exists(store.folder)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"null", b'{"a":1}{"b":2}', b"\xff\xfe", b"[" * 100_000])
def test_a_corrupt_document_is_put_aside_and_reported(store, reports, content):
    path = store.write("question", "a", {})
    with open(path, "wb") as file:
        file.write(content)
    assert store.read("question", "a") is None
    (kept,) = os.listdir(os.path.join(store.folder, "quarantine"))
    assert kept.startswith("question-a.json.")
    with open(os.path.join(store.folder, "quarantine", kept), "rb") as file:
        assert file.read() == content
    assert len(reports) == 1
    assert path in reports[0]
    assert kept in reports[0]
    store.write("question", "a", {"new": True})
    assert store.entries("question") == [("a", {"new": True})]


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/etc/hostname", path)])
def test_what_is_not_a_file_is_put_aside_and_never_waited_for(store, reports, make):
    path = store.write("question", "a", {})
    os.unlink(path)
    make(path)
    assert store.entries("question") == []
    assert not os.path.lexists(path)
    assert len(reports) == 1


def test_a_link_is_replaced_and_its_target_untouched(store, tmp_path):
    target = tmp_path / "precious"
    target.write_text("precious")
    path = store.write("question", "a", {})
    os.unlink(path)
    os.symlink(target, path)
    store.write("question", "a", {"n": 1})
    assert target.read_text() == "precious"
    assert store.read("question", "a") == {"n": 1}


def test_a_document_that_is_not_json_changes_nothing(store):
    store.write("question", "a", {"n": 1})
    with pytest.raises(TypeError):
        store.write("question", "a", {"n": object()})
    with pytest.raises(ValueError, match=r"(?i)nan|not JSON compliant|out of range"):
        store.write("question", "a", {"n": float("nan")})
    assert store.entries("question") == [("a", {"n": 1})]
    assert sorted(os.listdir(store.folder)) == ["question-a.json"]


def test_a_file_in_place_of_the_folder_is_named(tmp_path, reports):
    (tmp_path / "state").write_text("")
    store = Store(str(tmp_path / "state"), reports.append)
    with pytest.raises(StoreError, match=rf"cannot write {tmp_path}/state/question-a\.json: .*; a file is where"):
        store.write("question", "a", {})
    with pytest.raises(StoreError, match="cannot lock"), store.lock("answer", "a", 0):
        pass


def test_a_full_disk_leaves_the_former_document(store, monkeypatch):
    store.write("question", "a", {"n": 1})

    def full(_descriptor: int, data: memoryview) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.write", full)
    with pytest.raises(StoreError, match=r"question-a\.json: No space left on device; free some space"):
        store.write("question", "a", {"n": 2})
    monkeypatch.undo()
    assert store.read("question", "a") == {"n": 1}
    assert os.listdir(store.folder) == ["question-a.json"]


def test_a_short_write_is_continued(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr("os.write", lambda descriptor, data: write(descriptor, bytes(data[:3])))
    replace_file(str(tmp_path / "file"), b"0123456789", durable=True)
    monkeypatch.undo()
    assert (tmp_path / "file").read_bytes() == b"0123456789"


def test_left_overs_of_killed_writers_are_ignored_and_one_day_removed(store):
    store.write("question", "a", {})
    old = os.path.join(store.folder, ".question-a.json.1-aa.tmp")
    young = os.path.join(store.folder, ".question-a.json.2-bb.tmp")
    for path in (old, young):
        with open(path, "w", encoding="ascii") as file:
            file.write('{"half')
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    assert store.entries("question") == [("a", {})]
    assert sorted(os.listdir(store.folder)) == [os.path.basename(young), "question-a.json"]


def test_a_released_lock_is_free_and_leaves_no_file(store):
    for _ in range(2):
        with store.lock("answer", "a", 0):
            assert os.listdir(os.path.join(store.folder, "locks")) == ["answer-a.lock"]
            with pytest.raises(StoreBusy), store.lock("answer", "a", 0):
                pass
        assert os.listdir(os.path.join(store.folder, "locks")) == []


def test_a_lock_is_released_by_an_exception(store):
    with pytest.raises(KeyError), store.lock("answer", "a", 0):
        raise KeyError
    with store.lock("answer", "a", 0):
        pass


@given(st.dictionaries(st.text(), JSON), st.text(alphabet=st.characters(exclude_categories=())))
def test_any_document_under_any_name_comes_back(document, name):
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder, lambda text: pytest.fail(text))
        store.write("question", name, document, durable=False)
        assert store.read("question", name) == document
        assert len(store.entries("question")) == 1


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_a_document_or_quarantined(content):
    with tempfile.TemporaryDirectory() as folder:
        reports: list[str] = []
        store = Store(folder, reports.append)
        with open(os.path.join(folder, "question-a.json"), "wb") as file:
            file.write(content)
        document = store.read("question", "a")
        assert isinstance(document, dict) or (document is None and len(reports) == 1)
        assert store.read("question", "a") == document


def test_an_open_folder_is_closed_before_the_first_document(store, tmp_path):
    for folder in (tmp_path / "state", tmp_path / "state" / "inner"):
        folder.mkdir()
        folder.chmod(0o777)
    inner = Store(str(tmp_path / "state" / "inner"), print, base=store.folder)
    inner.write("question", "a", {})
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "state", tmp_path / "state" / "inner")] == [
        0o700,
        0o700,
    ]


def test_an_open_folder_is_closed_before_the_first_lock(store, tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o777)
    with store.lock("question", "a", 0):
        assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


def test_a_folder_of_somebody_else_is_not_written(store, tmp_path, monkeypatch):
    (tmp_path / "state").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(StoreError, match=r"belongs to the user .*; make it yours, or set HOOKROUTER_HOME"):
        store.write("question", "a", {})
    with pytest.raises(StoreError, match="belongs to the user"), store.lock("question", "a", 0):
        pass
    assert os.listdir(tmp_path / "state") == []


def test_what_was_set_aside_long_ago_is_removed(store, tmp_path):
    store.write("question", "kept", {})
    (tmp_path / "state" / "question-file.json").write_text("{")
    (tmp_path / "state" / "question-folder.json").mkdir()
    (tmp_path / "state" / "question-folder.json" / "x").write_text("")
    assert [name for name, _ in store.entries("question")] == ["kept"]
    quarantine = tmp_path / "state" / "quarantine"
    assert len(os.listdir(quarantine)) == 2

    store.prune(3600)
    assert len(os.listdir(quarantine)) == 2
    store.prune(-60)
    assert os.listdir(quarantine) == []
    assert store.read("question", "kept") == {}


def test_locks_that_a_killed_process_left_are_removed_and_held_ones_stay(store, tmp_path):
    with store.lock("answer", "held", 0):
        left = tmp_path / "state" / "locks" / "answer-left.lock"
        left.write_text("process 1")
        for name in ("left", "held"):
            os.utime(tmp_path / "state" / "locks" / f"answer-{name}.lock", (0, 0))
        store.prune(3600)
        assert os.listdir(left.parent) == ["answer-held.lock"]


def test_nothing_to_prune_is_no_error(store):
    store.prune(0)


def test_documents_that_are_durable_together_are_on_the_disk_at_the_end(tmp_path, reports, monkeypatch):
    one, other = Store(str(tmp_path / "one"), reports.append), Store(str(tmp_path / "other"), reports.append)
    flushed = []

    def flush(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        flushed.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")) if is_folder else "file")

    monkeypatch.setattr(os, "fsync", flush)
    with durable_together():
        one.write("a", "1", {})
        with durable_together():
            one.write("a", "2", {})
            other.write("a", "3", {})
            other.write("a", "4", {}, durable=False)
        assert flushed == ["file"] * 3
    assert flushed[3:] == ["other", "one"]
    one.write("a", "5", {})
    assert flushed[5:] == ["file", "one"]


def test_what_was_saved_before_a_fault_is_on_the_disk_too(store, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", flushed.append)

    def saved() -> None:
        with durable_together():
            store.write("a", "1", {})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        saved()
    assert len(flushed) == 2


def test_a_folder_that_cannot_be_flushed_is_told(store, monkeypatch):
    def refuse(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "no")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StoreError, match="cannot write"), durable_together():
        store.write("a", "1", {})
