"""`hookrouter explain`, `replay` and HOOKROUTER_TRACE, with plugins that are installed and run for real."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hookrouter._routing.hook_call import MAX_PAYLOAD
from hookrouter._sandbox.waiting import wait_until
from hookrouter.samples import sample
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from support.fronts import THROUGH_FRONTS

HEADER = "from hookrouter import hookimpl\nfrom hookrouter.replies import *\n"

GUARD = """
@hookimpl(tryfirst=True)
def pre_tool_use_bash(event, tool_input, context):
    context.store.write("guard", "seen", {"version": 1})
    if "rm" in tool_input.command:
        return PreToolUseReply.deny("no rm here")
    return PreToolUseReply.allow(updated_input={**tool_input.raw, "command": "echo safe"})
"""
WRAPPER = """
@hookimpl(wrapper=True)
def pre_tool_use_bash(event, context):
    return (yield)

@hookimpl
def raw_event(event_name, payload, context):
    return None
"""
LATE = """
@hookimpl(trylast=True)
def pre_tool_use_bash(event, context):
    print("imported and called")

@hookimpl
def pre_tool_use(event, context):
    return None
"""
MARKS = """
import os

print("printed at import")

@hookimpl
def stop(event, context):
    open(os.environ["MARK"], "a").write("called")
    raise ValueError("no stop")
"""


class Sight:
    """A home, a folder of plugins, and the program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.plugins = folder / "plugins"
        self.project = folder / "project"
        self.project.mkdir()
        self.mark = folder / "mark"

    def install(self, name: str, body: str) -> None:
        write_plugin(self.plugins, name, HEADER + body)

    def config(self, text: str) -> None:
        self.home.mkdir(exist_ok=True)
        (self.home / "config.toml").write_text(text)

    def environment(self, **more: str) -> dict[str, str]:
        environment = {key: value for key, value in os.environ.items() if key not in ("TMUX", "TMUX_PANE")}
        environment |= {"HOOKROUTER_HOME": str(self.home), "PYTHONPATH": str(self.plugins), "MARK": str(self.mark)}
        return {**environment, "CLAUDE_CONFIG_DIR": str(self.folder / "claude"), **more}

    def start(self, *arguments: str, **environ: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*script_argv(), *arguments], env=self.environment(**environ), cwd=self.project)

    def run(self, *arguments: str, stdin: object = None, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*script_argv(), *arguments],
            input=None if stdin is None else json.dumps(stdin),
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            env=self.environment(**environ),
            cwd=self.project,
            timeout=120,
            check=False,
        )

    def document(self, *arguments: str, stdin: object = None) -> dict[str, Any]:
        done = self.run(*arguments, "--json", stdin=stdin)
        assert done.returncode in (0, 1), done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    @property
    def logs(self) -> Path:
        return Path(Home.in_folder(str(self.home)).logs)

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in Journal(str(self.logs)).lines()]


@pytest.fixture
def sight(tmp_path: Path) -> Sight:
    return Sight(tmp_path)


def test_explain_tells_the_order_and_calls_nobody(sight: Sight) -> None:
    sight.install("a-late", LATE)
    sight.install("b-wrapper", WRAPPER)
    sight.install("c-guard", GUARD)
    sight.config('[plugins.c-guard]\non_error = "closed"\ntimeout = 3\n')

    explained = sight.document("explain", "PreToolUse", "--tool", "Bash")

    assert explained["hooks"] == ["pre_tool_use_bash", "pre_tool_use", "raw_event"]
    assert [(call["plugin"], call["hook"]) for call in explained["calls"]] == [
        ("b-wrapper", "pre_tool_use_bash"),
        ("c-guard", "pre_tool_use_bash"),
        ("a-late", "pre_tool_use_bash"),
        ("a-late", "pre_tool_use"),
        ("b-wrapper", "raw_event"),
    ]
    wrapper, guard, late, *_ = explained["calls"]
    assert wrapper["wrapper"]
    assert (guard["order"], guard["on_error"], guard["timeout"]) == ("tryfirst", "closed", 3.0)
    assert (late["order"], late["waits"]) == ("trylast", None)
    assert "result" not in explained
    assert sight.records() == []
    assert not (sight.home / "state" / "guard-seen.json").exists()


def test_explain_tells_that_order_which_the_run_has(sight: Sight) -> None:
    sight.install("a-late", LATE)
    sight.install("b-wrapper", WRAPPER)
    sight.install("c-guard", GUARD)
    sight.config('[plugins]\norder = ["b-wrapper", "c-guard"]\n')

    explained = sight.document("explain", "PreToolUse", "--execute")

    planned = [(call["plugin"], call["hook"]) for call in explained["calls"] if not call["wrapper"]]
    ran = [(call["plugin"], call["hook"]) for call in explained["result"]["plugins"] if call["outcome"] != "wrapped"]
    assert planned == ran


def test_explain_says_why_a_plugin_is_not_called(sight: Sight) -> None:
    sight.install("off", LATE)
    sight.install("faulty", "raise RuntimeError('cannot be imported')\n")
    sight.config('[plugins.off]\nenabled = false\n[plugins.faulty]\non_error = "closed"\n')

    entries = {entry["plugin"]: entry for entry in sight.document("explain", "PreToolUse")["not_called"]}

    assert (entries["off"]["status"], entries["off"]["refuses"]) == ("disabled", False)
    assert (entries["faulty"]["status"], entries["faulty"]["refuses"]) == ("broken", True)
    assert "cannot be imported" in entries["faulty"]["reason"]
    assert "fix, upgrade or uninstall" in entries["faulty"]["fix"]


def test_explain_shows_a_broken_plugin_that_lets_calls_pass(sight: Sight) -> None:
    sight.install("faulty", "raise RuntimeError('cannot be imported')\n")

    explained = sight.document("explain", "WorktreeCreate")

    (entry,) = [entry for entry in explained["not_called"] if entry["plugin"] == "faulty"]
    assert (entry["status"], entry["refuses"]) == ("broken", False)
    assert "cannot be imported" in entry["reason"]
    assert explained["needed"] is False


def test_explain_advises_nothing_that_does_not_help_who_only_watches(sight: Sight) -> None:
    sight.install("watch", "@hookimpl\ndef raw_event(event_name, context): ...\n")

    said = sight.run("explain", "WorktreeCreate").stdout
    assert "fix: hookrouter install" not in said
    assert "not raw_event is registered for it, but a plugin that implements worktree_create" in said
    assert "fix: hookrouter install" in sight.run("explain", "SessionEnd").stdout


@THROUGH_FRONTS
def test_explain_says_that_the_circuit_breaker_keeps_a_plugin_off(sight: Sight) -> None:
    sight.install("marks", MARKS)
    sight.config("[plugins.marks]\nbreaker = 1\n")
    assert [call["plugin"] for call in sight.document("explain", "Stop")["calls"] if call["plugin"] == "marks"]
    sight.run("run", "stop", stdin=sample("Stop"))

    explained = sight.document("explain", "Stop")

    assert all(call["plugin"] != "marks" for call in explained["calls"])
    (entry,) = explained["not_called"]
    assert (entry["status"], entry["fix"]) == ("switched off", "hookrouter plugins enable marks")
    assert "ValueError: no stop" in entry["reason"]


def test_explain_says_whether_claude_code_would_call(sight: Sight) -> None:
    sight.install("guard", GUARD)

    assert "fix: hookrouter install" in sight.run("explain", "PreToolUse").stdout
    sight.run("install")
    registered = sight.document("explain", "PreToolUse")["registered"]
    (entry,) = registered
    assert (Path(entry["file"]).name, "Bash" in entry["matcher"].split("|")) == ("settings.json", True)
    assert sight.document("explain", "PreToolUse", "--tool", "Edit")["registered"] == []
    assert "no plugin listens" in sight.run("explain", "PreToolUse", "--tool", "Edit").stdout
    settings = sight.folder / "claude" / "settings.json"
    settings.write_text('{"enabledPlugins": {"hookrouter@hookrouter": true}}')
    (entry,) = sight.document("explain", "PreToolUse", "--tool", "AskUserQuestion")["registered"]
    assert "CLAUDE_PLUGIN_ROOT" in entry["command"]
    settings.write_text('{"disableAllHooks": true}')
    assert "disableAllHooks is true" in sight.run("explain", "PreToolUse").stdout


def test_explain_names_the_agent_of_the_session(sight: Sight) -> None:
    sight.config('[[agents]]\nid = "lead"\nsessions = ["work*"]\n')

    assert sight.document("explain", "Stop", "--session", "work-1")["session"]["agent"] == "lead"
    assert sight.document("explain", "Stop", "--session", "other")["session"]["agent"] is None
    sight.run("pause", "--session", "work-1")
    assert "is paused since" in sight.document("explain", "Stop", "--session", "work-1")["session"]["paused"]


def test_executed_plugins_show_what_they_say_and_change_nothing_of_hookrouters(sight: Sight) -> None:
    sight.install("guard", GUARD)

    explained = sight.document("explain", "PreToolUse", "--execute")

    result = explained["result"]
    assert (result["outcome"], result["by"], result["exit_code"]) == ("allow", "guard", 0)
    assert result["output"]["hookSpecificOutput"]["updatedInput"]["command"] == "echo safe"
    (call,) = result["plugins"]
    assert call["reply"]["verdict"] == "allow"
    assert call["values"]["command"][1] == "echo safe"
    assert not (sight.home / "state").exists()
    assert sight.records() == []


def test_a_payload_of_ones_own_is_executed(sight: Sight) -> None:
    sight.install("guard", GUARD)
    payload = sample("PreToolUse", "Bash", tool_input={"command": "rm -rf /"})

    done = sight.run("explain", "PreToolUse", "--payload", "-", "--execute", stdin=payload)

    assert done.returncode == 0, done.stderr
    assert "run: deny by guard" in done.stdout
    assert 'answer: exit code 0, {"hookSpecificOutput"' in done.stdout


def test_a_failing_plugin_is_an_exit_code_and_a_message(sight: Sight) -> None:
    sight.install("marks", MARKS)

    done = sight.run("explain", "Stop")
    assert (done.returncode, sight.mark.exists()) == (0, False)
    assert "printed at import" not in done.stdout
    done = sight.run("explain", "Stop", "--execute")
    assert (done.returncode, sight.mark.read_text()) == (1, "called")
    assert "ValueError: no stop" in done.stdout


def test_a_question_that_is_executed_wakes_no_agent(sight: Sight) -> None:
    explained = sight.document("explain", "PreToolUse", "--tool", "AskUserQuestion", "--execute")

    assert explained["result"]["outcome"] == "asked"
    assert json.loads(sight.run("questions", "--json").stdout)["questions"] == []
    assert json.loads(sight.run("outbox", "list", "--json").stdout) == []


def test_nobody_is_waited_for(sight: Sight) -> None:
    done = sight.run("explain", "PermissionRequest", "--tool", "AskUserQuestion", "--execute")

    assert done.returncode == 0, done.stderr
    assert "hook-reply (permission_request_ask_user_question): would wait" in done.stdout


SLOW = """
import os, time

@hookimpl
def stop(event, context):
    open(os.environ["MARK"], "w").write("called")
    time.sleep(60)
"""


def test_what_takes_too_long_is_ended(sight: Sight) -> None:
    sight.install("slow", SLOW)
    done = sight.run("explain", "Stop", "--execute", "--timeout", "2")

    assert done.returncode == 1
    assert "run: ended, because it took longer than 2 s" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_dry_run_leaves_no_copy_of_the_state(sight: Sight, tmp_path: Path, number: signal.Signals) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    sight.install("slow", SLOW)
    process = sight.start("explain", "Stop", "--execute", TMPDIR=str(temporary))
    wait_until(sight.mark.exists, 60, "the call of the plugin")
    assert len(list(temporary.iterdir())) == 1
    process.send_signal(number)
    process.wait(30)

    if number == signal.SIGKILL:
        # Nobody can clean up then; the next one does.
        assert sight.run("explain", "SessionEnd", "--execute", TMPDIR=str(temporary)).returncode == 0

    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["Nothing"], None, "there is no event 'Nothing'"),
        (["Stop", "--payload", "-"], {"hook_event_name": "Start"}, "hook_event_name: found 'Start'"),
        (["Stop", "--payload", "-"], [1], "allowed here is 'Stop'"),
        (["Stop", "--payload", "-"], {"hook_event_name": "Stop"}, "session_id: missing"),
        (["Stop", "--payload", "/nowhere/p.json"], None, "No such file"),
        (["PreToolUse", "--tool", "Bsh"], None, "did you mean 'Bash'?"),
    ],
)
def test_what_cannot_be_explained_is_refused(sight: Sight, arguments: list[str], stdin: object, message: str) -> None:
    done = sight.run("explain", *arguments, stdin=stdin)

    assert done.returncode == 2
    assert message in done.stderr


def hook(sight: Sight, command: str = "ls", **environ: str) -> str:
    payload = sample("PreToolUse", "Bash", tool_input={"command": command})
    done = sight.run("run", "pre-tool-use", stdin=payload, **environ)
    assert done.returncode == 0
    return done.stdout


@THROUGH_FRONTS
def test_payloads_are_kept_only_where_somebody_asked_for_it(sight: Sight) -> None:
    sight.install("guard", GUARD)

    hook(sight)
    assert "payload" not in sight.records()[-1]
    assert not (sight.logs / "payloads").exists()
    done = sight.run("replay", "last")
    assert done.returncode == 2
    assert "set payloads = true in [journal] of " in done.stderr

    sight.config("[journal]\npayloads = true\n")
    hook(sight)
    assert sight.records()[-1]["payload"]
    assert sight.run("replay", "last").returncode == 0


@THROUGH_FRONTS
def test_a_payload_that_was_too_large_to_be_read_is_the_reason_of_a_replay(sight: Sight) -> None:
    done = sight.run("run", "pre-tool-use", stdin="x" * (MAX_PAYLOAD + 1), HOOKROUTER_TRACE="1")
    assert done.returncode == 0

    done = sight.run("replay", "last")

    assert done.returncode == 2
    assert "is larger than" in done.stderr


@THROUGH_FRONTS
def test_a_replay_shows_what_has_changed_since(sight: Sight) -> None:
    sight.install("guard", GUARD)
    hook(sight, "ls", HOOKROUTER_TRACE="1")
    count = len(sight.records())
    same = sight.run("replay", "last")
    assert (same.returncode, same.stdout.splitlines()[-1]) == (0, "the same as then")

    sight.install("guard", GUARD.replace('"rm" in', '"ls" in').replace("no rm", "no ls"))
    document = sight.document("replay", "last")

    assert (document["same"], document["then"]["outcome"], document["now"]["outcome"]) == (False, "allow", "deny")
    shown = sight.run("replay", document["id"][:6])
    assert shown.returncode == 1
    assert '-  "outcome": "allow",\n+  "outcome": "deny",' in shown.stdout
    assert "\x1b" not in shown.stdout
    assert len(sight.records()) == count


@THROUGH_FRONTS
def test_a_replay_for_real_is_a_hook_run_like_any_other(sight: Sight) -> None:
    sight.install("guard", GUARD)
    hook(sight, HOOKROUTER_TRACE="1")
    count = len(sight.records())

    assert sight.run("replay", "last", "--for-real").returncode == 0

    assert len(sight.records()) == count + 1


@THROUGH_FRONTS
def test_the_rest_of_a_timeout_is_no_difference(sight: Sight) -> None:
    sight.install("sleeper", "import time\n@hookimpl\ndef stop(event, context):\n    time.sleep(60)\n")
    sight.config("[journal]\npayloads = true\n[plugins.sleeper]\ntimeout = 0.5\n")
    sight.run("run", "stop", stdin=sample("Stop"))

    done = sight.run("replay", "last")

    assert "sleeper (stop): timed out" in done.stdout
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "the same as then")


def test_a_run_that_is_interrupted_leaves_nothing_behind(sight: Sight) -> None:
    sight.install("sleeper", "import time\n@hookimpl\ndef stop(event, context):\n    time.sleep(60)\n")
    sight.config("[plugins.sleeper]\ntimeout = 60\n")
    temporary = sight.folder / "tmp"
    temporary.mkdir()
    process = sight.start("explain", "Stop", "--execute", "--timeout", "60", TMPDIR=str(temporary))
    wait_until(lambda: list(temporary.glob("*/logs/plugin-output.log")), 30, "the hook run")

    process.terminate()

    assert process.wait(30) == 130
    assert list(temporary.iterdir()) == []


def test_what_cannot_be_replayed_is_refused(sight: Sight) -> None:
    sight.install("guard", GUARD)
    journal = Journal(str(sight.logs))
    assert "has no record 'last'" in sight.run("replay", "last").stderr
    assert "is not a record" in sight.run("replay", "no").stderr
    journal.write({"event": "delivery", "ms": 1.0, "pid": 1}, None)
    delivery = json.loads(sight.run("logs", "--json").stdout)["id"]
    assert "is not a hook run" in sight.run("replay", delivery).stderr
    journal.write({"event": "Stop", "ms": 1.0, "pid": 1, "payload": ""}, None)
    assert "is larger than" in sight.run("replay", "last").stderr
    journal.write({"event": "Stop", "ms": 1.0, "pid": 1, "payload": "gone", "at": "2999-01-01T00:00:00.000Z"}, None)
    assert "is not there any more" in sight.run("replay", "last").stderr
    assert sight.run("replay", "last").returncode == 2


@THROUGH_FRONTS
def test_a_trace_tells_each_step_and_leaves_the_answer_alone(sight: Sight) -> None:
    sight.install("guard", GUARD)
    plain = hook(sight)

    assert hook(sight, HOOKROUTER_TRACE="1") == plain

    trace = (sight.logs / "trace.log").read_text()
    assert "pre-tool-use looks up pre_tool_use_bash, pre_tool_use, raw_event; guard listens" in trace
    assert "guard pre_tool_use_bash: begins, has " in trace
    assert "guard pre_tool_use_bash: replied after " in trace
    assert 'guard says {"' in trace
    assert "allow: exit code 0, stdout {" in trace
    assert "modules: " in trace
    assert (sight.logs / "trace.log").stat().st_mode & 0o777 == 0o600
    assert sight.records()[-1]["plugins"][0]["reply"]["verdict"] == "allow"


@THROUGH_FRONTS
def test_a_trace_can_go_to_stderr(sight: Sight) -> None:
    sight.install("guard", GUARD)

    done = sight.run("run", "pre-tool-use", stdin=sample("PreToolUse", "Bash"), HOOKROUTER_TRACE="stderr")

    assert "guard pre_tool_use_bash: replied after " in done.stderr
    assert not (sight.logs / "trace.log").exists()
    assert json.loads(done.stdout)


@THROUGH_FRONTS
def test_without_the_variable_there_is_no_trace(sight: Sight) -> None:
    sight.install("guard", GUARD)

    hook(sight, HOOKROUTER_TRACE="")

    assert not (sight.logs / "trace.log").exists()
    assert "reply" not in sight.records()[-1]["plugins"][0]
