"""The fixtures and helpers for tests of plugins, with the real program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hookrouter import hookimpl
from hookrouter.testing import Hooks, PluginFailed, write_plugin


class Guard:
    """A plugin of this process alone."""

    @hookimpl
    def stop(self) -> None:
        """Watch."""


def test_the_real_program_gives_the_same_result(hooks: Hooks, tmp_path: Path) -> None:
    write_plugin(
        tmp_path / "site",
        "remote",
        "from hookrouter import hookimpl\n"
        "from hookrouter.replies import PreToolUseReply\n"
        "@hookimpl\n"
        "def pre_tool_use_bash(event, tool_input, context):\n"
        "    context.note('folder', context.cwd)\n"
        "    if 'fail' in event.raw['tool_input']['command']:\n"
        "        raise OSError('broken')\n"
        "    return PreToolUseReply.deny('no')\n",
    )
    environ = {"PYTHONPATH": str(tmp_path / "site")}
    result = hooks.fire_process("PreToolUse", "Bash", cwd="/somewhere", environ=environ)
    assert (result.decision, result.reason, result.by) == ("deny", "remote: no", ("remote",))
    assert result.journal["folder"] == "/somewhere"
    assert [record["outcome"] for record in result.of("remote")] == ["replied"]

    with pytest.raises(PluginFailed, match=r"remote: failed .*OSError: broken"):
        hooks.fire_process("PreToolUse", "Bash", tool_input={"command": "fail"}, environ=environ)
    hooks.add(Guard)
    with pytest.raises(ValueError, match="'guard' is not"):
        hooks.fire_process("Stop")


LOADED = [
    "hookrouter",
    "hookrouter.testing",
    "hookrouter.testing.pytest_plugin",
    "hookrouter.util",
    "hookrouter.util.lazy",
]
"""What every project's pytest loads where hookrouter is installed."""


def test_the_plugin_costs_other_projects_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text("def test(): pass\n")
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "def pytest_collection_finish(session):\n"
        "    print('LOADED', sorted(n for n in sys.modules if n.split('.')[0].startswith('hookrouter')))\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-c", os.devnull, "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = next(line for line in done.stdout.splitlines() if "LOADED" in line).partition("LOADED ")[2]
    assert loaded == str(LOADED)


def test_importing_the_plugin_imports_nothing_beside_pytest() -> None:
    program = "import sys, pytest; before = set(sys.modules); import hookrouter.testing.pytest_plugin\n"
    program += "print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == LOADED


def test_the_journal_of_a_process_is_read(hooks: Hooks) -> None:
    result = hooks.fire_process("Stop", check=False)
    assert json.loads(json.dumps(result.journal))["event"] == "Stop"
    assert hooks.journal()


def test_a_plugin_that_is_written_again_is_not_run_from_its_old_bytecode(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def said() -> str:
        command = [sys.executable, "-c", "import again"]
        done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, check=True)
        return done.stdout.decode().strip()

    file = write_plugin(tmp_path, "again", "print('one')")
    written = file.stat().st_mtime
    assert said() == "one"
    write_plugin(tmp_path, "again", "print('two')")
    # Within the same second, which is as exactly as Python looks at the time of a file of the same size.
    os.utime(file, (written, written))

    assert said() == "two"
