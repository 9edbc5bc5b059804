"""The public contract of document engines, on a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrouter.testing.contracts.document_storage import DocumentStorageContract
from hookrouter.util import folder_watch

if TYPE_CHECKING:
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.testing.contracts.document_storage import StoreMaker


@pytest.fixture
def make_store(storage, open_storage) -> StoreMaker:
    def make() -> DocumentStore:
        return open_storage().store("", lambda text: pytest.fail(text))

    return make


class TestPostgresql(DocumentStorageContract):
    pass


class TestPostgresqlInOneProcess(DocumentStorageContract):
    """All objects share what one process opens, as hookrouter does it; forked children use what their parent opened."""

    @pytest.fixture
    def make_store(self, storage) -> StoreMaker:
        return lambda: storage.store("outbox", lambda text: pytest.fail(text))


class TestPostgresqlWithoutEvents(DocumentStorageContract):
    """A system that does not tell of changes."""

    @pytest.fixture(autouse=True)
    def poor_system(self, monkeypatch):
        monkeypatch.setattr(folder_watch, "subscribe", lambda _folder: None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
ANY_TEXT = st.text(st.characters(codec=None), max_size=40)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=ANY_TEXT, document=st.dictionaries(ANY_TEXT, JSON, max_size=4))
def test_any_name_and_document_come_back(storage, name, document):
    store = storage.store("", pytest.fail)
    store.write("thing", name, document, durable=False)
    assert store.read("thing", name) == document
    assert store.entries("thing", lambda one: one == name) == [(name, document)]
    assert store.replace("thing", name, {"n": 1}, unchanged=document, durable=False)
    assert store.delete("thing", name)


def test_a_name_may_be_longer_than_an_index_holds(storage):
    store = storage.store("", pytest.fail)
    store.write("thing", "x" * 100_000, {})
    assert [name for name, _ in store.entries("thing")] == ["x" * 100_000]
