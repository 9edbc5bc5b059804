"""Modules that CPython for WebAssembly has not, as far as an import needs them. What they would do needs a process."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__: list[str] = []


class _Empty(ModuleType):
    """A module in which every name leads to 0, or to an exception's class if it says so."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return OSError if name == "error" else 0


for _name in ("fcntl", "resource", "termios", "tty", "pty", "_posixsubprocess", "grp", "pwd", "readline"):
    if _name not in sys.modules and find_spec(_name) is None:
        _module = _Empty(_name)
        _module.__spec__ = ModuleSpec(_name, None)
        sys.modules[_name] = _module

import _signal  # noqa: E402

for _name, _value in {"ITIMER_REAL": 0, "ITIMER_VIRTUAL": 1, "ITIMER_PROF": 2}.items():
    if not hasattr(_signal, _name):
        setattr(_signal, _name, _value)
if not hasattr(_signal, "setitimer"):
    # Nothing there is interrupted.
    _signal.setitimer = _signal.getitimer = lambda *_words: (0.0, 0.0)  # type: ignore[assignment]
