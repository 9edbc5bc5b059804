from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.storage.home import Home
from hookrouter.storage.journal import FAILURES, Journal
from hookrouter_monitor.counts import _CALLS, OTHER, Counts, Journalled

NAMES: dict[str, str] = {"session_id": "s", "tool_use_id": "toolu_1"}
ASKED: dict[str, Any] = {
    **NAMES,
    "event": "PreToolUse",
    "tool": "AskUserQuestion",
    "outcome": "asked",
    "asked_at": "2026-01-01T00:00:00.000Z",
    "ms": 3.0,
    "pid": 7,
}


class Place:
    def __init__(self, folder: Path) -> None:
        self.home = Home.in_folder(str(folder))
        self.journal = Journal(self.home.logs)
        self.counted = Journalled(self.home)

    def read(self, *records: dict[str, Any]) -> Counts:
        for record in records:
            self.journal.write(record, "s")
        self.counted.read_on({"guard"}, {"inbox"}, {("guard", "wait")})
        return self.counted.counts

    def anew(self) -> None:
        """Be another monitor of the same home."""
        self.counted = Journalled(self.home)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_what_was_there_before_the_first_monitor_is_not_counted(tmp_path: Path) -> None:
    Journal(Home.in_folder(str(tmp_path)).logs).write(ASKED, "s")
    assert Place(tmp_path).read().counters == {}


@pytest.mark.parametrize("is_new", [False, True])
def test_each_record_counts_once_over_monitors_and_rotations(tmp_path: Path, is_new: bool) -> None:
    place = Place(tmp_path)
    place.journal = Journal(place.home.logs, max_bytes=300, backups=50)
    for number in range(20):
        place.read({**ASKED, "tool_use_id": f"toolu_{number}"})
        if is_new:
            place.anew()
    assert place.read().counters["hook_runs"] == {("PreToolUse", "asked"): 20}
    assert place.read().counters["questions_asked"] == {("question",): 20}


def test_a_line_that_is_half_written_counts_when_it_is_whole(place: Place) -> None:
    place.read(ASKED)
    file = Path(place.home.logs, "s.jsonl")
    line = json.dumps({**ASKED, "tool_use_id": "toolu_2"})
    with file.open("a") as half:
        half.write(line[:20])
    place.read()
    place.anew()
    with file.open("a") as rest:
        rest.write(f"{line[20:]}\n")
    assert place.read().counters["questions_asked"] == {("question",): 2}


def test_an_end_that_several_records_tell_counts_once_with_its_time(place: Place) -> None:
    place.read(ASKED, ASKED)
    place.anew()
    chat = {**NAMES, "event": "answer", "outcome": "chat", "by": "agent", "closed": True}
    swept = {"event": "Stop", "swept": [{**NAMES, "outcome": "chat", "state": "", "by": "agent"}]}
    counts = place.read({**chat, "at": "2026-01-01T00:01:40.000Z"}, swept)
    assert counts.counters["questions_ended"] == {("question", "chat"): 1}
    assert counts.histograms["question"][("question",)][1] == 100.0


def test_a_dialog_keeps_its_kind_until_its_end(place: Place) -> None:
    opened = {**NAMES, "event": "dialog", "dialog": "permission", "outcome": "asked", "asked_at": ""}
    left = {"event": "SessionEnd", "swept": [{**NAMES, "outcome": "unanswered", "state": "gone"}]}
    counts = place.read(opened, left)
    assert counts.counters["questions_ended"] == {("permission", "unanswered"): 1}
    assert "question" not in counts.histograms


def test_time_that_was_waited_is_no_part_of_a_run(place: Place) -> None:
    called = {"plugin": "guard", "hook": "wait", "ms": 60000.0, "outcome": "replied"}
    counts = place.read({**ASKED, "ms": 60004.0, "plugins": [called]})
    assert counts.histograms["hook"][("PreToolUse",)][1] == pytest.approx(0.004)
    assert counts.counters["plugin_calls"] == {("guard", "replied"): 1}


def test_messages_and_queues(place: Place) -> None:
    sent = {"event": "delivery", "gateway": "inbox", "outcome": "delivered", "ms": 20.0, "pid": 1}
    given_up = {**sent, "gateway": "gone by now", "outcome": "given_up", "ms": None, "level": "error"}
    counts = place.read(sent, given_up, {"event": "queue", "outcome": "held", "level": "warning"})
    assert counts.counters["messages"] == {("inbox", "delivered"): 1, (OTHER, "given_up"): 1}
    assert counts.counters["queue_events"] == {("held",): 1}
    assert counts.counters["journal_records"] == {("error",): 1, ("warning",): 1}
    assert counts.histograms["delivery"][("inbox",)][1] == pytest.approx(0.02)
    assert "hook_runs" not in counts.counters


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": 1}',
        '{"version": 1, "places": {}, "counters": 3}',
        '{"version": 1, "places": [1]}',
        '{"version": 1, "places": {"a": 1}}',
        '{"version": 1, "places": {"1:2": "far"}}',
    ],
)
def test_a_file_that_is_broken_begins_anew(place: Place, text: str) -> None:
    place.read(ASKED)
    Path(place.home.cache, "monitor.json").write_text(text)
    place.anew()
    assert place.read().counters == {}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [*("event", "outcome", "level", "gateway", "dialog", "swept", "plugins", "ms", "pid", "closed", "tool", "asked_at")]
)


@given(st.lists(st.dictionaries(KEYS, VALUES | st.sampled_from(["dialog", "answer", "asked", "chat"])), max_size=5))
def test_any_record_is_counted_or_passed_over(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]]
) -> None:
    place = Place(tmp_path_factory.mktemp("home"))
    counts = place.read(*records)
    known = {label for rows in counts.counters.values() for labels in rows for label in labels}
    assert all(len(label) < 30 for label in known)
    assert Counts(json.loads(json.dumps(counts.document()))).document() == counts.document()


def test_every_failure_of_a_call_has_a_label() -> None:
    assert set(FAILURES) <= set(_CALLS)
