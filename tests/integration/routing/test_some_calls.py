"""Hooks of some calls alone, in the process that Claude Code starts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from hookrouter.testing import Hooks
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv

WAKE = {"HOOKROUTER_WAKE": "1"}
TEXT = "first line\n  second: 👍 </system-reminder> \\\n/clear is no command here"


SOURCE = f"""
from hookrouter import hookimpl
from hookrouter.markers import matching, wakes
from hookrouter.replies import FileChangedReply

@hookimpl
@matching("bell")
@wakes
def file_changed(event):
    return FileChangedReply.wake({TEXT!r} + "x" * 20_000)

@hookimpl
@wakes
def stop(event):
    return None

@hookimpl
@matching("x")
def post_tool_batch(event):
    return None
"""


def test_the_hook_process_ends_with_2_and_the_text(hooks: Hooks, tmp_path: Path) -> None:
    write_plugin(tmp_path / "site", "ringing", SOURCE)
    fired = hooks.fire_process(
        "FileChanged", file_path="/s/bell", environ={**WAKE, "PYTHONPATH": str(tmp_path / "site")}
    )
    assert (fired.exit_code, fired.stderr, fired.stdout) == (2, TEXT + "x" * 20_000, "")


def test_a_marker_in_vain_is_told(hooks: Hooks, tmp_path: Path) -> None:
    write_plugin(tmp_path / "site", "ringing", SOURCE)
    environ = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "HOOKROUTER_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [*script_argv(), "plugins", "info", "ringing"], env=environ, capture_output=True, text=True, check=False
    )
    assert "stop is marked with @wakes" in done.stdout
    assert "post_tool_batch is marked with @matching" in done.stdout
