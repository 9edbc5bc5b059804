"""`hookrouter outbox list|show|retry|drop`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.cli.application import Application
from hookrouter.cli.main import main
from hookrouter.messaging import pauses
from hookrouter.messaging.delivery.routes import Routes
from hookrouter.messaging.gateway import Message, ScheduledMessage, gateways
from hookrouter.messaging.outbox import Outbox
from hookrouter.storage.home import Home
from hookrouter.util.clock import iso, local, now

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def outbox(hookrouter_home: Path, monkeypatch: pytest.MonkeyPatch) -> Outbox:
    monkeypatch.setattr("hookrouter.cli.outbox.push", lambda *_: False)
    return Outbox(Home.in_folder(str(hookrouter_home)), print)


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The deliverers that were started: none really is."""
    started: list[object] = []
    monkeypatch.setattr("hookrouter.cli.outbox.spawn_delivery", lambda *_: started.append(1) or 1)
    return started


def wake(text: str = "Which one?", subject: str = "Claude asks", session: str = "s", kind: str = "question") -> Message:
    return Message(kind, "main", "chat", session, "sid", "toolu_1", subject, text)


def listing(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert main(["outbox", "list", "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_an_empty_outbox(outbox: Outbox, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["outbox", "list"]) == 0
    assert capsys.readouterr().out == "no message waits for delivery\n"
    assert listing(capsys) == []


def test_messages_of_a_paused_session_are_shown_as_paused(
    outbox: Outbox, hookrouter_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outbox.put(wake(session="s"))
    outbox.put(wake(session="t"))
    store = Application.from_environ().store
    pauses.begin(store, "s")
    assert [entry["state"] for entry in listing(capsys)] == ["paused", "due"]
    pauses.end(store, "s")
    assert [entry["state"] for entry in listing(capsys)] == ["due", "due"]


@pytest.mark.parametrize("corrected", [False, True])
def test_a_message_that_waits_for_its_gateways_table(
    outbox: Outbox, hookrouter_home: Path, capsys: pytest.CaptureFixture[str], corrected: bool
) -> None:
    file = hookrouter_home / "config.toml"
    file.write_text('[gateways.chat]\ntype = "command"\nargv = ["true"]\ntimeout = "x"\n')
    name = outbox.put(wake()).id
    services = Application.from_environ()
    mark = Routes(services.config, gateways(services.plugins)).fingerprint(["chat"])
    outbox.tries.begin(name, asked=False)
    outbox.tries.failed(name, "timeout: found 'x'", next_attempt_at=iso(now() + 90), unusable=mark)
    if corrected:
        file.write_text('[gateways.chat]\ntype = "command"\nargv = ["true"]\ntimeout = 5\n')
    [entry] = listing(capsys)
    assert main(["outbox", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    if corrected:
        assert (entry["state"], entry["next_attempt_at"], entry["last_error"]) == ("due", None, None)
        assert lines[1:] == ["  not tried yet"]
    else:
        assert (entry["state"], entry["last_error"]) == ("waits", "timeout: found 'x'")
        assert lines[1].startswith("  its gateway could not be asked yet, next in ")
        assert lines[2:] == ["  why: timeout: found 'x'"]


def test_the_list_shows_each_message_and_why_it_is_there(outbox: Outbox, capsys: pytest.CaptureFixture[str]) -> None:
    fresh = outbox.put(wake(), fallbacks=["desktop"]).id
    waiting = outbox.put(wake(session="t")).id
    outbox.tries.begin(waiting)
    outbox.tries.failed(waiting, "connection refused", next_attempt_at=iso(now() + 90))
    dead = outbox.put(wake(session="u")).id
    for _ in range(3):
        outbox.tries.begin(dead)
    outbox.tries.failed(dead, "wrong token", given_up="abc")

    entries = listing(capsys)
    assert [(entry["id"], entry["state"]) for entry in entries] == [
        (fresh, "due"),
        (waiting, "waits"),
        (dead, "given up"),
    ]
    assert entries[0]["gateways"] == ["chat", "desktop"]
    assert (entries[1]["attempts"], entries[1]["last_error"]) == (1, "connection refused")
    assert entries[1]["next_attempt_at"] is not None
    assert entries[2]["next_attempt_at"] is None

    assert main(["outbox", "list"]) == 0
    out = re.sub(r"[\d.]+ s", "N s", capsys.readouterr().out)
    assert f"{fresh}  due, question for agent main, session s, via chat then desktop, N s old\n  not tried yet\n" in out
    assert "  tried once, next in N s\n  why: connection refused\n" in out
    assert "given up" in out
    assert "  tried 3 times\n  why: wrong token\n" in out


def test_one_message_is_shown_whole(outbox: Outbox, capsys: pytest.CaptureFixture[str]) -> None:
    name = outbox.put(wake("# Which?\n\n> a line")).id
    assert main(["outbox", "show", name]) == 0
    out = capsys.readouterr().out
    assert out.endswith("\n# Which?\n\n> a line\n")
    assert "tool call: toolu_1" in out
    assert main(["outbox", "show", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == "# Which?\n\n> a line"


def test_no_control_character_reaches_the_terminal(outbox: Outbox, capsys: pytest.CaptureFixture[str]) -> None:
    name = outbox.put(wake("one\x1b]0;owned\x07\ntwo", "\x1b[2J", "s\x9b1m")).id
    outbox.tries.failed(name, "said \x1b[31m")
    assert main(["outbox", "list"]) == main(["outbox", "show", name]) == 0
    out = capsys.readouterr().out
    assert not [character for character in out if not character.isprintable() and character != "\n"]
    assert "said \\x1b[31m" in out


@pytest.mark.parametrize("command", ["show", "retry", "drop"])
def test_an_unknown_id_is_an_error(
    command: str, outbox: Outbox, spawned: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    outbox.put(wake())
    assert main(["outbox", command, "nothing\x1b"]) == 2
    assert "there is no message 'nothing\\x1b' in the outbox" in capsys.readouterr().err
    assert main(["outbox", command, "nothing", "--json"]) == 2
    assert "there is no message" in json.loads(capsys.readouterr().out)["error"]
    assert spawned == []
    assert outbox.count() == 1


@pytest.mark.parametrize("arguments", [["retry"], ["drop"], ["retry", "x", "--all"], ["drop", "x", "--all"]])
def test_one_id_or_all(arguments: list[str], outbox: Outbox, capsys: pytest.CaptureFixture[str]) -> None:
    outbox.put(wake())
    assert main(["outbox", *arguments]) == 2
    assert "name one message by its ID, or give --all" in capsys.readouterr().err
    assert outbox.count() == 1


def test_retry_makes_a_message_due_again(
    outbox: Outbox, spawned: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    names = [outbox.put(wake()).id for _ in range(2)]
    outbox.tries.begin(names[0])
    outbox.tries.failed(names[0], "wrong token", given_up="abc", refused={"chat": "abc"})
    outbox.tries.begin(names[1])
    outbox.tries.failed(names[1], "connection refused", next_attempt_at=iso(now() + 90))

    assert main(["outbox", "retry", names[0]]) == 0
    assert [entry["state"] for entry in listing_after(capsys)] == ["due", "waits"]
    assert main(["outbox", "retry", "--all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"retried": names}
    assert [entry["state"] for entry in listing(capsys)] == ["due", "due"]
    assert len(spawned) == 2
    message = outbox.get(names[0])
    assert message is not None
    assert (message.failures, message.refused, message.attempts) == (0, {}, 1)


def listing_after(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    return listing(capsys)


def test_retry_of_all_leaves_reminders_to_their_time(
    outbox: Outbox, spawned: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    name = outbox.put(wake(), then=[ScheduledMessage(wake(kind="reminder"), 600, after_delivery=False)]).id
    message = outbox.get(name)
    assert message is not None
    outbox.tries.unfold(message)
    assert main(["outbox", "retry", "--all"]) == 0
    assert [entry["state"] for entry in listing_after(capsys)] == ["due", "waits"]


def test_drop(outbox: Outbox, capsys: pytest.CaptureFixture[str]) -> None:
    names = [outbox.put(wake()).id for _ in range(3)]
    assert main(["outbox", "drop", names[1]]) == 0
    assert capsys.readouterr().out == f"dropped: {names[1]}\n"
    assert outbox.ids() == [names[0], names[2]]
    assert main(["outbox", "drop", "--all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"dropped": [names[0], names[2]]}
    assert outbox.count() == 0


def test_an_attempt_that_runs_is_shown_as_running_and_one_that_was_cut_off_is_not(
    outbox: Outbox, capsys: pytest.CaptureFixture[str]
) -> None:
    name = outbox.put(wake()).id
    outbox.tries.begin(name)
    (entry,) = listing(capsys)
    assert (entry["state"], entry["running_since"]) == ("due", None)
    assert "interrupted" in entry["last_error"]
    with outbox.locks.lane("chat", "s"):
        (entry,) = listing(capsys)
        assert (entry["state"], entry["last_error"]) == ("running", None)
        assert entry["running_since"] == entry["last_attempt_at"]
        assert main(["outbox", "list"]) == 0
        out = capsys.readouterr().out
        assert f"tried once, now being delivered since {local(entry['running_since'])}" in out
        assert "interrupted" not in out
    with outbox.locks.lane("chat", "t"):
        assert listing(capsys)[0]["state"] == "due"
    outbox.tries.failed(name, "it says no")
    with outbox.locks.lane("chat", "s"):
        assert listing(capsys)[0]["state"] == "due"
