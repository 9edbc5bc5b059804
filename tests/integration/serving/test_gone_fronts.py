"""A front whose file is gone, or half written, blocks nothing: only exit code 2 does, and only a guard may say that."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hookrouter import _fronts
from hookrouter._installation import front_command
from hookrouter._installation.command_line import hook_command, parse_command
from hookrouter._installation.front_command import Front

FILES = ("python_front.py", "python_call.py")


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the entry of a python front that lies in a folder of the test."""
    folder = tmp_path / "hookrouter" / "_fronts"
    folder.mkdir(parents=True)
    for name in FILES:
        shutil.copy(Path(_fronts.__path__[0]) / name, folder)
    monkeypatch.setattr(front_command, "_folder", lambda: str(folder))
    words = front_command.front_words(Front.PYTHON, str(tmp_path / "router"))
    cold = [sys.executable, "-P", "-m", "hookrouter"]
    return hook_command([*words, *cold], str(tmp_path / "home"), "stop")


def exit_code(command: str) -> int:
    done = subprocess.run(["sh", "-c", command], input=b"{}", capture_output=True, timeout=60, check=False)
    return done.returncode


def test_the_entry_is_known_as_ours(command: str) -> None:
    ours = parse_command(command)
    assert ours is not None
    assert ours.front is not None
    assert os.path.isfile(ours.front.file)
    assert exit_code(command) == 0


@pytest.mark.parametrize("names", [FILES[:1], FILES[1:], FILES], ids=" and ".join)
@pytest.mark.parametrize("state", ["gone", "empty", "half"])
def test_a_front_that_is_gone_or_half_written_does_not_block(
    command: str, names: tuple[str, ...], state: str, tmp_path: Path
) -> None:
    for name in names:
        file = tmp_path / "hookrouter" / "_fronts" / name
        text = file.read_text()
        file.unlink()
        if state != "gone":
            file.write_text("" if state == "empty" else text[: text.rindex("def ") + 20])
    # 0 would let a guarded call by, 2 would block every other one.
    assert exit_code(command) not in (0, 2)


def test_a_front_whose_folder_is_gone_does_not_block(command: str, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "hookrouter")
    assert exit_code(command) not in (0, 2)


def test_a_front_without_its_interpreter_or_cold_run_does_not_block(command: str, tmp_path: Path) -> None:
    assert exit_code(command.replace(sys.executable.rpartition("/")[0], str(tmp_path / "gone"))) not in (0, 2)
    cold = hook_command([*front_command.front_words(Front.PYTHON, str(tmp_path)), "/gone/hookrouter"], None, "stop")
    assert exit_code(cold) not in (0, 2)
