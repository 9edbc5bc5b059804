"""What ``hookrouter plugins new`` writes, installed in an environment of its own."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import NamedTuple

from hookrouter.testing.pytest_plugin import skip_without

__all__ = ["Generated", "generate_plugin"]


class _Watch:
    """Says how long child processes took."""

    def __init__(self) -> None:
        self._started = time.monotonic(), self._used()

    def _used(self) -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def __str__(self) -> str:
        began, used = self._started
        return f"{self._used() - used:.1f} s of processor time in {time.monotonic() - began:.1f} s"


class Generated(NamedTuple):
    """What ``hookrouter plugins new`` has written, installed in an environment of its own."""

    folder: Path
    """The package's folder."""
    bin: Path
    """The folder of the environment's programs."""

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment in the package's folder."""
        watch = _Watch()
        environ = {**os.environ, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", **variables}
        done = subprocess.run(
            [str(self.bin / arguments[0]), *arguments[1:]],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        print(f"{' '.join(arguments)[:40]}: {watch}")
        return done


def generate_plugin(parent: Path) -> Generated:
    """Write a plugin into a folder, and install it with all that it needs from the package index.

    Skips the test if that cannot be reached.
    """
    watch = _Watch()
    venv.create(parent / "venv", with_pip=True)
    made = Generated(parent / "hookrouter-night-guard", parent / "venv" / "bin")
    command = [sys.executable, "-m", "hookrouter", "plugins", "new", "night-guard", "--dir", str(parent)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(f"fresh environment and new package: {watch}")
    done = made.run("pip", "install", "--quiet", str(Path(__file__).parents[2]), f"{made.folder}[dev]")
    if "No matching distribution" in done.stderr or "Could not fetch URL" in done.stderr:
        skip_without(f"the package index cannot be reached: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    return made
