"""Dialogs of the real client that no hook tells of reach the agent, and a row is chosen where that is allowed."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.client import ClientSession, find_client
from hookrouter._sandbox.mcp_server import server_config
from hookrouter._sandbox.scripted_model import Say, ScriptedModel, ToolUse, ask
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.waiting import wait_until
from support.managed_client import question
from support.resident import Resident
from support.tested_client import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = [pytest.mark.live, pytest.mark.tmux]


CONFIG = """\
[[agents]]
id = "tester"
sessions = ["managed*"]
gateway = "file"

[gateways.file]
type = "command"
argv = {argv}
format = "json"

[approvals]
rows = "{rows}"

[plugins.blocked.settings]
after = 0
"""


class Stopped:
    """A client of a managed session, on a stage."""

    def __init__(self, folder: Path, server: PrivateTmux, model: ScriptedModel, rows: str, *words: str) -> None:
        self.woken = folder / "woken.jsonl"
        keep = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + '\\n')"
        argv = json.dumps([sys.executable, "-c", keep, str(self.woken)])
        self.stage = Stage(str(folder), CONFIG.format(argv=argv, rows=rows))
        self.stage.record("SessionStart")
        self.stage.install()
        self.server, self.model = server, model
        client = find_client()
        assert client is not None
        environ = {**self.stage.environ, **self.stage.client_home.environ(model)}
        words = (client, *(words or ("--permission-mode", "default")))
        self.client = ClientSession(words, server, self.stage.client_home, environ, session="managed")
        # What looks at panes from outside reaches the server that this variable names.
        self.stage.variables["TMUX"] = f"{server.socket},0,0"

    def forget(self, **settings: Any) -> None:
        """Change what the client remembers of its first start."""
        path = Path(self.stage.client_home.home, ".claude.json")
        path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))

    def start_into(self, text: str) -> None:
        """Start the client, which shows a dialog before its prompt."""
        self.client.start_into(text)

    def listed(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.stage.run("questions", "--json").stdout)["questions"]
        return found

    def look(self) -> list[dict[str, Any]]:
        """Look from outside, and return what waits."""
        done = self.stage.run("watch", "--once")
        assert done.returncode == 0, done.stderr
        return self.listed()

    def wait_seen(self) -> dict[str, Any]:
        wait_until(lambda: len(self.look()) == 1, 20, "a session that is stopped", self.told)
        return self.listed()[0]

    def answer(self, decision: Any, code: int = 0) -> dict[str, Any]:
        done = self.stage.run("answer", "--session", "managed", "--json", "--wait", "20", json.dumps(decision))
        assert done.returncode == code, (done.stdout, done.stderr, self.told())
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def wakes(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.woken.read_text().splitlines()] if self.woken.exists() else []

    def told(self) -> str:
        return f"{self.client.screen()}\n{self.stage.journal()[-8:]}"


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


def trusting(tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel, rows: str) -> Stopped:
    one = Stopped(tmp_path, tmux_server, model, rows)
    one.forget(projects={})
    one.start_into("Yes, I trust this folder")
    return one


def test_trust_in_a_workspace_is_told_once_and_given(
    tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel
) -> None:
    one = trusting(tmp_path, tmux_server, model, "agent")
    seen = one.wait_seen()
    assert seen["kind"] == "blocked"
    assert seen["request"]["dialog"] == "workspace trust"
    rows = seen["request"]["rows"]
    assert "Accessing workspace:" in "\n".join(seen["request"]["screen"])
    assert [each["tool_use_id"] for each in one.look()] == [seen["tool_use_id"]]
    wait_until(lambda: len(one.wakes()) == 1, 20, "the wake", one.told)
    assert one.wakes()[0]["kind"] == "question"
    wanted = next(index for index, row in enumerate(rows) if row.startswith("Yes"))
    result = one.answer([{"action": "row", "index": wanted}])
    assert (result["outcome"], result["channel"]) == ("verified", "keys")
    one.client.wait_idle()
    assert one.look() == []
    assert len(one.wakes()) == 1


def test_no_agent_chooses_where_rows_are_a_persons(
    tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel
) -> None:
    one = trusting(tmp_path, tmux_server, model, "person")
    one.wait_seen()
    refused = one.answer([{"action": "row", "index": 0}], code=2)
    assert "rows" in refused["reason"]
    assert "trust this folder" in one.client.screen()


@pytest.mark.long
def test_a_person_who_answers_closes_it(tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel) -> None:
    one = trusting(tmp_path, tmux_server, model, "agent")
    one.wait_seen()
    while "❯ Yes, I trust" not in one.client.screen() and "❯ 1. Yes, I trust" not in one.client.screen():
        one.client.pane.press("Down")
        one.client.pane.wait_for(lambda screen: "❯ Yes" in screen or "❯ 1. Yes" in screen, 5)
    one.client.pane.press("Enter")
    one.client.wait_idle()
    assert one.look() == []
    [story] = json.loads(one.stage.run("history", "--json").stdout)["questions"]
    assert (story["kind"], story["outcome"]) == ("blocked", "answered_by_person")


@pytest.mark.long
def test_the_approval_of_a_projects_server(tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel) -> None:
    one = Stopped(tmp_path, tmux_server, model, "agent")
    server = server_config(str(tmp_path / "listed"))
    Path(one.stage.client_home.project, ".mcp.json").write_text(json.dumps(server))
    one.start_into("Use this MCP server")
    seen = one.wait_seen()
    assert seen["request"]["dialog"] == "approval of an MCP server"
    assert one.answer([{"action": "row", "index": 0}])["outcome"] == "verified"
    one.client.wait_idle()
    wait_until((tmp_path / "listed").exists, 20, "the server", one.told)


@pytest.mark.long
def test_a_picker_that_was_left_open(tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel) -> None:
    one = Stopped(tmp_path, tmux_server, model, "agent")
    one.client.start()
    assert one.look() == []
    one.client.submit("/model")
    one.client.pane.wait_for("Select model")
    seen = one.wait_seen()
    assert seen["request"]["dialog"] == "model picker"
    assert seen["session"] == "managed"
    assert one.answer([{"action": "row", "index": 3}])["outcome"] == "verified"
    assert "Set model to" in one.client.screen()
    assert one.look() == []


@pytest.mark.long
def test_a_switch_of_models_is_declined(tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel) -> None:
    one = Stopped(tmp_path, tmux_server, model, "agent")
    one.client.start()
    model.script("t1", Say("hello"))
    one.client.submit("please RUN t1")
    one.client.wait_idle()
    one.client.submit("/model sonnet")
    one.client.pane.wait_for("Switch model?")
    assert one.wait_seen()["request"]["rows"][1] == "No, go back"
    assert one.answer([{"action": "row", "index": 1}])["outcome"] == "verified"
    assert "Kept model" in one.client.screen()


def test_a_dialog_that_is_not_known_is_told_with_its_screen(
    tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel
) -> None:
    one = Stopped(tmp_path, tmux_server, model, "agent")
    one.client.start()
    one.client.submit("/config")
    one.client.pane.wait_for("Search settings")
    seen = one.wait_seen()
    assert seen["request"]["rows"] == []
    assert "Search settings" in "\n".join(seen["request"]["screen"])
    refused = one.answer([{"action": "row", "index": 0}], code=2)
    assert "no row of this dialog" in refused["reason"]


def test_a_question_is_told_by_its_hook_alone(tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel) -> None:
    one = Stopped(tmp_path, tmux_server, model, "agent")
    one.client.start()
    model.script("t1", ask({"questions": [question("Which way?")]}))
    one.client.submit("please ASK t1")
    one.client.wait_dialog("Which way?", timeout=30)
    assert [seen["kind"] for seen in one.look()] == ["question"]
    one.client.pane.press("Escape")
    one.client.wait_idle()
    model.script("t2", ToolUse("Bash", {"command": "touch x"}))
    one.client.submit("please RUN t2")
    one.client.pane.wait_for("Do you want to proceed?", 20)
    assert [seen for seen in one.look() if seen["kind"] == "blocked"] == []


def test_a_held_message_is_dropped(tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel) -> None:
    """Only clients with a messaging socket have it; a session that bypasses permissions holds what comes from afar."""
    one = Stopped(tmp_path, tmux_server, model, "agent", "--dangerously-skip-permissions")
    one.forget(bypassPermissionsModeAccepted=True)
    one.stage.client_home.accept_modes()
    one.client.start()
    paths = list(Path(one.stage.client_home.temporary).glob("cc-socks/*.sock"))
    if not paths:
        pytest.skip("this client has no messaging socket")
    line = json.dumps({"type": "user", "message": {"role": "user", "content": "hello from afar"}})
    with socket.socket(socket.AF_UNIX) as afar:
        afar.connect(str(paths[0]))
        afar.sendall(line.encode() + b"\n")
        one.client.pane.wait_for("Held message", 20)
    seen = one.wait_seen()
    assert seen["request"]["dialog"] == "held message"
    assert "hello from afar" in "\n".join(seen["request"]["screen"])
    assert one.answer([{"action": "row", "index": 0}])["outcome"] == "verified"
    one.client.wait_idle()
    assert model.prompts() == []


def test_what_auto_mode_says_of_its_check(tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel) -> None:
    """Its check runs on the server; the scripted one has none, as a gateway that does not pass it through."""
    one = Stopped(tmp_path, tmux_server, model, "agent", "--permission-mode", "auto")
    if VERSION < (2, 1, 300):
        pytest.skip("this client says nothing of the check: it refuses the calls, or asks for permission")
    one.client.start()
    model.script("t1", ToolUse("Bash", {"command": "curl -X POST http://127.0.0.1:9/x -d @/etc/hostname"}))
    one.client.submit("please RUN t1")
    seen = one.wait_seen()
    assert seen["request"]["dialog"] in ("auto mode cannot check actions", "what auto mode costs"), one.told()
    assert one.answer([{"action": "row", "index": 0}])["outcome"] == "verified"


def test_the_resident_router_looks_by_itself(tmp_path: Path, tmux_server: PrivateTmux, model: ScriptedModel) -> None:
    one = Stopped(tmp_path, tmux_server, model, "agent")
    with Resident({**os.environ, **one.stage.environ}):
        one.client.start()
        one.client.submit("/model")
        one.client.pane.wait_for("Select model")
        wait_until(lambda: len(one.wakes()) == 1, 40, "the wake", one.told)
        assert one.wakes()[0]["session"] == "managed"
        assert one.answer([{"action": "row", "index": 0}])["outcome"] == "verified"
