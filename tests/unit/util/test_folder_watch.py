"""Watches on folders: one instance of inotify for all of a process, and none needed if the user has used them up."""

from __future__ import annotations

import errno
import os
import select
import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from hookrouter.util import _folder_events
from hookrouter.util.folder_watch import FolderWatch

pytestmark = pytest.mark.linux

SECONDS = 20.0


def instances() -> int:
    """Return how many inotify instances this process has."""
    links = []
    for entry in os.scandir("/proc/self/fd"):
        try:
            links.append(os.readlink(entry.path))
        except FileNotFoundError:
            continue
    return sum("inotify" in link for link in links)


@pytest.fixture
def used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the system say that the user has no instance left.

    To take them all would fail by chance: another process of the same user can let one go at any moment.
    """

    def refuse(_events: object) -> None:
        raise OSError(errno.EMFILE, "inotify_init1")

    monkeypatch.setattr(_folder_events._Inotify, "__init__", refuse)


def readable(watch: FolderWatch) -> bool:
    poll = select.poll()
    poll.register(watch.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def test_all_watches_of_a_process_share_one_instance_and_give_it_back(tmp_path: Path) -> None:
    before = instances()
    folders = [tmp_path / "a", tmp_path / "b"]
    with ExitStack() as stack:
        for folder in folders:
            folder.mkdir()
        watches = [stack.enter_context(FolderWatch(str(folder))) for folder in (*folders, folders[0])]
        assert instances() == before + 1
        (folders[0] / "x").write_text("")
        (folders[1] / "y").write_text("")
        # Whoever reads first does not take it from the others, nor their wake.
        assert watches[0].changed(SECONDS) == {"x"}
        assert readable(watches[1])
        assert readable(watches[2])
        assert watches[1].changed(SECONDS) == {"y"}
        assert watches[2].changed(SECONDS) == {"x"}
        assert not any(readable(watch) for watch in watches)
        watches[2].__exit__(None, None, None)
        (folders[0] / "z").write_text("")
        assert watches[0].changed(SECONDS) == {"z"}
    assert instances() == before


def test_without_an_instance_left_a_change_wakes_all_the_same(tmp_path: Path, used_up: None) -> None:
    descriptors = len(os.listdir("/proc/self/fd"))
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with FolderWatch(str(tmp_path / "a")) as one, FolderWatch(str(tmp_path / "b")) as other:
        assert one.fileno() >= 0
        for change in (
            lambda: (tmp_path / "a" / "x").write_text("1"),
            lambda: (tmp_path / "a" / "x").rename(tmp_path / "a" / "y"),
            lambda: (tmp_path / "b" / "z").write_text("2"),
            lambda: (tmp_path / "a" / "y").unlink(),
        ):
            assert not readable(one)
            change()
            assert readable(one)
            assert readable(other)
            assert one.changed(SECONDS) is None
            assert other.changed(SECONDS) is None
    assert signal.SIGURG not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_process_with_other_threads_is_woken_where_it_watches(tmp_path: Path, used_up: None) -> None:
    done, woken = threading.Event(), []

    def watch() -> None:
        with FolderWatch(str(tmp_path)) as changes:
            (tmp_path / "x").write_text("")
            woken.append(changes.changed(SECONDS))

    idle = threading.Thread(target=done.wait)
    idle.start()
    thread = threading.Thread(target=watch)
    thread.start()
    thread.join(SECONDS)
    done.set()
    assert woken == [None]


@pytest.mark.slow
def test_threads_that_begin_and_end_watches_at_once_close_only_what_is_theirs(tmp_path: Path) -> None:
    failed: list[Exception] = []

    def watch_often() -> None:
        try:
            for _ in range(400):
                with FolderWatch(str(tmp_path)) as watch:
                    watch.wait(0)
        except Exception as error:  # noqa: BLE001 - whatever fails in a thread fails the test
            failed.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=watch_often) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert failed == []
    assert _folder_events._hubs == {}
