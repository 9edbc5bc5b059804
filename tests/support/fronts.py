"""Hooks as settings.json starts them: ``hookrouter run EVENT`` alone, or a front beside a real router of the home.

A test that uses the fixture ``front`` runs once for each of them and need not know: what it starts with
:mod:`subprocess` as ``hookrouter run EVENT`` is started by the front. When it ends, it is made sure that the calls went
through a router, and that only those ran cold that must.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from hookrouter import _fronts
from hookrouter._installation import front_command
from hookrouter._serving.child import interpreter_of
from hookrouter.serving.control import NotServedError
from hookrouter.storage.home import Home
from hookrouter.util.program import script_argv
from support.resident import CALLER_LEFT, Resident, eventually

__all__ = ["COLD_ONLY", "FRONTS", "THROUGH_FRONTS", "Front", "front_words", "started_by", "through"]

FRONTS = ("cold", "python", "native")

THROUGH_FRONTS = pytest.mark.usefixtures("front")
"""For a test that starts hooks, or a module of such."""

COLD_ONLY = pytest.mark.parametrize("front", ["cold"], indirect=True)
"""For a test in a module of such tests that starts no hook, or looks at the cold run itself."""

_Started = Callable[[subprocess.Popen[Any]], None]
"""Takes a process that was started."""

_SOURCES = Path(_fronts.__path__[0])
_FLAGS = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=undefined")


def native_program(folder: Path) -> str:
    """Return the native front, compiled into a folder if it is not there yet. Skips without a compiler."""
    source = _SOURCES / "native.c"
    program = folder / f"native-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}"
    if not program.exists():
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            pytest.skip("no C compiler")
        made = folder / f"{program.name}.{os.getpid()}"
        subprocess.run([compiler, *_FLAGS, "-o", made, source], check=True)
        # Other workers may do the same at this moment.
        made.rename(program)
    return str(program)


def front_words(name: str, folder: Path) -> list[str]:
    """Return the words that start a front; none for ``cold``. A native one is compiled into the folder."""
    if name == "cold":
        return []
    if name == "native":
        return [native_program(folder)]
    return front_command.front_words(front_command.Front.PYTHON, "")[:-1]


def started_by(words: Sequence[str], home: Home, command: Sequence[str]) -> list[str]:
    """Return a command line that ends with the cold run as the front's; any other one as it is."""
    program = script_argv()
    length = len(program) + 2
    if not words or list(command[-length:-1]) != [*program, "run"]:
        return list(command)
    return [*command[:-length], *words, home.router, *command[-length:]]


class Front:
    """How a test's hooks are started, and the routers that it needs: one for each home and kind of interpreter."""

    def __init__(self, name: str, words: Sequence[str]) -> None:
        """``words`` start the front; none: cold."""
        self.name = name
        self._words = list(words)
        self._routers: dict[str, _Served] = {}
        self._lock = Lock()
        self._cold_reason = ""

    def may_run_cold(self, reason: str) -> None:
        """Say why calls of this test may run cold although a router was started, or why none can be."""
        self._cold_reason = reason

    def begin(self, command: Any, environ: Mapping[str, str] | None) -> tuple[Any, _Started | None]:
        """Return the command line to be started instead of one, and what is to be told the process, if anything.

        Sees to it that a router serves the environment.
        """
        if not self._words or isinstance(command, str | bytes) or not isinstance(command, Sequence):
            return command, None
        words = [os.fspath(word) for word in command]
        variables = dict(os.environ if environ is None else environ)
        try:
            home = Home.from_environ(variables)
        except OSError:
            return command, None
        fronted = started_by(self._words, home, words)
        if fronted == words:
            return command, None
        with self._lock:
            served = self._served(home, variables)
            return fronted, served.expect()

    def _served(self, home: Home, variables: Mapping[str, str]) -> _Served:
        served = self._routers.get(home.state)
        if served is not None and served.interpreter != interpreter_of(variables):
            # One router serves a home: that of the former interpreter gives way.
            served.end(self._cold_reason)
            served = None
        if served is None:
            served = self._routers[home.state] = _Served(variables, can_fail=bool(self._cold_reason))
        return served

    def end(self) -> None:
        """End the routers. Raises AssertionError if a call ran cold that need not, or if there was none."""
        faults = []
        for served in self._routers.values():
            try:
                served.end(self._cold_reason)
            except AssertionError as error:
                faults.append(str(error))
        assert not faults, faults
        assert self._routers or self._cold_reason or not self._words, "the test has started no hook by the front"


class _Served:
    """A router, and the processes that were to bring it their calls."""

    def __init__(self, environ: Mapping[str, str], *, can_fail: bool) -> None:
        self.interpreter = interpreter_of(environ)
        self._home = Home.from_environ(environ)
        self._router = Resident(environ)
        self._paths = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        self._code = self._stamps()
        self._boots: set[str] = set()
        self._to_be_served: list[subprocess.Popen[Any]] = []
        self._perhaps_cold: list[subprocess.Popen[Any]] = []
        """The processes that may run cold, because code has changed just before they were started."""
        try:
            self._router.start()
        except RuntimeError:
            assert can_fail, "the router has not started"

    def expect(self) -> _Started:
        """Wait until a router that begins anew is there; return what takes the process of the next call."""
        stamps = self._stamps()
        has_changed = stamps != self._code
        if not has_changed:
            eventually(self._is_settled)
        self._code = stamps
        self._note_boot()
        return (self._perhaps_cold if has_changed else self._to_be_served).append

    def _is_settled(self) -> bool:
        try:
            return not self._router.status()["changed"]
        except NotServedError:
            # A test may have ended it, or its home; begun anew it answers soon.
            return not self._router.lives

    def _note_boot(self) -> None:
        if self._router.is_there():
            self._boots.add(self._router.status()["boot"])

    def _stamps(self) -> dict[str, int]:
        """Return what tells a change of the plugins' code."""
        found = {}
        for path in self._paths:
            for folder, folders, names in os.walk(path):
                folders[:] = [name for name in folders if name != "__pycache__"]
                for name in names:
                    if not name.endswith(".pyc"):
                        file = os.path.join(folder, name)
                        found[file] = os.stat(file).st_mtime_ns
        return found

    def end(self, cold_reason: str) -> None:
        """End the router. Raises AssertionError if calls ran cold that were to be served."""
        try:
            status = self._router.status() if self._router.is_there() else None
        finally:
            self._router.kill()
        if cold_reason:
            return
        pids = {process.pid for process in self._to_be_served}
        cold = pids.intersection(self._pids_of_records())
        assert not cold, f"{len(cold)} of {len(pids)} calls ran cold: {status and status['sent_away']}"
        if status is not None and self._boots == {status["boot"]} and not self._perhaps_cold:
            # Who is killed before the call has begun was not sent away to run cold.
            assert set(status["sent_away"]) <= {CALLER_LEFT}, status["sent_away"]
            # One that was killed may not have come to the router.
            least = sum((process.returncode or 0) >= 0 for process in self._to_be_served)
            assert least <= status["calls"] <= len(self._to_be_served), (least, status["calls"], len(pids))

    def _pids_of_records(self) -> Iterator[int]:
        """Return the processes that wrote records: a call that is served is not written down by the front's."""
        for path in Path(self._home.logs).glob("*.jsonl"):
            for line in path.read_bytes().splitlines():
                yield int(json.loads(line).get("pid", 0))


@contextmanager
def through(front: Front, monkeypatch: pytest.MonkeyPatch) -> Iterator[Front]:
    """Have every ``hookrouter run EVENT`` that this process starts be started by a front."""

    class Fronted(subprocess.Popen[Any]):
        def __init__(self, args: Any, *rest: Any, **options: Any) -> None:
            command, told = front.begin(args, options.get("env"))
            super().__init__(command, *rest, **options)
            if told is not None:
                told(self)

    if front.name != "cold":
        monkeypatch.setattr(subprocess, "Popen", Fronted)
    try:
        yield front
    finally:
        front.end()
