"""What several checks ask the system."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ask", "claude_version", "nearest_existing", "working_folder"]

_CLIENT_SECONDS = 20.0


def ask(arguments: Sequence[str], seconds: float) -> tuple[str, str]:
    """Run a program that prints its version; return the first line of its output, and what went wrong."""
    try:
        done = subprocess.run(
            arguments,
            # The current folder may be gone, and Node does not start in one that is.
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {seconds:g} s"
    except OSError as error:
        return "", error.strerror or str(error)
    output = (done.stdout.strip() or done.stderr.strip()).split("\n")[0]
    return output, f"exit code {done.returncode}: {output}" if done.returncode else ""


def claude_version(environ: Mapping[str, str]) -> tuple[int, ...] | None:
    """Return the version of the ``claude`` on the PATH, three numbers; None if there is none or it does not say."""
    path = shutil.which("claude", path=environ.get("PATH"))
    output, problem = ask([path, "--version"], _CLIENT_SECONDS) if path else ("", "not there")
    version = re.search(r"(\d+)\.(\d+)\.(\d+)", output)
    # Whatever else is wrong with the client, the check of the client says.
    return None if problem or version is None else tuple(map(int, version.groups()))


def nearest_existing(path: str) -> str:
    """Return a path, or the nearest one above it that exists."""
    while not os.path.lexists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path


def working_folder() -> str | None:
    """Return the current folder; None if it was deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None
