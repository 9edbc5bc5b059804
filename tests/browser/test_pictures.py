"""The pictures of the manual and the README: one command makes all that they show."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from hookrouter.testing.pytest_plugin import skip_without

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = (REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md"))
SHOWN = {
    name for page in PAGES for name in re.findall(r"\]\([./a-z]*pictures/([\w.-]+)\)", page.read_text(encoding="utf-8"))
}


def _size(picture: Path) -> tuple[int, int]:
    head = picture.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n\x1a\n"), picture
    width, height = struct.unpack("!II", head[16:24])
    return width, height


@pytest.mark.long
def test_one_command_makes_every_picture_that_is_shown(tmp_path: Path) -> None:
    missing = [program for program in ("chromium", "tmux") if shutil.which(program) is None]
    skip_without(f"{' and '.join(missing)} missing" if missing else "")
    words = [sys.executable, "-m", "scripts.generate.pictures", str(tmp_path)]
    subprocess.run(words, cwd=REPOSITORY, check=True, timeout=300)
    made = {file.name for file in tmp_path.iterdir()}
    assert {"phone.png", "waiting-light.png", "waiting-dark.png", "demo.svg"} <= SHOWN <= made
    for name in made:
        if name.endswith(".png"):
            # A page that is refused or empty is no picture of anything.
            assert (tmp_path / name).stat().st_size > 10_000, name
            assert _size(tmp_path / name) == _size(REPOSITORY / "docs" / "pictures" / name)
    assert "verified" in (tmp_path / "demo.svg").read_text(encoding="utf-8")
