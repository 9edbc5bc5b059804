"""What the outbox promises: durable before put() returns, in order, nothing lost; and a deliverer on its own feet."""

from __future__ import annotations

import errno
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.messaging import outbox as outbox_module
from hookrouter.messaging.gateway import ScheduledMessage
from hookrouter.messaging.message import encode
from hookrouter.messaging.outbox import Outbox
from hookrouter.messaging.spawn import deliverer_environment, push
from hookrouter.storage import documents, logs
from hookrouter.storage.documents import StoreBusy, StoreError
from hookrouter.storage.home import Home
from hookrouter.storage.logs import prepare_log
from hookrouter.util.clock import iso, seconds
from support.outbox_messages import folder, wake
from support.stepped_time import SteppedTime


@pytest.fixture
def home(hookrouter_home: Path) -> Home:
    return Home.in_folder(str(hookrouter_home))


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def outbox(home: Home, reports: list[str]) -> Outbox:
    return Outbox(home, reports.append)


def test_put_keeps_the_whole_message_privately(outbox: Outbox) -> None:
    kept = outbox.put(wake(text="Which?\n> quoted ✓"))

    [file] = [path for path in Path(folder()).iterdir() if path.is_file()]
    assert kept.id
    assert kept.created_at.endswith("Z")
    assert kept.id in file.name
    assert file.stat().st_mode & 0o777 == 0o600
    assert Path(folder()).stat().st_mode & 0o777 == 0o700
    document = json.loads(file.read_text())
    assert document["version"] == 1
    [message] = outbox.pending()
    assert {**document, "then": [], "fallbacks": []} == encode(message)
    assert (message.attempts, message.last_error, message.given_up) == (0, None, None)
    assert outbox.get(kept.id) == message
    assert message.for_gateway(message.gateway) == kept


@given(text=st.text(), session=st.text(), subject=st.text(st.characters(codec=None), max_size=5))
def test_any_text_survives_the_outbox(outbox: Outbox, text: str, session: str, subject: str) -> None:
    kept = outbox.put(wake(session, text, subject=subject))

    message = outbox.get(kept.id)
    assert message is not None
    assert message.for_gateway(message.gateway) == kept
    assert outbox.remove(kept.id)


def test_messages_are_listed_in_order_of_creation(outbox: Outbox) -> None:
    ids = [outbox.put(wake(text=str(number))).id for number in range(30)]

    assert outbox.ids() == ids
    assert [message.text for message in outbox.pending()] == [str(number) for number in range(30)]
    assert outbox.count() == 30


def test_order_and_ids_hold_when_the_clock_is_set_back(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([5_000_000_000_000_000_000, 5_000_000_000_000_000_000, 4_000_000_000_000_000_000])
    monkeypatch.setattr(outbox_module, "_last_id", (0, 0))
    monkeypatch.setattr(time, "time_ns", lambda: next(times))

    ids = [outbox.put(wake()).id for _ in range(3)]

    assert outbox.ids() == ids
    assert len(set(ids)) == 3


def test_put_does_not_look_at_the_waiting_messages(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    outbox.put(wake())

    def refuse(*_arguments: object) -> Any:
        raise AssertionError("put() lists the folder, so it gets slower with every waiting message")

    monkeypatch.setattr(os, "listdir", refuse)
    monkeypatch.setattr(os, "scandir", refuse)
    outbox.put(wake())
    monkeypatch.undo()

    assert outbox.count() == 2


def test_an_empty_outbox_needs_no_folder(outbox: Outbox) -> None:
    assert (outbox.pending(), outbox.ids(), outbox.count(), outbox.get("x")) == ([], [], 0, None)
    assert not Path(folder()).exists()


def test_put_says_why_it_cannot_write(outbox: Outbox, home: Home) -> None:
    Path(home.state).write_text("a file where the folder should be")

    with pytest.raises(StoreError, match="cannot write"):
        outbox.put(wake())


def test_an_attempt_is_counted_before_it_is_made_and_a_failure_kept(outbox: Outbox) -> None:
    name = outbox.put(wake()).id

    begun = outbox.tries.begin(name)
    assert begun is not None
    assert begun.attempts == 1
    assert begun.last_attempt_at is not None
    assert "interrupted" in begun.last_error

    outbox.tries.failed(name, "connection refused", next_attempt_at="2999-01-01T00:00:00.000Z")
    message = outbox.get(name)
    assert message is not None
    assert (message.attempts, message.last_error) == (1, "connection refused")
    assert message.next_attempt_at == "2999-01-01T00:00:00.000Z"

    outbox.tries.failed(name, "wrong token", given_up="abc")
    message = outbox.get(name)
    assert message is not None
    assert message.given_up is not None
    assert (message.given_up.reason, message.given_up.settings) == ("wrong token", "abc")


def test_a_dropped_message_does_not_come_back(outbox: Outbox) -> None:
    name = outbox.put(wake()).id

    assert outbox.remove(name)
    assert not outbox.remove(name)
    assert outbox.tries.begin(name) is None
    outbox.tries.failed(name, "too late")
    assert outbox.count() == 0


def test_a_corrupt_document_is_set_aside_and_the_others_stay(outbox: Outbox, reports: list[str]) -> None:
    names = [outbox.put(wake()).id for _ in range(3)]
    Path(folder(), f"wake-{names[1]}.json").write_text("{broken")

    assert [message.id for message in outbox.pending()] == [names[0], names[2]]
    assert len(reports) == 1
    assert names[1] in reports[0]


def test_a_document_edited_by_hand_is_completed(outbox: Outbox) -> None:
    name = outbox.put(wake()).id
    path = Path(folder(), f"wake-{name}.json")
    path.write_text(json.dumps({"id": "other", "text": 5, "attempts": "many", "given_up": "yes", "last_error": 1}))

    message = outbox.get(name)
    assert message is not None
    assert (message.id, message.attempts, message.given_up, message.last_error) == (name, 0, None, None)
    assert message.fault == "'kind' of the message is None, not a text"


def test_one_deliverer_at_a_time(outbox: Outbox, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "time", SteppedTime())
    with outbox.locks.delivering(), pytest.raises(StoreBusy), Outbox(home, print).locks.delivering():
        pass
    with outbox.locks.delivering():
        pass


def test_a_grown_log_is_set_aside(home: Home) -> None:
    log = Path(prepare_log(home, "x.log"))
    log.write_bytes(b"o" * logs.LOG_BYTES)

    assert prepare_log(home, "x.log") == str(log)

    assert not log.exists()
    assert Path(home.logs, "x.log.1").stat().st_size == logs.LOG_BYTES


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The deliverers that were started: none really is."""
    started: list[list[str]] = []

    def spawn(_path: str, argv: list[str], _environ: object, **_options: object) -> int:
        started.append(argv)
        return 1

    monkeypatch.setattr(os, "posix_spawn", spawn)
    return started


def test_what_a_deliverer_starts_is_not_the_person_who_asked_from_another_machine(home: Home) -> None:
    asked = {"HOOKROUTER_ERRAND": "HOOKROUTER_PERSON HOOKROUTER_THIS_MACHINE", "HOOKROUTER_THIS_MACHINE": "1"}
    environ = {**asked, "HOOKROUTER_PERSON": "ann", "TRACEPARENT": "a trace", "PATH": "/bin"}
    assert deliverer_environment(environ, home) == {"TRACEPARENT": "a trace", "PATH": "/bin"}


def let_pass(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = time.time() + seconds
    monkeypatch.setattr(time, "time", lambda: now)


def test_a_push_for_an_empty_outbox_looks_at_one_folder(
    outbox: Outbox, home: Home, spawned: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.remove(outbox.put(wake()).id)
    with monkeypatch.context() as patch:
        for name in ("stat", "open", "utime", "listdir"):
            patch.setattr(os, name, lambda *_arguments, **_options: pytest.fail("more than one look"))
        assert not push({}, home)
    assert spawned == []


def test_pushes_come_at_intervals(
    outbox: Outbox, home: Home, spawned: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.put(wake())
    assert [push({}, home) for _ in range(5)] == [True, False, False, False, False]
    let_pass(monkeypatch, 25)
    assert not push({}, home)
    let_pass(monkeypatch, 10)
    assert push({}, home)
    assert not push({}, home)


def test_a_push_waits_as_long_as_the_deliverer_said(
    outbox: Outbox, home: Home, spawned: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.put(wake())
    outbox.postpone(300)
    let_pass(monkeypatch, 290)
    assert not push({}, home)
    let_pass(monkeypatch, 20)
    assert push({}, home)


def test_a_clock_set_back_does_not_stop_pushes(
    outbox: Outbox, home: Home, spawned: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.put(wake())
    outbox.postpone(30)
    let_pass(monkeypatch, -1e6)
    assert push({}, home)


def test_a_changed_config_makes_a_push_due(
    outbox: Outbox, home: Home, spawned: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(home.config_file).write_text("")
    outbox.put(wake())
    outbox.postpone(30)
    assert not push({}, home)
    later = time.time() + 5
    os.utime(home.config_file, (later, later))
    let_pass(monkeypatch, 5)
    assert push({}, home)


def test_no_push_while_a_deliverer_works(outbox: Outbox, home: Home, spawned: list[list[str]]) -> None:
    outbox.put(wake())
    with outbox.locks.delivering():
        assert not push({}, home)
    assert push({}, home)


def test_the_lock_of_a_killed_deliverer_does_not_stop_pushes(
    outbox: Outbox, home: Home, spawned: list[list[str]]
) -> None:
    outbox.put(wake())
    locks = Path(folder(), "locks")
    locks.mkdir()
    (locks / "outbox-delivery.lock").write_text("process 1")
    assert push({}, home)


def test_a_push_that_cannot_be_noted_is_not_made(
    outbox: Outbox, home: Home, spawned: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox.put(wake())

    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("hookrouter.storage.documents.replace_file", full)
    assert not push({}, home)
    assert spawned == []


def test_a_message_can_be_removed_where_no_lock_can_be_made(outbox: Outbox) -> None:
    name = outbox.put(wake()).id
    Path(folder(), "locks").write_text("a file where the folder should be")
    assert outbox.remove(name)
    assert outbox.count() == 0


def test_the_state_folder_is_closed_before_the_first_message(outbox: Outbox, home: Home) -> None:
    Path(home.state).mkdir()
    Path(home.state).chmod(0o777)
    outbox.put(wake())
    assert Path(home.state).stat().st_mode & 0o777 == 0o700


def test_what_follows_a_message_is_in_its_own_document_first(outbox: Outbox) -> None:
    then = [
        ScheduledMessage(wake(text="later"), 60),
        ScheduledMessage(wake(text="person", gateway="p"), 90, after_delivery=False),
    ]
    name = outbox.put(wake(), then=then, while_open={"kind": "question", "names": ["s"], "fields": {}}).id
    assert outbox.count() == 1

    message = outbox.get(name)
    assert message is not None
    for _ in range(2):
        # Doing it again, as after a kill, changes nothing.
        left = outbox.tries.unfold(message)
    assert left is not None
    [first, person] = outbox.pending()
    assert (first.id, [entry["text"] for entry in first.then]) == (name, ["later"])
    assert (person.text, person.gateway) == ("person", "p")
    assert person.not_before == iso(seconds(first.created_at) + 90)  # type: ignore[operator]

    outbox.tries.delivered(left)
    assert [message.text for message in outbox.pending()] == ["later", "person"]
    assert all(message.for_gateway(message.gateway).kind == "question" for message in outbox.pending())


@pytest.mark.parametrize("fields", [{"then": 5}, {"then": [5]}, {"while_open": {"kind": 1}}, {"refused": []}])
def test_fields_that_make_no_sense_are_left_out(outbox: Outbox, fields: dict[str, Any]) -> None:
    name = outbox.put(wake()).id
    path = Path(folder(), f"wake-{name}.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields, "tried_for": "long", "fallbacks": [1, "b"]}))

    message = outbox.get(name)
    assert message is not None
    assert (message.then, message.while_open, message.refused) == ((), None, {})
    assert (message.tried_for, message.fallbacks) == (0.0, ("b",))
