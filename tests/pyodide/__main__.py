"""``python tests/pyodide [PATH...]``: run tests on CPython 3.14, which the npm package pyodide brings, in node.

Without a path that is ``tests/unit`` and ``tests/plugins``, without what is slow. There are no processes, threads or
sockets in it: ``stand_ins.py`` says what is stood in for, and which tests cannot run there and why (``-rs`` lists
them). Needs node, npm and the package index; installs into ``.live/``. Other arguments go to pytest.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_VERSION = "314.0.7"
_SOME = ("tests/unit", "tests/plugins", "-m", "not slow")

_PURE = ("hypothesis", "jsonschema<4.18", "pyrsistent", "tzdata")
"""What this environment has with modules in machine code, in the newest versions that have none, and time zones."""


def _install(folder: Path) -> None:
    """Install what is missing."""
    if not (folder / "node_modules").is_dir():
        command = ["npm", "install", "--silent", "--prefix", str(folder), f"pyodide@{_VERSION}"]
        subprocess.run(command, check=True)
    if not (folder / "pure").is_dir():
        words = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder / "pure")]
        words += ["--platform", "any", "--implementation", "py", "--abi", "none", "--python-version", "3.14"]
        subprocess.run([*words, "--only-binary", ":all:", *_PURE], check=True)


def main() -> int:
    """Install what is missing and run; exit as pytest does."""
    folder = (_ROOT / ".live" / f"pyodide-{_VERSION}").resolve()
    _install(folder)
    words = sys.argv[1:]
    if not any(word.startswith("tests") for word in words):
        words += _SOME
    folders = [folder / "node_modules" / "pyodide", folder / "pure", _ROOT, sysconfig.get_path("purelib")]
    return subprocess.run(
        ["node", str(_HERE / "run.mjs"), *(str(each) for each in folders), *words], check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
