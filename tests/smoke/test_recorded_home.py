"""A home that an older version left with open questions and queued prompts goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.recorded_home import RECORDED, RecordedHome, carry_on

if TYPE_CHECKING:
    from pathlib import Path


def test_the_home_of_58df749_goes_on(tmp_path: Path) -> None:
    with RecordedHome(RECORDED / "files", tmp_path) as home:
        carry_on(home)
