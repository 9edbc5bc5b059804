"""Whether a native front works is found out by starting it: here, what the system cannot start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._installation.front_command import native_fault

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_that_is_no_program_does_not_work(tmp_path: Path) -> None:
    path = tmp_path / "native"
    path.write_text("no program")
    assert native_fault(str(path)) == "Permission denied"
    path.chmod(0o755)
    assert native_fault(str(path))
