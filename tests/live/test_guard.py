"""Plugins that are set to fail closed and end their process, or even the hook's, on the real client: a refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrouter._contract.hook_names import hook_names
from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ScriptedModel, bash
from hookrouter._sandbox.stage import Stage
from hookrouter.testing.plugins import write_plugin
from support.safety import safety
from support.tested_client import VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = pytest.mark.live

GUARD = """
import os, signal, time
from hookrouter import hookimpl


@hookimpl
def pre_tool_use_bash(event, tool_input, context):
    open({called!r}, "w").close()
    {end}
"""

EXITS = "os._exit(3)"
CRASHES = "os.kill(os.getpid(), signal.SIGSEGV)"
# The child process in which such a plugin is called has the hook process for its parent.
KILLS = "os.kill(os.getppid(), signal.SIGKILL); time.sleep(60)"
# As code does that never returns to the interpreter: the interruption by the time limit does not reach it.
HANGS = "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]); time.sleep(60)"


@pytest.mark.parametrize(
    ("end", "on_error", "said"),
    [
        (EXITS, "closed", "it is set to fail closed, so this is refused"),
        (CRASHES, "closed", "it is set to fail closed, so this is refused"),
        (HANGS, "closed", "it is set to fail closed, so this is refused"),
        (KILLS, "closed", "failed; blocking because onFailure"),
        (EXITS, "open", None),
    ],
    ids=["exits", "crashes", "hangs", "kills", "open"],
)
def test_a_guard_that_takes_the_hook_down_refuses_the_call(
    end: str,
    on_error: str,
    said: str | None,
    tmp_path: Path,
    tmux_server: PrivateTmux,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if end == KILLS and VERSION < (2, 1, 295):
        pytest.skip("this client lets a call by if its hook is killed: onFailure came with 2.1.295")
    called, marker = tmp_path / "called", tmp_path / "marker"
    write_plugin(tmp_path / "site", "guard", GUARD.format(called=str(called), end=end))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    stage = Stage(str(tmp_path), f'[plugins.guard]\ntimeout = 2\non_error = "{on_error}"\n')
    # In the default mode nothing asks a server whether the command is safe.
    stage.client_home.write_settings({"permissions": {"allow": ["Bash"], "defaultMode": "default"}})
    stage.record("Stop")
    stage.install()
    settings = stage.client_home.read_settings()
    for group in settings["hooks"]["PreToolUse"]:
        group["hooks"][0]["timeout"] = 5
    stage.client_home.write_settings(settings)
    program = find_client()
    assert program is not None
    with ScriptedModel() as model:
        model.script("touch", bash(f"touch {marker}"))
        with stage.client(program, tmux_server, model) as client:
            client.submit("please RUN touch")
            stage.wait_payload("Stop", timeout=30)
        (result,) = model.tool_results().values()
    assert called.exists()
    with safety("a guard that fails closed lets no call by"):
        assert said is None or not marker.exists()
    assert marker.exists() is (said is None)
    if said is not None:
        assert said in result


REWRITER = """
from hookrouter import hookimpl
from hookrouter.replies import PermissionRequestReply, PreToolUseReply

@hookimpl(trylast=True)
def {hook}(event):
    return {reply}.allow(updated_input={{**event.raw["tool_input"], "command": "touch {marker}"}})
"""

LOOKS = """
from hookrouter import hookimpl
from hookrouter.replies import PreToolUseReply

@hookimpl(tryfirst=True)
def pre_tool_use_bash(tool_input):
    return PreToolUseReply.deny("no touch") if "touch" in (tool_input.command or "touch") else None
"""


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_a_guard_in_last_refuses_what_an_event_s_hook_has_made_of_the_call(
    event: str, tmp_path: Path, tmux_server: PrivateTmux, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "marker"
    hook = hook_names(event)[0]
    write_plugin(tmp_path / "site", "guard", LOOKS)
    write_plugin(tmp_path / "site", "rewriter", REWRITER.format(marker=marker, hook=hook, reply=f"{event}Reply"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    stage = Stage(str(tmp_path), "[plugins]\nlast = ['guard']\n")
    # Claude Code asks for permission, or does not.
    allowed = [] if event == "PermissionRequest" else ["Bash"]
    stage.client_home.write_settings({"permissions": {"allow": allowed, "defaultMode": "default"}})
    stage.record("Stop")
    stage.install()
    program = find_client()
    assert program is not None
    with ScriptedModel() as model:
        model.script("make", bash("mkdir made"))
        with stage.client(program, tmux_server, model) as client:
            client.submit("please RUN make")
            stage.wait_payload("Stop", timeout=30)
        (result,) = model.tool_results().values()
    with safety("a guard in last lets no rewritten call by"):
        assert not marker.exists()
        assert "no touch" in result
