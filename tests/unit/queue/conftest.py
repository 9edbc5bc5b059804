from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.sessions import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def machine(hookrouter_home: Path) -> Iterator[Machine]:
    """The clients of this machine, and the sessions of an empty home."""
    found = Machine()
    yield found
    found.close()
