"""Reading the journal for people."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hookrouter.storage.journal import Journal
from hookrouter.storage.journal_query import Entry, Selection, SessionNames, Tail, entries, find, latest


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(str(tmp_path / "logs"))


def numbers(found: list[Entry]) -> list[object]:
    return [entry.record["n"] for entry in found]


def test_records_are_known_by_an_id_that_stays(journal: Journal) -> None:
    for number in range(200):
        journal.write({"event": "Stop", "n": number}, f"s-{number % 3}")

    found = list(entries(journal))

    assert len({entry.id for entry in found}) == 200
    chosen = found[7]
    assert [(entry.id, entry.record) for entry in find(journal, chosen.id)] == [(chosen.id, chosen.record)]
    assert chosen.id in [entry.id for entry in find(journal, chosen.id[:4])]
    assert find(journal, "0" * 10) == []


@pytest.mark.parametrize("name", ["", "abc", "LAST", "xyz1", "../logs"])
def test_what_is_no_id_is_refused(journal: Journal, name: str) -> None:
    with pytest.raises(ValueError, match="'hookrouter logs' shows"):
        find(journal, name)


def test_the_last_record_is_the_newest_hook_run(journal: Journal) -> None:
    journal.write({"at": "2026-01-01T00:00:03.000Z", "event": "delivery", "ms": 1, "pid": 1, "n": 1}, "s-1")
    journal.write({"at": "2026-01-01T00:00:02.000Z", "event": "Stop", "ms": 1, "pid": 1, "n": 2}, "s-2")
    journal.write({"at": "2026-01-01T00:00:01.000Z", "event": "Stop", "ms": 1, "pid": 1, "n": 3}, "s-1")

    assert numbers(find(journal, "last")) == [2]


def test_the_newest_records_of_all_sessions_come_in_order_of_time(journal: Journal) -> None:
    for number in (5, 1, 4, 2, 3):
        journal.write({"at": f"2026-01-01T00:00:0{number}.000Z", "n": number}, f"s-{number % 2}")

    assert numbers(latest(entries(journal), 2)) == [4, 5]
    assert numbers(latest(entries(journal), 0)) == [1, 2, 3, 4, 5]
    assert numbers(latest(entries(journal), 9)) == [1, 2, 3, 4, 5]
    assert numbers(latest(entries(journal, 1767225603.0), 0)) == [3, 4, 5]


def test_records_are_chosen_by_what_they_say(journal: Journal) -> None:
    call = {"plugin": "guard", "hook": "stop", "ms": 1, "outcome": "none"}
    journal.write({"n": 1, "level": "debug", "event": "PreToolUse", "plugins": []}, "s")
    journal.write({"n": 2, "level": "info", "event": "PreToolUse", "plugins": [call]}, "s")
    journal.write({"n": 3, "level": "error", "event": "Stop", "plugins": [call]}, "s")
    journal.write({"n": 4, "event": "answer"}, "s")

    def chosen(**wanted: str) -> list[object]:
        selection = Selection(journal, **wanted)  # type: ignore[arg-type]
        return numbers([entry for entry in entries(journal) if entry in selection])

    assert chosen() == [1, 2, 3, 4]
    assert chosen(level="warning") == [3]
    assert chosen(level="info") == [2, 3, 4]
    assert chosen(event="pre-tool-use") == chosen(event="PreToolUse") == [1, 2]
    assert chosen(event="answer") == [4]
    assert chosen(plugin="guard") == [2, 3]
    assert chosen(plugin="guard", event="Stop") == [3]


def test_a_session_is_chosen_by_its_name_or_the_beginning_of_its_id(journal: Journal) -> None:
    journal.write({"n": 1, "session_id": "abc-1"}, "abc-1")
    journal.write({"n": 2, "session_id": "abc-1", "session": "wörk"}, "abc-1")
    journal.write({"n": 3, "session_id": "abd-2"}, "abd-2")
    journal.write({"n": 4}, None)

    def chosen(session: str) -> list[object]:
        selection = Selection(journal, session=session)
        return numbers([entry for entry in latest(entries(journal), 0) if entry in selection])

    assert sorted(map(str, chosen("wörk"))) == ["1", "2"]
    assert sorted(map(str, chosen("ab"))) == ["1", "2", "3"]
    assert chosen("abd-2") == [3]
    assert chosen("claude-abd-2") == [3]
    assert chosen("nobody") == []


def test_following_tells_each_line_once_through_rotations(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "logs"), max_bytes=300, backups=2)
    journal.write({"n": "before"}, "s")
    tail = Tail(journal.folder)

    told = []
    for number in range(40):
        journal.write({"n": number, "filling": "x" * 50}, "s" if number % 3 else "other")
        told += tail.lines()

    assert sorted(json.loads(line)["n"] for line in told) == list(range(40))
    assert tail.lines() == []
    assert (tmp_path / "logs" / "s.jsonl.2").exists()


def test_following_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_bytes(b'{"n":1}\n{"n":')
    tail = Tail(str(tmp_path))

    with file.open("ab") as writer:
        writer.write(b"2")
        writer.flush()
        assert tail.lines() == []
        writer.write(b"}\n")

    assert tail.lines() == [b'{"n":2}\n']


def test_following_begins_again_with_a_file_that_replaces_one(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(b'{"n":1}\n' * 3)
    tail = Tail(str(tmp_path))
    (tmp_path / "s.jsonl").write_bytes(b'{"n":2}\n')

    assert tail.lines() == [b'{"n":2}\n']


def test_following_does_not_tell_again_what_was_out_of_sight_for_a_moment(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(b'{"n":1}\n')
    tail = Tail(str(tmp_path))
    os.rename(tmp_path / "s.jsonl", tmp_path / "elsewhere")
    assert tail.lines() == []
    os.rename(tmp_path / "elsewhere", tmp_path / "s.jsonl.1")

    assert tail.lines() == []


def test_following_a_folder_that_goes_away_is_no_error(tmp_path: Path) -> None:
    tail = Tail(str(tmp_path / "never"))

    assert tail.lines() == []


def test_sessions_are_named_in_every_record(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    bare = {"event": "PreToolUse", "tool": "Bash", "session_id": "s-1234567890"}
    journal.write({"event": "PreToolUse", "session": "old", "session_id": "s-1234567890"}, "s-1234567890")
    journal.write({"event": "PreToolUse", "session": "work", "session_id": "s-1234567890"}, "s-1234567890")
    names = SessionNames(journal)
    assert names.of(bare) == "work"
    assert names.of({**bare, "session_id": "t-1234567890"}) == "t-123456"
    # Told by a record that comes later, as while the journal is followed.
    assert names.of({"session": "deploy", "session_id": "t-1234567890"}) == "deploy"
    assert names.of({**bare, "session_id": "t-1234567890"}) == "deploy"
    assert names.of({"event": "pause", "session": "work"}) == "work"
    assert names.of({}) == ""
