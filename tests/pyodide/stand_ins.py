"""What CPython for WebAssembly has not: what is plain is stood in for, and a test that needs the rest is skipped.

The reasons of the skips say what is missing (``pytest -rs``). This is a plugin of pytest, too, which knows the tests
that would not notice by themselves.
"""

from __future__ import annotations

import _signal
import _thread
import asyncio
import builtins
import errno
import faulthandler
import io
import os
import shutil
import socket
import sys
import threading
import time
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Iterator

__all__: list[str] = []

if sys.platform != "emscripten":
    raise ImportError("this changes the interpreter and the root of its file system: it is for CPython for WebAssembly")


_DRIVER = "driver of PostgreSQL"

_WITHOUT: dict[str, tuple[str, ...]] = {
    "/proc, and nothing that says as much of processes": (
        "test_the_system_says_what_a_process_is_and_when_it_began",
        "test_the_system_says_with_what_environment_a_process_was_started",
        "test_the_environment_of_a_process",
        "test_a_mark_of_a_process_that_lives_says_nothing",
        "test_each_start_of_the_machine_and_each_machine_has_a_name",
    ),
    "process for a scan of plugins, and this one imports a module once": (
        "test_a_marker_that_is_added_anywhere_in_the_class_is_seen",
        "test_a_guard_whose_file_is_half_written_guards_what_it_did",
        "test_a_plugin_without_hooks_that_may_fail_open_is_active_and_has_none",
        "test_what_is_known_of_the_hooks_of_a_guard_stays_known",
        "test_entries_that_are_only_grouped_otherwise_are_out_of_date",
        "test_the_claude_code_plugin_alone_is_enough",
    ),
    "timer that interrupts": (
        "test_another_exception_is_not_replaced",
        "test_the_outer_limit_goes_on_counting",
        "test_a_check_that_misbehaves_does_not_stop_the_others",
        "test_a_gateway_that_hangs_",
        "test_a_plugin_that_hangs_fails_the_test",
        "test_whoever_asks_for_a_comparison_hears_that_nobody_is_there",
    ),
    "locks that hold against the same process": (
        "test_an_attempt_that_runs_is_shown_as_running_and_one_that_was_cut_off_is_not",
        "test_one_deliverer_at_a_time",
        "test_who_keeps_the_lock_is_said",
        "test_none_is_started_beside_one_that_is_at_work",
        "test_deliver_says_that_another_one_is_at_work",
        "test_a_message_put_in_while_the_deliverer_is_finishing",
        "test_the_fix_of_a_message_that_a_gateway_fails_is_the_gateway",
        "test_one_process_at_a_time_holds_a_lock",
        "test_pruning_keeps_documents_and_locks_that_are_held",
        "test_a_released_lock_is_free_and_leaves_no_file",
        "test_locks_that_a_killed_process_left_are_removed",
        "test_who_creates_first_wins_and_the_second_is_told",
        "test_a_message_waits_for_no_deliverer_without_its_secret",
        "test_no_push_while_a_deliverer_works",
    ),
    "notice of changed files": ("test_a_watch_", "test_a_permission_is_found_and_told_once"),
    "clock as fine as the order of two payloads": ("test_a_payload_comes_back_byte_for_byte_with_its_reply",),
    "threads": (
        "test_too_much_is_refused_and_not_waited_for",
        "test_what_names_no_machine_is_for_the_only_one_that_has_it",
    ),
    "sockets": ("test_a_message_over_http_has_the_header_and_only_while_it_is_handed_on",),
    "poll": ("test_a_reader_that_is_gone_is_noticed_without_a_change",),
    "time of a change of permissions": ("test_a_file_whose_permissions_were_corrected_is_read_again",),
    "other user": ("test_a_file_of_another_user_does_not_count",),
    "way to remove a folder that somebody is in": (
        "test_a_deleted_working_folder_is_a_warning",
        "test_a_home_that_cannot_be_told_is_said_in_one_line",
        "test_a_relative_home_in_a_folder_that_is_gone_is_told",
    ),
    "standard library in a folder": ("test_the_standard_library_is_not_watched",),
    _DRIVER: ("test_the_storage_commands_say_",),
}
"""What is missing, and the beginnings of the names of the tests that need it."""


def _missing(item: pytest.Item) -> str:
    return next((what for what, names in _WITHOUT.items() if item.name.startswith(names)), "")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what cannot run, with the reason."""
    for item in items:
        if what := _missing(item):
            item.add_marker(pytest.mark.skip(reason=f"CPython for WebAssembly has no {what}"))


_lacked: list[str] = []
"""What the test that runs has asked for in vain: the code under test may have caught the skip."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Take a test that failed without what is missing for one that was skipped."""
    report = yield
    if report.failed and _lacked:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"Skipped: CPython for WebAssembly has no {_lacked[0]}")
    if call.when == "teardown":
        _lacked.clear()
    return report


def _lacks(what: str) -> Callable[..., NoReturn]:
    """Return a function that skips the test which calls it: by no Exception, which the code under test might catch."""

    def skip(*_arguments: object, **_options: object) -> NoReturn:
        _lacked.append(what)
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


def _link(source: Any, target: Any, **_options: object) -> None:
    """Make a copy, which nothing can come between."""
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    shutil.copy2(source, target)


os.kill = _kill_own
os.mkfifo = _lacks("named pipes")
os.link = _link
os.fork = _lacks("processes")
for _number, _name in enumerate(("OPEN", "CLOSE", "DUP2")):
    setattr(os, f"POSIX_SPAWN_{_name}", _number)
os.posix_spawn = _lacks("processes")
socket.socketpair = _lacks("socket pairs")
threading.Thread.start = _lacks("threads")  # type: ignore[method-assign]

faulthandler.dump_traceback_later = faulthandler.cancel_dump_traceback_later = lambda *_words, **_options: None
socket.AF_UNIX = 1  # type: ignore[attr-defined]


class _Loop(asyncio.BaseEventLoop):
    """A loop of its own below the one that node turns: nothing comes from outside, so it waits for its timers alone."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self

    def select(self, timeout: float | None) -> None:
        if timeout is None:
            pytest.skip("CPython for WebAssembly has no threads or sockets that would end this wait")
        _sleep(timeout)

    def _process_events(self, _events: None) -> None:
        pass

    def _write_to_self(self) -> None:
        pass


class _Runner(asyncio.Runner):
    """A runner that runs below the loop that node turns."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"loop_factory": _Loop, **options})

    def run(self, coro: Coroutine[Any, Any, Any], **options: Any) -> Any:
        with _outside():
            return super().run(coro, **options)

    def close(self) -> None:
        with _outside():
            super().close()


@contextmanager
def _outside() -> Iterator[None]:
    outer = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(outer)


def _run(main: Coroutine[Any, Any, Any], *, debug: bool | None = None) -> Any:
    """Run as asyncio.run does."""
    with _Runner(debug=debug) as runner:
        return runner.run(main)


asyncio.Runner, asyncio.run = _Runner, _run  # type: ignore[misc]
# The tests may replace it, to forbid it.
_sleep = time.sleep

_mkdir, _os_open, _io_open = os.mkdir, os.open, io.open


def _masked(mode: int) -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mode & ~mask


def _mkdir_masked(path: Any, mode: int = 0o777, **options: Any) -> None:
    _mkdir(path, _masked(mode), **options)


def _os_open_masked(path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
    return _os_open(path, flags, _masked(mode), **options)


def _opener(path: str, flags: int) -> int:
    return _os_open_masked(path, flags, 0o666)


def _io_open_masked(*words: Any, **options: Any) -> Any:
    return _io_open(*words, **{"opener": _opener, **options})


# The mask is kept there, and heeded by nothing.
os.umask(0o022)
os.mkdir, os.open = _mkdir_masked, _os_open_masked
io.open = builtins.open = _io_open_masked
# No other user may write there.
Path("/").chmod(0o755)
Path("/tmp").chmod(0o1777)

# What is only looked at, and never run.
_python = Path("/tmp/bin/python3")
_python.parent.mkdir()
_python.touch(mode=0o755)
_python.with_name("hookrouter").touch(mode=0o755)
sys.executable = str(_python)

# What is in machine code: it is found, and cannot be loaded.
from hookrouter.shell import _work  # noqa: E402

_work._parser = _lacks("module tree_sitter")
