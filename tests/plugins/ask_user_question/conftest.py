"""Fixtures for the tests of the AskUserQuestion plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.ask_session import AskSession


@pytest.fixture
def ask_session(tmp_path: Path) -> AskSession:
    return AskSession(tmp_path)


@pytest.fixture
def nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have an answer that nobody records be waited for only shortly after keys were pressed."""
    for name in ("_AFTER_KEYS_SECONDS", "_DECLINED_SECONDS"):
        monkeypatch.setattr(f"hookrouter.dialogs.answers.answer.{name}", 0.1)
