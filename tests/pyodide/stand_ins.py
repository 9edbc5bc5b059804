"""What CPython for WebAssembly has not: what is plain is stood in for, and a test that needs the rest is skipped.

The reasons of the skips say what is missing (``pytest -rs``). This is a plugin of pytest, too, which knows the tests
that would not notice by themselves.
"""

from __future__ import annotations

import _signal
import _thread
import os
import socket
import sys
import threading
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []

if sys.platform != "emscripten":
    raise ImportError("this changes the interpreter and the root of its file system: it is for CPython for WebAssembly")


_DRIVER = "driver of PostgreSQL"
_LEFT_OUT = ("tests/plugins/postgresql",)
"""Folders whose modules import it."""

_WITHOUT: dict[str, tuple[str, ...]] = {
    "/proc, and nothing that says as much of processes": (
        "test_the_system_says_what_a_process_is_and_when_it_began",
        "test_the_system_says_with_what_environment_a_process_was_started",
        "test_each_start_of_the_machine_and_each_machine_has_a_name",
    ),
    "timer that interrupts": (
        "test_another_exception_is_not_replaced",
        "test_the_outer_limit_goes_on_counting",
    ),
    "locks that hold against the same process": (
        "test_an_attempt_that_runs_is_shown_as_running_and_one_that_was_cut_off_is_not",
    ),
    _DRIVER: ("test_the_storage_commands_say_",),
}
"""What is missing, and the beginnings of the names of the tests that need it."""


def _missing(item: pytest.Item) -> str:
    return next((what for what, names in _WITHOUT.items() if item.name.startswith(names)), "")


def pytest_report_header() -> str:
    """Say which folders are left out."""
    return f"left out, as CPython for WebAssembly has no {_DRIVER}: {', '.join(_LEFT_OUT)}"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what cannot even be imported."""
    return True if any(f"/{folder}/" in f"{collection_path.as_posix()}/" for folder in _LEFT_OUT) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what cannot run, with the reason."""
    for item in items:
        if what := _missing(item):
            item.add_marker(pytest.mark.skip(reason=f"CPython for WebAssembly has no {what}"))


def _lacks(what: str) -> Callable[..., NoReturn]:
    """Return a function that skips the test which calls it: by no Exception, which the code under test might catch."""

    def skip(*_arguments: object, **_options: object) -> NoReturn:
        pytest.skip(f"CPython for WebAssembly has no {what}")

    return skip


class _Missing(ModuleType):
    """A module whose constants are 0, whose error is OSError, and whose functions skip the test."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return OSError if name == "error" else 0 if name.isupper() else _lacks(f"module {self.__name__}")


for _name in ("resource", "grp", "pwd", "readline"):
    if _name not in sys.modules and find_spec(_name) is None:
        _module = _Missing(_name)
        _module.__spec__ = ModuleSpec(_name, None)
        sys.modules[_name] = _module

# Its one user.
sys.modules["pwd"].getpwuid = lambda _uid: SimpleNamespace(pw_name="web_user", pw_dir="/tmp")  # type: ignore[attr-defined]
os.geteuid, os.getegid, os.getgroups = os.getuid, os.getgid, lambda: [os.getgid()]
_thread.get_native_id = threading.get_ident  # type: ignore[assignment]

for _name, _value in {"ITIMER_REAL": 0, "ITIMER_VIRTUAL": 1, "ITIMER_PROF": 2}.items():
    setattr(_signal, _name, _value)
# Nothing there is interrupted.
_signal.setitimer = _signal.getitimer = lambda *_words: (0.0, 0.0)  # type: ignore[assignment]

_kill = os.kill


def _kill_own(pid: int, number: int) -> None:
    """Reach this process, which is the only one: the real function may not say so of others."""
    if pid != os.getpid():
        raise ProcessLookupError(pid)
    _kill(pid, number)


os.kill = _kill_own
os.mkfifo = _lacks("named pipes")
os.link = _lacks("hard links")
os.fork = _lacks("processes")
for _number, _name in enumerate(("OPEN", "CLOSE", "DUP2")):
    setattr(os, f"POSIX_SPAWN_{_name}", _number)
os.posix_spawn = _lacks("processes")
socket.socketpair = _lacks("socket pairs")
threading.Thread.start = _lacks("threads")  # type: ignore[method-assign]

# No other user may write there.
Path("/").chmod(0o755)
Path("/tmp").chmod(0o1777)

# What is only looked at, and never run.
_python = Path("/tmp/bin/python3")
_python.parent.mkdir()
_python.touch(mode=0o755)
sys.executable = str(_python)
