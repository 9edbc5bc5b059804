"""Fixtures for the tests of the AskUserQuestion plugin whose commands run in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.ask_session import AskSession


@pytest.fixture
def ask_session(tmp_path: Path) -> AskSession:
    return AskSession(tmp_path)
