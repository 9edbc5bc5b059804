"""What a folder tells of the project in it."""

from __future__ import annotations

from pathlib import Path

from hookrouter.dialogs.messages.surroundings import gsd_files


def test_the_files_of_gsd(tmp_path: Path) -> None:
    assert gsd_files(str(tmp_path)) == gsd_files("") == gsd_files("/a\0b") == []
    (tmp_path / "STATE.md").write_text("")
    (tmp_path / ".planning").mkdir()
    (tmp_path / ".planning" / "ROADMAP.md").write_text("")
    assert gsd_files(str(tmp_path)) == [".planning/ROADMAP.md", "STATE.md"]
