"""How a prompt is submitted to a client that is slow, or loses a key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hookrouter._sandbox import client as client_module
from hookrouter._sandbox import waiting
from hookrouter._sandbox.client import ClientHome, ClientSession
from hookrouter._sandbox.panes import Pane
from support.stepped_time import SteppedTime

RULE = "─" * 40


class Client(Pane):
    """A client that reads no input while it is busy, and loses the first ``lost`` Enters."""

    def __init__(self, *, busy_for: int = 0, lost: int = 0) -> None:
        self.submitted: list[str] = []
        self.in_dialog: list[str] = []
        self._box = ""
        self._waiting: list[str] = []
        self._busy_for = busy_for
        self._lost = lost

    def capture(self) -> str:
        if self.submitted:
            return "Which?\n❯ 1. First\n  2. Second\nEsc to cancel"
        return f"{RULE}\n❯\u00a0{self._box}\n{RULE}"

    def press(self, *keys: str) -> None:
        self._waiting += keys
        if len(self._waiting) <= self._busy_for:
            return
        while self._waiting:
            self._take(self._waiting.pop(0))

    def type(self, text: str) -> None:
        self._box += text

    def dead(self) -> bool:
        return False

    def _take(self, key: str) -> None:
        if self.submitted:
            self.in_dialog.append(key)
        elif key == "BSpace":
            self._box = self._box[:-1]
        elif key != "Enter":
            self._box += key
        elif self._lost:
            self._lost -= 1
        else:
            self.submitted.append(self._box)


class Terminal:
    """Starts nothing: the pane is given."""

    def __init__(self, pane: Pane) -> None:
        self._pane = pane

    def start(self, session: str, command: Sequence[str], **_: Any) -> Pane:
        return self._pane

    def end(self, pane: Pane) -> None:
        """Leave it."""


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_ENTER_SECONDS", 0.05)
    monkeypatch.setattr(waiting, "time", SteppedTime())


def submit(pane: Client, folder: Path) -> None:
    with ClientSession(["client"], Terminal(pane), ClientHome(str(folder)), {}) as session:
        session.submit("please ASK single")


@pytest.mark.parametrize("busy_for", [0, 1])
def test_enter_is_not_repeated_for_a_client_that_is_only_slow(tmp_path: Path, busy_for: int) -> None:
    client = Client(busy_for=busy_for)
    submit(client, tmp_path)
    assert client.submitted == ["please ASK single"]
    assert "Enter" not in client.in_dialog


@pytest.mark.parametrize("lost", [1, 2])
def test_enter_is_repeated_once_it_shows_that_it_was_lost(tmp_path: Path, lost: int) -> None:
    client = Client(lost=lost)
    submit(client, tmp_path)
    assert client.submitted == ["please ASK single"]
    assert client.in_dialog == []


def test_a_version_that_is_named_is_the_one_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_repository", lambda: str(tmp_path))
    for version in ("2.1.1", client_module.CLIENT_VERSION):
        program = Path(client_module._in_folder(str(tmp_path / ".live" / version)))
        program.parent.mkdir(parents=True)
        program.touch(mode=0o755)
        assert client_module.find_client({"HOOKROUTER_CLIENT_VERSION": version}) == str(program)
        found = client_module.find_client({"HOOKROUTER_CLAUDE": str(program), "HOOKROUTER_CLIENT_VERSION": "2.1.2"})
        assert found == str(program)
    assert client_module.find_client({}) == str(program)
    with pytest.raises(client_module.ClientError, match=r"HOOKROUTER_CLIENT_VERSION: .*2\.1\.2"):
        client_module.find_client({"HOOKROUTER_CLIENT_VERSION": "2.1.2"})
