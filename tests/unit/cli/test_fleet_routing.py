"""On which machine a session or an item is that a command is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hookrouter import _wiring
from hookrouter._sandbox.stage import Stage
from hookrouter.cli.application import Application
from hookrouter.cli.dialogs.answer_request import Request
from hookrouter.cli.dialogs.person.anywhere import chosen_anywhere
from hookrouter.cli.dialogs.person.asking import Terminal
from hookrouter.cli.errors import CommandError
from hookrouter.cli.fleet.routing import SeveralMachinesError, done_elsewhere, item_done_elsewhere
from hookrouter.machines import Done, Machines
from hookrouter.messaging.pauses import begin
from hookrouter.queue.documents import change_queue
from hookrouter.queue.editing import added, dropped, hold, new_items
from hookrouter.storage.interface import DocumentStore
from support.memory_storage import MemoryStore

RUN = 7
"""The exit code of what is run on another machine."""


class Fleet(Machines):
    """The machines ``one`` and ``two`` beside this one, which is ``here``."""

    here = "here"

    def __init__(self, here_store: DocumentStore) -> None:
        self.stores: dict[str, DocumentStore] = {"one": MemoryStore(), "two": MemoryStore()}
        self.run_on: list[tuple[str, Sequence[str]]] = []
        self.here_store = here_store
        self.is_closed = False

    def names(self) -> list[str]:
        return sorted(self.stores)

    def store(self, machine: str) -> DocumentStore:
        return self.stores[machine]

    def run(self, machine: str, words: Sequence[str], given: str = "", *, person: str = "") -> Done:
        self.run_on.append((machine, words))
        return Done(RUN, "", "")

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    stage = Stage(str(tmp_path), '[storage]\nengine = "shelf"\nmachine = "here"\n')
    monkeypatch.setenv("HOOKROUTER_HOME", stage.home.root)
    monkeypatch.setattr(_wiring, "start_sharing", lambda *_: None)
    found = Fleet(Application.from_environ().store)
    monkeypatch.setattr(_wiring, "machines", lambda _services: found)
    return found


def item(store: DocumentStore, text: str) -> str:
    """Put an item into a queue; return its id."""
    (new,) = new_items([text], by="agent")
    change_queue(store, "work", lambda queue: added(queue, [new]))
    return new.id


def pause(store: DocumentStore) -> None:
    begin(store, "work")


def queue(store: DocumentStore) -> None:
    item(store, "go on")


def holding(store: DocumentStore) -> None:
    hold(store, "work", "red")


def record(store: DocumentStore) -> None:
    store.write("session", "work", {"session": "work", "session_id": "s", "state": "idle"})


def done() -> int | None:
    return done_elsewhere("work", lambda: (["queue", "clear"], ""))


@pytest.mark.parametrize("known_by", [pause, queue, holding, record])
def test_the_one_machine_that_knows_the_session_does_it(
    fleet: Fleet, known_by: Callable[[DocumentStore], None]
) -> None:
    assert done() is None
    known_by(fleet.stores["two"])
    assert done() == RUN
    assert fleet.run_on == [("two", ["queue", "clear"])]


def test_this_machine_does_it_if_it_alone_knows_the_session(fleet: Fleet) -> None:
    pause(fleet.here_store)
    pause_of_all(fleet.stores["two"])
    assert done() is None


def pause_of_all(store: DocumentStore) -> None:
    begin(store, None)


@pytest.mark.parametrize("other", ["here", "one"])
def test_of_two_machines_neither_is_guessed_at(fleet: Fleet, other: str) -> None:
    pause(fleet.here_store if other == "here" else fleet.stores[other])
    pause(fleet.stores["two"])
    with pytest.raises(SeveralMachinesError, match=f"{other}, two; say which with --machine NAME"):
        done()
    assert fleet.run_on == []


def shown(*names: str) -> int | None:
    return item_done_elsewhere(names, lambda ids: (["queue", "show", *ids], ""))


def test_an_item_is_found_by_a_part_of_its_id_and_named_whole(fleet: Fleet) -> None:
    here, there = item(fleet.here_store, "a"), item(fleet.stores["two"], "b")
    assert shown(here) is None
    assert shown(there.partition("-")[2]) == RUN
    assert fleet.run_on == [("two", ["queue", "show", there])]


def test_an_item_that_has_ended_is_found(fleet: Fleet) -> None:
    ended = item(fleet.stores["two"], "b")
    change_queue(fleet.stores["two"], "work", lambda queue: dropped(queue, [ended], "dropped"))
    assert shown(ended) == RUN


def test_an_item_that_is_none_or_could_be_several_is_refused(fleet: Fleet) -> None:
    here, there = item(fleet.here_store, "a"), item(fleet.stores["two"], "b")
    with pytest.raises(CommandError, match="there is no item 'f00'"):
        shown("f00")
    with pytest.raises(CommandError, match="2 items have an id like '20'"):
        shown("20")
    with pytest.raises(SeveralMachinesError, match="here, two"):
        shown(here, there)
    assert fleet.run_on == []


def test_a_person_who_asks_where_no_other_machine_has_a_question_leaves_no_engine_open(fleet: Fleet) -> None:
    request = Request(session="work")
    assert chosen_anywhere(request, Terminal(can_ask=True, has_screen=False)) == request
    assert fleet.is_closed
