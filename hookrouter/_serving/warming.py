"""Loads, into the router, the modules that calls had to load, so that the next ones find them loaded.

Nobody has to keep a list: each served call tells what it imported. A module is imported here only after a forked child
has imported it in a short time and nothing was left behind: no thread, no open descriptor, no changed signal handler,
folder, mask or environment. One that leaves something is loaded by each call for itself, as in a cold run.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from hookrouter._serving.process_state import process_state
from hookrouter.util import fastjson
from hookrouter.util.system import fork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Warming"]

TRIAL_SECONDS = 30
"""Seconds after which the child that imports is ended, and what it was at is not loaded."""

LONGEST_IMPORT = 0.5
"""Seconds that the import of a module may take: while the router imports it, no call is taken."""

_CHUNK = 1 << 16


class Warming:
    """What is loaded, and what must not be."""

    def __init__(self, at_fork: Callable[[], None]) -> None:
        """``at_fork`` is called in the child that tries an import."""
        self._at_fork = at_fork
        self._wanted: list[str] = []
        self._tried: list[str] = []
        self._heard = b""
        self._pipe = -1
        self.child = 0
        """The process that tries imports; 0 if there is none."""
        self.refused: set[str] = set()
        """The modules that leave something behind when they are imported."""
        self.loaded: list[str] = []
        """The modules that were loaded, in their order."""

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when :meth:`hear` is worth a call; -1 if no trial runs."""
        return self._pipe

    def want(self, modules: Iterable[object]) -> None:
        """Have modules loaded, in this order, if they may be. Raises OSError if no child can be made."""
        for name in modules:
            if isinstance(name, str) and name not in sys.modules and name not in self._wanted and self._may(name):
                self._wanted.append(name)
        if self._wanted and self._pipe < 0:
            self._try()

    def hear(self) -> bool:
        """Take what the trial tells; return whether modules were loaded by that. Raises OSError."""
        data = os.read(self._pipe, _CHUNK)
        if data:
            self._heard += data
            return False
        os.close(self._pipe)
        self._pipe = -1
        *lines, _cut = self._heard.split(b"\n")
        results: list[Any] = [fastjson.loads(line) for line in lines]
        self.refused.update(name for name, is_clean in results if not is_clean)
        if len(results) < len(self._tried):
            # The child died, or took too long, over this one.
            self.refused.add(self._tried[len(results)])
            self._wanted[:0] = self._tried[len(results) + 1 :]
        before = len(sys.modules)
        for name in [name for name, is_clean in results if is_clean]:
            try:
                importlib.import_module(name)
            except BaseException:  # noqa: BLE001 - it worked in the child; the calls load it for themselves
                self.refused.add(name)
            else:
                self.loaded.append(name)
        left, self._wanted = self._wanted, []
        self.want(left)
        return len(sys.modules) > before

    def _may(self, name: str) -> bool:
        # A package's modules are loaded with the package itself.
        parts = name.split(".")
        return not any(".".join(parts[:count]) in self.refused for count in range(1, len(parts) + 1))

    def _try(self) -> None:
        """Import the modules in a child, which tells after each one whether all was as before."""
        self._tried, self._wanted, self._heard = self._wanted, [], b""
        self._pipe, telling = os.pipe()
        self.child = fork()
        if self.child:
            os.close(telling)
            return
        try:
            self._at_fork()
            os.close(self._pipe)
            signal.alarm(TRIAL_SECONDS)
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(nothing, number)
            os.close(nothing)
            for name in self._tried:
                os.write(telling, fastjson.dumps([name, _is_clean(name)]).encode() + b"\n")
        finally:
            os._exit(0)


def _is_clean(name: str) -> bool:
    before, began = _state(), time.monotonic()
    try:
        importlib.import_module(name)
    except BaseException:  # noqa: BLE001 - whatever it raises, it cannot be loaded
        return False
    return time.monotonic() - began < LONGEST_IMPORT and _state() == before


def _state() -> tuple[object, ...]:
    """Return what an import must not change."""
    mask = os.umask(0o077)
    os.umask(mask)
    folder = getattr(sys.modules.get("tempfile"), "tempdir", None)
    return *process_state(), os.getcwd(), dict(os.environ), mask, folder
