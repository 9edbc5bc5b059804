"""What a fresh interpreter imports to read an unchanged config.toml."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hookrouter
from hookrouter._config.cache import load
from hookrouter.storage.home import Home
from support.full_config import FULL

SLOW_MODULES = ("tomllib", "attrs", "cattrs", "typing", "re", "json", "pathlib", "hashlib")


def test_an_unchanged_file_is_not_parsed(tmp_path: Path) -> None:
    home = Home.in_folder(str(tmp_path))
    Path(home.config_file).write_text(FULL)
    assert load(home).agents[0].id == "warden"
    code = (
        "import sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from hookrouter._config.cache import load\n"
        "from hookrouter.storage.home import Home\n"
        "assert load(Home.in_folder(sys.argv[2])).agents[0].id == 'warden'\n"
        "print(*sorted(set(sys.argv[3:]) & sys.modules.keys()))\n"
    )
    checkout = os.path.dirname(os.path.dirname(os.path.abspath(hookrouter.__file__)))
    folder = home.root
    command = [sys.executable, "-S", "-c", code, checkout, folder, *SLOW_MODULES]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "\n"
