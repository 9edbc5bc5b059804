"""Which of a hook's variables are the session's own, and that each message goes out with the environment it needs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.cli.deliver_process import main
from hookrouter.config import Config
from hookrouter.messaging.delivery.deliverer import Deliverer, deliver_all
from hookrouter.messaging.environment import environment_mark, is_claudes, named_variables
from hookrouter.messaging.gateway import Gateway, Message, SendResult
from hookrouter.messaging.outbox import Outbox
from hookrouter.messaging.retry import RetryPolicy
from hookrouter.storage import documents
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal
from support.stepped_time import SteppedTime

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLES = {"g": {"type": "hook", "headers": {"Authorization_env": "MY_TOKEN"}}, "h": {"type": "hook", "argv": ["x"]}}


@pytest.fixture
def home(hookrouter_home: Path) -> Home:
    return Home.in_folder(str(hookrouter_home))


@pytest.mark.parametrize(
    ("name", "is_the_sessions"),
    [
        ("CLAUDE_CODE_MESSAGING_TOKEN", True),
        ("CLAUDE_PLUGIN_OPTION_KEY", True),
        ("TRACEPARENT", True),
        ("TMUX_PANE", True),
        ("CLAUDE_CONFIG_DIR", False),
        ("CLAUDE_CODE_OAUTH_TOKEN", False),
        ("PATH", False),
    ],
)
def test_what_is_the_sessions_own(name: str, is_the_sessions: bool) -> None:
    assert is_claudes(name) is is_the_sessions


def test_only_what_tables_name_makes_environments_differ(home: Home) -> None:
    assert named_variables(TABLES.values()) == ["MY_TOKEN"]
    marks = [environment_mark(one, home, TABLES) for one in ({}, {"MY_TOKEN": "a"}, {"MY_TOKEN": "b"})]
    assert len(set(marks)) == 3
    assert environment_mark({"MY_TOKEN": "a", "PATH": "/x"}, home, TABLES) == marks[1]
    assert environment_mark({"MY_TOKEN": "a"}, home, {"h": TABLES["h"]}) == ""
    [salt] = Path(home.state, "outbox").iterdir()
    assert salt.stat().st_mode & 0o777 == 0o600


class Token(Gateway):
    """A gateway that needs the token of the process in which it runs."""

    type = "hook"

    def __init__(self) -> None:
        self.got: list[str] = []

    def deliver(self, message: Message, settings: Any) -> SendResult:
        if "MY_TOKEN" not in os.environ:
            return SendResult(delivered=False, reason="MY_TOKEN is not set here")
        self.got.append(message.text)
        return SendResult(delivered=True, reason="taken")


class Session:
    """One session's processes."""

    def __init__(self, home: Home, environ: Mapping[str, str], gateway: Token) -> None:
        self.mark = environment_mark(environ, home, TABLES)
        self.outbox = Outbox(home, print, lambda: self.mark)
        self.deliverer = Deliverer(
            self.outbox,
            Config(gateways=TABLES),
            {"hook": gateway},
            Journal(home.logs),
            retry=RetryPolicy(lambda longest: longest),
            environment=self.mark,
        )

    def put(self, session: str) -> None:
        self.outbox.put(Message("question", "a", "g", session, "sid", "toolu_1", "subject", session))


def test_a_message_waits_for_no_deliverer_without_its_secret(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = Token()
    without, having = Session(home, {}, gateway), Session(home, {"MY_TOKEN": "t"}, gateway)
    without.put("of a")
    with without.outbox.locks.delivering():
        without.deliverer.deliver_due()
        having.put("of b")
        assert having.outbox.locks.is_delivering(without.mark)
        monkeypatch.setenv("MY_TOKEN", "t")
        assert deliver_all(having.outbox, having.deliverer.deliver_due), "the lock of its environment is free"
        assert gateway.got == ["of b"], "that of a is left to the deliverer that is at work for it"
        [left] = having.outbox.pending()
        assert (left.text, left.failures) == ("of a", 1)


def test_a_message_whose_deliverer_is_gone_is_delivered_by_another(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = Token()
    without, having = Session(home, {}, gateway), Session(home, {"MY_TOKEN": "t"}, gateway)
    without.put("of a")
    monkeypatch.setenv("MY_TOKEN", "t")
    having.deliverer.deliver_due()
    assert gateway.got == ["of a"]


def test_deliver_says_that_another_one_is_at_work(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir("/")
    monkeypatch.setattr(documents, "time", SteppedTime())
    outbox = Outbox(home, print)
    outbox.put(Message("question", "a", "g", "s", "sid", "toolu_1", "subject", "hello"))
    with outbox.locks.delivering():
        assert main([]) == 0
    said = capsys.readouterr().err
    assert "another deliverer is at work, so this one delivered nothing" in said
    assert "1 message waits" in said
