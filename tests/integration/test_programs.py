"""The programs beside the tests, which nothing else starts: each comes as far as its help."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FILES = (path for folder in ("tests", "scripts") for path in (ROOT / folder).rglob("*") if not path.suffix)

PROGRAMS = sorted(
    str(path.relative_to(ROOT))
    for path in FILES
    if path.is_file() and os.access(path, os.X_OK) and path.read_bytes().startswith(b"#!/usr/bin/env python3")
)


def test_there_are_some() -> None:
    assert {"tests/fuzz_rules", "tests/live/versions"} <= set(PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_starts(program: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / program, "--help"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout[:6]) == (0, "usage:"), done.stderr
