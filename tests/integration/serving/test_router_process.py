"""The router as a process: one for each home, there again whatever becomes of its files."""

from __future__ import annotations

import os
import shutil
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookrouter._serving import address
from hookrouter.serving import control
from hookrouter.testing import sample
from support.resident import Resident, eventually


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Resident]:
    home = tmp_path / "home"
    home.mkdir()
    made = Resident({**os.environ, "HOOKROUTER_HOME": str(home)})
    with made:
        yield made


def test_its_folder_and_sockets_are_the_users_alone(router: Resident) -> None:
    assert stat.S_IMODE(os.stat(router.folder).st_mode) == 0o700
    for name in (address.CALLS, address.CONTROL, "lock"):
        assert stat.S_IMODE(os.lstat(os.path.join(router.folder, name)).st_mode) == 0o600


def test_a_second_one_leaves_and_a_killed_one_leaves_no_trace(router: Resident) -> None:
    other = Resident(router.environ)
    other._process = None
    boot = router.status()["boot"]
    other.start()
    assert other._process is not None
    assert other._process.wait(30) == 0
    assert router.status()["boot"] == boot
    router.kill(signal.SIGKILL)
    with pytest.raises(control.NotServedError):
        router.status()
    router.start()
    assert router.call("stop", sample("Stop")).exit_code == 0


def test_removed_sockets_come_back(router: Resident) -> None:
    os.unlink(os.path.join(router.folder, address.CALLS))
    os.unlink(os.path.join(router.folder, address.CONTROL))
    eventually(router.is_there, 60)
    assert router.call("stop", sample("Stop")).exit_code == 0


def test_a_router_whose_folder_was_removed_gives_way_to_the_one_that_came_after(router: Resident) -> None:
    shutil.rmtree(router.folder)
    other = Resident(router.environ)
    with other:
        boot = other.status()["boot"]
        assert router._process is not None
        assert router._process.wait(60) == 0
        assert other.status()["boot"] == boot
        assert other.call("stop", sample("Stop")).exit_code == 0


def test_sigterm_ends_it_and_removes_its_sockets(router: Resident) -> None:
    router.kill(signal.SIGTERM)
    assert os.listdir(router.folder) == ["lock"]
