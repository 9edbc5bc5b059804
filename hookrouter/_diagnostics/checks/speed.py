"""Are hookrouter and its plugins compiled? If not, every hook run compiles them anew, four times as slow."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from typing import TYPE_CHECKING

import hookrouter
from hookrouter._diagnostics.checks.check import OK, WARNING, Finding
from hookrouter._diagnostics.checks.system import nearest_existing
from hookrouter._plugins.registry import PluginStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrouter._diagnostics.checks.check import Place


__all__ = ["SpeedCheck"]

_ON_THE_WAY = ("__main__.py", "_routing/hook_process.py", "_plugins/index.py", "_plugins/manager.py")
"""Modules of hookrouter that every hook run with a listener imports."""


class SpeedCheck:
    """The compiled modules."""

    name = "speed"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found."""
        environ = place.app.environ
        if environ.get("PYTHONDONTWRITEBYTECODE"):
            yield Finding(
                WARNING,
                "speed",
                "PYTHONDONTWRITEBYTECODE is set: if Claude Code is started with it, every hook run compiles again what "
                "is not compiled yet",
                "unset PYTHONDONTWRITEBYTECODE",
            )
        sources = [os.path.abspath(hookrouter.__file__)]
        for info in place.app.plugins.listing():
            source = _source(info.value) if info.status == PluginStatus.ACTIVE else None
            if source is not None and source not in sources:
                sources.append(source)
        missing = [source for source in sources if not all(map(_is_compiled, _modules(source)))]
        stuck = [source for source in missing if not _will_be_compiled(source)]
        if stuck:
            targets = [os.path.dirname(source) if _is_package(source) else source for source in stuck]
            yield Finding(
                WARNING,
                "speed",
                f"modules of {', '.join(map(_label, targets))} are not compiled and cannot be in a hook run: every "
                "hook is slow",
                shlex.join([sys.executable, "-m", "compileall", *targets]),
            )
        elif missing:
            yield Finding(OK, "speed", "modules that are not compiled yet will be when they first run")
        else:
            yield Finding(OK, "speed", "the modules of hookrouter and its plugins are compiled")


def _source(value: str) -> str | None:
    """Return the file of the top-level package or module that an entry point names; None if there is none."""
    try:
        spec = importlib.util.find_spec(value.partition(":")[0].partition(".")[0])
    except (ImportError, ValueError):
        return None
    return spec.origin if spec is not None and spec.origin is not None and spec.origin.endswith(".py") else None


def _modules(source: str) -> Sequence[str]:
    """Return the files that stand for all modules of a package, or the module itself."""
    if source != os.path.abspath(hookrouter.__file__):
        return (source,)
    return [os.path.join(os.path.dirname(source), name) for name in _ON_THE_WAY]


def _is_package(source: str) -> bool:
    return os.path.basename(source) == "__init__.py"


def _label(target: str) -> str:
    return os.path.basename(target).removesuffix(".py")


def _is_compiled(source: str) -> bool:
    try:
        return os.stat(importlib.util.cache_from_source(source)).st_mtime >= os.stat(source).st_mtime
    except (OSError, NotImplementedError):
        return False


def _will_be_compiled(source: str) -> bool:
    cache = nearest_existing(os.path.join(os.path.dirname(source), "__pycache__"))
    return not sys.dont_write_bytecode and os.access(cache, os.W_OK)
