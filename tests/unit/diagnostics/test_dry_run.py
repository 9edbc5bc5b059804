"""What a dry run copies of a home; that plugins run on the copy is tried in tests/integration."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from hookrouter._diagnostics import dry_run
from hookrouter.storage.home import Home

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home.in_folder(str(tmp_path / "home"))
    os.makedirs(os.path.join(home.state, "inner"))
    os.makedirs(os.path.join(home.state, "outbox"))
    for name in ("one.json", "inner/two.json", "outbox/three.json"):
        with open(os.path.join(home.state, name), "w", encoding="utf-8") as file:
            file.write("{}")
    return home


def copied(home: Home, tmp_path: Path) -> list[str]:
    scratch = Home.in_folder(str(tmp_path / "copy"))
    dry_run._copy(home, scratch)
    found = [os.path.join(place, name) for place, _, names in os.walk(scratch.state) for name in names]
    return sorted(os.path.relpath(path, scratch.state) for path in found)


def test_documents_are_copied_and_waiting_messages_are_not(home: Home, tmp_path: Path) -> None:
    os.mkfifo(os.path.join(home.state, "pipe"))
    os.symlink("nowhere", os.path.join(home.state, "link"))
    assert copied(home, tmp_path) == ["inner/two.json", "link", "one.json"]


def test_a_document_that_is_removed_meanwhile_is_left_out(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = dry_run.shutil.copy2

    def remove_and_copy(source: str, target: str, *, follow_symlinks: bool) -> object:
        if source.endswith("one.json"):
            os.remove(source)
        return copy(source, target, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(dry_run.shutil, "copy2", remove_and_copy)
    assert copied(home, tmp_path) == ["inner/two.json"]


def test_more_than_is_copied_is_refused_and_named(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dry_run, "MAX_COPY", 1024**2)
    large = os.path.join(home.state, "large.json")
    with open(large, "wb") as file:
        file.truncate(2 * 1024**2)
    with pytest.raises(OSError, match=r"more than the 1 MiB that a dry run copies.*large\.json"):
        copied(home, tmp_path)
