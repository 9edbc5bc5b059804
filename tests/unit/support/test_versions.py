"""The table of client versions: made from what pytest reports, and from nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.manual import replace_part
from support.versions import PAGE, PART, Case, Run, faults, read_report, table

if TYPE_CHECKING:
    from pathlib import Path


def test_the_table_says_what_ran(tmp_path: Path) -> None:
    old = Run(
        "2.0.76",
        (
            Case("single select", "a"),
            Case("single select", "b"),
            Case("chat", "c", refused="client 2.0.76 has none"),
            Case("preview", "d", not_offered="it draws a list"),
        ),
    )
    new = Run("2.1.330", (Case("single select", "a"), Case("single select", "b", failed="assert"), Case("chat", "c")))
    lost = Run("2.1.400", (), "npm said no")

    assert table([old, new, lost], "2026-01-02").split("\n") == [
        "| Claude Code | 2.0.76 | 2.1.330 | 2.1.400 |",
        "|---|---|---|---|",
        "| single select | verified | **failed** | not run |",
        "| chat | refused<sup>1</sup> | verified | not run |",
        "| preview | not offered<sup>2</sup> | not run | not run |",
        "| tests passed | 4 of 4 | 2 of 3 | 0 of 0 |",
        "",
        "1. refused: this client has none",
        "2. not offered: it draws a list",
        "",
        "Run on 2026-01-02 with `tests/live/versions`.",
    ]
    assert faults([old, new, lost]) == ["2.1.330: b: assert", "2.1.400: npm said no"]


def test_a_report_that_is_missing_or_broken_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="report"):
        read_report(str(tmp_path / "report.xml"))


def test_the_page_has_the_part() -> None:
    with open(f"{_ROOT}/{PAGE}", encoding="utf-8") as file:
        assert "| Claude Code |" in replace_part(file.read(), PART, table([Run("2.1.330", ())], "2026-01-02"))


_ROOT = __file__.rpartition("/tests/")[0]
