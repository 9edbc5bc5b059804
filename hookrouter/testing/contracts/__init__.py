"""Contract tests for authors, as pytest classes: what every part must do that a plugin brings.

Subclass one of the contracts in a test module of your own, under a name that starts with ``Test``, and give the
fixtures that the class names. Needs pytest and hypothesis, which hookrouter itself does not:
``pip install pytest hypothesis``.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "hookrouter.testing.contracts._gone",
    "hookrouter.testing.contracts._holding",
    "hookrouter.testing.contracts._panes",
    "hookrouter.testing.contracts.answer_channel",
    "hookrouter.testing.contracts.document_storage",
    "hookrouter.testing.contracts.gateway",
    "hookrouter.testing.contracts.history_storage",
    "hookrouter.testing.contracts.keystroke_planner",
    "hookrouter.testing.contracts.prompt_channel",
    "hookrouter.testing.contracts.resident_process",
    "hookrouter.testing.contracts.terminal_backend",
)

from hookrouter.testing.contracts.answer_channel import (  # noqa: E402 - rewritten first
    AnswerChannelContract,
    AskingClient,
    Recorded,
)
from hookrouter.testing.contracts.document_storage import DocumentStorageContract, StoreMaker  # noqa: E402
from hookrouter.testing.contracts.gateway import Arrived, GatewayContract, GatewayHost  # noqa: E402
from hookrouter.testing.contracts.history_storage import HistoryMaker, HistoryStorageContract  # noqa: E402
from hookrouter.testing.contracts.keystroke_planner import KeystrokePlannerContract  # noqa: E402
from hookrouter.testing.contracts.prompt_channel import PromptChannelContract, PromptedClient  # noqa: E402
from hookrouter.testing.contracts.resident_process import ResidentProcessContract  # noqa: E402
from hookrouter.testing.contracts.terminal_backend import TerminalBackendContract, TerminalHost  # noqa: E402

__all__ = [
    "AnswerChannelContract",
    "Arrived",
    "AskingClient",
    "DocumentStorageContract",
    "GatewayContract",
    "GatewayHost",
    "HistoryMaker",
    "HistoryStorageContract",
    "KeystrokePlannerContract",
    "PromptChannelContract",
    "PromptedClient",
    "Recorded",
    "ResidentProcessContract",
    "StoreMaker",
    "TerminalBackendContract",
    "TerminalHost",
]
