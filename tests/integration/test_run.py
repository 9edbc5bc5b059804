"""`hookrouter run` as Claude Code starts it: a process, a payload on stdin, a reply on stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hookrouter._routing.hook_call import MAX_PAYLOAD
from hookrouter._sandbox.waiting import wait_until
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from support.fronts import COLD_ONLY, THROUGH_FRONTS, Front

BASH = {
    "session_id": "11111111-2222-3333-4444-555555555555",
    "transcript_path": "/nowhere/t.jsonl",
    "cwd": "/tmp",
    "permission_mode": "default",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "toolu_1",
}

pytestmark = THROUGH_FRONTS

BLOCKS_STOP = """
@hookimpl
def stop(event, context):
    return StopReply.block("go on")
"""

STOP = {"session_id": "s", "transcript_path": "", "cwd": "/", "hook_event_name": "Stop"}

HEADER = "from hookrouter import hookimpl\nfrom hookrouter.replies import *\n"


class Hooks:
    """A home, a folder of plugins, and the program."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = tmp_path / "home"
        self.plugins = tmp_path / "plugins"
        self.plugins.mkdir()

    def write(self, name: str, body: str, header: str = HEADER) -> Path:
        return write_plugin(self.plugins, name, header + body)

    def config(self, text: str) -> None:
        self.home.mkdir(exist_ok=True)
        (self.home / "config.toml").write_text(text)

    def run(self, event: str, payload: object, **environ: str) -> subprocess.CompletedProcess[bytes]:
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        environment = {key: value for key, value in os.environ.items() if key not in ("TMUX", "TMUX_PANE")}
        environment.update(HOOKROUTER_HOME=str(self.home), PYTHONPATH=str(self.plugins), **environ)
        return subprocess.run(
            [*script_argv(), "run", event], input=data, capture_output=True, env=environment, timeout=60, check=False
        )

    def reply(self, event: str, payload: object, **environ: str) -> Any:
        done = self.run(event, payload, **environ)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout) if done.stdout else None

    def records(self) -> list[dict[str, Any]]:
        logs = self.home / "logs"
        files = sorted(logs.glob("*.jsonl")) if logs.exists() else []
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def last(self) -> dict[str, Any]:
        return max(self.records(), key=lambda record: record["at"])


@pytest.fixture
def hooks(tmp_path: Path) -> Hooks:
    return Hooks(tmp_path)


@pytest.mark.parametrize(
    ("event", "payload", "said"),
    [
        ("no-such-event", BASH, "unknown event 'no-such-event'"),
        ("pre-tool-use", b"", "empty"),
        ("pre-tool-use", b"{", "not JSON"),
        ("pre-tool-use", b"[]", "a JSON array, not an object"),
        ("pre-tool-use", b"\xff\xfe", "not JSON"),
        ("pre-tool-use", b"[" * 200_000, "nested too deeply"),
        ("pre-tool-use", {**BASH, "tool_input": "ls"}, "tool_input"),
        ("pre-tool-use", {**BASH, "tool_name": 5}, "tool_name"),
        ("pre-tool-use", {key: value for key, value in BASH.items() if key != "tool_use_id"}, "tool_use_id"),
        ("stop", BASH, "hook_event_name is 'PreToolUse', not 'Stop' as in run stop"),
        ("pre-tool-use", {**BASH, "hook_event_name": None}, "hook_event_name is a null"),
        ("pre-tool-use", b" " * (MAX_PAYLOAD + 1), "larger than"),
    ],
    ids=lambda value: repr(value[:24]) if isinstance(value, str | bytes) else None,
)
def test_a_bad_payload_is_answered_with_silence_and_one_record(
    hooks: Hooks, event: str, payload: object, said: str
) -> None:
    done = hooks.run(event, payload)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (record,) = hooks.records()
    assert said in record["reason"]
    assert record["level"] == "error"


def test_20_megabytes_are_read_to_the_end_and_refused(hooks: Hooks) -> None:
    payload = json.dumps({**BASH, "tool_input": {"command": "x" * 20_000_000}}).encode()
    done = hooks.run("pre-tool-use", payload)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (record,) = hooks.records()
    assert "larger than" in record["reason"]
    assert len(json.dumps(record)) < 2000


def test_nobody_listens(hooks: Hooks) -> None:
    done = hooks.run("pre-tool-use", BASH)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    record = hooks.last()
    assert (record["outcome"], record["level"], record["tool"]) == ("no listener", "debug", "Bash")


def test_a_plugin_sees_unknown_fields_and_replies(hooks: Hooks) -> None:
    hooks.write(
        "guard",
        "@hookimpl\ndef pre_tool_use_bash(event, tool_input, context):\n"
        "    return PreToolUseReply.deny(f\"{tool_input.command} {event.raw['future']} {event.permission_mode}\")\n",
    )
    assert hooks.reply("pre-tool-use", {**BASH, "future": 7}) == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "guard: ls 7 default",
        }
    }
    record = hooks.last()
    assert record["outcome"] == "deny"
    assert [(call["plugin"], call["hook"], call["outcome"]) for call in record["plugins"]] == [
        ("guard", "pre_tool_use_bash", "replied")
    ]


def test_prints_of_a_plugin_and_of_its_children_never_reach_stdout(hooks: Hooks) -> None:
    hooks.write(
        "loud",
        "import os, subprocess, sys\nprint('import')\n@hookimpl\ndef pre_tool_use(event, context):\n"
        "    print('hook'); os.write(1, b'raw'); subprocess.run(['echo', 'child'])\n"
        "    sys.__stdout__.write('dunder')\n"
        "    return PreToolUseReply.allow('fine')\n",
    )
    assert hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]["permissionDecision"] == "allow"


def test_two_rewrites_are_applied_one_after_the_other_in_plugin_order(hooks: Hooks) -> None:
    for name in ("b-second", "a-first"):
        hooks.write(
            name,
            "@hookimpl\ndef pre_tool_use_bash(event, tool_input, context):\n"
            "    seen = event.tool_input['command']\n    assert seen == tool_input.command\n"
            f"    return PreToolUseReply.update_input({{'command': seen + ' {name}'}})\n",
        )
    output = hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]
    assert output["updatedInput"] == {"command": "ls a-first b-second"}


FAULTS = {
    "raises": "@hookimpl\ndef pre_tool_use(event, context):\n    raise ValueError('boom')\n",
    "exits": "import sys\n@hookimpl\ndef pre_tool_use(event, context):\n    sys.exit(3)\n",
    "wrong-type": "@hookimpl\ndef pre_tool_use(event, context):\n    return 'deny'\n",
    "wrong-reply": "@hookimpl\ndef pre_tool_use(event, context):\n    return StopReply.block('no')\n",
    "hangs": "import time\n@hookimpl\ndef pre_tool_use(event, context):\n    time.sleep(600)\n",
    "no-import": "import surely_not_installed\n",
    "exits-at-import": "raise SystemExit(2)\n",
    "dies-at-import": "import os\nos._exit(9)\n",
    "misspelt": "@hookimpl\ndef pre_tool_ues(event, context):\n    return None\n",
    "unknown-argument": "@hookimpl\ndef pre_tool_use(event, kontext):\n    return None\n",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_that_plugins_alone(hooks: Hooks, fault: str) -> None:
    hooks.config(f"[plugins.m-{fault}]\ntimeout = 0.3\n")
    hooks.write(f"m-{fault}", FAULTS[fault])
    for name in ("a-before", "z-after"):
        hooks.write(name, f"@hookimpl\ndef pre_tool_use(context):\n    return PreToolUseReply.context('{name}')\n")
    reply = hooks.reply("pre-tool-use", BASH)
    assert reply["hookSpecificOutput"]["additionalContext"].split() == ["a-before", "z-after"]
    assert "permissionDecision" not in reply["hookSpecificOutput"]
    listing = subprocess.run(
        [*script_argv(), "plugins", "list", "--json"],
        capture_output=True,
        check=True,
        env={**os.environ, "HOOKROUTER_HOME": str(hooks.home), "PYTHONPATH": str(hooks.plugins)},
    ).stdout.decode()
    journal = json.dumps(hooks.records())
    assert f"m-{fault}" in journal + listing
    if fault in ("no-import", "exits-at-import", "dies-at-import", "misspelt", "unknown-argument"):
        assert '"broken"' in listing


@pytest.mark.parametrize("fault", FAULTS)
def test_a_plugin_that_fails_closed_really_denies(hooks: Hooks, fault: str) -> None:
    hooks.config(f'[plugins.m-{fault}]\non_error = "closed"\ntimeout = 0.3\n')
    hooks.write(f"m-{fault}", FAULTS[fault])
    hooks.write("z-allows", "@hookimpl\ndef pre_tool_use(event, context):\n    return PreToolUseReply.allow()\n")
    output = hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]
    assert output["permissionDecision"] == "deny"
    assert f"m-{fault}" in output["permissionDecisionReason"]


def test_a_guard_that_broke_after_it_was_known_guards_only_its_own_calls(hooks: Hooks) -> None:
    hooks.config('[plugins.guard]\non_error = "closed"\n')
    hooks.write("guard", "@hookimpl\ndef pre_tool_use_bash(event, tool_input, context):\n    return None\n")
    assert hooks.reply("pre-tool-use", BASH) is None
    hooks.write("guard", "import surely_not_installed\n")
    assert hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert hooks.reply("pre-tool-use", {**BASH, "tool_name": "Read"}) is None


def test_an_unreadable_payload_is_denied_for_a_plugin_that_fails_closed(hooks: Hooks) -> None:
    hooks.config('[plugins.guard]\non_error = "closed"\n')
    hooks.write("guard", "@hookimpl\ndef pre_tool_use_bash(event, tool_input, context):\n    return None\n")
    assert hooks.reply("pre-tool-use", b"{")["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert hooks.reply("stop", b"{") is None


def test_a_broken_config_keeps_the_guards_that_the_last_good_one_named(hooks: Hooks) -> None:
    hooks.config('[plugins.guard]\non_error = "closed"\n')
    hooks.write("guard", "@hookimpl\ndef pre_tool_use_bash(event, tool_input, context):\n    raise OSError('x')\n")
    assert hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]["permissionDecision"] == "deny"
    hooks.config("[plugins.guard\n")
    assert hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert any("config.toml" in warning for warning in hooks.last()["warnings"])


def test_a_disabled_plugin_is_not_called(hooks: Hooks) -> None:
    hooks.config("[plugins.guard]\nenabled = false\n")
    hooks.write("guard", "@hookimpl\ndef pre_tool_use(event, context):\n    return PreToolUseReply.deny('no')\n")
    assert hooks.reply("pre-tool-use", BASH) is None


def test_a_future_event_reaches_the_raw_hook_alone(hooks: Hooks) -> None:
    hooks.write(
        "raw",
        "@hookimpl\ndef raw_event(event_name, payload, context):\n"
        "    context.note('seen', [event_name, payload['surprise']])\n",
    )
    payload = {"session_id": "s", "hook_event_name": "SunRise", "surprise": {"x": 1}}
    done = hooks.run("sun-rise", payload)
    assert (done.returncode, done.stdout) == (0, b"")
    assert hooks.last()["seen"] == ["SunRise", {"x": 1}]


def test_mcp_tools_have_their_hook(hooks: Hooks) -> None:
    hooks.write(
        "mcp",
        "@hookimpl\ndef pre_tool_use_mcp(event, server, tool, tool_input, context):\n"
        "    return PreToolUseReply.ask(f'{server}/{tool} {tool_input}')\n",
    )
    output = hooks.reply("pre-tool-use", {**BASH, "tool_name": "mcp__github__create_issue", "tool_input": {"a": 1}})
    assert output["hookSpecificOutput"]["permissionDecisionReason"] == "mcp: github/create_issue {'a': 1}"


def test_a_wrapper_may_change_what_the_others_said(hooks: Hooks) -> None:
    hooks.write("a-plain", "@hookimpl\ndef pre_tool_use(event, context):\n    return PreToolUseReply.allow('a')\n")
    hooks.write(
        "b-wrapper",
        "@hookimpl(wrapper=True)\ndef pre_tool_use(event, context):\n    replies = yield\n"
        "    return [PreToolUseReply.deny(f'{len(replies)} wrapped')]\n",
    )
    output = hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]
    assert (output["permissionDecision"], output["permissionDecisionReason"]) == ("deny", "b-wrapper: 1 wrapped")
    assert hooks.last()["by"] == "b-wrapper"


def test_installing_changing_and_removing_a_plugin_is_seen_by_the_next_process(hooks: Hooks) -> None:
    assert hooks.reply("pre-tool-use", BASH) is None
    file = hooks.write("late", "@hookimpl\ndef stop(event, context):\n    return None\n")
    assert hooks.reply("pre-tool-use", BASH) is None
    file.write_text(HEADER + "@hookimpl\ndef pre_tool_use(event, context):\n    return PreToolUseReply.deny('now')\n")
    assert hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]["permissionDecisionReason"] == "late: now"
    for path in (hooks.plugins / "late-1.0.dist-info").iterdir():
        path.unlink()
    (hooks.plugins / "late-1.0.dist-info").rmdir()
    assert hooks.reply("pre-tool-use", BASH) is None


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"key":1}', b'{"plugins":[{}]}', b"\x00" * 100])
def test_a_damaged_cache_costs_only_time(hooks: Hooks, damage: bytes) -> None:
    hooks.write("guard", "@hookimpl\ndef pre_tool_use(event, context):\n    return PreToolUseReply.deny('no')\n")
    assert hooks.reply("pre-tool-use", BASH) is not None
    caches = list((hooks.home / "cache").iterdir())
    assert caches
    for cache in caches:
        cache.write_bytes(damage)
    assert hooks.reply("pre-tool-use", BASH) is not None


@pytest.mark.parametrize(
    "body",
    [
        "import time\n    for _ in range(3):\n        try: time.sleep(60)\n        except BaseException: pass\n",
        "import time\n    try: time.sleep(60)\n    except BaseException: return None\n",
        "import signal, time\n    signal.signal(signal.SIGALRM, signal.SIG_IGN); time.sleep(0.6)\n",
        "import signal, time\n    signal.setitimer(signal.ITIMER_REAL, 0); time.sleep(0.6)\n",
    ],
    ids=["swallows in a loop", "swallows once", "ignores the signal", "stops the timer"],
)
def test_a_plugin_cannot_outlive_its_timeout_as_a_success(hooks: Hooks, body: str) -> None:
    hooks.config('[plugins.slow]\non_error = "closed"\ntimeout = 0.3\n')
    hooks.write("slow", f"@hookimpl\ndef pre_tool_use(event, context):\n    {body}")
    assert hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert hooks.last()["plugins"][0]["outcome"] == "timed out"


def test_what_one_plugin_does_to_its_payload_no_other_sees(hooks: Hooks) -> None:
    hooks.write(
        "a-vandal",
        "@hookimpl\ndef pre_tool_use_bash(event, tool_input, context):\n"
        "    tool_input.raw['command'] = 'ok'; event.raw['tool_input']['command'] = 'ok'\n",
    )
    hooks.write(
        "guard",
        "@hookimpl\ndef pre_tool_use_bash(event, tool_input, context):\n"
        "    return PreToolUseReply.deny(tool_input.command + event.tool_input['command'])\n",
    )
    assert hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]["permissionDecisionReason"] == "guard: lsls"


@pytest.mark.parametrize("ending", ["yield", "yield\n    return []"])
def test_a_wrapper_cannot_take_away_what_a_closed_plugin_refused(hooks: Hooks, ending: str) -> None:
    hooks.config('[plugins.guard]\non_error = "closed"\n')
    hooks.write("guard", "@hookimpl\ndef pre_tool_use(event, context):\n    return PreToolUseReply.deny('no')\n")
    hooks.write("wrapper", f"@hookimpl(wrapper=True)\ndef pre_tool_use(event, context):\n    {ending}\n")
    assert hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_closed_plugin_that_is_not_installed_refuses(hooks: Hooks) -> None:
    hooks.config('[plugins.absent]\non_error = "closed"\n')
    output = hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]
    assert output["permissionDecision"] == "deny"
    assert "absent" in output["permissionDecisionReason"]
    assert "not installed" in output["permissionDecisionReason"]
    assert hooks.reply("stop", {**STOP, "stop_hook_active": False}) is None


def test_two_distributions_with_one_plugin_name_are_both_refused(hooks: Hooks) -> None:
    hooks.config('[plugins.guard]\non_error = "closed"\n')
    hooks.write("guard", "@hookimpl\ndef pre_tool_use(event, context):\n    return None\n")
    assert hooks.reply("pre-tool-use", BASH) is None
    copy = hooks.plugins / "other-1.0.dist-info"
    copy.mkdir()
    (copy / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (copy / "entry_points.txt").write_text("[hookrouter]\nguard = guard\n")
    reason = hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]["permissionDecisionReason"]
    assert "guard, other" in reason


@pytest.mark.parametrize("damaged", [b"\xff\xfe", b"[hookrouter]\nnonsense\n", b"[hookrouter]\nx = a b c\n"])
def test_a_strangers_damaged_metadata_switches_nothing_off(hooks: Hooks, damaged: bytes) -> None:
    hooks.write("guard", "@hookimpl\ndef pre_tool_use(event, context):\n    return PreToolUseReply.deny('no')\n")
    stranger = hooks.plugins / "stranger-1.0.dist-info"
    stranger.mkdir()
    (stranger / "METADATA").write_bytes(b"Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (stranger / "entry_points.txt").write_bytes(damaged)
    assert hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_mended_plugin_works_in_the_next_process(hooks: Hooks) -> None:
    file = hooks.write("guard", "def broken(:\n", header="")
    assert hooks.reply("pre-tool-use", BASH) is None
    assert any("guard is broken" in warning for warning in hooks.last()["warnings"])
    file.write_text(HEADER + "@hookimpl\ndef pre_tool_use(event, context):\n    return PreToolUseReply.deny('no')\n")
    assert hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_broken_plugin_is_shown_when_a_session_starts(hooks: Hooks) -> None:
    hooks.write("broken", "import surely_not_installed\n")
    start = {
        "session_id": "s",
        "transcript_path": "",
        "cwd": "/",
        "hook_event_name": "SessionStart",
        "source": "startup",
    }
    assert "broken" in hooks.reply("session-start", start)["systemMessage"]


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_closed_standard_descriptors_do_not_mix_reply_and_noise(hooks: Hooks, closed: tuple[int, ...]) -> None:
    hooks.write(
        "loud",
        "import os\n@hookimpl\ndef pre_tool_use(event, context):\n    print('NOISE'); os.write(2, b'NOISE')\n"
        "    return PreToolUseReply.deny('no')\n",
    )
    hooks.reply("pre-tool-use", BASH)
    redirections = " ".join(f"{number}{'<' if number == 0 else '>'}&-" for number in closed)
    done = subprocess.run(
        ["bash", "-c", f'exec "$0" run pre-tool-use {redirections}', script_argv()[0]],
        input=json.dumps(BASH).encode(),
        capture_output=True,
        env={**os.environ, "HOOKROUTER_HOME": str(hooks.home), "PYTHONPATH": str(hooks.plugins)},
        check=False,
    )
    # A refusal that cannot be written refuses by its exit code; without stdin there is no call to refuse.
    assert done.returncode == (2 if closed == (1,) else 0)
    assert b"NOISE" not in done.stdout + done.stderr
    assert b"Traceback" not in done.stderr
    if done.stdout:
        assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_plugin_that_forks_gives_one_reply(hooks: Hooks) -> None:
    hooks.write(
        "forks", "import os\n@hookimpl\ndef pre_tool_use():\n    os.fork()\n    return PreToolUseReply.deny('no')\n"
    )
    assert hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_payload_with_braces_in_its_name_is_refused_for_a_closed_plugin(hooks: Hooks) -> None:
    hooks.config('[plugins.guard]\non_error = "closed"\n')
    hooks.write("guard", "@hookimpl\ndef pre_tool_use(event, context):\n    return None\n")
    reply = hooks.reply("pre-tool-use", {**BASH, "hook_event_name": "{x}"})
    assert reply["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_closed_plugin_does_not_keep_claude_from_stopping_for_ever(hooks: Hooks) -> None:
    hooks.config('[plugins.guard]\non_error = "closed"\n')
    hooks.write("guard", "@hookimpl\ndef stop(event, context):\n    raise OSError('x')\n")
    assert hooks.reply("stop", {**STOP, "stop_hook_active": False})["decision"] == "block"
    assert "decision" not in hooks.reply("stop", {**STOP, "stop_hook_active": True})


def test_functions_registered_with_atexit_are_called(hooks: Hooks) -> None:
    target = hooks.home.parent / "flushed"
    hooks.write(
        "audit",
        f"import atexit\nfile = open({str(target)!r}, 'w')\natexit.register(file.close)\n"
        "@hookimpl\ndef pre_tool_use(event, context):\n    file.write('seen')\n",
    )
    hooks.reply("pre-tool-use", BASH)
    # They may run when the reply has been given already: a router's child outlives its caller.
    wait_until(lambda: target.read_text() == "seen", 5, "what the function has written")


def test_an_unwritable_home_does_not_stop_a_guard(hooks: Hooks, front: Front) -> None:
    front.may_run_cold("no router can be in such a home")
    hooks.write("guard", "@hookimpl\ndef pre_tool_use(event, context):\n    return PreToolUseReply.deny('no')\n")
    hooks.home.parent.joinpath("home").write_text("a file where the folder should be")
    assert hooks.reply("pre-tool-use", BASH)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_without_a_home_one_line_says_so(hooks: Hooks, front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    front.may_run_cold("a home that cannot be found is no router's")
    monkeypatch.chdir(hooks.plugins)
    gone = hooks.home.parent / "gone"
    shell = f'mkdir {gone} && cd {gone} && rmdir {gone} && exec "$@"'
    done = subprocess.run(
        ["sh", "-c", shell, "sh", *script_argv(), "run", "pre-tool-use"],
        input=json.dumps(BASH),
        env={**os.environ, "HOOKROUTER_HOME": "relative"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "hookrouter: HOOKROUTER_HOME is 'relative', relative to a working folder that is gone"
    )
    assert done.stderr.count("\n") == 1


BANNED = {"typer", "requests", "backoff", "asyncio", "importlib.metadata", "attr", "cattrs", "subprocess", "json"}

SLOW = {"pluggy", "inspect", "typing", "re", "contextlib", "functools", "types"}
"""What no run needs whose plugins need neither it nor an order."""


@COLD_ONLY  # a served call runs in a process that has more loaded
@pytest.mark.parametrize(
    ("listener", "most"),
    [("", 63), ("@hookimpl\ndef pre_tool_use(event, context):\n    assert event.tool_name == 'Bash'\n", 84)],
    ids=["nobody listens", "one plugin"],
)
def test_the_module_budget_of_a_hook_run(hooks: Hooks, listener: str, most: int) -> None:
    if listener:
        hooks.write("looker", listener, header="from hookrouter import hookimpl\n")
    for _ in range(2):
        # The first one leaves bytecode in the plugin's folder, which the second one notes in the index.
        hooks.run("pre-tool-use", BASH)
    code = (
        "import sys, io, os\nfrom hookrouter import _wiring\nfrom hookrouter._routing.hook_run import handle\n"
        "handle('pre-tool-use', sys.stdin.buffer.read(), os.environ, _wiring)\n"
        "print('\\n'.join(sys.modules))"
    )
    # Without a locale the interpreter loads three more of its own for the names of files.
    environment = {**os.environ, "HOOKROUTER_HOME": str(hooks.home), "PYTHONPATH": str(hooks.plugins)}
    environment["LC_ALL"] = "C.UTF-8"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(BASH).encode(),
        capture_output=True,
        env=environment,
        check=True,
    )
    modules = done.stdout.decode().split()
    assert not (BANNED | SLOW) & set(modules)
    assert listener or not {"hookrouter.events", "hookrouter.records", "importlib"} & set(modules)
    assert len(modules) <= most, sorted(modules)


def test_the_ask_user_question_hook_imports_nothing_heavy_and_returns_before_delivery(hooks: Hooks) -> None:
    marker = hooks.home.parent / "woken"
    hooks.config(
        '[[agents]]\nid = "a"\ngateway = "slow"\n'
        f'[gateways.slow]\ntype = "command"\nargv = ["{sys.executable}", "-c", '
        f'"import time,pathlib; time.sleep(2); pathlib.Path({str(marker)!r}).touch()"]\n'
    )
    question = {
        "question": "Which?",
        "header": "H",
        "options": [{"label": "A", "description": ""}, {"label": "B", "description": ""}],
        "multiSelect": False,
    }
    payload = {**BASH, "tool_name": "AskUserQuestion", "tool_input": {"questions": [question]}}
    hooks.run("pre-tool-use", {**payload, "hook_event_name": "none"})
    done = hooks.run("pre-tool-use", payload)
    assert (done.returncode, done.stdout) == (0, b"")
    assert not marker.exists()
    assert len(list((hooks.home / "state").glob("question-*.json"))) == 1
    deadline = time.monotonic() + 30
    while not marker.exists():
        assert time.monotonic() < deadline, "the wake was not delivered"
        time.sleep(0.02)


@COLD_ONLY  # no hook runs
def test_a_damaged_question_document_is_reported_to_whoever_answers(hooks: Hooks) -> None:
    state = hooks.home / "state"
    state.mkdir(parents=True, mode=0o700)
    (state / "question-work.json").write_text('{"tool_use_id": "x",')
    environ = {**os.environ, "HOOKROUTER_HOME": str(hooks.home)}
    command = [*script_argv(), "answer", "--session", "work", "[]"]
    done = subprocess.run(command, capture_output=True, env=environ, check=False)
    assert done.returncode == 4
    assert "quarantine" in done.stderr.decode()
    assert len(list((state / "quarantine").iterdir())) == 1


def test_a_call_that_the_mod_has_brought_is_left_alone(hooks: Hooks) -> None:
    hooks.write("again", BLOCKS_STOP)
    assert hooks.reply("stop", {**STOP, "stop_hook_active": False})["decision"] == "block"
    assert hooks.reply("stop", {**STOP, "stop_hook_active": False, "hookrouter_handled": "some-id"}) is None
    assert (hooks.last()["outcome"], hooks.last()["level"]) == ("handled", "debug")


@pytest.mark.parametrize("mark", ["", None, True, 1, {}])
def test_what_is_no_id_marks_no_call(hooks: Hooks, mark: object) -> None:
    hooks.write("again", BLOCKS_STOP)
    assert hooks.reply("stop", {**STOP, "stop_hook_active": False, "hookrouter_handled": mark})["decision"] == "block"


def test_no_mark_leads_past_a_guard(hooks: Hooks) -> None:
    hooks.write("again", BLOCKS_STOP)
    hooks.config('[plugins.again]\non_error = "closed"\n')
    assert (
        hooks.reply("stop", {**STOP, "stop_hook_active": False, "hookrouter_handled": "some-id"})["decision"] == "block"
    )


def test_a_mark_within_a_tools_input_is_the_models_and_means_nothing(hooks: Hooks) -> None:
    hooks.write("no", "@hookimpl\ndef pre_tool_use(event, context):\n    return PreToolUseReply.deny('no')\n")
    payload = {**BASH, "tool_input": {"command": "ls", "hookrouter_handled": "some-id"}}
    assert hooks.reply("pre-tool-use", payload)["hookSpecificOutput"]["permissionDecision"] == "deny"
