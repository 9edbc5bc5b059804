"""A resident process is begun, ended and told of as its plan says; what a plugin's own words fail for stops nothing."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from hookrouter._plugins.discovery import load_index
from hookrouter._serving import kept_process
from hookrouter._serving.kept_process import GrowingPause, KeptProcess
from hookrouter._serving.kept_processes import KeptProcesses, checked
from hookrouter.config import Config
from hookrouter.serving.resident import ALWAYS, ON_CONNECTION, ON_ERRAND, Place, Plan, ResidentProcess
from hookrouter.storage.home import Home
from support.ports import free_port


def test_each_pause_is_twice_as_long_up_to_a_limit() -> None:
    pause = GrowingPause(1.0, 5.0)
    assert not pause.has_grown
    assert [pause.take() for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert pause.has_grown
    pause.reset()
    assert (pause.has_grown, pause.take()) == (False, 1.0)


class Board(ResidentProcess):
    """A process whose plan the test sets."""

    name = "board"
    target = "no_such_module:main"

    def __init__(self, given: Any = None) -> None:
        self.given = given
        self.has_work = False

    def plan(self, place: Place) -> Plan | None:
        if isinstance(self.given, BaseException):
            raise self.given
        found: Plan | None = self.given
        return found

    def is_due(self, place: Place) -> bool:
        return self.has_work


class Started:
    """Processes that were started and ended: none is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.words: list[list[str]] = []
        self.killed: list[tuple[int, int]] = []
        monkeypatch.setattr(os, "posix_spawn", self.spawn)
        monkeypatch.setattr(os, "kill", lambda pid, number: self.killed.append((pid, number)))

    def spawn(self, _program: str, words: list[str], _environ: object) -> int:
        self.words.append(words[5:])
        return 1000 + len(self.words)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    return Started(monkeypatch)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    Path(tmp_path, "state", "router").mkdir(parents=True)
    return Place(home=Home.in_folder(str(tmp_path)), config=Config())


def kept(board: Board, place: Place, inherited: dict[str, int] | None = None) -> KeptProcess:
    os.makedirs(place.home.router, exist_ok=True)
    return KeptProcess(board, place.home.router, inherited or {})


def connects(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


def test_one_that_always_runs_is_begun_with_its_sockets_and_begun_anew_if_the_plan_changes(
    started: Started, place: Place
) -> None:
    port = free_port()
    board = Board(Plan(addresses=(f"127.0.0.1:{port}",), sockets=("board",), depends=1))
    one = kept(board, place)
    one.tend(place)
    one.tend(place)
    ((word, name, target, router, *numbers),) = started.words
    assert (word, name, target, router) == ("--kept", "board", "no_such_module:main", str(os.getpid()))
    assert len(numbers) == 2
    assert connects(port)
    assert Path(place.home.router, "board").is_socket()
    board.given = Plan(addresses=(f"127.0.0.1:{port}",), sockets=("board",), depends=2)
    one.tend(place)
    assert (started.killed, len(started.words)) == ([(1001, signal.SIGTERM)], 2)
    board.given = None
    one.tend(place)
    assert (one.status(), connects(port), Path(place.home.router, "board").exists()) == (None, False, False)


def test_one_that_waits_for_a_connection_listens_and_runs_nothing(started: Started, place: Place) -> None:
    port = free_port()
    one = kept(Board(Plan(when=ON_CONNECTION, addresses=(f"127.0.0.1:{port}",))), place)
    one.tend(place)
    assert (started.words, len(one.awaited()), one.next_due()) == ([], 1, float("inf"))
    one.begin()
    assert (len(started.words), one.awaited()) == (1, [])
    assert one.ended(1001, 0)
    assert len(one.awaited()) == 1
    one.let_go()


def test_one_with_an_errand_is_begun_when_there_is_one(started: Started, place: Place) -> None:
    board = Board(Plan(when=ON_ERRAND))
    one = kept(board, place)
    one.tend(place)
    assert (started.words, one.next_due()) == ([], float("inf"))
    board.has_work = True
    one.tend(place)
    assert len(started.words) == 1
    board.has_work = False
    assert one.ended(1001, 0)
    one.tend(place)
    assert len(started.words) == 1


def test_one_that_fails_is_begun_after_a_pause_and_refuses_connections_if_it_fails_again(
    started: Started, place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 1000.0
    monkeypatch.setattr(kept_process.time, "monotonic", lambda: now)
    port = free_port()
    one = kept(Board(Plan(addresses=(f"127.0.0.1:{port}",))), place)
    one.tend(place)
    assert not one.ended(1002, 9)
    assert one.ended(1001, 9)
    assert (one.next_due(), connects(port)) == (1.0, True)
    status = one.status()
    assert status is not None
    assert status["problem"] == "the board has ended: exit code 9"
    one.tend(place)
    assert len(started.words) == 1
    now += 1.0
    one.tend(place)
    assert one.ended(1002, 9)
    assert (one.next_due(), connects(port)) == (2.0, False)
    now += 2.0
    one.tend(place)
    assert (len(started.words), connects(port)) == (3, True)
    now += 60.0
    assert one.ended(1003, 9)
    assert one.next_due() == 1.0
    assert [line.split(" ", 1)[1] for line in capsys.readouterr().err.splitlines()] == [
        "hookrouter serve: no board: the board has ended: exit code 9"
    ] * 3
    one.let_go()


def test_an_address_that_cannot_be_had_keeps_the_other_sockets_from_nothing_and_is_tried_again(
    started: Started, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(kept_process.time, "monotonic", lambda: now)
    port = free_port()
    one = kept(Board(Plan(addresses=(f"127.0.0.1:{port}",), sockets=("board",))), place)
    with socket.create_server(("127.0.0.1", port)):
        one.tend(place)
        assert started.words[0][4] == "-1"
        status = one.status()
        assert status is not None
        assert (status["pid"], status["listens"]) == (1001, ["board"])
        assert f"127.0.0.1:{port}" in status["problem"]
        assert 0 < one.next_due() < 1
    now += one.next_due()
    one.tend(place)
    assert (started.killed, len(started.words)) == ([(1001, signal.SIGTERM)], 2)
    one.remove()


def test_one_whose_only_address_cannot_be_had_does_not_run(started: Started, place: Place) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        one = kept(Board(Plan(addresses=(f"127.0.0.1:{port}",))), place)
        one.tend(place)
    assert (started.words, one.next_due() > 0) == ([], True)


def test_what_stands_in_the_way_is_said_once_and_nobody_can_connect(
    started: Started, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    board = Board(Plan(addresses=(f"127.0.0.1:{port}",), when=ON_CONNECTION))
    one = kept(board, place)
    one.tend(place)
    assert connects(port)
    board.given = Plan(addresses=(f"127.0.0.1:{port}",), when=ON_CONNECTION, problem="the extra is missing")
    for _ in range(3):
        one.tend(place)
    assert (connects(port), one.awaited(), started.words) == (False, [], [])
    (said,) = capsys.readouterr().err.splitlines()
    assert said.endswith(" hookrouter serve: no board: the extra is missing")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (RuntimeError("no board"), "its plan() failed: RuntimeError: no board"),
        (SystemExit(3), "its plan() failed: "),
        ("always", "its plan() returned 'always', which is no Plan"),
        (Plan(when="never"), "its plan says when='never'"),
        (Plan(addresses=("here",)), "its plan has the address 'here', which is no HOST:PORT"),
        (Plan(sockets=("calls",)), "its plan has the socket 'calls'; call it 'board' or 'board-...'"),
        (Plan(sockets=("board-/../x",)), "its plan has the socket 'board-/../x'; call it 'board' or 'board-...'"),
        (Plan(addresses=("127.0.0.1:port",)), "127.0.0.1:port: "),
        (Plan(addresses=("127.0.0.1:99999",)), "127.0.0.1:99999: "),
    ],
)
def test_a_plan_that_cannot_be_used_is_told_and_nothing_runs(
    started: Started, place: Place, given: Any, said: str
) -> None:
    one = kept(Board(given), place)
    one.tend(place)
    status = one.status()
    assert status is not None
    assert str(status["problem"]).startswith(said)
    assert started.words == []


class Quarrelsome:
    """What cannot be compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("do not compare me")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(("depends", "said"), [(Quarrelsome(), "do not compare me"), (float("nan"), "not equal to")])
def test_a_plan_that_cannot_be_compared_is_told_and_nothing_runs(
    started: Started, place: Place, depends: object, said: str
) -> None:
    one = kept(Board(Plan(depends=depends)), place)
    one.tend(place)
    one.tend(place)
    status = one.status()
    assert status is not None
    assert said in status["problem"]
    assert not started.words


def test_one_that_cannot_say_its_name_cannot_be_kept() -> None:
    class Nameless(Board):
        @property
        def name(self) -> str:  # type: ignore[override]
            raise RuntimeError("I have none")

    assert "I have none" in checked(Nameless())


def test_the_next_router_takes_the_sockets_over(started: Started, place: Place) -> None:
    port = free_port()
    board = Board(Plan(when=ON_CONNECTION, addresses=(f"127.0.0.1:{port}",), sockets=("board",)))
    one = kept(board, place)
    one.tend(place)
    inherited = {where: os.dup(number) for where, number in one.hand_over().items()}
    file = Path(place.home.router, "board").stat().st_ino
    one.let_go()
    following = kept(board, place, inherited)
    following.tend(place)
    assert connects(port)
    assert (len(following.awaited()), Path(place.home.router, "board").stat().st_ino) == (2, file)
    following.remove()


def test_it_is_ended_once(monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
    killed: list[tuple[int, int]] = []

    def kill(pid: int, number: int) -> None:
        killed.append((pid, number))
        raise ProcessLookupError

    monkeypatch.setattr(os, "kill", kill)
    one = kept(Board(), place)
    one.pid = 12345
    one.stop()
    one.stop()
    assert (killed, one.pid, one.ended(0, 0)) == ([(12345, signal.SIGTERM)], 0, False)


def test_what_can_be_kept_has_a_name_and_a_target() -> None:
    assert checked(Board()) == ""
    assert checked(None) == "None is no ResidentProcess"
    for attribute, value in (("name", "Board"), ("name", ""), ("name", 3), ("target", "a module"), ("target", None)):
        board = Board()
        setattr(board, attribute, value)
        assert attribute in checked(board)
    assert Board(Plan()).line({"pid": 7, "problem": ""}) == "board: process 7"
    assert Plan().when == ALWAYS


def test_plugins_are_asked_again_if_no_descriptor_was_left_in_the_middle(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended the router: what asks them is imported when it is needed first."""
    load_index(place.home, {**os.environ, "HOOKROUTER_HOME": str(tmp_path)})
    every = KeptProcesses(place.home, {}, ())
    name = "hookrouter._plugins.call_specs"
    spec = find_spec(name)
    assert spec is not None
    with monkeypatch.context() as full:
        full.delitem(sys.modules, name, raising=False)
        full.setattr(type(spec.loader), "get_data", _no_descriptor)
        every.tend()
    assert every.status() == {}
    every.tend()
    assert "page" in every.status()
    every.remove()


def _no_descriptor(_loader: object, path: str) -> bytes:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)
