"""Fixtures of the integration tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.fronts import FRONTS, Front, front_words, through
from support.matrix import mostly_long

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=mostly_long(FRONTS, "cold", "native"))
def front(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Front]:
    """Have the test's hooks be started as settings.json does: by themselves, or by a front beside a real router."""
    words = front_words(request.param, tmp_path_factory.getbasetemp())
    with through(Front(request.param, words), monkeypatch) as front:
        yield front
