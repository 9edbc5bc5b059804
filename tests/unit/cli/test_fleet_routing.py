"""On which machine a session or an item is that a command is about."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pytest
import typer

from hookrouter import _wiring
from hookrouter._sandbox.stage import Stage
from hookrouter.cli.application import Application
from hookrouter.cli.dialogs.answer_request import Request
from hookrouter.cli.dialogs.person.anywhere import chosen_anywhere
from hookrouter.cli.dialogs.person.asking import Terminal
from hookrouter.cli.errors import CommandError
from hookrouter.cli.fleet.option import SeveralMachinesError, behind_the_command, on_any_machine
from hookrouter.cli.fleet.routing import of_items, of_session
from hookrouter.cli.options import Json
from hookrouter.machines import Done, Machines
from hookrouter.messaging.pauses import begin
from hookrouter.queue.documents import change_queue
from hookrouter.queue.editing import added, dropped, hold, new_items
from hookrouter.storage.engine import ALONE_VARIABLE
from hookrouter.storage.interface import DocumentStore
from support.memory_storage import MemoryStore

if TYPE_CHECKING:
    from hookrouter.cli.fleet.option import Find, Options

RUN = 7
"""The exit code of what is run on another machine."""


class Fleet(Machines):
    """The machines ``one`` and ``two`` beside this one, which is ``here``."""

    here = "here"

    def __init__(self, here_store: DocumentStore) -> None:
        self.stores: dict[str, DocumentStore] = {"one": MemoryStore(), "two": MemoryStore()}
        self.run_on: list[tuple[str, Sequence[str], str]] = []
        self.here_store = here_store
        self.is_closed = False

    def names(self) -> list[str]:
        return sorted(self.stores)

    def store(self, machine: str) -> DocumentStore:
        return self.stores[machine]

    def run(self, machine: str, words: Sequence[str], given: str = "", *, person: str = "") -> Done:
        self.run_on.append((machine, words, given))
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


def called(
    command: str, find: Callable[[Options], Find | None] | None, /, machine: str | None = None, **options: object
) -> int | None:
    """Call a command; return the exit code of the machine that has run it, None if that is this one."""
    ran: list[object] = []

    @on_any_machine(command, find)
    def body(
        name: Annotated[str | None, typer.Argument()] = None,
        names: Annotated[list[str] | None, typer.Argument()] = None,
        session: Annotated[str | None, typer.Option("--session")] = None,
        always: Annotated[int | None, typer.Option("--always")] = None,
        every: Annotated[bool, typer.Option("--all")] = False,
        plain: Annotated[bool | None, typer.Option("--plain/--no-plain")] = None,
        plan: Annotated[str | None, typer.Option("--plan", metavar="FILE")] = None,
        as_json: Json = False,
    ) -> None:
        ran.append((name, names, session, always, every, plain, plan, as_json))

    try:
        run: Callable[..., None] = body
        run(machine=machine, **options)
    except typer.Exit as left:
        assert ran == []
        return left.exit_code
    assert len(ran) == 1
    return None


def done() -> int | None:
    return called("queue clear", of_session, session="work")


@pytest.mark.parametrize("known_by", [pause, queue, holding, record])
def test_the_one_machine_that_knows_the_session_does_it(
    fleet: Fleet, known_by: Callable[[DocumentStore], None]
) -> None:
    assert done() is None
    known_by(fleet.stores["two"])
    assert done() == RUN
    assert fleet.run_on == [("two", ["queue", "clear", "--session=work"], "")]


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
    return called("queue show", of_items, names=names)


def test_an_item_is_found_by_a_part_of_its_id(fleet: Fleet) -> None:
    here, there = item(fleet.here_store, "a"), item(fleet.stores["two"], "b")
    assert shown(here) is None
    part = there.partition("-")[2]
    assert shown(part) == RUN
    assert fleet.run_on == [("two", ["queue", "show", "--", part], "")]


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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"session": "--", "as_json": True}, ["--session=--", "--json"]),
        ({"always": 0, "every": True}, ["--always=0", "--all"]),
        ({"plain": False, "every": False}, ["--no-plain"]),
        ({"name": "--all", "names": ["a", "b"], "plain": True}, ["--plain", "--", "--all", "a", "b"]),
    ],
)
def test_the_machine_that_is_named_gets_the_same_command_line(
    fleet: Fleet, options: dict[str, object], words: list[str]
) -> None:
    assert called("queue clear", None, machine="one", **options) == RUN
    assert fleet.run_on == [("one", ["queue", "clear", *words], "")]


def test_it_gets_the_text_of_a_file_and_not_its_name(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_bytes(b"\xef\xbb\xbffirst this")
    assert called("approve", None, machine="one", plan=str(tmp_path / "plan.md")) == RUN
    assert fleet.run_on == [("one", ["approve", "--plan=-"], "first this")]
    with pytest.raises(CommandError, match="--plan /nowhere: No such file or directory"):
        called("approve", None, machine="one", plan="/nowhere")


@pytest.mark.parametrize("options", [{"names": ["-"]}, {"name": "work", "names": ["-"]}, {"plan": "-"}])
def test_what_stands_on_stdin_goes_along(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, options: dict[str, object]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"go on\nwith it\n")))
    assert called("send", None, machine="one", **options) == RUN
    ((_, words, given),) = fleet.run_on
    assert (words[-1].endswith("-"), given) == (True, "go on\nwith it\n")


def test_this_machine_may_be_named_and_then_asks_no_other(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALONE_VARIABLE, "")
    pause(fleet.stores["two"])
    assert called("queue clear", of_session, machine="here", session="work") is None
    assert os.environ[ALONE_VARIABLE] == "1"
    assert fleet.run_on == []


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (["--machine", "one", "queue", "list", "--all"], ["queue", "list", "--machine", "one", "--all"]),
        (["--machine=one", "answer", "work", "2"], ["answer", "work", "2", "--machine=one"]),
        (["queue", "--machine=one", "list"], ["queue", "list", "--machine=one"]),
        (["--machine=one", "answer", "--", "-"], ["answer", "--machine=one", "--", "-"]),
        (["send", "--session", "--machine=one"], ["send", "--session", "--machine=one"]),
        (["--machine"], ["--machine"]),
    ],
)
def test_the_machine_may_stand_before_the_command(typed: list[str], read: list[str]) -> None:
    assert behind_the_command(typed) == read
