"""What rules refuse, and what they leave to somebody, on the real client, in each permission mode."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ScriptedModel, ToolUse, bash, write
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from support.approval_session import ECHO, SUBAGENT, ApprovalSession
from support.matrix import mostly_long
from support.tested_client import VERSION

pytestmark = [pytest.mark.live, pytest.mark.capability("approvals")]

MODES = ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")

RULES = """\
[[approvals.rules]]
tool = "Bash(rm:*)"
decide = "deny"

[[approvals.rules]]
tool = "Edit(/locked/**)"
decide = "deny"

[[approvals.rules]]
tool = "Edit(/frozen/**)"
decide = "deny"

[[approvals.rules]]
tool = "Read(/locked/**)"
decide = "deny"

[[approvals.rules]]
tool = "WebFetch(domain:evil.example)"
decide = "deny"

[[approvals.rules]]
tool = "mcp__demo__echo"
decide = "deny"

[[approvals.rules]]
tool = "Bash(touch kept*)"
decide = "person"

[[approvals.rules]]
tool = "Bash(touch asked*)"
decide = "agent"
ask = "always"

"""


COMMAND = "---\nallowed-tools: Bash\n---\nBefore !`touch ran` and !`rm -f file` behind\n"
"""A command of the project's, with two lines of a shell in it."""


@contextmanager
def session(folder: Path, server: PrivateTmux, model: ScriptedModel, mode: str) -> Iterator[ApprovalSession]:
    def prepare(stage: Stage) -> dict[str, str]:
        stage.client_home.accept_modes()
        commands = Path(stage.client_home.project, ".claude", "commands")
        commands.mkdir(parents=True)
        (commands / "tidy.md").write_text(COMMAND)
        # Some events are registered for clients that know them alone: it must be found.
        programs = folder / "programs"
        programs.mkdir()
        (programs / "claude").symlink_to(str(find_client()))
        path = f"{programs}{os.pathsep}{stage.environ['PATH']}"
        done = stage.run("install", "--settings", stage.client_home.settings_file, environ={"PATH": path})
        assert done.returncode == 0, done.stderr
        return {}

    one = ApprovalSession(folder, server, model, mode, strict=False, before=RULES, prepare=prepare)
    with one.client:
        wait_until(one.has_servers_tools, 30, "the server's tools", one.client.screen)
        yield one


def run(one: ApprovalSession, *uses: ToolUse) -> str:
    """Have Claude make calls, and return what it was told of the last once the turn has ended."""
    stops = one.count("Stop")
    one.call(*uses)
    wait_until(lambda: one.count("Stop") > stops, 40, "the end of the turn", one.told)
    one.client.wait_idle()
    return one.said()


@pytest.mark.parametrize("mode", mostly_long(MODES, "acceptEdits", "bypassPermissions"))
def test_what_a_rule_refuses_never_runs(tmp_path: Path, tmux_server: PrivateTmux, mode: str) -> None:
    with ScriptedModel() as model, session(tmp_path, tmux_server, model, mode) as one:
        locked, cell = one.folder / "locked", one.folder / "frozen" / "n.ipynb"
        locked.mkdir()
        cell.parent.mkdir()
        (locked / "key").write_text("secret-4711")
        frozen = cell.with_name("key")
        frozen.write_text("secret-4711")
        cell.write_text(json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
        refused: list[ToolUse] = [
            bash(f"cd {one.folder} && ls; rm -f locked/key 2>&1 | tail -1"),
            bash(f"echo changed > {locked}/key"),
            bash(f"cat {locked}/key"),
            ToolUse("Monitor", {"command": f"rm -f {locked}/key", "description": "x", "timeout_ms": 1000}),
            write(str(locked / "new"), "x"),
            ToolUse("Edit", {"file_path": str(frozen), "old_string": "secret", "new_string": "open"}),
            ToolUse(
                "NotebookEdit",
                {"notebook_path": str(cell), "new_source": "x", "cell_type": "code", "edit_mode": "insert"},
            ),
            ToolUse("Read", {"file_path": str(locked / "key")}),
            ToolUse("WebFetch", {"url": "https:/evil%2eexample/x", "prompt": "x"}),
            ToolUse(ECHO, {"text": "x"}),
        ]
        # The client itself refuses to edit what was not read.
        for path in (cell, frozen):
            run(one, ToolUse("Read", {"file_path": str(path)}))
        for use in refused:
            told = run(one, use)
            assert "A rule of the user forbids this" in told or "No such tool" in told, (use, told)
        assert (locked / "key").read_text() == frozen.read_text() == "secret-4711"
        assert sorted(path.name for path in locked.iterdir()) == ["key"]
        assert json.loads(cell.read_text())["cells"] == []


@pytest.mark.parametrize("mode", mostly_long(MODES, "bypassPermissions"))
def test_what_is_somebodys_is_asked_in_every_mode(tmp_path: Path, tmux_server: PrivateTmux, mode: str) -> None:
    with ScriptedModel() as model, session(tmp_path, tmux_server, model, mode) as one:
        result = one.decided(bash("touch asked-1"), {"action": "allow"})
        assert result["outcome"] == "verified"
        assert (one.folder / "asked-1").exists()

        one.call(bash("touch kept-1"))
        [asked] = one.waiting()
        assert (asked["request"]["decider"], asked["request"]["rule"]) == ("person", "Bash(touch kept*)")
        assert "no agent may decide this" in one.decide({"action": "allow"}, code=2)["reason"]
        one.press_by_hand("1")
        wait_until(lambda: one.count("Stop") == 2, 30, "the end of the turn", one.told)
        assert (one.folder / "kept-1").exists()


@pytest.mark.skipif(VERSION < (2, 1, 332), reason="no hook of this client sees it")
def test_inline_shell_of_a_skill_is_refused(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    with ScriptedModel() as model, session(tmp_path, tmux_server, model, "bypassPermissions") as one:
        (one.folder / "file").touch()
        stops = one.count("Stop")
        one.client.submit("/tidy")
        wait_until(lambda: one.count("Stop") > stops, 40, "the end of the turn", one.told)
        assert (one.folder / "ran").exists()
        assert (one.folder / "file").exists()


def test_a_subagent_is_refused_too(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    with ScriptedModel() as model, session(tmp_path, tmux_server, model, "bypassPermissions") as one:
        (one.folder / "file").touch()
        model.script("sub", bash(f"rm -f {one.folder}/file"))
        run(one, SUBAGENT)
        assert (one.folder / "file").exists()
        rules: list[dict[str, Any]] = [record["rule"] for record in one.stage.journal() if record.get("rule")]
        assert {"tool": "Bash(rm:*)", "decide": "deny"} in rules


def test_what_is_mirrored_the_client_refuses_by_itself(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    config = '[approvals]\nmirror = true\n[[approvals.rules]]\ntool = "Bash(rm:*)"\ndecide = "deny"\n'
    stage = Stage(str(tmp_path), f'[[agents]]\nid = "tester"\n{config}')
    stage.install()
    settings = stage.client_home.read_settings()
    assert settings["permissions"] == {"deny": ["Bash(rm:*)"]}
    # Whatever becomes of the hooks.
    del settings["hooks"]
    stage.client_home.write_settings(settings)
    stage.record("Stop")
    stage.client_home.accept_modes()
    file = Path(stage.client_home.project, "file")
    file.touch()
    program = find_client()
    assert program is not None
    with ScriptedModel() as model:
        model.script("turn", bash(f"cd {file.parent} && rm -f file"))
        words = ("--permission-mode", "bypassPermissions")
        with stage.client(program, tmux_server, model, words=words) as client:
            client.submit("please RUN turn")
            stage.wait_payload("Stop", timeout=30)
        (result,) = model.tool_results().values()
    assert file.exists(), result
    assert "denied" in result
