"""`hookrouter queue list|show|edit|move|drop|hold|resume|clear`."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.cli.main import main
from hookrouter.messaging import pauses
from hookrouter.queue.documents import change_queue, ended_items
from hookrouter.queue.items import DELIVERING, DONE, STARTED
from hookrouter_sessions.commands import changing
from support.sessions import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def machine(hookrouter_home: Path) -> Iterator[Machine]:
    found = Machine()
    found.record("work")
    yield found
    found.close()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions whose queues were to be delivered: none really is."""
    names: list[str] = []
    monkeypatch.setattr("hookrouter.queue.spawn.start_queue", lambda _, session: names.append(session))
    monkeypatch.setattr("hookrouter.cli.dialogs.pause.start_queue", lambda _, session: names.append(session))
    return names


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    """Run a command with --json and return its document."""
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main([*arguments]) == code
    found = capsys.readouterr()
    return found.err if code else found.out


def test_nothing_waits(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "queue", "list") == "no queue holds anything\n"
    assert said(capsys, "queue", "list", "--session", "work") == "work: nothing waits\n"
    assert told(capsys, "queue", "list") == {"queues": [], "ended": []}


def test_the_list_shows_items_holds_and_pauses(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = machine.put("work", "go on\nwith it", "/clear")
    machine.put("other", "x")
    machine.set_state("work", first, STARTED, started_at="2026-01-01T00:00:00.000Z")
    change_queue(machine.store, "work", lambda queue: queue.held("person", "a prompt that is not ours"))
    pauses.begin(machine.store, "work", "lunch")
    lines = said(capsys, "queue", "list", "--session", "work").splitlines()
    assert lines[0] == "work: 2 items"
    assert lines[1].startswith("  held since ")
    assert lines[1].endswith(" (person): a prompt that is not ours")
    assert "session work is paused since" in lines[2]
    assert lines[3].startswith(f"  {first.id}  started, prompt, by agent, ")
    assert lines[3].endswith(": go on …")
    assert lines[4].endswith(": /clear")
    document = told(capsys, "queue", "list")
    assert [queue["session"] for queue in document["queues"]] == ["other", "work"]
    work = document["queues"][1]
    assert [(item["id"], item["text"], item["state"]) for item in work["items"]] == [
        (first.id, "go on\nwith it", "started"),
        (second.id, "/clear", "queued"),
    ]
    assert (work["hold"]["cause"], work["paused"]["reason"]) == ("person", "lunch")


def test_the_history(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = machine.put("work", "a", "b")
    proof = {"event": "UserPromptSubmit"}
    change_queue(machine.store, "work", lambda queue: queue.ended(first.id, DONE, proof=proof))
    document = told(capsys, "queue", "list", "--all")
    assert [(item["session"], item["id"], item["state"]) for item in document["ended"]] == [("work", first.id, "done")]
    assert document["ended"][0]["proof"] == proof
    lines = said(capsys, "queue", "list", "--all").splitlines()
    assert lines[0].startswith(f"work: {first.id}  done, prompt")
    assert second.id in lines[2]
    assert told(capsys, "queue", "list", "--all", "--session", "other") == {"queues": [], "ended": []}
    shown = said(capsys, "queue", "show", first.id)
    assert "  proof, event: UserPromptSubmit\n" in shown
    assert "  ended: " in shown
    assert told(capsys, "queue", "show", first.id)["state"] == "done"


def test_an_end_whose_writer_was_killed_is_listed_once(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = machine.put("work", "a")
    document = {**one._asdict(), "state": "dropped", "session": "work", "proof": {}}
    machine.store.write("queued-item", one.id, document)
    document = told(capsys, "queue", "list", "--all")
    assert document["ended"] == []
    assert told(capsys, "queue", "show", one.id)["state"] == "queued"


def test_no_control_character_reaches_the_terminal(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = machine.put("w\x1b[2J", "a")
    machine.set_state("w\x1b[2J", one, STARTED, text="a\x1b]0;x\x07", reason="\x9b1m", proof={"\x1b": "\x1b[3m"})
    change_queue(machine.store, "w\x1b[2J", lambda queue: queue.held("\x1b", "\x1b[31m"))
    out = said(capsys, "queue", "list") + said(capsys, "queue", "show", one.id)
    assert not [character for character in out if not character.isprintable() and character != "\n"]


def test_an_item_is_found_by_a_part_of_its_id(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = machine.put("work", "whole\ntext")
    assert said(capsys, "queue", "show", one.id[-8:-1]).endswith("\nwhole\ntext\n")
    machine.put("work", "b")
    assert "there is no item 'nothing\\x1b'" in said(capsys, "queue", "show", "nothing\x1b", code=2)
    assert "2 items have an id like '20'" in said(capsys, "queue", "show", "20", code=2)
    assert "there is no item" in told(capsys, "queue", "show", "nothing", code=2)["error"]


def test_edit(machine: Machine, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one, _ = machine.put("work", "a", "b")
    document = told(capsys, "queue", "edit", one.id[-8:], " !ls ", "--as", "person:kim")
    assert (document["edited"]["text"], document["edited"]["kind"], document["place"]) == ("!ls", "shell", 0)
    assert (document["edited"]["by"], document["edited"]["who"]) == ("person", "kim")
    file = tmp_path / "prompt.md"
    file.write_text("two\nlines\n")
    assert said(capsys, "queue", "edit", one.id, "--file", str(file)).startswith(f"edited: {one.id}  queued, prompt")
    assert machine.texts("work") == ["two\nlines", "b"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["x\x1b"], "U+001B"),
        ([""], "there is no text"),
        ([], "give the new TEXT, or --file FILE"),
        (["x", "--file", "y"], "give the new TEXT, or --file FILE"),
        (["--file", "/nothing/here"], "--file /nothing/here: No such file or directory"),
        (["x", "--as", "nobody"], "--as: agent, person or person:NAME, not 'nobody'"),
    ],
)
def test_an_edit_that_is_refused_changes_nothing(
    machine: Machine, capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    (one,) = machine.put("work", "a")
    assert reason in said(capsys, "queue", "edit", one.id, *arguments, code=2)
    assert reason in told(capsys, "queue", "edit", one.id, *arguments, code=2)["error"]
    assert machine.queue("work").items == (one,)


def test_move(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    ids = [one.id for one in machine.put("work", *"abcd")]
    assert told(capsys, "queue", "move", ids[3], "--first")["place"] == 0
    assert machine.texts("work") == ["d", "a", "b", "c"]
    assert said(capsys, "queue", "move", ids[0], "--last").startswith(f"moved: {ids[0]}")
    assert machine.texts("work") == ["d", "b", "c", "a"]
    assert told(capsys, "queue", "move", ids[2], "--before", ids[3][-8:])["place"] == 0
    assert machine.texts("work") == ["c", "d", "b", "a"]


@pytest.mark.parametrize("arguments", [[], ["--first", "--last"], ["--before", "x", "--last"]])
def test_where_to_must_be_said(machine: Machine, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    (one,) = machine.put("work", "a")
    assert "say where to: --before ID, --first or --last" in said(capsys, "queue", "move", one.id, *arguments, code=2)


def test_an_item_of_another_queue_is_no_place(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    (one,), (other,) = machine.put("work", "a"), machine.put("other", "b")
    assert "has left this queue" in said(capsys, "queue", "move", one.id, "--before", other.id, code=1)


def test_drop(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    ids = [one.id for one in machine.put("work", *"abc")]
    assert told(capsys, "queue", "drop", ids[0], ids[2], ids[0], "--as", "person:kim") == {"dropped": [ids[0], ids[2]]}
    assert machine.texts("work") == ["b"]
    assert {one.reason for _, one in ended_items(machine.store)} == {"dropped by person kim"}
    (other,) = machine.put("other", "x")
    assert "several sessions: other, work" in said(capsys, "queue", "drop", ids[1], other.id, code=2)
    assert machine.texts("work") == ["b"]


@pytest.mark.parametrize("state", [DELIVERING, STARTED])
@pytest.mark.parametrize(
    "arguments", [["edit", "ID", "x"], ["move", "ID", "--last"], ["drop", "ID"], ["drop", "OTHER", "ID"]]
)
def test_what_is_under_way_is_not_touched(
    machine: Machine, capsys: pytest.CaptureFixture[str], state: str, arguments: list[str]
) -> None:
    one, other = machine.put("work", "a", "b")
    machine.set_state("work", one, state)
    before = machine.queue("work")
    words = [{"ID": one.id, "OTHER": other.id}.get(word, word) for word in arguments]
    reason = f"the delivery of item {one.id} has begun (it is {state}): it cannot be changed any more"
    assert reason in said(capsys, "queue", *words, code=1)
    assert told(capsys, "queue", *words, code=1) == {"error": reason}
    assert machine.queue("work") == before


@pytest.mark.parametrize("arguments", [["edit", "ID", "x"], ["move", "ID", "--first"], ["drop", "ID"]])
def test_what_has_ended_is_not_touched(
    machine: Machine, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    (one,) = machine.put("work", "a")
    change_queue(machine.store, "work", lambda queue: queue.ended(one.id, DONE))
    words = [one.id if word == "ID" else word for word in arguments]
    assert f"item {one.id} has ended" in said(capsys, "queue", *words, code=1)
    assert [item.state for _, item in ended_items(machine.store)] == [DONE]


def test_hold_and_resume(machine: Machine, capsys: pytest.CaptureFixture[str], started: list[str]) -> None:
    machine.put("work", "a")
    document = told(capsys, "queue", "hold", "--session", "work", "--reason", "red tests")
    assert (document["session"], document["hold"]["cause"], document["hold"]["reason"]) == (
        "work",
        "asked",
        "red tests",
    )
    assert "(asked): red tests" in said(capsys, "queue", "hold", "--session", "work", "--reason", "other")
    assert started == []
    document = told(capsys, "queue", "resume", "--session", "work")
    assert (document["resumed"]["reason"], document["length"], document["paused"]) == ("red tests", 1, None)
    assert started == ["work"]
    assert "nothing holds the queue of session work" in said(capsys, "queue", "resume", "--session", "work", code=1)


def test_who_holds_is_the_reason_without_one(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert "(asked): person kim has held it" in said(capsys, "queue", "hold", "--session", "work", "--as", "person:kim")


def test_a_pause_outlasts_the_end_of_a_hold(
    machine: Machine, capsys: pytest.CaptureFixture[str], started: list[str]
) -> None:
    machine.put("work", "a")
    main(["queue", "hold", "--session", "work"])
    pauses.begin(machine.store, None, "lunch")
    capsys.readouterr()
    assert "every session is paused since" in said(capsys, "queue", "resume", "--session", "work")
    assert started == []


def test_clear(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    ids = [one.id for one in machine.put("work", *"abc")]
    machine.set_state("work", machine.queue("work").items[0], STARTED)
    main(["queue", "hold", "--session", "work"])
    capsys.readouterr()
    assert told(capsys, "queue", "clear", "--session", "work") == {
        "session": "work",
        "dropped": ids[1:],
        "left": [ids[0]],
    }
    assert machine.queue("work").hold is not None
    assert f"{ids[0]} stays" in said(capsys, "queue", "clear", "--session", "work")


@pytest.mark.parametrize("command", ["hold", "resume", "clear"])
def test_a_session_that_is_not_known(machine: Machine, capsys: pytest.CaptureFixture[str], command: str) -> None:
    reason = "no session wrok is known; did you mean 'work'?"
    assert reason in said(capsys, "queue", command, "--session", "wrok", code=2)
    assert told(capsys, "queue", command, "--session", "wrok", code=2) == {"error": reason}
    assert machine.store.entries("queue") == []


def test_a_folder_that_cannot_be_read_is_said(
    machine: Machine, capsys: pytest.CaptureFixture[str], hookrouter_home: Path
) -> None:
    state = hookrouter_home / "state"
    shutil.rmtree(state)
    state.write_text("")
    assert "a file is where a folder should be" in said(capsys, "queue", "list", code=2)


def test_resume_ends_a_hold_too(machine: Machine, capsys: pytest.CaptureFixture[str], started: list[str]) -> None:
    for name in ("work", "other", "paused"):
        machine.put(name, "a")
        change_queue(machine.store, name, lambda queue: queue.held("unproven", "nothing proved it"))
    document = told(capsys, "resume", "--session", "work")
    assert [(one["session"], one["hold"]["cause"]) for one in document["released"]] == [("work", "unproven")]
    assert document["resumed"] == []
    assert started == ["work"]
    assert machine.queue("other").hold is not None
    out = said(capsys, "resume", "--session", "other")
    assert out == "The queue of session other goes on; it was held (unproven): nothing proved it\n"
    pauses.begin(machine.store, "paused")
    assert [one["session"] for one in told(capsys, "resume", "--all")["released"]] == ["paused"]
    assert started == ["work", "other", "other", "paused", "work"]
    assert "is not paused" in said(capsys, "resume", "--session", "work", code=1)


def test_the_end_of_a_pause_goes_on_with_the_queue(
    machine: Machine, capsys: pytest.CaptureFixture[str], started: list[str]
) -> None:
    machine.put("work", "a")
    pauses.begin(machine.store, "work")
    assert told(capsys, "resume", "--session", "work")["released"] == []
    assert started == ["work"]
    # One that all pauses still hold back does not go on.
    pauses.begin(machine.store, None)
    change_queue(machine.store, "work", lambda queue: queue.held("asked", "wait"))
    assert "work is not held any more, but every session is paused since" in said(capsys, "resume", "--session", "work")
    assert started == ["work"]


def test_many_items_are_found_by_one_look_at_the_queues(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    items = machine.put("work", *(f"prompt {number}" for number in range(50)))
    looks = []
    found = changing.list_queues
    monkeypatch.setattr(changing, "list_queues", lambda store: looks.append(store) or found(store))
    document = told(capsys, "queue", "drop", *(item.id for item in items))
    assert document["dropped"] == [item.id for item in items]
    assert len(looks) == 1
