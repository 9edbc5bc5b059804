"""A program that waits for changes ends when nobody reads what it writes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookrouter.util import folder_watch
from hookrouter.util.folder_watch import FolderWatch, wait_while_read


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    reading, writing = os.pipe()
    monkeypatch.setattr(folder_watch, "_stdout", lambda: writing)
    yield reading
    os.close(writing)


@pytest.mark.parametrize("polls", [True, False], ids=["poll tells", "poll tells nothing"])
def test_a_reader_that_is_gone_is_noticed_without_a_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reading: int, polls: bool
) -> None:
    monkeypatch.setattr(folder_watch, "POLL_TELLS_OF_ENDS", polls and folder_watch.POLL_TELLS_OF_ENDS)
    monkeypatch.setattr(folder_watch, "_LISTEN", 0.0)
    with FolderWatch(str(tmp_path)) as watch:
        wait_while_read(watch, 0.0)
        os.close(reading)
        with pytest.raises(BrokenPipeError):
            wait_while_read(watch, 60.0)
