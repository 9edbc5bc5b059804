"""The public contract of document engines, on the files that are the default: what needs one process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrouter.storage import changes
from hookrouter.storage.documents import Store
from hookrouter.storage.engine import open_store
from hookrouter.storage.home import Home
from hookrouter.testing.contracts.document_storage import DocumentStorageContract
from support.contracts import without
from support.stored_files import FORKING, WAITING, poor_system, without_instances

if TYPE_CHECKING:
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.testing.contracts.document_storage import StoreMaker


@pytest.fixture
def make_store(tmp_path: Path) -> StoreMaker:
    def make() -> DocumentStore:
        return open_store(Home.in_folder(str(tmp_path)), lambda text: pytest.fail(text))

    return make


@without(FORKING)
class TestFiles(DocumentStorageContract):
    pass


@without(FORKING + WAITING)
class TestFilesWithoutEventsAndLinks(DocumentStorageContract):
    @pytest.fixture(autouse=True)
    def system(self, monkeypatch: pytest.MonkeyPatch) -> None:
        poor_system(monkeypatch)


@without(FORKING)
class TestFilesWithoutInotify(DocumentStorageContract):
    @pytest.fixture(autouse=True)
    def system(self, monkeypatch: pytest.MonkeyPatch) -> None:
        without_instances(monkeypatch)


def test_a_watch_on_a_folder_that_may_only_be_read(tmp_path, monkeypatch):
    """Nothing can be made there; the documents are looked for all the same."""
    monkeypatch.setattr(changes, "_LOOK", 0.05)
    folder = tmp_path / "state"
    with Store(str(folder), pytest.fail).watch("question", "a") as watch:
        # It was made, then lost, and comes back.
        os.rmdir(folder)
        assert not watch.wait(0)
        folder.mkdir()
        Store(str(folder), pytest.fail).write("question", "a", {})
        assert watch.wait(20)


def test_a_lock_is_looked_at_without_writing_anything(tmp_path):
    store = Store(str(tmp_path / "state"), pytest.fail)
    assert store.lock_holder("answering", "a") is None
    assert os.listdir(tmp_path) == []
