"""Fixtures of the smoke tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.smoke import SmokeStage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[SmokeStage]:
    """A machine on which hookrouter is there, but not installed in Claude Code, with an agent in config.toml."""
    with SmokeStage(tmp_path) as stage:
        yield stage
