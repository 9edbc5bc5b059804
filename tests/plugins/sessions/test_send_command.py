"""`hookrouter send`: what is queued, what is refused, and what its wait tells."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.cli.main import main
from hookrouter.messaging import pauses
from hookrouter.queue.documents import KIND, change_queue, read_queue, remove_queue
from hookrouter.queue.items import DELIVERING, DONE, DROPPED, FAILED, LONGEST, STARTED
from hookrouter.terminals import TerminalAddress
from support.changes import once_saved
from support.sessions import Machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hookrouter.queue.documents import Queue

IN_TIME = ("--timeout", "120")
"""A test that would wait for ever fails."""

AGENTS = '[[agents]]\nid = "night"\nsessions = ["managed"]\ngateway = "inbox"\n'


@pytest.fixture
def machine(hookrouter_home: Path) -> Iterator[Machine]:
    found = Machine()
    found.record("work", found.client("s-1"))
    yield found
    found.close()


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions whose queues were to be delivered: none really is."""
    names: list[str] = []
    monkeypatch.setattr("hookrouter_sessions.commands.sending.start_queue", lambda _, session: names.append(session))
    return names


def sent(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert main(["send", *arguments, "--json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert (document["exit_code"], document["ok"]) == (code, code == 0)
    return document


def test_each_text_is_one_item_in_order(
    machine: Machine, capsys: pytest.CaptureFixture[str], started: list[str]
) -> None:
    document = sent(capsys, "--session", "work", "go on", "/clear", "!ls\nb", "--as", "agent")
    assert (document["outcome"], document["session"], document["reason"]) == ("queued", "work", "")
    assert [(one["text"], one["kind"], one["state"], one["outcome"]) for one in document["items"]] == [
        ("go on", "prompt", "queued", "queued"),
        ("/clear", "command", "queued", "queued"),
        ("!ls\nb", "shell", "queued", "queued"),
    ]
    assert [one.id for one in machine.queue("work").items] == [one["id"] for one in document["items"]]
    assert (document["by"], document["who"], document["hold"], document["paused"]) == ("agent", "", None, None)
    assert document["notes"] == []
    assert started == ["work"]
    assert [one["text"] for one in sent(capsys, "--session", "work", "--next", "x", "y")["items"]] == ["x", "y"]
    assert machine.texts("work") == ["x", "y", "go on", "/clear", "!ls\nb"]


@pytest.mark.parametrize("name", ["a/b", "../../x", "käse \x1b"])
def test_any_name(machine: Machine, capsys: pytest.CaptureFixture[str], hookrouter_home: Path, name: str) -> None:
    machine.record(name)
    assert sent(capsys, "--session", name, "go on")["session"] == name
    assert machine.texts(name) == ["go on"]
    assert not list(hookrouter_home.parent.glob("**/x*"))


def test_next_is_behind_what_is_under_way(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    one, _ = machine.put("work", "a", "b")
    machine.set_state("work", one, DELIVERING)
    sent(capsys, "--session", "work", "--next", "c")
    assert machine.texts("work") == ["a", "c", "b"]


def test_a_whole_file_is_one_item(
    machine: Machine, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "prompt.md"
    file.write_bytes("\ufeff# Phase 3\n\n- é\n".encode())
    sent(capsys, "--session", "work", "--file", str(file))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"from\nstdin\n")))
    sent(capsys, "--session", "work", "--file", "-")
    assert machine.texts("work") == ["# Phase 3\n\n- é", "from\nstdin"]


def test_a_person_is_named(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    sent(capsys, "--session", "work", "a", "--as", "person:kim")
    (one,) = machine.queue("work").items
    assert (one.by, one.who) == ("person", "kim")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["good", "bad\x1b", ""], "text 2 of 3: character 4 of the text is U+001B"),
        (["good", "bad\x1b", ""], "text 3 of 3: there is no text"),
        (["x" * (LONGEST + 1)], f"the text has {LONGEST + 1} characters"),
        (["/"], "a / alone is not a command"),
        ([], "nothing to send: give one TEXT for each item, or --file FILE"),
        (["a", "--file", "b"], "either as arguments or with --file"),
        (["--file", "/nothing/here"], "--file /nothing/here: No such file or directory"),
        (["a", "--wait", "soon"], "--wait: started or done, not 'soon'"),
        (["a", "--timeout", "-1"], "--timeout: a number of seconds"),
        (["a", "--timeout", "inf"], "--timeout: a number of seconds"),
        (["a", "--as", "nobody"], "--as: agent, person or person:NAME"),
        (["a", "--any"], "give either --session or --any, not both"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_refused_queues_nothing(
    machine: Machine, capsys: pytest.CaptureFixture[str], started: list[str], arguments: list[str], reason: str
) -> None:
    document = sent(capsys, "--session", "work", *arguments, code=2)
    assert document["outcome"] == "invalid"
    assert reason in document["reason"]
    assert machine.queue("work").items == ()
    assert started == []


def test_files_that_are_no_text(machine: Machine, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"a\xff")
    assert (
        "it is not UTF-8: invalid start byte at byte 1"
        in sent(capsys, "--session", "work", "--file", str(file), code=2)["reason"]
    )
    file.write_bytes(b"x" * (4 * LONGEST + 1))
    assert "more than 4000000 bytes" in sent(capsys, "--session", "work", "--file", str(file), code=2)["reason"]


def test_people_read_lines(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["send", "--session", "work", "a\tb"]) == 0
    (one,) = machine.queue("work").items
    assert capsys.readouterr().out == f"{one.id}  queued\n"
    assert main(["send", "--session", "work", "a\x1b"]) == 2
    assert capsys.readouterr().err.startswith("hookrouter send: invalid: character 2 of the text is U+001B")


def test_which_session(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert "say which session" in sent(capsys, "a", code=2)["reason"]
    assert sent(capsys, "--any", "a")["session"] == "work"
    assert sent(capsys, "--session", "auto", "a")["session"] == "work"
    machine.record("other", machine.client("s-2"), session_id="s-2")
    document = sent(capsys, "--any", "a", code=4)
    assert (document["outcome"], document["candidates"]) == ("not_delivered", ["other", "work"])
    assert "say which with --session: other, work" in document["reason"]
    document = sent(capsys, "--session", "wrok", "a", code=4)
    assert document["reason"] == "no session wrok is known; did you mean 'work'?"
    # A session that is called so is meant.
    machine.record("auto", 0, session_id="s-3")
    assert sent(capsys, "--session", "auto", "a")["session"] == "auto"


def test_without_any_client(machine: Machine, capsys: pytest.CaptureFixture[str], hookrouter_home: Path) -> None:
    (hookrouter_home / "config.toml").write_text(AGENTS)
    document = sent(capsys, "--session", "managed", "a", "--as", "agent")
    assert document["notes"] == [
        "no client runs in session managed now, so nothing is delivered before one starts there"
    ]
    machine.close()
    assert sent(capsys, "--any", "a", code=4)["reason"] == "no session has a client that runs"


def test_of_several_clients_of_one_name_it_says_whose_it_is(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = ["aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002"]
    first, second = (machine.client(one) for one in ids)
    machine.record("claude-aaaaaaaa", second, session_id=ids[1])
    notes = sent(capsys, "--session", "claude-aaaaaaaa", "a", "--as", "person:kim")["notes"]
    assert notes == [f"2 clients run in session claude-aaaaaaaa: this goes to process {second}, and not to {first}"]
    assert main(["sessions"]) == 0
    heads = [line for line in capsys.readouterr().out.splitlines() if line.startswith("claude-aaaaaaaa")]
    assert len(heads) == len(set(heads)) == 2
    for pid in (first, second):
        assert any(f"process {pid}, " in line for line in heads)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> dict[int, str]:
    """What the terminal sessions of clients are called now, by process id."""
    names: dict[int, str] = {}

    def locate(_services: object, environ: dict[str, str]) -> tuple[TerminalAddress | None, str]:
        name = names.get(int(environ.get("PID", 0)))
        return None if name is None else TerminalAddress("tmux", name, f"%{environ['PID']}", "/s"), ""

    for module in ("names", "overview"):
        monkeypatch.setattr(f"hookrouter.queue.{module}.locate", locate)
        monkeypatch.setattr(f"hookrouter.queue.{module}.process_environ", lambda pid: {"PID": str(pid)})
    return names


def in_terminal(machine: Machine, name: str, **more: Any) -> int:
    pid = machine.client("s-9")
    machine.record(name, pid, session_id="s-9", terminal=TerminalAddress("tmux", name, f"%{pid}", "/s"), **more)
    return pid


def test_an_old_name_of_a_renamed_session_is_told(
    machine: Machine, capsys: pytest.CaptureFixture[str], called: dict[int, str]
) -> None:
    pid = in_terminal(machine, "old")
    called[pid] = "old"
    assert sent(capsys, "--session", "old", "a", "--as", "person:kim")["notes"] == []
    called[pid] = "new"
    (note,) = sent(capsys, "--session", "old", "b", "--as", "person:kim")["notes"]
    assert note.startswith("the terminal session of this client is called new now")
    assert machine.texts("old") == ["a", "b"]


def test_an_old_name_that_another_client_has_now_takes_nothing(
    machine: Machine, capsys: pytest.CaptureFixture[str], called: dict[int, str], started: list[str]
) -> None:
    first, second = in_terminal(machine, "old"), machine.client("s-2")
    called |= {first: "new", second: "old"}
    reason = sent(capsys, "--session", "old", "a", code=4)["reason"]
    assert f"session old is that of process {second} now" in reason
    assert f"process {first}, which has the queue of this name, is called new now" in reason
    assert (machine.texts("old"), started) == ([], [])


def test_a_name_that_a_session_had_before_takes_nothing(
    machine: Machine, capsys: pytest.CaptureFixture[str], started: list[str]
) -> None:
    machine.record("new", machine.client("s-2"), session_id="s-2", former_names=("older", "old"))
    for name in ("old", "older"):
        document = sent(capsys, "--session", name, "a", code=4)
        assert document["reason"] == f"no session {name} is there any more: it is called new now"
        assert (document["candidates"], machine.texts(name)) == (["new"], [])
    # It is somebody's again.
    machine.record("old", machine.client("s-3"), session_id="s-3")
    sent(capsys, "--session", "old", "a")
    assert (machine.texts("old"), started) == (["a"], ["old"])


def test_a_session_that_no_agent_manages(
    machine: Machine, capsys: pytest.CaptureFixture[str], hookrouter_home: Path
) -> None:
    (hookrouter_home / "config.toml").write_text(AGENTS)
    (note,) = sent(capsys, "--session", "work", "a", "--as", "agent")["notes"]
    assert note.startswith("no agent of config.toml manages session work: nobody is told when a turn ends there")
    assert sent(capsys, "--session", "work", "a", "--as", "person:kim")["notes"] == []
    assert machine.texts("work") == ["a", "a"]


def test_a_held_queue_takes_items_and_says_so(
    machine: Machine, capsys: pytest.CaptureFixture[str], started: list[str]
) -> None:
    change_queue(machine.store, "work", lambda queue: queue.held("person", "a prompt that is not ours"))
    document = sent(capsys, "--session", "work", "a")
    assert (document["outcome"], document["hold"]["cause"]) == ("queued", "person")
    assert main(["send", "--session", "work", "b"]) == 0
    out = capsys.readouterr().out
    assert "The queue is held since " in out
    assert "(person): a prompt that is not ours; 'hookrouter queue resume' goes on." in out
    assert started == []
    document = sent(capsys, "--session", "work", "c", "--wait", "started", code=4)
    assert (document["outcome"], document["reason"]) == ("held", "the queue is held: a prompt that is not ours")
    assert machine.texts("work") == ["a", "b", "c"]


def test_a_paused_session_takes_items_and_says_so(
    machine: Machine, capsys: pytest.CaptureFixture[str], started: list[str]
) -> None:
    pauses.begin(machine.store, "work", "lunch")
    document = sent(capsys, "--session", "work", "a")
    assert (document["outcome"], document["paused"]["reason"]) == ("queued", "lunch")
    document = sent(capsys, "--session", "work", "b", "--wait", "done", code=4)
    assert document["outcome"] == "paused"
    assert "session work is paused since" in document["reason"]
    assert started == []


def test_it_is_journalled_without_the_text(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    items = sent(capsys, "--session", "work", "my secret plan")["items"]
    assert main(["logs", "--event", "queue", "--json"]) == 0
    out = capsys.readouterr().out
    record = json.loads(out)
    assert (record["outcome"], record["session"], record["items"]) == ("sent", "work", [items[0]["id"]])
    assert "secret" not in out
    # It is no question of anybody's.
    assert main(["history", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"questions": []}


class Deliverer:
    """Does in a thread what a deliverer and hooks do, once what is sent waits."""

    def __init__(self, machine: Machine, *changes: Callable[[Queue], Queue]) -> None:
        self._machine = machine
        self._changes = changes
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Deliverer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(30)

    def _run(self) -> None:
        store = self._machine.store
        once_saved(store, KIND, lambda: self._machine.queue("work").items, "items")
        for change in self._changes:
            change_queue(store, "work", change)


def state(name: str, at: int = 0, **more: Any) -> Callable[[Queue], Queue]:
    return lambda queue: queue.with_item(queue.items[at]._replace(state=name, **more))


def end(name: str, reason: str = "", proof: Any = None) -> Callable[[Queue], Queue]:
    return lambda queue: queue.ended(queue.items[0].id, name, reason=reason, proof=proof)


STARTED_NOW = state(STARTED, started_at="2026-01-01T00:00:00.000Z", proof={"event": "UserPromptSubmit"})


@pytest.mark.parametrize(
    ("wanted", "changes", "outcome", "code", "reason"),
    [
        ("started", [state(DELIVERING), STARTED_NOW], "started", 0, ""),
        ("started", [lambda queue: end(DONE)(STARTED_NOW(queue))], "done", 0, ""),
        ("done", [STARTED_NOW, end(DONE)], "done", 0, ""),
        ("done", [STARTED_NOW, end(FAILED, "server_error")], "failed", 1, "server_error"),
        ("done", [end(FAILED, "x", {"submitted": "another"})], "different", 3, "x"),
        ("done", [end(DROPPED, "dropped by person kim")], "not_delivered", 4, "dropped by person kim"),
        ("done", [state(DELIVERING), end(FAILED, "no terminal")], "not_delivered", 4, "no terminal"),
        ("done", [state(DELIVERING, phase="enter"), end(FAILED, "no proof")], "not_confirmed", 5, "no proof"),
        ("done", [lambda queue: queue.held("escape", "Esc")], "held", 4, "the queue is held: Esc"),
    ],
    ids=["started", "over at once", "done", "failed", "different", "dropped", "not delivered", "unproven", "held"],
)
def test_what_became_of_it(
    machine: Machine,
    capsys: pytest.CaptureFixture[str],
    wanted: str,
    changes: list[Any],
    outcome: str,
    code: int,
    reason: str,
) -> None:
    with Deliverer(machine, *changes):
        document = sent(capsys, "--session", "work", "a", "--wait", wanted, *IN_TIME, code=code)
    assert (document["outcome"], document["reason"]) == (outcome, reason)
    assert [one["outcome"] for one in document["items"]] == [outcome]


def test_a_turn_that_fails_was_started_all_the_same(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    with Deliverer(machine, lambda queue: STARTED_NOW(queue).ended(queue.items[0].id, FAILED)):
        assert sent(capsys, "--session", "work", "a", "--wait", "started", *IN_TIME)["outcome"] == "started"


def test_of_several_the_first_that_is_not_as_wanted_decides(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = [STARTED_NOW, end(DONE), lambda queue: end(FAILED, "no terminal")(queue).held("failed", "see above")]
    with Deliverer(machine, *changes):
        document = sent(capsys, "--session", "work", "a", "b", "c", "--wait", "done", *IN_TIME, code=4)
    assert (document["outcome"], document["reason"]) == ("not_delivered", "no terminal")
    assert [one["outcome"] for one in document["items"]] == ["done", "not_delivered", "held"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (None, "it still waits in the queue"),
        (state(DELIVERING), "its delivery has begun, and nothing has proven"),
        (STARTED_NOW, "it was submitted, and has not ended in time"),
    ],
)
def test_not_in_time(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, change: Any, reason: str
) -> None:
    # What is sent is changed before the wait begins, so that no time matters.
    monkeypatch.setattr(
        "hookrouter_sessions.commands.sending.start_queue",
        lambda app, session: change and change_queue(app.store, session, change),
    )
    document = sent(capsys, "--session", "work", "a", "--wait", "done", "--timeout", "0", code=5)
    assert document["outcome"] == "not_confirmed"
    assert document["reason"].startswith(reason)


def test_a_dash_is_stdin(machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"go on\nwith it\n")))
    document = sent(capsys, "--session", "work", "-")
    assert [one["text"] for one in document["items"]] == ["go on\nwith it"]


def test_a_named_pipe_is_refused(machine: Machine, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    document = sent(capsys, "--session", "work", "--file", str(tmp_path / "pipe"), code=2)
    assert "a named pipe" in document["reason"]


def test_what_still_waits_says_for_what(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookrouter_sessions.commands.sending.start_queue", lambda app, session: None)
    machine.record("work", state="busy")

    def reason() -> str:
        document = sent(capsys, "--session", "work", "a", "--wait", "done", "--timeout", "0", code=5)
        return str(document["reason"])

    assert reason() == "it still waits in the queue: Claude works"
    first = read_queue(machine.store, "work").items[0]
    assert reason() == f"it still waits in the queue: item {first.id} is the next one"
    machine.set_state("work", first, STARTED)
    assert reason() == f"it still waits in the queue: item {first.id} is under way"


def test_a_hold_that_ends_by_itself_is_waited_for(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    change_queue(machine.store, "work", lambda queue: queue.held("limited", "limit", until="2100-01-01T00:00:00.000Z"))
    document = sent(capsys, "--session", "work", "a", "--wait", "done", "--timeout", "0", code=4)
    assert (document["outcome"], document["reason"]) == ("held", "the queue is held: limit")
    main(["queue", "clear", "--session", "work"])
    capsys.readouterr()
    with Deliverer(machine, lambda queue: queue._replace(hold=None), end(DONE)):
        assert sent(capsys, "--session", "work", "b", "--wait", "done", *IN_TIME)["outcome"] == "done"


def test_the_queue_may_go_on_under_another_name(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def renamed(app: Any, _: str) -> None:
        moved = remove_queue(app.store, "work")
        change_queue(app.store, "claude-2", lambda queue: queue._replace(items=moved.items))
        change_queue(app.store, "claude-2", STARTED_NOW)

    monkeypatch.setattr("hookrouter_sessions.commands.sending.start_queue", renamed)
    document = sent(capsys, "--session", "work", "a", "--wait", "started", *IN_TIME)
    assert (document["outcome"], document["session"]) == ("started", "claude-2")


def test_an_interrupted_wait_leaves_the_items(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hookrouter_sessions.commands.outcomes.outcome_of", interrupt)
    document = sent(capsys, "--session", "work", "a", "--wait", "done", code=130)
    assert (document["outcome"], document["items"][0]["state"]) == ("interrupted", "queued")
    assert machine.texts("work") == ["a"]
