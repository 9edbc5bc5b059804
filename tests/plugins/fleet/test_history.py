"""The journal as it is brought to an engine: whatever happens in between, the engine tells what the machine tells."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrouter.dialogs.documents import Dialog, delete_question, save_question
from hookrouter.dialogs.stories.history import history
from hookrouter.dialogs.verdicts import Verdict, save_verdict
from hookrouter.storage.documents import Store
from hookrouter.storage.history import Count, HistoryMoved, StoryQuery
from hookrouter.storage.history_counts import ENDED, PLUGINS, RUNS, SESSIONS, WAITED, timing
from hookrouter.storage.journal import Journal
from hookrouter_fleet import history as module
from hookrouter_fleet.history import HistoryBringer
from support.memory_history import MemoryHistory

AT = "2026-11-25T07:00:00.000Z"
DAY = 20782
FORM = [{"question": "Which one?", "header": "H", "multiSelect": False, "options": [{"label": "a"}, {"label": "b"}]}]


class World:
    """A machine with a journal of small files, and what is brought of it."""

    def __init__(self, folder: Path) -> None:
        self.logs = folder / "logs"
        self.journal = Journal(str(self.logs), max_bytes=900, backups=50)
        self.store = Store(str(folder / "state"), pytest.fail)
        self.engine = MemoryHistory(looked_at=1000)
        self.anew()

    def anew(self) -> None:
        """Begin as a new process does."""
        self.bringer = HistoryBringer(self.journal, self.store, self.engine, "one", {("asker", "pre_tool_use")})

    def reopened(self) -> None:
        """Go on by an engine that was opened anew."""
        self.bringer.go_on_with(self.engine)

    def bring(self) -> None:
        while self.bringer.read():
            self.bringer.write()
            self.bringer.written()

    def told(self) -> dict[str, Any]:
        return {kept.key[1]: kept.story for kept in self.engine.stories(StoryQuery(), 1000).stories}

    def tells(self) -> dict[str, Any]:
        return {story["tool_use_id"]: story for story in history(self.journal, self.store)}

    def count(self, subject: str) -> list[Count]:
        return sorted(count for count in self.engine.counts(0) if count.subject == subject)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def run_record(call: str, **other: object) -> dict[str, object]:
    return {
        "at": AT, "session_id": "s1", "session": "work", "tool_use_id": call, "event": "PreToolUse",
        "tool": "AskUserQuestion", "outcome": "asked", "ms": 12.0, "pid": 7, "questions": FORM, **other,
    }  # fmt: skip


def ended(call: str, **other: object) -> dict[str, object]:
    return run_record(call, event="PostToolUse", outcome="verified", at="2026-11-25T07:00:20.000Z", **other)


def question(call: str) -> Dialog:
    return Dialog("work", "s1", call, FORM, terminal=None, agent="a", gateway="inbox", saved_at=AT)


WHAT = (
    "asked", "ended", "swept", "doc", "gone", "verdict", "torn", "bash",
    "bring", "lost", "unsaved", "unheard", "other", "anew",
)  # fmt: skip
STEPS = st.lists(
    st.tuples(
        st.sampled_from(WHAT),
        st.sampled_from(["t1", "t2", "t3"]),
        st.sampled_from(["s1", "s2"]),
    ),
    max_size=40,
)


def step(world: World, what: str, call: str, session: str, pid: int) -> None:
    swept = {"session_id": session, "tool_use_id": call, "outcome": "closed", "reason": "gone"}
    call = f"{call}-{session}"
    one = question(call)._replace(session_id=session, session=session)
    # No two lines are the same: each has its time and process.
    known = {"session_id": session, "session": session, "pid": pid}
    does: dict[str, Callable[[], object]] = {
        "asked": lambda: world.journal.write(run_record(call, **known), session),
        "ended": lambda: world.journal.write(ended(call, **known), session),
        "bash": lambda: world.journal.write(run_record(call, **known, tool="Bash", outcome="passed"), session),
        "swept": lambda: world.journal.write(
            {"at": AT, "event": "x", "pid": pid, "swept": [{**swept, "tool_use_id": call}]}, None
        ),
        "bring": world.bring,
        "anew": world.anew,
        "doc": lambda: save_question(world.store, one),
        "gone": lambda: delete_question(world.store, session, call),
        "verdict": lambda: save_verdict(
            world.store, Verdict(session, session, call, "unanswered", at=AT, asked_at=AT, by="nobody")
        ),
        "torn": lambda: world.journal.append(b'{"at":"torn","pid":%d' % pid, session),
    }
    if what == "lost":
        # The engine did not save it, and the process begins anew.
        if world.bringer.read():
            world.anew()
    elif what == "unsaved":
        # The same, and the process goes on.
        world.bringer.read()
        world.reopened()
    elif what == "unheard":
        # The engine saved it, and could not say so.
        if world.bringer.read():
            world.bringer.write()
        world.reopened()
    elif what == "other":
        # Meanwhile another process brought what there was.
        mine = world.bringer
        world.anew()
        world.bring()
        world.bringer = mine
        world.reopened()
    else:
        does[what]()


@settings(suppress_health_check=list(HealthCheck))
@given(steps=STEPS, most=st.sampled_from([1, 700, 10_000]), ends_anew=st.booleans())
def test_whatever_happens_in_between_the_engine_tells_what_the_machine_tells(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]], most: int, ends_anew: bool
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_MOST_BYTES", most)
        patched.setattr(module, "_FIRST_BYTES", min(most, 700))
        world = World(tmp_path_factory.mktemp("world"))
        for number, (what, call, session) in enumerate(steps):
            step(world, what, call, session, number)
        for session in ("s1", "s2"):
            world.journal.write({"at": AT, "event": "Stop"}, session)
        if ends_anew:
            world.anew()
        world.bring()
    told, tells = world.told(), world.tells()
    # Of a question that only a document told of, which is gone, the machine itself knows nothing any more.
    forgotten = {call for call, story in told.items() if call not in tells and story["outcome"] == "unknown"}
    assert {call: story for call, story in told.items() if call not in forgotten} == tells
    runs = sum(what in ("asked", "ended", "bash") for what, _, _ in steps)
    assert sum(count.calls for count in world.count(RUNS)) == runs
    outcomes = [story["outcome"] for story in told.values() if story["ended_at"] is not None]
    assert sorted(outcomes) == sorted(count.name for count in world.count(ENDED) for _ in range(count.calls))


def test_a_question_is_open_until_it_is_answered_and_counted_once(world: World) -> None:
    save_question(world.store, question("t1"))
    world.journal.write(run_record("t1"), "s1")
    world.bring()
    assert world.told()["t1"]["outcome"] == "open"
    assert world.count(ENDED) == []
    delete_question(world.store, "work", "t1")
    world.journal.write(ended("t1"), "s1")
    world.bring()
    world.anew()
    world.bring()
    assert world.told()["t1"]["outcome"] == "verified"
    half_a_minute = next(at for at, (end, _) in enumerate(WAITED) if end == 30)
    assert world.count(ENDED) == [Count(DAY, ENDED, "verified", "", half_a_minute, 1)]


def test_a_question_that_was_closed_while_no_process_looked_is_not_open(world: World) -> None:
    save_question(world.store, question("t1"))
    world.bring()
    delete_question(world.store, "work", "t1")
    world.anew()
    world.bring()
    assert world.told()["t1"]["outcome"] == "unknown"


def test_a_question_that_was_closed_while_the_engine_failed_is_not_open(world: World) -> None:
    save_question(world.store, question("t1"))
    world.bring()
    delete_question(world.store, "work", "t1")
    assert world.bringer.read()
    world.reopened()
    world.bring()
    assert [story["outcome"] for story in world.told().values()] == ["unknown"]


def test_a_verdict_that_is_removed_after_a_day_is_not_forgotten(world: World) -> None:
    save_verdict(world.store, Verdict("work", "s1", "t1", "unanswered", at=AT, asked_at=AT, by="nobody"))
    world.bring()
    for name, _ in world.store.entries("answer-result"):
        world.store.delete("answer-result", name)
    world.journal.write(run_record("t1", event="answer", outcome="failed"), "s1")
    world.bring()
    assert (world.told()["t1"]["outcome"], len(world.told()["t1"]["attempts"])) == ("unanswered", 1)


def test_a_line_that_is_not_whole_waits(world: World) -> None:
    world.journal.write(run_record("t1"), "s1")
    (file,) = world.logs.glob("*.jsonl")
    whole = file.read_bytes()
    file.write_bytes(whole[:-9])
    world.bring()
    assert world.told() == {}
    file.write_bytes(whole + whole.replace(b"t1", b"t2")[:-1])
    world.bring()
    assert list(world.told()) == ["t1"]
    file.write_bytes(whole + whole.replace(b"t1", b"t2"))
    world.bring()
    assert sorted(world.told()) == ["t1", "t2"]


def test_of_two_processes_one_is_refused_and_nothing_is_counted_twice(world: World) -> None:
    world.journal.write(run_record("t1"), "s1")
    first = world.bringer
    assert first.read()
    world.anew()
    world.bring()
    with pytest.raises(HistoryMoved):
        first.write()
    assert sum(count.calls for count in world.count(RUNS)) == 1


def test_a_restored_backup_brings_what_is_new_in_it_and_nothing_twice(world: World) -> None:
    for call in ("t1", "t2"):
        world.journal.write(run_record(call), "s1")
    world.bring()
    (file,) = world.logs.glob("*.jsonl")
    backup = file.read_bytes().splitlines(keepends=True)[0]
    file.unlink()
    file.write_bytes(backup)
    world.anew()
    world.bring()
    world.journal.write(run_record("t3"), "s1")
    world.bring()
    assert sorted(world.told()) == ["t1", "t2", "t3"]
    assert sum(count.calls for count in world.count(RUNS)) == 3


@pytest.mark.parametrize("call", ["scandir", "open"])
@pytest.mark.parametrize("error", [PermissionError(), OSError(5, "Input/output error")])
def test_nothing_is_brought_twice_though_the_journal_could_not_be_read(
    world: World, monkeypatch: pytest.MonkeyPatch, call: str, error: OSError
) -> None:
    does = getattr(os, call)

    def refuse(path: str, *arguments: Any) -> Any:
        if str(path).startswith(str(world.logs)):
            raise error
        return does(path, *arguments)

    world.journal.write(run_record("t1"), "s1")
    world.bring()
    world.anew()
    with monkeypatch.context() as patched:
        patched.setattr(os, call, refuse)
        for _ in range(3):
            world.bring()
    world.journal.write(run_record("t2"), "s1")
    world.bring()
    assert sum(count.calls for count in world.count(RUNS)) == 2


def test_nothing_is_brought_twice_though_the_folder_of_the_journal_was_away(world: World) -> None:
    world.journal.write(run_record("t1"), "s1")
    world.bring()
    away = world.logs.rename(world.logs.with_name("away"))
    for _ in range(3):
        world.bring()
    away.rename(world.logs)
    world.journal.write(run_record("t2"), "s1")
    world.bring()
    assert sum(count.calls for count in world.count(RUNS)) == 2


def test_what_was_read_of_a_file_before_it_failed_is_brought_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(BufferedReader):
        lines = 0

        def readline(self, size: int | None = -1, /) -> bytes:
            self.lines += 1
            if self.lines > 2:
                raise OSError(5, "Input/output error")
            return super().readline(size)

    for call in ("t1", "t2"):
        world.journal.write(run_record(call), "s1")
    with monkeypatch.context() as patched:
        opened = lambda descriptor, _mode: Failing(FileIO(descriptor))  # noqa: E731 - in place of open
        patched.setattr("hookrouter_fleet.journal_files.open", opened, raising=False)
        world.bring()
    assert sum(count.calls for count in world.count(RUNS)) == 2


def test_files_that_are_gone_are_forgotten_when_they_were_missed_twice(world: World) -> None:
    world.journal.write(run_record("t1"), "s1")
    world.bring()
    (file,) = world.logs.glob("*.jsonl")
    file.unlink()
    world.bring()
    world.bring()
    assert world.engine.place().files == {}
    assert list(world.told()) == ["t1"]


def test_runs_calls_and_sessions_are_counted_and_what_waits_is_no_time_of_a_run(world: World) -> None:
    calls = [
        {"plugin": "asker", "hook": "pre_tool_use", "outcome": "ok", "ms": 900.0},
        {"plugin": "guard", "hook": "pre_tool_use", "outcome": "failed", "ms": 50.0},
        {"plugin": "other", "hook": "pre_tool_use", "outcome": "not needed"},
    ]
    world.journal.write(run_record("t1", ms=1000.0, plugins=calls), "s1")
    world.journal.write({"at": AT, "event": "delivery", "ms": 1, "pid": 1}, None)
    world.bring()
    (run,), (call,), (session,) = (world.count(subject) for subject in (RUNS, PLUGINS, SESSIONS))
    assert (run.day, run.name, run.part, run.calls, run.longest) == (DAY, "PreToolUse", "AskUserQuestion", 1, 100.0)
    assert (call.name, call.part, call.failed) == ("guard", "pre_tool_use", 1)
    assert session.calls == 1


@given(st.lists(st.floats(0.02, 1e6), min_size=1, max_size=60))
def test_a_median_of_classes_is_right_within_ten_percent(values: list[float]) -> None:
    from hookrouter.storage.hook_runs import Run
    from hookrouter_fleet.counts import Counts

    counts = Counts()
    for ms in values:
        counts.add_run(AT, Run("Stop", "", "passed", ms, "s1", []), ())
    ordered = sorted(values)
    found = timing(counts.rows())
    for told, share in ((found.median, 0.5), (found.p95, 0.95)):
        exact = ordered[max(0, -int(-share * len(ordered) // 1) - 1)]
        assert told == pytest.approx(exact, rel=0.1, abs=0.01)
    assert (found.calls, found.longest) == (len(values), round(ordered[-1], 2))
