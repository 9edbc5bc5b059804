"""The surroundings of a test that starts nothing: the same on every machine, whatever is installed there."""

from __future__ import annotations

import errno
import importlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from hookrouter._inspection.inspector import describe
from hookrouter._installation import front_command
from hookrouter._plugins import scan
from hookrouter.storage import documents
from hookrouter.util import detached

__all__ = ["GONE", "pure_surroundings"]

GONE = 2**22 + 1
"""A process id that no Linux gives away: what is started in a pure test has ended already."""

_NOWHERE = "/nowhere"
_NATIVE = f"{_NOWHERE}/hookrouter/_fronts/native"
_PATH = os.environ.get("PATH", os.defpath)

_ROOT = Path(__file__).parents[2]

_ENVIRONMENT = (str(_ROOT), sys.prefix, sys.base_prefix)
"""Where modules do not change while tests run."""

_OURS = {entry.name for entry in _ROOT.joinpath("plugins").iterdir()}
"""The packages of first-party plugins."""

_described: dict[str, str] = {}


def _inspect_here(
    plugins: Sequence[tuple[str, str, Mapping[str, object]]], deadline: float, *, ask: bool
) -> tuple[list[dict[str, Any]], str]:
    # First-party plugins do no harm in this process.
    return [json.loads(_description(*plugin, ask=ask)) for plugin in plugins], ""


def _description(name: str, value: str, table: Mapping[str, object], *, ask: bool) -> str:
    """Return what comes from the process as JSON. First-party plugins do not change while tests run: once is enough."""
    if value.partition(":")[0].partition(".")[0] not in _OURS:
        with _importing_anew():
            return json.dumps(describe(name, value, table, ask=ask))
    if table or ask:
        return json.dumps(describe(name, value, table, ask=ask))
    key = f"{name} {value}"
    if key not in _described:
        _described[key] = json.dumps(describe(name, value, table))
    return _described[key]


@contextmanager
def _importing_anew() -> Iterator[None]:
    """Forget in the end what was imported from outside of the environment: a test may write the module again."""
    importlib.invalidate_caches()
    before = set(sys.modules)
    try:
        yield
    finally:
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None) or _ENVIRONMENT[0]
            if not file.startswith(_ENVIRONMENT):
                del sys.modules[name]


@contextmanager
def _without_programs() -> Iterator[None]:
    """Have PATH lead nowhere, unless a fixture of the test has set it: that stays from one phase to the next."""
    if os.environ.get("PATH") == _PATH:
        os.environ["PATH"] = _NOWHERE
    try:
        yield
    finally:
        if os.environ.get("PATH") == _NOWHERE:
            os.environ["PATH"] = _PATH


class _Popen(subprocess.Popen[Any]):
    """Fails where PATH does not lead to the program, as the system says it: nothing is to be started for that."""

    def __init__(self, args: Any, *more: Any, **options: Any) -> None:
        name = args if isinstance(args, str | os.PathLike) else args[0]
        environ = options.get("env") or os.environ
        is_searched = not options.get("shell") and os.sep not in os.fspath(name)
        if is_searched and shutil.which(name, path=environ.get("PATH", os.defpath)) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        super().__init__(args, *more, **options)

    def __del__(self) -> None:
        # What has no process has nothing to be waited for.
        if hasattr(self, "pid"):
            super().__del__()


class _BesideThreads:
    """``time`` as the locks of documents see it: threads of one test may wait until another one lets go of a file."""

    def sleep(self, seconds: float) -> None:
        """Let the other threads run."""
        threading.Event().wait(seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


_STAND_INS: tuple[tuple[ModuleType, str, object, object], ...] = (
    (scan, "_inspect", scan._inspect, _inspect_here),
    (detached, "spawn_detached", detached.spawn_detached, lambda *_arguments: GONE),
    (front_command, "native_path", front_command.native_path, lambda: _NATIVE),
    (subprocess, "Popen", subprocess.Popen, _Popen),
    (documents, "time", time, _BesideThreads()),
)
"""What stands in for what, while a pure test runs."""


@contextmanager
def pure_surroundings() -> Iterator[None]:
    """Have no program be found, plugins be looked into without a process, and detached processes end at once.

    What a fixture of the test has put in the same place stays from one phase to the next.
    """
    with _without_programs():
        for owner, name, real, stand_in in _STAND_INS:
            if getattr(owner, name) is real:
                setattr(owner, name, stand_in)
        try:
            yield
        finally:
            for owner, name, real, stand_in in _STAND_INS:
                if getattr(owner, name) is stand_in:
                    setattr(owner, name, real)
