"""Ten plugins of ten authors, seven of whom made mistakes: what the others say arrives, and each mistake has a name."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from support.fronts import THROUGH_FRONTS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = THROUGH_FRONTS

CALL = {
    "session_id": "s",
    "transcript_path": "",
    "cwd": "/",
    "permission_mode": "default",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "toolu_1",
}
PAYLOADS: dict[str, dict[str, Any]] = {
    "pre-tool-use": {**CALL, "hook_event_name": "PreToolUse"},
    "post-tool-use": {**CALL, "hook_event_name": "PostToolUse", "tool_response": {"stdout": ""}},
    "stop": {
        "session_id": "s",
        "transcript_path": "",
        "cwd": "/",
        "hook_event_name": "Stop",
        "stop_hook_active": False,
    },
}
HOOKS = {"pre-tool-use": "pre_tool_use_bash", "post-tool-use": "post_tool_use", "stop": "stop"}
REPLIES = {"pre-tool-use": "PreToolUseReply", "post-tool-use": "PostToolUseReply", "stop": "StopReply"}

OFFENDERS = {
    "b-crashes-at-import": "raise OSError('no such file')",
    "c-raises": "raise ValueError('boom')",
    "d-hangs": "import time\n    time.sleep(600)",
    "e-prints": "import subprocess\n    print('noise', flush=True)\n    subprocess.run(['echo', 'more noise'])",
    "g-exits": "import os\n    os._exit(0)",
    "h-changes": "import os\n    os.chdir('/')\n    os.environ['LEFT'] = 'behind'\n    del os.environ['PATH']",
    "i-wrong-type": "return 'deny'",
}
HARMLESS = ("e-prints", "h-changes")
"""Offenders whose mistake is put right; they have nothing else to say."""
GOOD = ("a-good", "f-good", "j-good")
BROKEN = "b-crashes-at-import"


class Place:
    """A home with the ten plugins."""

    def __init__(self, folder: Path) -> None:
        self.home, self.plugins, self.cwd = folder / "home", folder / "plugins", folder / "cwd"
        self.home.mkdir()
        self.cwd.mkdir()
        self.environ = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        self.environ |= {"HOOKROUTER_HOME": str(self.home), "PYTHONPATH": str(self.plugins)}

    def install(self, event: str, **bodies: str) -> None:
        for name, body in {**OFFENDERS, **bodies}.items():
            hook = f"@hookimpl\ndef {HOOKS[event]}(context):\n    "
            source = body if name == BROKEN else hook + body
            write_plugin(self.plugins, name, f"from hookrouter import hookimpl\n{source}\n")
        for name in GOOD:
            said = (
                f"return {REPLIES[event]}.context(' '.join(['{name}', os.getcwd(), os.environ.get('LEFT', 'clean')]))"
            )
            body = f"@hookimpl\ndef {HOOKS[event]}(context):\n    assert shutil.which('sh')\n    {said}\n"
            header = f"import os, shutil\nfrom hookrouter import {REPLIES[event]}, hookimpl\n"
            write_plugin(self.plugins, name, header + body)

    def configure(self, on_error: str) -> None:
        tables = [f'[plugins.{name}]\non_error = "{on_error}"\ntimeout = 3\n' for name in OFFENDERS]
        (self.home / "config.toml").write_text("".join(tables))

    def run(self, event: str) -> tuple[dict[str, Any], float]:
        started = time.monotonic()
        done = subprocess.run(
            [*script_argv(), "run", event],
            input=json.dumps(PAYLOADS[event]).encode(),
            capture_output=True,
            env=self.environ,
            cwd=self.cwd,
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout), time.monotonic() - started

    def record(self) -> dict[str, Any]:
        (file,) = (self.home / "logs").glob("s.jsonl")
        (line,) = file.read_text().splitlines()
        record: dict[str, Any] = json.loads(line)
        return record

    def listing(self) -> dict[str, Any]:
        done = subprocess.run(
            [*script_argv(), "plugins", "list", "--json"], capture_output=True, env=self.environ, check=True
        )
        return {entry["name"]: entry for entry in json.loads(done.stdout)}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def assert_each_is_named(place: Place) -> None:
    record = place.record()
    calls = {call["plugin"]: call for call in record["plugins"]}
    assert "no such file" in json.dumps(record["warnings"])
    assert (calls["c-raises"]["outcome"], calls["c-raises"]["error"]) == ("failed", "ValueError: boom")
    assert calls["d-hangs"]["outcome"] == "timed out"
    assert calls["e-prints"]["left"] == ["wrote to stdout or stderr"]
    assert calls["g-exits"]["outcome"] == "failed"
    assert "os._exit" in calls["g-exits"]["error"]
    assert calls["h-changes"]["left"] == ["changed the working folder", "changed the environment (LEFT, PATH)"]
    assert (calls["i-wrong-type"]["outcome"], "not a str" in calls["i-wrong-type"]["error"]) == ("failed", True)
    assert {calls[name]["outcome"] for name in GOOD} == {"replied"}

    listing = place.listing()
    assert listing[BROKEN]["status"] == "broken"
    assert "no such file" in listing[BROKEN]["reason"]
    for name, said in {
        "c-raises": "ValueError: boom",
        "d-hangs": "timed out",
        "e-prints": "wrote to stdout",
        "g-exits": "os._exit",
        "h-changes": "working folder",
        "i-wrong-type": "not a str",
    }.items():
        assert said in json.dumps(listing[name]["trouble"])
    assert not any(listing[name]["trouble"] for name in GOOD)


def assert_the_good_ones_are_heard(place: Place, reply: dict[str, Any], taken: float) -> None:
    said = reply["hookSpecificOutput"]["additionalContext"].split("\n\n")
    assert said == [f"{name} {place.cwd} clean" for name in GOOD]
    # One hangs for its three seconds; a tired machine may need long for the rest, but nothing like its ten minutes.
    assert taken < 100


@pytest.mark.parametrize("event", HOOKS)
def test_the_other_threes_results_arrive_and_each_offender_is_named(place: Place, event: str) -> None:
    place.install(event)
    place.configure("open")

    reply, taken = place.run(event)

    assert_the_good_ones_are_heard(place, reply, taken)
    assert "decision" not in reply
    assert "permissionDecision" not in reply["hookSpecificOutput"]
    for name in OFFENDERS.keys() - {BROKEN, *HARMLESS}:
        assert f"plugin {name} " in reply["systemMessage"]
    assert_each_is_named(place)


@pytest.mark.parametrize("event", HOOKS)
def test_set_to_fail_closed_each_of_them_refuses_in_its_own_name(place: Place, event: str) -> None:
    place.install(event)
    place.configure("closed")

    reply, taken = place.run(event)

    assert_the_good_ones_are_heard(place, reply, taken)
    if event == "pre-tool-use":
        assert reply["hookSpecificOutput"]["permissionDecision"] == "deny"
        reason = reply["hookSpecificOutput"]["permissionDecisionReason"]
    elif event == "stop":
        assert reply["decision"] == "block"
        reason = reply["reason"]
    else:
        # The tool has run: nothing can be refused any more.
        assert "decision" not in reply
        reason = reply["systemMessage"]
    # Where nobody could look which hooks a plugin has, it guards what would let a tool run.
    silent = HARMLESS if event == "pre-tool-use" else (BROKEN, *HARMLESS)
    refusing = {name for name in OFFENDERS if f"plugin {name} " in reason}
    assert refusing == OFFENDERS.keys() - set(silent)
    assert_each_is_named(place)


MEAN = {
    "dies by a signal": "import os, signal\n    os.kill(os.getpid(), signal.SIGKILL)",
    "crashes in C": "import ctypes\n    ctypes.string_at(0)",
    "does not return from C": "import re\n    re.match(r'(a+)+$', 'a' * 60 + 'b')",
    "takes every interruption": (
        "import time\n    while True:\n        try: time.sleep(600)\n        except BaseException: pass"
    ),
    "closes everything": "import os\n    os.closerange(0, 100)",
    "leaves by a thread": (
        "import ctypes, threading, time\n"
        "    threading.Thread(target=ctypes.CDLL(None)._exit, args=(0,)).start()\n    time.sleep(30)"
    ),
}


@pytest.mark.parametrize("how", MEAN)
def test_what_no_process_survives_is_a_refusal_of_a_plugin_that_fails_closed(place: Place, how: str) -> None:
    place.install("pre-tool-use", **{"g-exits": MEAN[how]})
    place.configure("closed")
    for name in ("c-raises", "d-hangs", "i-wrong-type"):
        write_plugin(place.plugins, name, "")

    reply, taken = place.run("pre-tool-use")

    assert_the_good_ones_are_heard(place, reply, taken)
    assert "plugin g-exits " in reply["hookSpecificOutput"]["permissionDecisionReason"]
    calls = [call for call in place.record()["plugins"] if call["plugin"] == "g-exits"]
    assert [call["outcome"] in ("died", "timed out") for call in calls] == [True]
    # Nothing was called twice.
    names = [call["plugin"] for call in place.record()["plugins"]]
    assert len(names) == len(set(names))
    assert place.listing()["g-exits"]["trouble"]
