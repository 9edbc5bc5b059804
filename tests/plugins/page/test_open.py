"""For how long ``hookrouter open`` waits for a router that does not know the page yet."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.cli.application import Application
from hookrouter.cli.main import main
from hookrouter_page import command

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def services(tmp_path: Path) -> Application:
    return Application.from_environ({"HOOKROUTER_HOME": str(tmp_path)}, share=False)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        now = 0.0

        def monotonic(self) -> float:
            return self.now

        def sleep(self, seconds: float) -> None:
            self.now += seconds

    monkeypatch.setattr(command, "time", Clock())


@pytest.mark.usefixtures("clock")
def test_a_router_that_has_just_begun_is_waited_for(services: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, Any]] = [{}, {}, {"page": {"url": "http://127.0.0.1:8790", "problem": ""}}]
    monkeypatch.setattr(command.control, "ask", lambda *_: told.pop(0))
    assert command._problem(services) == ""
    assert told == []


@pytest.mark.usefixtures("clock")
def test_one_that_never_knows_it_is_told(services: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command.control, "ask", lambda *_: {})
    assert "hookrouter serve --restart" in command._problem(services)


@pytest.mark.usefixtures("clock")
def test_a_router_that_cannot_be_started_is_told(services: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", "state/router/started")

    monkeypatch.setattr(services, "start_router", refuse)
    assert "none can be started: " in command._problem(services)
    assert "Read-only file system" in command._problem(services)


def test_an_empty_id_ends_nothing_and_opens_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOOKROUTER_HOME", str(tmp_path))
    monkeypatch.setattr(command, "_problem", lambda _: "")
    assert main(["open", "--end", "", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"error": "no login '' holds; 'hookrouter open --logins' lists them"}


def test_a_secret_that_cannot_be_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOOKROUTER_HOME", str(tmp_path))
    monkeypatch.setattr(command, "_problem", lambda _: "")
    (tmp_path / "state").write_text("no folder")
    monkeypatch.setattr(command, "page_secret_problem", lambda *_: "")
    assert main(["open", "--json"]) == 1
    assert "nobody can log in to the page" in json.loads(capsys.readouterr().out)["error"]
