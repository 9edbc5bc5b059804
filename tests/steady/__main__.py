"""``python tests/steady TEST -n 30 --load``: run one test many times, beside a load, and show how it fails.

A test that fails by chance is a bug until it is understood: of the product, or of the test.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOT = Path(__file__).parents[2]

_COMPUTES = "while True: sum(range(100000))"
_WRITES = """
import os, sys
while True:
    with open(sys.argv[1], "wb") as file:
        file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
"""
_STARTS = "import subprocess, sys\nwhile True: subprocess.run([sys.executable, '-c', 'pass'])"


def _load(stack: ExitStack) -> None:
    """Keep the processors, the disk and the process table busy until the stack is closed."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="steady-"))
    cores = os.cpu_count() or 1
    programs = [[_COMPUTES]] * cores + [[_STARTS]] * cores + [[_WRITES, f"{folder}/written"]]
    for program, *arguments in programs:
        process = subprocess.Popen([sys.executable, "-c", program, *arguments])
        stack.callback(process.wait)
        stack.callback(process.kill)


def _runs(test: list[str], times: int) -> Iterator[tuple[float, subprocess.CompletedProcess[str]]]:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", *test]
    for _ in range(times):
        begin = time.monotonic()
        done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
        yield time.monotonic() - begin, done


def main() -> int:
    """Run it; exit 1 if it failed at least once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("test", nargs="+", help="a path or a test's id; more arguments of pytest behind --")
    parser.add_argument("-n", type=int, default=30, dest="times", help="how many times")
    parser.add_argument("--load", action="store_true", help="keep the processors, the disk and the process table busy")
    arguments = parser.parse_args()
    failures: list[str] = []
    seconds: list[float] = []
    with ExitStack() as stack:
        if arguments.load:
            _load(stack)
        for number, (took, done) in enumerate(_runs(arguments.test, arguments.times), 1):
            seconds.append(took)
            if done.returncode:
                failures.append(done.stdout + done.stderr)
            print(f"{number}: {'failed' if done.returncode else 'passed'} in {took:.1f} s", flush=True)
    if failures:
        print(f"\nThe first failure:\n{failures[0]}")
    print(f"{len(failures)} of {len(seconds)} failed; {min(seconds):.1f} to {max(seconds):.1f} s each")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
