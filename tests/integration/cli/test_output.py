"""Commands whose output cannot be written: no traceback, and an exit code that says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest


def run(
    *words: str, home: Path, stdout: int | IO[str] = subprocess.PIPE, **environ: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hookrouter", *words],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "HOOKROUTER_HOME": str(home), **environ},
    )


COMMANDS = [["--version"], ["stats"], ["doctor"], ["plugins", "list"], ["questions"], ["explain", "Stop"]]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_full_disk_is_told_without_a_traceback(words: list[str], tmp_path: Path) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = run(*words, home=tmp_path, stdout=full)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "the output cannot be written: No space left on device" in done.stderr


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_closed_stdout_is_no_fault(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "hookrouter", *words],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "HOOKROUTER_HOME": str(tmp_path)},
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1)


def test_a_character_that_the_encoding_lacks_is_escaped(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[[agents]]\nid = "nächt"\nsession = "→"\n', encoding="utf-8")
    done = run("config", "check", home=tmp_path, PYTHONIOENCODING="ascii")
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1, 2)
