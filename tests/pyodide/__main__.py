"""``python tests/pyodide [PATH...]``: run tests on CPython 3.14, which the npm package pyodide brings, in node.

There are no processes, threads or sockets in it, and no conftest is read, so only tests that need none of them can run.
Without a path the selection runs that is known to. Needs node and npm; installs into ``.live/``. Other arguments go to
pytest.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_VERSION = "314.0.7"
_SOME = ("tests/unit/util/test_signatures.py",)


def main() -> int:
    """Install what is missing and run; exit as pytest does."""
    folder = _ROOT / ".live" / f"pyodide-{_VERSION}"
    if not folder.is_dir():
        command = ["npm", "install", "--silent", "--prefix", str(folder), f"pyodide@{_VERSION}"]
        subprocess.run(command, check=True)
    words = sys.argv[1:]
    if not any(word.startswith("tests") for word in words):
        words += _SOME
    packages = sysconfig.get_path("purelib")
    module = str(folder / "node_modules" / "pyodide")
    return subprocess.run(
        ["node", str(_HERE / "run.mjs"), module, str(_ROOT), packages, *words], check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
