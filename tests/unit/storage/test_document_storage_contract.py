"""The public contract of document engines, on the files that are the default."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from hookrouter.storage import changes, documents
from hookrouter.storage.documents import Store
from hookrouter.storage.engine import open_store
from hookrouter.storage.home import Home
from hookrouter.testing.contracts.document_storage import DocumentStorageContract
from hookrouter.util import _folder_events, folder_watch

if TYPE_CHECKING:
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.testing.contracts.document_storage import StoreMaker


@pytest.fixture
def make_store(tmp_path) -> StoreMaker:
    def make() -> DocumentStore:
        return open_store(Home.in_folder(str(tmp_path)), lambda text: pytest.fail(text))

    return make


class TestFiles(DocumentStorageContract):
    pass


class TestFilesWithoutEventsAndLinks(DocumentStorageContract):
    """A system that neither tells of changes nor has hard links."""

    @pytest.fixture(autouse=True)
    def poor_system(self, monkeypatch):
        def no_link(_source, _target):
            raise OSError(1, "Operation not permitted")

        monkeypatch.setattr(folder_watch, "subscribe", lambda _folder: None)
        monkeypatch.setattr(documents.os, "link", no_link)
        monkeypatch.setattr(changes, "_POLL", 0.01)


class TestFilesWithoutInotify(DocumentStorageContract):
    """A user whose programs have taken all instances of inotify that the system allows."""

    @pytest.fixture(autouse=True)
    def no_instance(self, monkeypatch):
        def refused():
            raise OSError(24, "Too many open files")

        monkeypatch.setattr(_folder_events, "_Inotify", refused)


def test_a_watch_on_a_folder_that_may_only_be_read(tmp_path):
    """Nothing can be made there; the documents are looked for all the same."""
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
