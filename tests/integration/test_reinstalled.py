"""A guard that fails closed, asked again and again while hookrouter is installed anew: no call is let by."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import sysconfig
import threading
import venv
from pathlib import Path

import pytest

from hookrouter._installation import front_command
from hookrouter.testing.plugins import write_plugin
from support.hook_place import BASH
from support.safety import safety

REPOSITORY = Path(__file__).parents[2]
TIMES = 20

GUARD = """\
from hookrouter import PreToolUseReply, hookimpl

@hookimpl
def pre_tool_use_bash(tool_input, context):
    return PreToolUseReply.deny("not this")
"""


def is_refused(code: int, out: bytes) -> bool:
    """Whether Claude Code does not make the call, as its entry has ``"onFailure": "block"``."""
    try:
        return code != 0 or json.loads(out)["hookSpecificOutput"]["permissionDecision"] == "deny"
    except (ValueError, KeyError):
        return False


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return an environment of its own with hookrouter in it, and the words that install it anew."""
    folder = tmp_path_factory.mktemp("reinstalled")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
    )
    (wheel,) = folder.glob("*.whl")
    environment = folder / "venv"
    venv.create(environment, with_pip=False, symlinks=True)
    (site,) = environment.glob("lib/python3*/site-packages")
    # What hookrouter needs is taken from here; this tree itself is found by a .pth file that is not read there.
    (site / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = str(environment / "bin" / "python")
    words = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index"]
    words += ["--disable-pip-version-check", "--force-reinstall", str(wheel)]
    subprocess.run(words, check=True, capture_output=True)
    return environment, words


@pytest.mark.long
@pytest.mark.parametrize("front", ["cold", "python", "native"])
def test_a_guard_lets_no_call_by_while_hookrouter_is_reinstalled(
    installed: tuple[Path, list[str]], front: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment, install = installed
    home, plugins = tmp_path / "home", tmp_path / "plugins"
    home.mkdir()
    write_plugin(plugins, "guard", GUARD)
    (home / "config.toml").write_text('[plugins.guard]\non_error = "closed"\n')
    environ = {**os.environ, "HOOKROUTER_HOME": str(home), "PYTHONPATH": str(plugins)}
    (package,) = environment.glob("lib/python3*/site-packages/hookrouter")
    monkeypatch.setattr(front_command, "_folder", lambda: str(package / "_fronts"))
    monkeypatch.setattr(front_command, "_interpreter", lambda: str(environment / "bin" / "python"))
    words = front_command.front_words(front_command.Front(front), str(home / "state" / "router"))
    command = [*words, str(environment / "bin" / "hookrouter"), "run", "pre-tool-use"]
    passed: list[object] = []
    counts = itertools.count()
    is_over = threading.Event()

    def call() -> None:
        while not is_over.is_set():
            try:
                done = subprocess.run(
                    command, input=json.dumps(BASH).encode(), env=environ, capture_output=True, timeout=300, check=False
                )
            except OSError:
                # No program to start, or one that is being written: Claude Code's shell says 126 or 127 then.
                continue
            next(counts)
            if not is_refused(done.returncode, done.stdout):
                passed.append((done.returncode, done.stdout, done.stderr))

    def asked() -> tuple[int, bytes, bytes]:
        done = subprocess.run(command, input=json.dumps(BASH).encode(), env=environ, capture_output=True, check=False)
        return done.returncode, done.stdout, done.stderr

    assert b"not this" in asked()[1]
    with subprocess.Popen([environment / "bin" / "hookrouter", "serve"], env=environ) as router:
        callers = [threading.Thread(target=call) for _ in range(2)]
        for caller in callers:
            caller.start()
        try:
            for number in range(TIMES):
                # pip compiles when all files are in place, for five times as long as it takes to put them there.
                more = ["--no-compile"] if number < TIMES - 1 else []
                subprocess.run([*install, *more], check=True, capture_output=True)
        finally:
            is_over.set()
            for caller in callers:
                caller.join()
            router.terminate()
    count = next(counts)
    print(f"{front}: {count} calls during {TIMES} installations, {len(passed)} let by")
    with safety("no call passes a guard"):
        assert not passed
    assert count > TIMES
    last = asked()
    assert b"not this" in last[1], last
