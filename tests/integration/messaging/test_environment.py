"""Deliverers of another environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookrouter.cli.deliver_process import main
from hookrouter.messaging.environment import environment_mark
from hookrouter.messaging.gateway import Message
from hookrouter.messaging.outbox import Outbox
from hookrouter.storage.home import Home


@pytest.fixture
def home(hookrouter_home: Path) -> Home:
    return Home.in_folder(str(hookrouter_home))


def test_a_person_with_the_secret_delivers_what_another_environment_could_not(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The deliverer of the first session stays at work meanwhile, and goes on failing."""
    table = f'type = "command"\nargv = ["cp", "/dev/stdin", "{tmp_path}/got"]\nset = {{ TOKEN_env = "MY_TOKEN" }}\n'
    Path(home.config_file).write_text(f"[gateways.g]\n{table}")
    tables = {"g": {"set": {"TOKEN_env": "MY_TOKEN"}}}
    outbox = Outbox(home, print, lambda: environment_mark({}, home, tables))
    name = outbox.put(Message("question", "a", "g", "s", "sid", "toolu_1", "subject", "hello")).id
    outbox.tries.begin(name, 600)
    monkeypatch.setenv("MY_TOKEN", "t")
    monkeypatch.chdir("/")
    with outbox.locks.delivering():
        assert main([]) == 0
    assert (tmp_path / "got").read_text() == "hello"
    assert outbox.count() == 0
