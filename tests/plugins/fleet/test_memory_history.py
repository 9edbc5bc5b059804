"""The history in memory does what every engine must: so that is what the contract asks, and no more."""

from __future__ import annotations

import pytest

from hookrouter.testing.contracts import HistoryMaker, HistoryStorageContract
from support.memory_history import MemoryHistory


class TestMemoryHistory(HistoryStorageContract):
    @pytest.fixture
    def make_history(self) -> HistoryMaker:
        return MemoryHistory().of
