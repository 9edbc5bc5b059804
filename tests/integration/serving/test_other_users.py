"""Another user who listens in the place of the router is told nothing, and decides nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hookrouter._serving.caller import BroughtCall, bring
from hookrouter.serving import control
from hookrouter.storage.home import Home
from hookrouter.util import unix_socket
from hookrouter.util.program import script_argv
from support.fronts import front_words

LISTENS = """
import json, os, socket, sys
os.chdir(sys.argv[1])
os.setgid(65534); os.setuid(65534)
heard = []
for name in ("calls", "control"):
    one = socket.socket(socket.AF_UNIX)
    one.bind(name)
    os.chmod(name, 0o777)
    one.listen(8)
    heard.append(one)
print("listening", flush=True)
import select
while True:
    for one in select.select(heard, [], [])[0]:
        connection = one.accept()[0]
        connection.settimeout(5)
        try:
            data = connection.recv(65536)
            connection.sendall(b'R{"pid": 1}\\n')
        except OSError:
            data = b""
        connection.close()
        print(json.dumps(len(data)), flush=True)
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")


@contextmanager
def listening(folder: Path) -> Iterator[subprocess.Popen[str]]:
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    words = [sys.executable, "-c", LISTENS, str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "listening\n"
        try:
            yield process
        finally:
            process.kill()


def heard(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


@pytest.mark.parametrize("name", ["python", "native"])
def test_a_front_tells_another_user_nothing_and_runs_cold(name: str, tmp_path: Path) -> None:
    home = Home.in_folder(str(tmp_path / "home"))
    cold = [sys.executable, "-c", "print('cold')", "run", "stop"]
    with listening(Path(home.router)) as process:
        done = subprocess.run(
            [*front_words(name, tmp_path), home.router, *cold], input=b"{}", capture_output=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, b"cold\n")
        assert heard(process) == 0


def test_nobody_else_tells_one_anything_either(tmp_path: Path) -> None:
    import asyncio

    home = Home.in_folder(str(tmp_path / "home"))
    with listening(Path(home.router)) as process:
        with pytest.raises(control.NotServedError):
            control.ask(home.router)
        assert heard(process) == 0
        with pytest.raises(PermissionError):
            unix_socket.connect(home.router, "calls", 1)
        assert heard(process) == 0
        environ = {**os.environ, "HOOKROUTER_HOME": str(tmp_path / "other")}
        call = BroughtCall("stop", b"nonsense", str(tmp_path), environ)
        assert asyncio.run(bring(home.router, call)).exit_code == 0
        assert heard(process) == 0


@pytest.mark.parametrize("command", [["install", "--dry-run"], ["serve"], ["doctor"]], ids=" ".join)
def test_a_home_in_a_folder_that_others_may_write_is_refused(command: list[str], tmp_path: Path) -> None:
    above = tmp_path / "above"
    above.mkdir()
    above.chmod(0o777)
    environ = {**os.environ, "HOOKROUTER_HOME": str(above / "home"), "HOME": str(tmp_path)}
    environ["CLAUDE_CONFIG_DIR"] = str(tmp_path)
    done = subprocess.run(
        [*script_argv(), *command], env=environ, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode != 0
    assert f"{above} can be written by every user" in done.stdout + done.stderr
    assert not (tmp_path / "settings.json").exists()
