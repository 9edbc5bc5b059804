"""The gate on its own socket: calls with ids, each a hook as any other, whatever becomes of router, gate and client."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hookrouter.testing import sample
from hookrouter.testing.plugins import write_plugin
from support.gate_client import GateClient
from support.hook_place import BASH
from support.resident import Resident, eventually

HEADER = "import os, sys, time\nfrom hookrouter import hookimpl\nfrom hookrouter.replies import *\n"

TELLER = """
@hookimpl
def pre_tool_use(event, context):
    return PreToolUseReply.deny(repr([os.getcwd(), context.environ.get("WORD")]))
"""


class Place:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, self.plugins = folder / "home", folder / "plugins"
        self.home.mkdir()
        self.plugins.mkdir()
        (self.home / "config.toml").write_text("[serve]\nmod = true\n")
        environ = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        self.router = Resident({**environ, "HOOKROUTER_HOME": str(self.home), "PYTHONPATH": str(self.plugins)})
        self.gate = GateClient(self.router)

    def plugin(self, name: str, body: str) -> None:
        write_plugin(self.plugins, name, HEADER + body)

    def slow(self, tail: str = "") -> Path:
        """Have a call of PreToolUse wait until the file ``go`` is there; return the file with a line for each."""
        began = self.folder / "began"
        self.plugin(
            "slow",
            f"""
@hookimpl
def pre_tool_use(event, context):
    with open({str(began)!r}, "a") as file:
        file.write(f"{{os.getpid()}}\\n")
    while not os.path.exists({str(self.folder / "go")!r}):
        time.sleep(0.01)
    return PreToolUseReply.deny("waited")
""",
        )
        return began

    def go(self) -> None:
        (self.folder / "go").touch()

    @property
    def gate_pid(self) -> int:
        return int(self.router.status()["gate"]["pid"])


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.router.kill()


def reason(answer: dict[str, Any]) -> str:
    import json

    assert (answer["state"], answer["exit_code"]) == ("done", 0), answer
    return str(json.loads(answer["stdout"])["hookSpecificOutput"]["permissionDecisionReason"])


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_call_has_the_folder_environment_and_payload_that_it_names(place: Place) -> None:
    place.plugin("teller", TELLER)
    with place.router:
        health = place.gate.wait()
        assert (health["name"], health["home"]) == ("hookrouter", str(place.home))
        environ = {**place.router.environ, "WORD": "gruß"}
        answer = place.gate.call("a", "pre-tool-use", BASH, environ=environ, cwd=str(place.folder))
        assert reason(answer) == f"teller: {[str(place.folder), 'gruß']!r}"
        assert place.router.status()["calls"] == 1
        assert place.gate.call("b", "stop", sample("Stop")) == {
            "state": "done",
            "exit_code": 0,
            "stdout": "",
            "stderr": "",
        }


def test_the_same_id_is_the_same_call_while_it_runs_and_after(place: Place) -> None:
    began = place.slow()
    with place.router:
        place.gate.wait()
        assert place.gate.call("a", "pre-tool-use", BASH, wait=0) == {"state": "waiting"}
        assert place.gate.call("a", "pre-tool-use", BASH, wait=0) == {"state": "waiting"}
        assert place.gate.request("POST", "/v1/calls/a", {"wait": 0.1}) == (200, {"state": "waiting"})
        place.go()
        assert reason(place.gate.request("POST", "/v1/calls/a", {"wait": 20})[1]) == "slow: waited"
        assert reason(place.gate.call("a", "pre-tool-use", BASH)) == "slow: waited"
        assert len(began.read_text().splitlines()) == 1


def test_an_id_that_is_not_known_is_404_and_an_ended_call_is_killed(place: Place) -> None:
    began = place.slow()
    with place.router:
        place.gate.wait()
        assert place.gate.request("POST", "/v1/calls/x", {"wait": 0})[0] == 404
        assert place.gate.request("DELETE", "/v1/calls/x")[0] == 404
        place.gate.call("a", "pre-tool-use", BASH, wait=0)
        eventually(lambda: began.exists() and began.read_text().endswith("\n"))
        pid = int(began.read_text())
        assert place.gate.request("DELETE", "/v1/calls/a") == (200, {})
        eventually(lambda: not is_running(pid))
        answer = place.gate.request("POST", "/v1/calls/a", {"wait": 5})
        assert answer == (200, {"state": "failed", "reason": "the call was ended"})


def test_a_call_of_another_home_runs_cold(place: Place, tmp_path: Path) -> None:
    place.plugin("teller", TELLER)
    other = tmp_path / "other"
    with place.router:
        place.gate.wait()
        environ = {**place.router.environ, "HOOKROUTER_HOME": str(other)}
        assert reason(place.gate.call("a", "pre-tool-use", BASH, environ=environ)) == "teller: ['/', None]"
        assert place.router.status()["calls"] == 1
        assert place.router.status()["sent_away"] == {"another home": 1}
        assert (other / "logs" / "s.jsonl").exists()


def test_a_call_that_may_not_begin_any_more_does_not(place: Place) -> None:
    with place.router:
        place.gate.wait()
        late, early = (time.time() - 1) * 1000, (time.time() + 60) * 1000
        answer = place.gate.call("a", "stop", sample("Stop"), before=late)
        assert answer == {"state": "failed", "reason": "the call was given up before it began"}
        assert place.gate.call("a", "stop", sample("Stop"), before=early)["state"] == "done"


def test_a_reply_that_is_too_long_is_told(place: Place) -> None:
    place.plugin(
        "teller",
        """
@hookimpl
def stop(event, context):
    return StopReply.context("x" * (17 << 20))
""",
    )
    with place.router:
        place.gate.wait()
        answer = place.gate.call("a", "stop", sample("Stop"))
        assert answer["state"] == "failed"
        assert "allowed are 16777216" in answer["reason"]
        assert place.gate.call("b", "session-end", sample("SessionEnd"))["state"] == "done"


def test_a_folder_that_is_not_there_is_told(place: Place) -> None:
    with place.router:
        place.gate.wait()
        answer = place.gate.call("a", "stop", sample("Stop"), cwd="/nowhere")
        assert answer["state"] == "failed"
        assert "/nowhere" in answer["reason"]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"id": 3}, "id"),
        ({"id": "a/b"}, "id"),
        ({"id": "a" * 129}, "id"),
        ({"event": "../x"}, "event"),
        ({"cwd": "here"}, "cwd"),
        ({"cwd": "/\0"}, "cwd"),
        ({"payload": []}, "payload"),
        ({"environ": {"A": 1}}, "environ"),
        ({"environ": {"A=B": "x"}}, "environ"),
        ({"environ": {"A": "\ud800"}}, "environ"),
        ({"environ": {"A": "x" * (1 << 22)}}, "environ"),
        ({"wait": -1}, "wait"),
        ({"wait": True}, "wait"),
        ({"wait": 1e9}, "wait"),
        ({"before": "now"}, "before"),
        ({"payload": {"a": "x" * (1 << 24)}}, "payload"),
    ],
)
def test_what_is_no_call_is_refused_with_the_reason(change: dict[str, object], word: str) -> None:
    import json

    from hookrouter._serving.gate.messages import BadRequest, call_request

    message = {"id": "a", "event": "stop", "cwd": "/", "environ": {}, "payload": {}, "wait": 0}
    assert call_request(json.dumps(message).encode()).id == "a"
    with pytest.raises(BadRequest, match=f"^{word}:"):
        call_request(json.dumps({**message, **change}).encode())


def test_bodies_that_are_no_json_and_paths_that_are_not_there_are_refused(place: Place) -> None:
    with place.router:
        place.gate.wait()
        for body in (b"", b"[]", b"{", b'{"a": NaN}', b"\xff", b"[" * 100_000):
            status, answer = place.gate.request("POST", "/v1/calls", body)
            assert status == 400, answer
            assert "body" in answer["error"]
        assert place.gate.request("GET", "/v1/calls")[0] == 405
        assert place.gate.request("GET", "/")[0] == 404
        assert place.gate.request("POST", "/hook/stop", {})[0] == 404
        assert place.gate.call("a", "stop", sample("Stop"))["state"] == "done"


def test_a_call_survives_a_router_that_is_killed_and_the_gate_ends_with_it(place: Place) -> None:
    with place.router:
        place.gate.wait()
        gate = place.gate_pid
        place.router.kill()
        eventually(lambda: not is_running(gate))
        assert place.gate.health() is None
        place.router.start()
        place.gate.wait()
        assert place.gate.call("a", "stop", sample("Stop"))["state"] == "done"


def test_a_gate_that_is_killed_is_begun_anew(place: Place) -> None:
    with place.router:
        first = place.gate.wait()["boot"]
        os.kill(place.gate_pid, signal.SIGKILL)
        eventually(lambda: (place.gate.health() or {}).get("boot", first) != first)
        assert place.gate.request("POST", "/v1/calls/a", {"wait": 0})[0] == 404


def test_the_configuration_begins_and_ends_the_gate(place: Place) -> None:
    with place.router:
        place.gate.wait()
        gate = place.gate_pid
        (place.home / "config.toml").write_text("[serve]\nmod = false\n")
        eventually(lambda: not is_running(gate))
        assert place.router.status()["gate"] is None


def test_its_socket_is_this_users_alone(place: Place) -> None:
    with place.router:
        place.gate.wait()
        folder = Path(place.router.folder)
        assert (folder / "http").stat().st_mode & 0o777 == 0o600
        assert folder.stat().st_mode & 0o777 == 0o700


def test_the_router_loads_nothing_of_the_gate() -> None:
    import subprocess

    code = "import sys, hookrouter.cli.serve_process as _; sys.exit('hookrouter._serving.gate' in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0
