"""For how long ``hookrouter open`` waits for a router that does not know the page yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.cli.application import Application
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
