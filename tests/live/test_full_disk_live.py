"""A permission that could not be saved on a full disk stays with the person, is told later, and keys decide on it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrouter._sandbox.scripted_model import ScriptedModel, bash
from hookrouter._sandbox.waiting import wait_until
from support.approval_session import ApprovalSession

if TYPE_CHECKING:
    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.linux]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """The folder of hookrouter's home on a stage, with a small file system of its own."""
    disk = tmp_path / "hookrouter"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no file system may be mounted here: {done.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_keys_decide_on_a_permission_that_could_not_be_saved(
    tmp_path: Path, disk: Path, tmux_server: PrivateTmux
) -> None:
    with ScriptedModel() as model:
        one = ApprovalSession(tmp_path, tmux_server, model, "default", channel="keys")
        with one.client:
            wait_until(one.has_servers_tools, 30, "the server's tools", one.client.screen)
            one.decided(bash(f"touch {one.folder}/before"), {"action": "allow"})
            space = os.statvfs(disk)
            with open(disk / "filler", "wb", buffering=0) as filler:
                filler.write(bytes(space.f_bavail * space.f_frsize))
            one.call(bash(f"touch {one.folder}/one"))
            wait_until(lambda: "Do you want" in one.client.screen(), 30, "the dialog", one.told)
            # For some seconds its hook may still be about to save it.
            wait_until(lambda: one.stage.run("questions").returncode == 1, 30, "what fails", one.told)
            (disk / "filler").unlink()
            [found] = wait_until(one.listed, 30, "what could not be saved", one.told)
            assert (found["kind"], found["request"]["input"]["command"]) == ("permission", f"touch {one.folder}/one")
            assert one.decide({"action": "allow"})["outcome"] == "verified"
            assert (one.folder / "one").exists()
