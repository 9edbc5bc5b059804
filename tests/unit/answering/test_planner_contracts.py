"""Both planners under the published contract."""

from __future__ import annotations

import pytest

from hookrouter.testing.contracts import KeystrokePlannerContract
from hookrouter_key_counting.planner import KeyCountingPlanner
from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner


class TestGrammarPlanner(KeystrokePlannerContract):
    @pytest.fixture
    def planner(self) -> GrammarPlanner:
        return GrammarPlanner()


class TestKeyCountingPlanner(KeystrokePlannerContract):
    refused = {
        "note": "cannot enter a note safely",
        "type-digit": "take a text of one digit for the number",
        "multi-select-nothing": "cannot confirm that nothing was chosen",
        "chat": "declined for a chat",
        "chat-in-tabs": "declined for a chat",
    }

    @pytest.fixture
    def planner(self) -> KeyCountingPlanner:
        return KeyCountingPlanner()
