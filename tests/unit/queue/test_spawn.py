"""The process that delivers a queue: what is started, and that nothing stops its starter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.cli.application import Application
from hookrouter.queue.spawn import LOCK, is_delivering, start_queue

if TYPE_CHECKING:
    from pathlib import Path


def test_it_is_started_for_its_session(hookrouter_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr("hookrouter.util.detached.spawn_detached", lambda *call: calls.append(call) or 1)
    start_queue(Application.from_environ(), "-a/b")
    ((words, environ, log, _),) = calls
    assert words == ["queue", "deliver", "--session=-a/b"]
    assert environ["HOOKROUTER_HOME"] == str(hookrouter_home)
    assert log == str(hookrouter_home / "logs" / "queue.log")


@pytest.mark.parametrize("error", [OSError("no process"), ValueError("embedded null byte")])
def test_what_cannot_be_started_is_a_warning(
    hookrouter_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    def fail(*_: object) -> int:
        raise error

    monkeypatch.setattr("hookrouter.util.detached.spawn_detached", fail)
    start_queue(Application.from_environ(), "work")
    assert f"no deliverer of the queue of session work could be started: {error}" in capsys.readouterr().err


def test_none_is_started_beside_one_that_is_at_work(hookrouter_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr("hookrouter.util.detached.spawn_detached", lambda *call: calls.append(call) or 1)
    app = Application.from_environ()
    with app.store.lock(LOCK, "work", 0):
        assert is_delivering(app.store, "work")
        start_queue(app, "work")
        assert not calls
    assert not is_delivering(app.store, "work")
    start_queue(app, "work")
    assert calls
