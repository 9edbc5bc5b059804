"""The page's socket in the router: nothing runs before somebody connects, and what is wrong is said."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from hookrouter._serving import page_process
from hookrouter._serving.page_process import EXTRA_MISSING, INHERIT_VARIABLE, PageProcess
from hookrouter.storage.home import Home
from support.ports import free_port

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def home(tmp_path: Path, port: int) -> Home:
    (tmp_path / "config.toml").write_text(f'[page]\naddress = "127.0.0.1:{port}"\n')
    return Home.from_environ({"HOOKROUTER_HOME": str(tmp_path)})


def test_it_listens_and_runs_nothing(home: Home, port: int) -> None:
    page = PageProcess(home, {})
    page.tend()
    assert page.fileno() >= 0
    assert page.status() == {"pid": 0, "url": f"http://127.0.0.1:{port}", "problem": ""}
    with socket.create_connection(("127.0.0.1", port)):
        assert not page.is_running
    page.let_go()


def test_a_page_that_is_switched_off_is_nowhere(home: Home, port: int) -> None:
    page = PageProcess(home, {})
    page.tend()
    with open(home.config_file, "a") as file:
        file.write("enabled = false\n")
    page.tend()
    assert (page.fileno(), page.status()) == (-1, None)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port)).close()


def test_without_the_extra_it_says_once_how_to_add_it(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page_process, "NEEDED", ("no_such_library",))
    page = PageProcess(home, {})
    for _ in range(3):
        page.tend()
    assert page.fileno() == -1
    assert page.status() == {"pid": 0, "url": "", "problem": EXTRA_MISSING}
    (said,) = capsys.readouterr().err.splitlines()
    assert said.endswith(f" hookrouter serve: no page: {EXTRA_MISSING}")


def test_without_the_extra_nothing_is_said_of_a_page_that_is_switched_off(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page_process, "NEEDED", ("no_such_library",))
    with open(home.config_file, "a") as file:
        file.write("enabled = false\n")
    page = PageProcess(home, {})
    page.tend()
    assert (page.status(), capsys.readouterr().err) == (None, "")


def test_a_page_that_runs_begins_anew_if_its_table_changes(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []
    monkeypatch.setattr(page_process.os, "kill", lambda pid, _number: killed.append(pid))
    page = PageProcess(home, {})
    page.tend()
    page._process.pid = 12345
    page.tend()
    assert killed == []
    with open(home.config_file, "a") as file:
        file.write('user_header = "X-User"\n')
    page.tend()
    assert (killed, page.is_running, page.fileno() >= 0) == ([12345], False, True)
    page.let_go()


def test_an_address_that_cannot_be_had_is_said(home: Home, port: int) -> None:
    with socket.create_server(("127.0.0.1", port)):
        page = PageProcess(home, {})
        page.tend()
        status = page.status()
        assert status is not None
        assert status["url"] == ""
        assert f"127.0.0.1:{port}" in status["problem"]


def test_the_next_router_takes_the_socket_over(home: Home, port: int) -> None:
    page = PageProcess(home, {})
    page.tend()
    environ = page.hand_over()
    number = int(environ[INHERIT_VARIABLE].partition(",")[0])
    environ[INHERIT_VARIABLE] = f"{os.dup(number)},127.0.0.1:{port}"
    page.let_go()
    following = PageProcess(home, environ)
    assert environ == {}
    following.tend()
    with socket.create_connection(("127.0.0.1", port)):
        assert following.fileno() >= 0
    following.let_go()


def test_one_that_fails_is_not_begun_again_at_once(home: Home) -> None:
    page = PageProcess(home, {})
    page.tend()
    page._process.pid = 12345
    assert page.ended(12345, 1)
    assert page.fileno() == -1
    status = page.status()
    assert status is not None
    assert status["problem"] == "the page has ended: exit code 1"
    page.let_go()
