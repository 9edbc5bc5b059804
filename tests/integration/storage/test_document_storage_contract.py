"""The public contract of document engines, on the files that are the default: what processes do, and what polls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrouter.storage.engine import open_store
from hookrouter.storage.home import Home
from hookrouter.testing.contracts.document_storage import DocumentStorageContract
from support.contracts import only
from support.stored_files import FORKING, WAITING, poor_system, without_instances

if TYPE_CHECKING:
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.testing.contracts.document_storage import StoreMaker


@pytest.fixture
def make_store(tmp_path: Path) -> StoreMaker:
    def make() -> DocumentStore:
        return open_store(Home.in_folder(str(tmp_path)), lambda text: pytest.fail(text))

    return make


@only(FORKING)
class TestFiles(DocumentStorageContract):
    pass


@only(FORKING + WAITING)
class TestFilesWithoutEventsAndLinks(DocumentStorageContract):
    @pytest.fixture(autouse=True)
    def system(self, monkeypatch: pytest.MonkeyPatch) -> None:
        poor_system(monkeypatch)


@only(FORKING)
class TestFilesWithoutInotify(DocumentStorageContract):
    @pytest.fixture(autouse=True)
    def system(self, monkeypatch: pytest.MonkeyPatch) -> None:
        without_instances(monkeypatch)
