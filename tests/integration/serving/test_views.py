"""Callers who see other files than the router, or say that their temporary ones are elsewhere."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from support.fronts import front_words
from support.hook_place import BASH, HookPlace
from support.resident import Resident

TELLER = """\
import os, tempfile
from hookrouter import PreToolUseReply, hookimpl, stateless

@hookimpl
@stateless
def pre_tool_use_bash(tool_input):
    told = f"{os.getpid()} {tempfile.gettempdir()}"
    tempfile.tempdir = "/left/by/a/call"
    return PreToolUseReply.deny(told)
"""


@pytest.fixture
def place(tmp_path: Path) -> HookPlace:
    place = HookPlace(tmp_path)
    write_plugin(place.plugins, "teller", TELLER)
    return place


def test_each_caller_has_its_own_folder_of_temporary_files(place: HookPlace, tmp_path: Path) -> None:
    told = []
    with Resident(place.environ) as router:
        for name in ("one", "two") * 10:
            (tmp_path / name).mkdir(exist_ok=True)
            environ = {**place.environ, "TMPDIR": str(tmp_path / name)}
            reply = router.call("pre-tool-use", BASH, environ=environ).reply
            told.append(reply["hookSpecificOutput"]["permissionDecisionReason"].split()[1:])
    assert [Path(folder).name for _pid, folder in told] == ["one", "two"] * 10
    # A process that serves several calls is what the test is about.
    assert len({pid for pid, _folder in told}) < len(told)


def can_unshare(kind: str) -> bool:
    words = ["unshare", *kind.split(), "true"]
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.parametrize("kind", ["-m", "-p -f"])
def test_a_caller_that_sees_other_files_or_processes_is_sent_away(place: HookPlace, kind: str, tmp_path: Path) -> None:
    if not can_unshare(kind):
        pytest.skip("this machine lets nobody make a namespace")
    words = [*front_words("native", tmp_path), "FOLDER", *script_argv(), "run", "pre-tool-use"]
    with Resident(place.environ) as router:
        words[words.index("FOLDER")] = router.folder
        for command, reasons in (
            (words, {}),
            (["unshare", *kind.split(), *words], {"another view of files or processes": 1}),
        ):
            done = subprocess.run(
                command, input=str(BASH).replace("'", '"').encode(), capture_output=True, env=place.environ, check=False
            )
            assert b"deny" in done.stdout, done
            assert router.status()["sent_away"] == reasons
    assert os.path.exists(place.home)
