"""Can hookrouter keep its files, and can nobody else read them?"""

from __future__ import annotations

import os
import shlex
import stat
from typing import TYPE_CHECKING

from hookrouter._diagnostics.checks.check import ERROR, OK, WARNING, Finding
from hookrouter._diagnostics.checks.system import nearest_existing
from hookrouter.storage._exposure import exposed_folders, remedy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrouter._diagnostics.checks.check import Place


__all__ = ["HomeCheck"]

_LOW_DISK = 50 * 1024 * 1024
"""Free bytes below which a warning is due: documents and journal need a few megabytes."""


class HomeCheck:
    """The folders of a home."""

    name = "home"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found."""
        app = place.app
        home = app.home
        problems = [finding for folder in (home.state, home.logs, home.cache) for finding in _folder(folder)]
        yield from problems
        for folder, reason in exposed_folders(home).items():
            message = f"{folder} {reason}, who could put other files, and another router, in the place of hookrouter's"
            yield Finding(ERROR, "home", message, remedy({folder: reason}))
        for name in (home.state, home.logs, home.cache, home.root, home.prompts):
            yield from _modes(name)
        disk = os.statvfs(nearest_existing(home.state))
        free = disk.f_bavail * disk.f_frsize
        if free < _LOW_DISK:
            yield Finding(
                WARNING,
                "home",
                f"{free // 1024 // 1024} MiB are free on the disk of {home.state}",
                "free some space there",
            )
        if not problems:
            yield Finding(OK, "home", f"{home.state}, {home.logs} and {home.cache} can be written")


def _folder(folder: str) -> Iterator[Finding]:
    nearest = nearest_existing(folder)
    fix = "make it yours, or set HOOKROUTER_HOME to a folder that you can write"
    if not os.path.isdir(nearest):
        yield Finding(ERROR, "home", f"{nearest} is in the way of a folder", "move it away")
    elif not os.access(nearest, os.W_OK | os.X_OK):
        yield Finding(ERROR, "home", f"{nearest} cannot be written", fix)


def _modes(folder: str) -> Iterator[Finding]:
    """Look for what others may read: the folder, and the files directly in it."""
    if not os.path.isdir(folder):
        return
    mode = stat.S_IMODE(os.stat(folder).st_mode)
    if mode & 0o077:
        yield Finding(
            WARNING,
            "home",
            f"{folder} has mode {mode:04o}, so that other users may look into it",
            f"chmod 700 {shlex.quote(folder)}",
        )
        with os.scandir(folder) as entries:
            names = sorted(
                entry.name
                for entry in entries
                if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mode & 0o077
            )
        if names:
            yield Finding(
                WARNING,
                "home",
                f"{folder}: {_open_files(names)}",
                f"chmod go= {shlex.quote(folder)}/*",
            )


def _open_files(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"1 file is open to other users: {names[0]}"
    return f"{len(names)} files are open to other users, {names[0]} among them"
