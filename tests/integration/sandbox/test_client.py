"""A client that is installed by npm."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from hookrouter._sandbox.client import install_client
from hookrouter._sandbox.waiting import wait_until

NPM = """#!/usr/bin/env python3
import os, sys, time
folder = sys.argv[sys.argv.index("--prefix") + 1]
os.makedirs(f"{folder}/node_modules/.bin")
os.close(os.open(f"{folder}/node_modules/.bin/claude", os.O_CREAT, 0o755))
with open(sys.argv[0] + ".begun", "a") as file:
    file.write("one\\n")
while not os.path.exists(sys.argv[0] + ".go"):
    time.sleep(0.01)
open(f"{folder}/node_modules/whole", "w").close()
"""


def test_a_client_that_two_processes_want_is_installed_once_and_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(NPM)
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{npm.parent}:{os.environ['PATH']}")
    begun, folder = Path(f"{npm}.begun"), tmp_path / "clients" / "2.1.9999"

    def install(_: int) -> bool:
        return (Path(install_client("2.1.9999", str(folder))).parents[1] / "whole").exists()

    with ThreadPoolExecutor(2) as pool:
        ended = [pool.submit(install, number) for number in range(2)]
        wait_until(begun.exists, 10, "npm to begin")
        done, _ = wait(ended, timeout=0.3)
        Path(f"{npm}.go").touch()
        assert not done
        assert [one.result(10) for one in ended] == [True, True]
    assert begun.read_text() == "one\n"
    assert [one.name for one in folder.parent.iterdir()] == ["2.1.9999"]
