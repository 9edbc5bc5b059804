"""``python tests/mac [PATH...]``: run tests with what macOS gives Python, on Linux; without a path, the quick verdict.

``--some`` runs the selection that CI runs. What is taken away stands in ``site/sitecustomize.py``, which every Python
that a test starts finds on PYTHONPATH, and in ``system.c``, which ctypes finds beside the C library. It is a stand-in,
written after sources: it shows what hookrouter makes of such a system, and proves nothing about a Mac.

Other arguments go to pytest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]

_SOME = (
    "tests/unit/util",
    "tests/unit/serving",
)
"""What depends most on the system, and is done within a minute."""


def _library(folder: str) -> dict[str, str]:
    """Compile what stands in for macOS's calls; without a compiler there are none, and hookrouter is told nothing."""
    if shutil.which("cc") is None:
        print("no C compiler: calls of macOS that Linux has not are missing")
        return {}
    made = os.path.join(folder, "system.so")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", made, str(_HERE / "system.c")], check=True)
    return {"LD_PRELOAD": made}


def main() -> int:
    """Run pytest; exit as it does."""
    words = [word for word in sys.argv[1:] if word != "--some"]
    if len(words) < len(sys.argv) - 1:
        words += _SOME
    with tempfile.TemporaryDirectory(prefix="mac-") as folder:
        environ = {**os.environ, **_library(folder), "PYTHONPATH": str(_HERE / "site")}
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words]
        return subprocess.run(command, cwd=_ROOT, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
