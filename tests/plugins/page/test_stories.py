"""The index of the history tells what ``history`` tells, however the journal grew."""

import gc
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.dialogs.stories.history import history
from hookrouter.storage.documents import Store
from hookrouter.storage.history import StoryQuery
from hookrouter.storage.interface import StoreError
from hookrouter.storage.journal import Journal
from hookrouter_page.reading.stories import StoryIndex
from support.memory_storage import MemoryStore
from support.threads import join_threads

_AT = st.integers(0, 99).map(lambda number: f"2026-11-25T07:00:{number // 2:02d}.000Z")
_SESSION = st.sampled_from(["s1", "s2"])
_CALL = st.sampled_from(["t1", "t2", "t3"])


def _record(kind, at, session, call, other):
    named = {"at": at, "session_id": session, "tool_use_id": call, "session": f"name-{session}"}
    asked = {"questions": [{"header": "H", "question": f"Which {call}?"}]}
    return {
        "asked": {**named, "event": "PreToolUse", "tool": "AskUserQuestion", "outcome": "asked", **asked},
        "verified": {**named, "event": "PostToolUse", "tool": "AskUserQuestion", "outcome": "verified"},
        "person": {**named, "event": "PostToolUse", "tool": "AskUserQuestion", "outcome": "answered_by_person"},
        "attempt": {**named, "event": "answer", "outcome": "delivered", "channel": "keys", "steps": ["Enter"]},
        "reminder": {**named, "event": "delivery", "outcome": "delivered", "kind": "reminder"},
        "swept": {
            "at": at,
            "event": "delivery",
            "outcome": "swept",
            "swept": [
                {"session_id": session, "tool_use_id": call, "outcome": "closed", "reason": "gone"},
                {"session_id": session, "tool_use_id": other, "outcome": "left"},
            ],
        },
        "other": {"at": at, "event": "PreToolUse", "tool": "Bash", "session_id": session},
    }[kind]


_KINDS = st.sampled_from(["asked", "verified", "person", "attempt", "reminder", "swept", "other"])
_RECORDS = st.lists(st.tuples(_KINDS, _AT, _SESSION, _CALL, _CALL), max_size=40)


def _by_key(stories):
    return {(story["session_id"], story["tool_use_id"]): story for story in stories}


@given(rows=_RECORDS, looks=st.sets(st.integers(0, 39)))
def test_tells_what_history_tells(tmp_path_factory, rows, looks):
    root = tmp_path_factory.mktemp("home")
    journal = Journal(str(root / "logs"), max_bytes=1200, backups=2)
    store = Store(str(root / "state"), lambda text: None)
    index = StoryIndex(journal, store)
    for number, row in enumerate(rows):
        journal.write(_record(*row), row[2])
        if number in looks:
            index.refresh()
    for session in ("s1", "s2"):
        # Without a current file history() passes over the older ones of a session.
        journal.write({"at": "2026-11-25T07:59:00.000Z", "event": "Stop"}, session)
    if not all(os.path.exists(root / "logs" / f"{session}.jsonl") for session in ("s1", "s2")):
        return
    index.refresh()
    assert _by_key(index.find(StoryQuery(), 1).stories) == _by_key(history(journal, store))


def _asked(journal, call, at="2026-11-25T07:00:00.000Z"):
    journal.write(_record("asked", at, "s1", call, call), "s1")


def test_pages_newest_first_and_finds_words(tmp_path):
    journal, store = Journal(str(tmp_path / "logs")), Store(str(tmp_path / "state"), lambda text: None)
    for number in range(120):
        _asked(journal, f"t{number}", f"2026-11-25T07:{number // 60:02d}:{number % 60:02d}.000Z")
    index = StoryIndex(journal, store)
    index.refresh()
    first, last = index.find(StoryQuery(), 1), index.find(StoryQuery(), 9)
    assert (first.total, first.pages, len(first.stories), last.page, len(last.stories)) == (120, 3, 50, 3, 20)
    assert first.stories[0]["tool_use_id"] == "t119"
    assert [story["tool_use_id"] for story in index.find(StoryQuery(words="WHICH t77?"), 1).stories] == ["t77"]
    assert index.find(StoryQuery(outcome="verified"), 1).total == 0


def test_notices_truncation_and_deletion(tmp_path):
    journal, store = Journal(str(tmp_path / "logs")), Store(str(tmp_path / "state"), lambda text: None)
    _asked(journal, "t1")
    _asked(journal, "t2")
    index = StoryIndex(journal, store)
    index.refresh()
    path = tmp_path / "logs" / "s1.jsonl"
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[1])
    index.refresh()
    assert index.story("s1", "t1") is None
    assert index.story("s1", "t2") is not None
    path.unlink()
    index.refresh()
    assert index.find(StoryQuery(), 1).total == 0


def test_tells_the_steps_in_order_of_time(tmp_path):
    journal, store = Journal(str(tmp_path / "logs")), Store(str(tmp_path / "state"), lambda text: None)
    for number, kind in ((3, "verified"), (2, "attempt"), (1, "reminder"), (0, "asked")):
        journal.write(_record(kind, f"2026-11-25T07:00:0{number}.000Z", "s1", "t1", "t2"), "s1")
    index = StoryIndex(journal, store)
    index.refresh()
    steps = index.steps(index.story("s1", "t1"))
    assert [step.name for step in steps] == ["asked", "reminded", "attempt", "ended"]
    assert steps[2].details == ("Enter",)


class _Broken(MemoryStore):
    def entries(self, kind, wanted=None):
        raise StoreError(f"no {kind}")


def test_reads_ahead_what_nobody_has_asked_for(tmp_path, monkeypatch):
    journal, store = Journal(str(tmp_path / "logs")), Store(str(tmp_path / "state"), lambda text: None)
    for number in range(120):
        _asked(journal, f"t{number}")
    index = StoryIndex(journal, store)
    frozen = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(index.find(StoryQuery(), 1).total))
    index.read_ahead()
    join_threads("history")
    assert frozen == [120]
    _asked(journal, "t120")
    index.refresh()
    assert index.find(StoryQuery(), 1).total == 121


def test_what_is_wrong_is_told_to_whoever_looks(tmp_path):
    index = StoryIndex(Journal(str(tmp_path / "logs")), _Broken())
    index.read_ahead()
    join_threads("history")
    with pytest.raises(StoreError):
        index.refresh()
