"""The page in a real browser, served by a real router; without Chromium these tests are skipped, or fail in CI."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright")

from support.page import Home, Served, chromium

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if shutil.which("chromium") is None and not os.environ.get("HOOKROUTER_REQUIRE_LIVE"):
        pytest.skip("chromium is missing")
    with chromium() as browser:
        yield browser


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def served(home: Home) -> Iterator[Served]:
    with Served(home.environ) as served:
        yield served
