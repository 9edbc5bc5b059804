"""``python tests/mac [PATH...]``: run tests with what macOS gives Python, on Linux; without a path, the quick verdict.

``--some`` runs the selection that CI runs. What is taken away stands in ``site/sitecustomize.py``, which every Python
of this environment finds by a variable, and in ``system.c``, which ctypes finds beside the C library. It is a stand-in,
written after sources: it shows what hookrouter makes of such a system, and proves nothing about a Mac.

Other arguments go to pytest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]

_VARIABLE = "HOOKROUTER_TEST_MAC"
"""Leads to the folder; without it the hook in the environment does nothing."""

_SERVING = "tests/integration/serving"
_SOME = (
    "tests/unit/util/test_system.py",
    "tests/integration/util/test_system.py",
    "tests/unit/util/test_wait_while_read.py",
    "tests/unit/sessions/test_running_clients.py",
    "tests/unit/storage/test_document_storage_contract.py",
    "tests/smoke/test_questions.py::test_a_question_is_told_answered_and_verified",
    "tests/smoke/test_delivery.py",
    "tests/smoke/test_router.py",
    f"{_SERVING}/test_served_calls.py::test_a_caller_that_is_killed_takes_its_call_with_it",
    f"{_SERVING}/test_kept_processes.py::test_one_process_serves_the_calls_of_a_plugin_that_leaves_nothing",
    "tests/integration/test_trust.py::test_a_hook_process_that_is_killed_takes_the_one_of_its_plugins_with_it",
    "tests/integration/messaging/test_delivery.py::test_the_deliverer_stays_until_a_failing_gateway_is_back",
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
    # Not by PYTHONPATH, which tests set, and which makes an interpreter another one for the router.
    hook = Path(sysconfig.get_path("purelib"), "hookrouter_mac.pth")
    hook.write_text(f'import os, sys; sys.path.extend(filter(None, [os.environ.get("{_VARIABLE}")]))\n')
    try:
        with tempfile.TemporaryDirectory(prefix="mac-") as folder:
            environ = {**os.environ, **_library(folder), _VARIABLE: str(_HERE / "site")}
            command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words]
            return subprocess.run(command, cwd=_ROOT, env=environ, check=False).returncode
    finally:
        hook.unlink()


if __name__ == "__main__":
    sys.exit(main())
