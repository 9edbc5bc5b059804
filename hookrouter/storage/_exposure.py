"""Whether another user could put something else in the place of a home's folders.

Whoever may write a folder on the way to them may rename the next one, and put another router, or another config.toml,
there. As sshd has it for its files: each folder above belongs to this user or to root, and nobody else may write it. In
a folder with the sticky bit, such as ``/tmp``, only the owner of an entry may rename it.
"""

from __future__ import annotations

import os
import shlex
import stat
from typing import TYPE_CHECKING

from hookrouter.storage.home import HOME_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrouter.storage.home import Home

__all__ = ["exposed_folders", "remedy"]

_MOST_LINKS = 40
"""Links on one way after which the system gives up."""

_FOREIGN = "belongs to"


def exposed_folders(home: Home) -> dict[str, str]:
    """Return the folders on the way to those of a home that another user could change, each with the reason.

    The home's own folders are closed to others when they are used (:func:`hookrouter.storage.home.ensure`), but for the
    one of config.toml. What is missing is left out. Raises nothing.
    """
    own = (home.root, home.state, home.logs, home.cache, home.prompts)
    folders = sorted({folder for way in own for folder in _way(way)} | {os.path.realpath(home.root)})
    return {folder: reason for folder in folders if (reason := _reason(folder))}


def _way(path: str) -> Iterator[str]:
    """Yield the folders that a path leads through, those of links on the way too, but not what it leads to."""
    names, here, links = path.split("/")[::-1], "/", 0
    while names:
        name = names.pop()
        if name in ("", "."):
            continue
        if name == "..":
            here = os.path.dirname(here)
            continue
        yield here
        there = os.path.join(here, name)
        try:
            target = os.readlink(there)
        except OSError:
            # No link, or nothing is there yet.
            here = there
            continue
        links += 1
        if links > _MOST_LINKS:
            return
        here = "/" if target.startswith("/") else here
        names += target.split("/")[::-1]


def _reason(folder: str) -> str:
    """Return why another user could change what is in a folder; empty if none can."""
    try:
        status = os.stat(folder)
    except OSError:
        return ""
    user = os.geteuid()
    # Root uses everybody's files, as elsewhere.
    if user != 0 and status.st_uid not in (user, 0):
        return f"{_FOREIGN} the user {status.st_uid}"
    if status.st_mode & stat.S_ISVTX:
        return ""
    if status.st_mode & stat.S_IWOTH:
        return "can be written by every user"
    if status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_gid):
        return f"can be written by the group {status.st_gid}"
    return ""


def _is_own_group(group: int) -> bool:
    """Whether nobody but this user and root is in a group: many systems give each user one of the user's own.

    That is the user's primary group, and has the user's name: where users come from a directory, not all of those who
    are in a group may be listed.
    """
    import grp
    import pwd

    try:
        entry, user = grp.getgrgid(group), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    if user.pw_gid != group or entry.gr_name != user.pw_name:
        return False
    members = {*entry.gr_mem, *(one.pw_name for one in pwd.getpwall() if one.pw_gid == group)}
    return members <= {user.pw_name, "root"}


def remedy(exposed: Mapping[str, str]) -> str:
    """Return what mends such folders, which are given as :func:`exposed_folders` returns them."""
    own_folder = f"set {HOME_VARIABLE} to a folder of your own"
    if any(reason.startswith(_FOREIGN) for reason in exposed.values()):
        # Its owner can change its mode back at any time.
        return own_folder
    return f"chmod go-w {shlex.join(exposed)}, or {own_folder}"
