"""``python tests/pyodide [PATH...]``: run tests on CPython 3.14, which the npm package pyodide brings, in node.

Without a path that is each folder of ``tests/unit`` and ``tests/plugins``, without what is slow. There are no
processes, threads or sockets in it: ``stand_ins.py`` says what is stood in for, and which tests cannot run there and
why (``-rs`` lists them). Needs node, npm and the package index; installs into ``.live/``. Other arguments go to pytest.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import sysconfig
from pathlib import Path

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_VERSION = "314.0.7"
_SOME = ("-m", "not slow", "-rfEs", "--tb=short")

_LEFT_OUT = ("tests/plugins/postgresql",)
"""Folders that need a module in machine code."""

_PURE = ("hypothesis", "jsonschema<4.18", "pyrsistent", "tzdata")
"""What this environment has with modules in machine code, in the newest versions that have none, and time zones."""

_STACK = 64 << 20
"""Bytes."""


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
    # What pytest and a deep structure need together; and the system's own bound may be less.
    resource.setrlimit(resource.RLIMIT_STACK, (2 * _STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    places = [folder / "node_modules" / "pyodide", folder / "pure", _ROOT, sysconfig.get_path("purelib")]
    command = ["node", f"--stack-size={_STACK >> 10}", str(_HERE / "run.mjs"), *(str(each) for each in places)]
    words = sys.argv[1:]
    if any(word.startswith("tests") for word in words):
        return subprocess.run([*command, *words], check=False).returncode
    # An interpreter for each: it does not give memory back.
    folders = (each for root in ("unit", "plugins") for each in sorted((_ROOT / "tests" / root).glob("*/")))
    some = [str(each.relative_to(_ROOT)) for each in folders if any(each.glob("test_*.py"))]
    ended = [
        subprocess.run([*command, each, *_SOME, *words], check=False).returncode
        for each in some
        if each not in _LEFT_OUT
    ]
    return max(ended)


if __name__ == "__main__":
    sys.exit(main())
