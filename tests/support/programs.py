"""Programs that nothing starts: their files are there to be found, and what they say is given by the test."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hookrouter.util.short_program import Finished
from hookrouter_tmux import backend

__all__ = ["Programs"]


class Programs:
    """The programs of a test, which are called with one word each and say one thing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have :func:`subprocess.run` and tmux's backend ask them until the patch ends."""
        self._answers: dict[str, tuple[str, str, int]] = {}
        monkeypatch.setattr(subprocess, "run", self._run)
        monkeypatch.setattr(backend, "run_short", self._run_short)

    def put(self, path: Path, word: str, output: str, code: int = 0) -> None:
        """Put a program in this place, which says ``output`` when it is called with ``word`` alone."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/false\n")
        path.chmod(0o755)
        self._answers[str(path)] = (word, output, code)

    def _run(self, arguments: Sequence[str], **options: Any) -> subprocess.CompletedProcess[Any]:
        done = self._answer(arguments, os.environ.get("PATH", os.defpath))
        if options.get("check"):
            done.check_returncode()
        if options.get("text") or options.get("errors") or options.get("encoding"):
            return subprocess.CompletedProcess(arguments, done.returncode, done.stdout.decode(), "")
        return done

    def _run_short(self, arguments: Sequence[str], *, environ: dict[str, str], **_options: Any) -> Finished:
        done = self._answer(arguments, environ.get("PATH", os.defpath))
        return Finished(done.returncode, done.stdout, done.stderr)

    def _answer(self, arguments: Sequence[str], path: str) -> subprocess.CompletedProcess[bytes]:
        name, *words = map(os.fspath, arguments)
        found = shutil.which(name, path=path)
        if found is None:
            number = errno.EACCES if os.path.exists(name) else errno.ENOENT
            raise OSError(number, os.strerror(number), name)
        word, output, code = self._answers[found]
        assert words == [word], f"{found} was called with {words}"
        return subprocess.CompletedProcess(arguments, code, f"{output}\n".encode() if output else b"", b"")
