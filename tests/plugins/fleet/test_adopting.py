"""Messages of a machine that is gone: each is taken by one other machine, which has its gateway, and by nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hookrouter.cli.application import Application
from hookrouter.dialogs import documents
from hookrouter.dialogs.documents import Dialog
from hookrouter.messaging import pauses
from hookrouter.messaging.gateway import Message
from hookrouter.messaging.message import GivenUp, decode, encode, new_document
from hookrouter.messaging.spawn import KIND
from hookrouter.storage.engine import OUTBOX
from hookrouter_fleet import adopting as module
from hookrouter_fleet.adopting import Adopting, leave_taken
from hookrouter_fleet.kinds import FLEET
from hookrouter_fleet.replica import PRESENCE
from support.managed_client import question
from support.memory_storage import MemoryStorage

CONFIG = """
[gateways.phone]
type = "command"
argv = ["/bin/true"]
[storage]
machine = "{name}"
"""


class Fleet:
    """The machine ``gone``, of which there are its documents alone, and others that look after them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.areas: Any = {}
        self.outbox = self.storage("gone").store(OUTBOX, pytest.fail)
        self.documents = self.storage("gone").store("", pytest.fail)

    def storage(self, name: str) -> MemoryStorage:
        storage = MemoryStorage(name)
        storage.areas = self.areas
        return storage

    def machine(self, name: str, gone_seconds: float = 0.0) -> tuple[Application, Adopting]:
        home = self.folder / name
        if not home.exists():
            home.mkdir()
            (home / "config.toml").write_text(CONFIG.format(name=name))
        app = Application.from_environ({"HOOKROUTER_HOME": str(home)}, share=False)
        return app, Adopting(app, self.storage(name), gone_seconds)

    def put(self, name: str, gateway: str = "phone", **fields: Any) -> None:
        message = Message("question", "boss", gateway, "work", "s1", "t1", "A question", f"text of {name}")
        self.outbox.write(
            KIND, name, {**new_document(message._replace(id=name, created_at="2026-01-01T00:00:00Z"), **fields)}
        )

    def change(self, name: str, **fields: Any) -> None:
        self.outbox.write(KIND, name, encode(decode(name, self.outbox.read(KIND, name) or {})._replace(**fields)))

    @contextmanager
    def is_there(self, name: str = "gone") -> Iterator[None]:
        with self.storage(name).store(FLEET, pytest.fail).lock(*PRESENCE, 0):
            yield


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    monkeypatch.setattr(module, "spawn_delivery", lambda *_: 1)
    return Fleet(tmp_path)


def test_each_message_is_taken_by_one_machine(fleet: Fleet) -> None:
    fleet.put("m1")
    fleet.put("m2", fallbacks=("nowhere",))
    (one, taking), (two, other) = fleet.machine("one"), fleet.machine("two")
    with fleet.is_there("one"):
        assert (taking.serve(now=True), other.serve(now=True), taking.serve(now=True)) == (2, 0, 0)
    # From now on they are that machine's own, whatever becomes of it.
    assert (other.serve(now=True), taking.serve(now=True)) == (0, 0)
    first, second = one.outbox.pending()
    assert (first.id, first.text) == ("m1", "(The machine gone is not there, so one sends this.)\n\ntext of m1")
    assert (second.id, second.gateways) == ("m2", ["phone"])
    assert two.outbox.count() == 0


@pytest.mark.parametrize("kind", ["agent", "person"])
def test_its_commands_are_for_the_machine_that_sends_it(fleet: Fleet, kind: str) -> None:
    fleet.put("m1")
    asked = Dialog("work", "s1", "t1", [question("Which way?")], None, "boss", "phone")
    documents.save_question(fleet.documents, asked)
    unknown, taking = fleet.machine("one")
    assert (taking.serve(now=True), taking.serve()) == (1, 0)
    # Whether an agent or a person reads it is not known here.
    assert unknown.outbox.pending()[0].text.endswith("text of m1")
    fleet.put("m2")
    (fleet.folder / "two").mkdir()
    entry = f'[[agents]]\nid = "boss"\nkind = "{kind}"\ngateway = "phone"\n'
    (fleet.folder / "two" / "config.toml").write_text(entry + CONFIG.format(name="two"))
    known, taking = fleet.machine("two")
    assert taking.serve(now=True) == 1
    text = known.outbox.pending()[0].text
    assert "The machine gone is not there, so two sends this." in text
    assert f"HOOKROUTER_HOME={fleet.folder}/two " in text
    assert "--machine=gone answer " in text


def test_a_machine_that_is_there_or_was_just_there_delivers_its_own(fleet: Fleet) -> None:
    fleet.put("m1")
    _app, soon = fleet.machine("one")
    with fleet.is_there():
        assert soon.serve(now=True) == 0
    _app, patient = fleet.machine("one", gone_seconds=60)
    assert patient.serve(now=True) == 0
    assert soon.serve(now=True) == 1


def test_a_look_is_taken_from_time_to_time(fleet: Fleet) -> None:
    _app, taking = fleet.machine("one")
    assert taking.serve() == 0
    fleet.put("m1")
    assert (taking.serve(), taking.serve(now=True)) == (0, 1)


def test_what_its_own_machine_would_not_send_now_is_left(fleet: Fleet) -> None:
    open_one = {"kind": "question", "names": ["q"], "fields": {"tool_use_id": "t1"}}
    fleet.put("elsewhere", gateway="nowhere")
    fleet.put("here", gateway="inbox")
    fleet.put("over", while_open=open_one)
    for name in ("later", "given-up", "delivered"):
        fleet.put(name)
    fleet.change("later", not_before="2999-01-01T00:00:00Z")
    fleet.change("given-up", given_up=GivenUp("no", "2026-01-01T00:00:00Z", ""))
    fleet.change("delivered", delivered_at="2026-01-01T00:00:00Z")
    fleet.outbox.write(KIND, "broken", {"kind": 7})
    app, taking = fleet.machine("one")
    assert taking.serve(now=True) == 0
    fleet.documents.write("question", "q", {"tool_use_id": "t1", "session": "work"})
    assert taking.serve(now=True) == 1
    [message] = app.outbox.pending()
    # Here there is no such question, and no reminder of it is of use.
    assert (message.id, message.while_open, message.then) == ("over", None, ())


def test_what_a_paused_session_had_to_tell_waits_until_its_machine_is_back(fleet: Fleet) -> None:
    fleet.put("m1")
    gone, _ = fleet.machine("gone")
    pauses.begin(gone.store, "work", "")
    fleet.documents.write(pauses.KIND, "sessions", gone.store.read(pauses.KIND, "sessions") or {})
    app, taking = fleet.machine("one")
    assert (taking.serve(now=True), app.outbox.count()) == (0, 0)
    pauses.begin(app.store, "work", "")
    fleet.documents.delete(pauses.KIND, "sessions")
    assert (taking.serve(now=True), app.outbox.ids()) == (1, ["m1"])


def test_what_does_not_stand_among_the_messages_of_whoever_took_it_is_not_lost_with_it(fleet: Fleet) -> None:
    fleet.put("m1")
    assert fleet.machine("one")[1].serve(now=True) == 1
    two, other = fleet.machine("two")
    with fleet.is_there("one"):
        assert other.serve(now=True) == 0
    assert (other.serve(now=True), two.outbox.ids()) == (1, ["m1"])


def test_what_its_own_machine_sends_after_all_is_left_to_it(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[object] = []
    monkeypatch.setattr(module, "spawn_delivery", lambda *_: begun.append(1))
    fleet.put("m1")
    app, taking = fleet.machine("one")
    assert (taking.serve(now=True), app.outbox.count(), begun) == (1, 1, [])
    _gone, own = fleet.machine("gone")
    with fleet.is_there():
        assert own.serve(now=True) == 0
        assert (taking.serve(now=True), app.outbox.count(), begun) == (0, 0, [])
    assert [record for record in app.journal.search(()) if record.get("outcome") == "taken over"] == []


def test_a_machine_that_stood_still_leaves_what_was_taken_from_it_meanwhile(fleet: Fleet) -> None:
    fleet.put("m1")
    gone, own = fleet.machine("gone")
    message = Message("question", "boss", "phone", "work", "s1", "t1", "A question", "text")
    gone.outbox.take_in("m1", new_document(message._replace(id="m1", created_at="2026-01-01T00:00:00Z")))
    _app, taking = fleet.machine("one")
    taking.serve(now=True)
    taking.serve()
    assert (own.serve(now=True), gone.outbox.ids()) == (0, [])


def test_a_machine_that_comes_back_removes_what_was_taken_and_sends_the_rest(fleet: Fleet) -> None:
    fleet.put("m1")
    taking = fleet.machine("one")[1]
    taking.serve(now=True)
    taking.serve()
    gone, _ = fleet.machine("gone")
    message = Message("question", "boss", "phone", "work", "s1", "t1", "A question", "text")
    for name in ("m1", "m2"):
        gone.outbox.take_in(name, new_document(message._replace(id=name, created_at="2026-01-01T00:00:00Z")))
    assert leave_taken(gone, fleet.storage("gone")) == 1
    assert gone.outbox.ids() == ["m2"]
    assert leave_taken(gone, fleet.storage("gone")) == 0


def test_a_machine_that_goes_while_it_takes_is_replaced(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.put("m1")
    app, taking = fleet.machine("one")
    with monkeypatch.context() as patch:
        patch.setattr(type(app.outbox), "take_in", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            taking.serve(now=True)
    two, other = fleet.machine("two")
    with fleet.is_there("one"):
        assert other.serve(now=True) == 0
        # It goes on where it was.
        assert (taking.serve(now=True), app.outbox.ids()) == (1, ["m1"])
        taking.serve()
    assert (other.serve(now=True), two.outbox.count()) == (0, 0)


def test_what_was_begun_and_not_taken_goes_to_another_one(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.put("m1")
    app, taking = fleet.machine("one")
    with monkeypatch.context() as patch:
        patch.setattr(type(app.outbox), "take_in", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            taking.serve(now=True)
    two, other = fleet.machine("two")
    assert (other.serve(now=True), two.outbox.ids()) == (1, ["m1"])
    # Whoever had begun and comes back leaves it.
    with fleet.is_there("two"):
        assert (taking.serve(now=True), app.outbox.count()) == (0, 0)
