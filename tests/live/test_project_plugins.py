"""A project's own guard on the real client: untrusted it does nothing, trusted it refuses, changed it is not run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ScriptedModel, bash
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from support.safety import safety

pytestmark = pytest.mark.live

GUARD = """
from hookrouter import hookimpl
from hookrouter.replies import PreToolUseReply

open({mark!r}, "a").close()

@hookimpl
def pre_tool_use_bash(tool_input):
    return PreToolUseReply.deny("not in this project") if "touch" in (tool_input.command or "touch") else None
"""


def test_a_project_s_guard_runs_only_as_it_was_trusted(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    stage = Stage(str(tmp_path))
    project, marks, seen = Path(stage.client_home.project), tmp_path / "marks", tmp_path / "seen"
    guard, began = project / ".claude" / "hookrouter" / "guard.py", project / "below"
    for folder in (guard.parent, began / "deeper"):
        folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    guard.write_text(GUARD.format(mark=str(marks)))
    (guard.parent / "config.toml").write_text('[plugins.guard]\non_error = "closed"\n')
    stage.client_home.write_settings({"permissions": {"allow": ["Bash"], "defaultMode": "default"}})
    # What hooks are told, with where the session works.
    told = f'printf "%s\\n%s\\n" "$CLAUDE_PROJECT_DIR" "$(cat | tr -d "\\n")" >> {seen}'
    stage.client_home.add_hook("PreToolUse", told, "Bash")

    def trust(word: str, *more: str) -> None:
        done = stage.run(word, str(project), *more)
        assert done.returncode == 0, done.stdout + done.stderr

    # The hook is registered all along: it is not its absence that lets the first call by.
    trust("trust", "--yes")
    stage.install()
    trust("untrust")
    marks.unlink()
    stage.client_home.project = str(began)
    program = find_client()
    assert program is not None
    with ScriptedModel() as model, stage.client(program, tmux_server, model) as client:

        def result(name: str, command: str) -> str:
            former = set(model.tool_results())
            model.script(name, bash(command))
            client.wait_idle()
            client.submit(f"please RUN {name}")
            wait_until(lambda: set(model.tool_results()) - former, 60, "what became of the call", client.screen)
            (found,) = set(model.tool_results()) - former
            return model.tool_results()[found]

        result("first", f"touch {tmp_path / 'first'}")
        with safety("what nobody has trusted does not run"):
            assert not marks.exists()
        assert (tmp_path / "first").exists()

        trust("trust", "--yes")
        result("walk", "cd deeper")
        with safety("a trusted guard refuses"):
            assert "not in this project" in result("second", f"touch {tmp_path / 'second'}")
            assert not (tmp_path / "second").exists()
        assert marks.exists()

        marks.unlink()
        guard.write_bytes(guard.read_bytes() + b"#")
        with safety("of what was changed nothing runs, and what it guards is refused"):
            assert "was changed after it was trusted" in result("third", f"touch {tmp_path / 'third'}")
            assert not (tmp_path / "third").exists()
            assert not marks.exists()
    lines = seen.read_text().splitlines()
    folders = [(folder, json.loads(payload)["cwd"]) for folder, payload in zip(lines[::2], lines[1::2], strict=True)]
    # Not the repository's root.
    assert folders[0] == (str(began), str(began))
    assert folders[-1] == (str(began), str(began / "deeper"))
