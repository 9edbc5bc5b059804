"""The modules that are generated from the contract: formatted, and each loaded without the others."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.generate.contract import PACKAGE, generate


def test_generated_modules_are_formatted_as_ruff_formats() -> None:
    if shutil.which("ruff", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("ruff is not installed")
    paths = [str(PACKAGE / name) for name in generate()]
    ruff = str(Path(sys.executable).parent / "ruff")
    done = subprocess.run(
        [ruff, "format", "--check", "--no-cache", *paths], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_tool_class_defines_no_class_of_another_tool() -> None:
    code = (
        "import sys; from hookrouter.tools import BashInput\n"
        "own = {name for name in sys.modules if name.startswith('hookrouter.tools.')}\n"
        "assert own == {'hookrouter.tools.bash', 'hookrouter.tools.calls'}, own\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_event_class_defines_no_class_of_another_event() -> None:
    code = (
        "import sys; from hookrouter.events import PreToolUse\n"
        "own = {name for name in sys.modules if name.startswith('hookrouter.events.')}\n"
        "assert own == {'hookrouter.events.event', 'hookrouter.events.pre_tool_use'}, own\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
