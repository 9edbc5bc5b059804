"""The fronts of the resident router: the words that start each, and how they are known in a command line.

An entry's command is ``FRONT FOLDER COLD... run EVENT``. FRONT is the executable ``native`` or the interpreter with
START and ``python_front.py``, FOLDER the router's folder, and ``COLD... run EVENT`` the command line of a hook run
without a router, which the front becomes if no router takes the call. The front ``cold`` is that command line alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from hookrouter._serving.protocol import MAGIC

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "START",
    "Front",
    "FrontWords",
    "default_front",
    "front_words",
    "native_fault",
    "native_path",
    "python_front_path",
    "split_front",
]

_PROBE_SECONDS = 10.0

_NATIVE = "/hookrouter/_fronts/native"
_PYTHON = "/hookrouter/_fronts/python_front.py"
"""How the paths of the fronts end in every installation."""

START = 'import sys; sys.path.insert(0, sys.argv[1].rpartition("/")[0]); import python_front as f; f.run(sys.argv[1:])'
"""The program that imports the front in Python from the file that is its first argument. Without that file it ends with
1: an interpreter that misses its own program would end with 2, which blocks."""


class Front(StrEnum):
    """What Claude Code starts for a hook call."""

    NATIVE = "native"
    PYTHON = "python"
    COLD = "cold"
    HTTP = "http"
    """No program: Claude Code sends the call to the router's address."""
    MOD = "mod"
    """A module within Claude Code, beside entries with the fastest front that works."""


class FrontWords(NamedTuple):
    """The words of a front, as they stand in a command line."""

    front: Front
    words: tuple[str, ...]
    """Those that start it, without the folder."""
    folder: str
    """The folder of the router that it calls."""

    @property
    def program(self) -> str:
        """The program that the system starts."""
        return self.words[0]

    @property
    def file(self) -> str:
        """The front's own file: the program itself, or the script that it runs."""
        return self.words[-1]


def native_path() -> str:
    """Return where the native front is, if it was built."""
    return os.path.join(_folder(), "native")


def python_front_path() -> str:
    """Return where the front in Python is."""
    return os.path.join(_folder(), "python_front.py")


def _folder() -> str:
    # Nothing imports the package of the fronts.
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_fronts")


def front_words(front: Front, folder: str) -> list[str]:
    """Return the words that stand before the cold command line, for the router that listens in ``folder``."""
    if front is Front.MOD:
        front = default_front()
    if front is Front.NATIVE:
        return [native_path(), folder]
    if front is Front.PYTHON:
        return [_interpreter(), "-SPc", START, python_front_path(), folder]
    return []


def _interpreter() -> str:
    """Return the running interpreter by one of its names, the same however hookrouter was called."""
    path = os.path.join(os.path.dirname(sys.executable), f"python{sys.version_info.major}.{sys.version_info.minor}")
    try:
        return path if os.path.samefile(path, sys.executable) else sys.executable
    except OSError:
        return sys.executable


def split_front(words: Sequence[str]) -> tuple[FrontWords | None, list[str]]:
    """Return the front that a command line begins with, None for none, and the cold command line after it."""
    if words and words[0].endswith(_NATIVE):
        front, count = Front.NATIVE, 1
    elif len(words) > 2 and words[1].startswith("-") and words[2].endswith(_PYTHON):
        # As installs of before wrote it.
        front, count = Front.PYTHON, 3
    elif len(words) > 3 and words[2] == START and words[3].endswith(_PYTHON):
        front, count = Front.PYTHON, 4
    else:
        return None, list(words)
    if len(words) <= count:
        return None, list(words)
    return FrontWords(front, tuple(words[:count]), words[count]), list(words[count + 1 :])


def native_fault(path: str | None = None) -> str:
    """Run a native front (by default this installation's) to see whether it works here; return why not, "" if so."""
    program = native_path() if path is None else path
    if not os.path.isfile(program):
        return "it does not exist"
    try:
        done = subprocess.run(
            [program, "--protocol"],
            # The current folder may be gone.
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_PROBE_SECONDS:g} s"
    except OSError as error:
        return error.strerror or str(error)
    if done.returncode:
        return f"it ended with {done.returncode}"
    return "" if done.stdout.strip() == MAGIC else "it speaks another protocol"


def default_front() -> Front:
    """Return the fastest front that works on this machine."""
    if not native_fault():
        return Front.NATIVE
    return Front.PYTHON if sys.executable else Front.COLD
