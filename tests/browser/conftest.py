"""The page in a real browser, served by a real router."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.page import Home, Served, chromium

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # No longer than these tests: as long as Playwright runs, no other test of this process can run an event loop.
    with chromium() as browser:
        yield browser


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def served(home: Home) -> Iterator[Served]:
    with Served(home.environ) as served:
        yield served
