from __future__ import annotations

import fcntl
import json
import os
import stat
import tempfile
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.storage.journal import Journal, cap
from hookrouter.util.clock import iso


@pytest.fixture
def journal(tmp_path) -> Journal:
    return Journal(str(tmp_path / "logs"))


def test_records_come_back_in_order_with_their_time_first(journal, tmp_path):
    before = iso()
    assert journal.write({"event": "Stop", "n": 1}, "s-1")
    assert journal.write({"event": "Stop", "n": 2, "at": "2000-01-01T00:00:00.000Z"}, "s-1")
    first, second = journal.records("s-1")
    assert list(first) == ["at", "event", "n"]
    assert before <= first["at"] <= iso()
    assert second["at"] == "2000-01-01T00:00:00.000Z"
    assert len((tmp_path / "logs" / "s-1.jsonl").read_text().splitlines()) == 2


def test_each_session_has_its_file_and_the_rest_another(journal, tmp_path):
    journal.write({"n": 1}, "../s")
    journal.write({"n": 2}, None)
    journal.write({"n": 3}, "")
    assert sorted(os.listdir(tmp_path / "logs")) == ["%2E.%2Fs.jsonl", "hookrouter.jsonl"]
    assert [record["n"] for record in journal.records("../s")] == [1]
    assert [record["n"] for record in journal.records(None)] == [2, 3]
    assert journal.records("other") == []


def test_only_the_user_can_read_it(journal, tmp_path):
    journal.write({}, "s")
    assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "logs" / "s.jsonl").stat().st_mode) == 0o600


def test_search_finds_records_of_all_sessions_and_of_rotated_files(tmp_path):
    journal = Journal(str(tmp_path / "logs"), max_bytes=400, backups=3)
    for number in range(6):
        journal.write({"event": "Stop", "n": number, "filling": "x" * 100}, "s-1")
    journal.write({"event": "Start", "n": 6}, "s-1")
    journal.write({"event": "Stop", "n": 7}, "s-2")
    (tmp_path / "logs" / "s-3.jsonl").write_bytes(b'{"event":"Stop", broken\n')
    assert len(os.listdir(tmp_path / "logs")) > 4
    assert [record["n"] for record in journal.search(['"event":"Stop"'])] == [0, 1, 2, 3, 4, 5, 7]
    assert [record["n"] for record in journal.search(["Start", "s-2"])] == [6]
    assert list(journal.search(["Start"], since=time.time() + 60)) == []
    assert list(Journal(str(tmp_path / "none")).search(["Stop"])) == []


def test_a_session_whose_only_file_was_just_rotated_is_read_and_found(tmp_path):
    journal = Journal(str(tmp_path), max_bytes=100, backups=3)
    for number in range(2):
        journal.write({"event": "Stop", "n": number, "filling": "x" * 100}, "s")
    assert sorted(os.listdir(tmp_path)) == ["s.jsonl.1", "s.jsonl.2", "s.jsonl.lock"]
    assert [record["n"] for record in journal.search(["Stop"])] == [0, 1]
    assert len(list(journal.lines(since=time.time() - 60))) == 2
    os.utime(tmp_path / "s.jsonl.2", (0, 0))
    assert len(list(journal.lines(since=time.time() - 60))) == 2, "the session was written, if not that file of it"
    assert list(journal.lines(since=time.time() + 60)) == []


def test_a_file_that_is_rotated_while_the_folder_is_read_hides_no_other(tmp_path, monkeypatch):
    journal = Journal(str(tmp_path), max_bytes=1000, backups=3)
    for session in ("a", "b"):
        journal.write({"session": session}, session)
    scandir = os.scandir

    class Renaming:
        """Gives a folder's entries, and renames the file of each before anybody can ask for more than its name."""

        def __init__(self, folder: str) -> None:
            self.entries = list(scandir(folder))

        def __enter__(self):
            for entry in self.entries:
                os.rename(entry.path, f"{entry.path}.1")
            return iter(self.entries)

        def __exit__(self, *_error: object) -> None:
            return

    monkeypatch.setattr("os.scandir", Renaming)
    assert len(list(journal.lines(since=time.time() - 60))) == 2


def test_since_leaves_out_what_is_older(journal):
    now = time.time()
    for age in (100, 50, 1):
        journal.write({"at": iso(now - age), "age": age}, "s")
    journal.write({"age": 0, "at": iso(now)}, "s")
    assert [record["age"] for record in journal.records("s", since=now - 50)] == [50, 1, 0]
    assert journal.records("s", since=now + 60) == []
    assert journal.records("s", since=1e30) == []


def test_broken_lines_are_left_out_and_hurt_no_other(journal, tmp_path):
    journal.write({"n": 1}, "s")
    with open(tmp_path / "logs" / "s.jsonl", "ab") as file:
        file.write(b'not json\n[1]\n\xff\n{"n": 2, "torn')
    journal.write({"n": 3}, "s")
    assert [record["n"] for record in journal.records("s")] == [1, 3]


def test_a_payload_does_not_land_in_the_log(journal, tmp_path):
    journal.write({"reason": "x" * 20_000_000, "list": list(range(10_000)), "deep": {"a": ["y" * 10_000]}}, "s")
    (record,) = journal.records("s")
    assert record["reason"].startswith("x" * 1000)
    assert record["reason"].endswith("(20000000 characters)")
    assert record["list"][-1] == "… 9800 more"
    assert (tmp_path / "logs" / "s.jsonl").stat().st_size < 20_000


def test_a_record_of_many_long_strings_is_cut_harder(journal, tmp_path):
    journal.write({"event": "Stop", "many": {str(n): ["z" * 4000] * 20 for n in range(200)}}, "s")
    assert journal.records("s")[0]["event"] == "Stop"
    assert (tmp_path / "logs" / "s.jsonl").stat().st_size < 300_000


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no repr for you")


def test_what_json_does_not_have_is_shown(journal):
    circular: dict[str, object] = {}
    circular["self"] = circular
    record = {
        "nan": float("nan"), "huge": 10**5000, "bytes": b"ab", "set": {1}, "object": Hostile(), 5: "five",
        "surrogate": "\ud800", "circular": circular,
    }  # fmt: skip
    assert journal.write(record, "s")
    (read,) = journal.records("s")
    assert read["nan"] == "nan"
    assert read["bytes"] == "b'ab'"
    assert read["set"] == [1]
    assert read["object"] == "<Hostile>"
    assert read["5"] == "five"
    assert read["surrogate"] == "\ud800"


def test_a_journal_that_cannot_be_written_stops_nothing(tmp_path):
    (tmp_path / "logs").write_text("a file")
    journal = Journal(str(tmp_path / "logs"))
    assert journal.write({"n": 1}, "s") is False
    assert journal.records("s") == []


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/etc/hostname", path)])
def test_what_is_not_a_file_is_not_written(journal, tmp_path, make):
    (tmp_path / "logs").mkdir()
    make(tmp_path / "logs" / "s.jsonl")
    assert journal.write({"n": 1}, "s") is False
    assert journal.records("s") == []


def test_a_large_file_is_rotated_and_the_oldest_forgotten(tmp_path):
    journal = Journal(str(tmp_path), max_bytes=1000, backups=2)
    for number in range(100):
        journal.write({"n": number, "filling": "x" * 60}, "s")
    numbers = [record["n"] for record in journal.records("s")]
    assert numbers == list(range(numbers[0], 100))
    assert 15 <= len(numbers) <= 40
    files = sorted(name for name in os.listdir(tmp_path) if not name.endswith(".lock"))
    assert files == ["s.jsonl", "s.jsonl.1", "s.jsonl.2"] or files == ["s.jsonl.1", "s.jsonl.2"]
    assert all((tmp_path / name).stat().st_size <= 1200 for name in files)


def test_a_rotation_that_was_killed_halfway_loses_nothing_more(tmp_path):
    journal = Journal(str(tmp_path), max_bytes=1, backups=3)
    for number in range(3):
        journal.write({"n": number}, "s")
    # Killed after the files were moved up and before the current one was.
    os.rename(tmp_path / "s.jsonl.1", tmp_path / "s.jsonl")
    journal.write({"n": 3}, "s")
    assert [record["n"] for record in journal.records("s")] == [0, 1, 2, 3]


def test_a_file_that_another_process_has_just_rotated_is_left_alone(tmp_path, monkeypatch):
    flock = fcntl.flock

    def flock_after_another(descriptor: int, operation: int) -> None:
        os.rename(tmp_path / "s.jsonl", tmp_path / "s.jsonl.1")
        (tmp_path / "s.jsonl").write_text('{"n": 2}\n')
        flock(descriptor, operation)

    monkeypatch.setattr("fcntl.flock", flock_after_another)
    Journal(str(tmp_path), max_bytes=20).write({"n": 1}, "s")
    assert (tmp_path / "s.jsonl").read_text() == '{"n": 2}\n'
    assert not (tmp_path / "s.jsonl.2").exists()


@given(st.lists(st.binary(), max_size=5))
def test_any_bytes_are_read_without_an_error(lines):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "s.jsonl"), "wb") as file:
            file.write(b"\n".join(lines))
        journal = Journal(folder)
        assert all(isinstance(record, dict) for record in journal.records("s"))
        assert journal.write({"n": 1}, "s")
        assert journal.records("s")[-1]["n"] == 1
        assert journal.records("s", since=time.time() - 60)[-1]["n"] == 1


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda children: st.lists(children) | st.dictionaries(st.text(), children) | st.tuples(children),
    )
)
def test_whatever_is_capped_is_json(value):
    json.dumps(cap(value, max_string=5, max_items=2, depth=2), allow_nan=False)


def test_an_open_folder_is_closed_before_the_first_record(journal, tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs").chmod(0o777)
    assert journal.write({}, "s")
    assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700


def test_a_folder_of_somebody_else_gets_no_record(journal, tmp_path, monkeypatch):
    (tmp_path / "logs").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert not journal.write({}, "s")
    assert os.listdir(tmp_path / "logs") == []


def test_sessions_that_were_long_silent_are_removed(tmp_path):
    journal = Journal(str(tmp_path), max_bytes=10)
    old = time.time() - 31 * 86400
    for session in ("silent", "spoke", None):
        for _ in range(2):
            journal.write({"n": 1}, session)
    journal.write({"n": 1}, "spoke")
    (tmp_path / "lone.jsonl.lock").write_text("")
    (tmp_path / "delivery.log").write_text("")
    for name in os.listdir(tmp_path):
        if name != "spoke.jsonl.1":
            os.utime(tmp_path / name, (old, old))
    before = set(os.listdir(tmp_path))
    assert "silent.jsonl.2" in before

    journal.prune(30 * 86400)

    gone = before - set(os.listdir(tmp_path))
    assert gone == {"silent.jsonl.1", "silent.jsonl.2", "silent.jsonl.lock", "lone.jsonl.lock"}


def test_a_journal_that_is_not_there_needs_no_pruning(journal):
    journal.prune(0)
