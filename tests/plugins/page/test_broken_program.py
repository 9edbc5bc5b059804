"""What is asked of a page whose program cannot be imported now, as while it is being reinstalled."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from hookrouter.cli.application import Application
from hookrouter.serving import readiness
from hookrouter_monitor.app import MonitorApp
from hookrouter_page import state
from hookrouter_page.app import make_app
from support.resident import PATIENCE


class Program:
    """What makes the services, and can be broken."""

    def __init__(self, folder: Path) -> None:
        self.services = Application.from_environ({**os.environ, "HOOKROUTER_HOME": str(folder)})
        self.is_broken = False

    def __call__(self) -> Application:
        if self.is_broken:
            raise ModuleNotFoundError("No module named 'hookrouter._plugins.scan'")
        return self.services


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setattr(state, "_FRESH_SECONDS", 0.0)
    monkeypatch.setattr(readiness, "_last", None)
    return Program(tmp_path)


async def get(app: Any, path: str) -> tuple[int, str]:
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": [], "client": None}
    scope["headers"] = [(b"host", b"127.0.0.1:8790")]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    # What a view raises is raised on, for the server's log, once it is answered.
    with suppress(ModuleNotFoundError):
        await asyncio.wait_for(app(scope, receive, send), PATIENCE)
    return sent[0]["status"], b"".join(one.get("body", b"") for one in sent[1:]).decode()


def asked(app: Any, path: str) -> tuple[int, str]:
    return asyncio.run(get(app, path))


def page(program: Program) -> Starlette:
    return make_app(program)


def monitor(program: Program) -> MonitorApp:
    return MonitorApp(program, "boot")


@pytest.mark.parametrize("make", [page, monitor])
def test_a_probe_is_told_that_it_fails_and_by_and_by_that_it_is_well(
    program: Program, make: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hookrouter_monitor.app._FRESH_SECONDS", 0.0)
    app = make(program)
    program.is_broken = True
    status, text = asked(app, "/readyz")
    assert (status, json.loads(text)) == (503, {"ready": False, "program": "failing"})
    assert "No module named 'hookrouter._plugins.scan'" in capsys.readouterr().err
    assert asked(app, "/healthz")[0] == 200
    program.is_broken = False
    assert json.loads(asked(app, "/readyz")[1])["router"] == "silent"


def test_a_page_that_fails_says_so(program: Program) -> None:
    app = page(program)
    program.is_broken = True
    status, text = asked(app, "/link/token")
    assert (status, "The page has failed." in text) == (500, True)
