"""Builds the native front with the package, if a C compiler is there: a missing or failing one never fails the build.

A wheel that holds the executable is for one platform (``py3-none-PLATFORM``), one without it for all. An editable
install gets it beside its source. ``HOOKROUTER_NO_NATIVE=1`` forbids it, ``CC`` names the compiler.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

_FOLDER = os.path.join("hookrouter", "_fronts")
_SOURCE = "native.c"
_PROGRAM = "native"

_COMPILERS = ("cc", "gcc", "clang")
_FLAGS = ("-std=c11", "-O2", "-s")
_LINKINGS = (("-static",), ())
"""The first that works: a static program starts faster, and needs no C library of this version."""

_COMPILE_SECONDS = 120.0
_PROBE_SECONDS = 10.0


class NativeFrontHook(BuildHookInterface[Any]):
    """The build hook of hatch's target ``wheel``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the front and add it to the wheel; for an editable install put it into the source tree."""
        if self.target_name != "wheel" or os.environ.get("HOOKROUTER_NO_NATIVE") == "1":
            return
        source = os.path.join(self.root, _FOLDER)
        self._built = tempfile.TemporaryDirectory(prefix="hookrouter-native-")
        program = os.path.join(self._built.name, _PROGRAM)
        if not _compiled(source, program):
            self.app.display_warning("no native front: there is no C compiler that can build it")
        elif version == "editable":
            _put(program, source)
        else:
            build_data["force_include"][program] = f"{_FOLDER}/{_PROGRAM}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{_platform()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what was compiled, now that the wheel has it."""
        if hasattr(self, "_built"):
            self._built.cleanup()


def _compiled(source: str, program: str) -> bool:
    """Compile the front to the file ``program``; say whether that worked, and the result runs on this machine."""
    compiler = _compiler()
    if compiler is None:
        return False
    return any(
        # The source by its name alone, so that the program is the same wherever it was built.
        _succeeds([*compiler, *_FLAGS, *linking, "-o", program, _SOURCE], _COMPILE_SECONDS, source)
        and _succeeds([program, "--protocol"], _PROBE_SECONDS, source)
        for linking in _LINKINGS
    )


def _compiler() -> list[str] | None:
    """Return the words that start a C compiler; None for none."""
    named = os.environ.get("CC")
    if named:
        try:
            return shlex.split(named)
        except ValueError:
            return None
    path = next(filter(None, map(shutil.which, _COMPILERS)), None)
    return None if path is None else [path]


def _succeeds(command: list[str], seconds: float, folder: str) -> bool:
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _platform() -> str:
    """Return the tag of this machine; of those that fit, the first that package indexes take."""
    tags = list(platform_tags())
    return next((tag for tag in tags if not tag.startswith("linux_")), tags[0])


def _put(program: str, folder: str) -> None:
    """Put the program into a folder, at once: a hook may be running the one that is there."""
    new = os.path.join(folder, f"{_PROGRAM}.{os.getpid()}")
    shutil.copy(program, new)
    os.replace(new, os.path.join(folder, _PROGRAM))
