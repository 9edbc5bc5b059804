"""http hooks on the real client: a question answered through the gate, a call refused, and what becomes of a wait."""

from __future__ import annotations

import os
import signal
import socket
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from hookrouter._sandbox.client import find_client, install_client
from hookrouter._sandbox.scripted_model import ScriptedModel, bash
from hookrouter._sandbox.waiting import wait_until
from hookrouter._serving.token import TOKEN_VARIABLE, read_token
from hookrouter.testing.plugins import write_plugin
from support.managed_client import RULES, ManagedClient, once
from support.matrix import mostly_long
from support.ports import free_port
from support.resident import Resident

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = pytest.mark.live

REFUSER = """\
from hookrouter import hookimpl
from hookrouter.replies import PreToolUseReply

@hookimpl
def pre_tool_use_bash(event, context):
    return PreToolUseReply.deny("not in this house")
"""


class Http(ManagedClient):
    """A managed client with hookrouter's http hooks, and a router with its gate."""

    def __init__(
        self, folder: str, server: PrivateTmux, model: ScriptedModel, version: str | None, config: str
    ) -> None:
        self._port = free_port()
        super().__init__(folder, f'{config}\n[serve]\nhttp = "127.0.0.1:{self._port}"\n', "--front", "http")
        self.router = Resident(self.stage.environ)
        self.router.start()
        wait_until(lambda: bool(read_token(self.stage.home)) and self.listens(), 20, "the gate", self.state)
        self._server, self._version = server, version
        program = install_client(version) if version else find_client()
        assert program is not None
        token = {TOKEN_VARIABLE: read_token(self.stage.home)}
        self.bring_up(server, model, program, {**self.stage.environ, **self.stage.client_home.environ(model), **token})

    def gate(self) -> int:
        """Return the gate's process; 0 for none."""
        return int((self.router.status()["gate"] or {}).get("pid", 0))

    def listens(self) -> bool:
        """Whether a connection to the gate's address can be made."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def waits(self) -> list[str]:
        """Return the events of calls that the router has in hand."""
        return [one["event"] for one in self.router.status()["waiting"]]

    def state(self) -> str:
        return str(self.router.status())

    def told(self) -> str:
        return f"{super().told()}\n{self.state()}"


@contextmanager
def over_http(folder: Path, server: PrivateTmux, version: str | None = None, config: str = "") -> Iterator[Http]:
    pytest.importorskip("uvicorn")
    with ExitStack() as stack:
        one = Http(str(folder), server, stack.enter_context(ScriptedModel()), version, config)
        stack.callback(one.router.kill)
        stack.callback(one.client.stop)
        yield one


@pytest.mark.parametrize("version", mostly_long([None, "2.1.150"], None))
def test_a_question_is_answered_over_http(tmp_path: Path, tmux_server: PrivateTmux, version: str | None) -> None:
    with over_http(tmp_path, tmux_server, version) as one:
        one.start()
        for turn, (index, label) in enumerate(((1, "Right"), (0, "Left")), 1):
            one.ask(f"Which way now, {turn}?")
            assert label in one.answer(index)
            assert one.handled() == once(turn), one.told()
        assert one.stage.documents("question") == []
        wait_until(lambda: one.waits() == [], 20, "the end of all calls", one.told)


def test_a_permission_is_decided_over_http(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    with over_http(tmp_path, tmux_server, config=RULES) as one:
        one.start()
        for name, decision in (("one", {"action": "allow"}), ("two", {"action": "deny", "text": "not this one"})):
            one.ask_permission(f"{tmp_path}/{name}")
            result = one.decide(decision)
            assert (result["outcome"], result["channel"]) == ("verified", "reply"), one.told()
            one.client.wait_idle()
            assert (tmp_path / name).exists() == (decision["action"] == "allow")
        wait_until(lambda: one.waits() == [], 20, "the end of all calls", one.told)


@pytest.mark.long
def test_a_router_that_begins_anew_between_two_questions_changes_nothing(
    tmp_path: Path, tmux_server: PrivateTmux
) -> None:
    with over_http(tmp_path, tmux_server) as one:
        one.start()
        one.ask("Which way now?")
        gate, boot = one.gate(), one.router.boot()
        assert one.stage.run("serve", "--restart").returncode == 0
        # Neither the one that waits nor the events that follow are lost by it.
        assert "Right" in one.answer()
        wait_until(lambda: one.router.boot() not in ("", boot) and one.gate() not in (0, gate), 20, "it", one.told)
        one.ask("And which one then?")
        assert "Left" in one.answer(0)
        assert one.handled() == once(2), one.told()


def test_a_call_is_refused_over_http(tmp_path: Path, tmux_server: PrivateTmux, monkeypatch: pytest.MonkeyPatch) -> None:
    write_plugin(tmp_path / "site", "refuser", REFUSER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    with over_http(tmp_path, tmux_server) as one:
        one.start()
        one.model.script("t1", bash(f"touch {tmp_path}/ran"))
        one.client.submit("please RUN t1")
        wait_until(lambda: bool(one.model.tool_results()), 30, "the tool's result", one.told)
        assert "not in this house" in list(one.model.tool_results().values())[-1]
        assert not (tmp_path / "ran").exists()


@pytest.mark.long
def test_a_person_answers_first(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    with over_http(tmp_path, tmux_server) as one:
        one.start()
        one.ask("Which way now?")
        one.client.confirm()
        one.wait_stop()
        assert "Left" in list(one.model.tool_results().values())[-1]
        wait_until(lambda: one.waits() == [], 20, "the end of the hook that waits", one.told)
        assert one.stage.documents("reply-waiting") == []


def test_escape_ends_the_wait(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    with over_http(tmp_path, tmux_server) as one:
        one.start()
        one.ask("Which way now?")
        wait_until(lambda: one.waits() == ["permission-request"], 20, "a wait", one.told)
        one.press("Escape")
        one.client.wait_idle()
        wait_until(lambda: one.waits() == [], 20, "the end of the hook that waits", one.told)


def test_a_question_whose_gate_is_killed_is_still_answered(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    with over_http(tmp_path, tmux_server) as one:
        one.start()
        one.ask("Which way now?")
        gate = one.gate()
        os.kill(gate, signal.SIGKILL)
        wait_until(lambda: one.gate() not in (0, gate) and one.listens(), 30, "another gate", one.told)
        # Nobody can give this answer to the hook any more; a person, or the keys channel, can.
        one.client.wait_dialog("Which way now?")
        said = '[{"action": "select", "optionIndex": 1}]'
        done = one.stage.run("answer", "--session", "managed", "--json", "--wait", "40", "--channel", "keys", said)
        assert done.returncode == 0, (done.stdout, done.stderr, one.told())
        one.wait_stop()
        assert "Right" in list(one.model.tool_results().values())[-1]
        one.ask("And which one then?")
        assert "Left" in one.answer(0)
