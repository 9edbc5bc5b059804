"""Whether another user could put something else in the place of a home's folders.

Whoever may write a folder on the way to them may rename the next one, and put another router, or another config.toml,
there. As sshd has it for its files: each folder above belongs to this user or to root, and nobody else may write it. In
a folder with the sticky bit, such as ``/tmp``, only the owner of an entry may rename it.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter.storage.home import Home

__all__ = ["exposed_folders"]


def exposed_folders(home: Home) -> dict[str, str]:
    """Return the folders on the way to those of a home that another user could change, each with the reason.

    The home's own folders are closed to others when they are used (:func:`hookrouter.storage.home.ensure`), but for the
    one of config.toml. What is missing is left out. Raises nothing.
    """
    own = (home.root, home.state, home.logs, home.cache, home.prompts)
    ways = {way for folder in own for way in (os.path.dirname(folder), os.path.dirname(os.path.realpath(folder)))}
    folders = dict.fromkeys(folder for way in sorted({*ways, home.root}) for folder in _way(way))
    return {folder: reason for folder in folders if (reason := _reason(folder))}


def _way(folder: str) -> Iterator[str]:
    """Yield a folder and all above it."""
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        folder = above
        yield folder


def _reason(folder: str) -> str:
    """Return why another user could change what is in a folder; empty if none can."""
    try:
        status = os.stat(folder)
    except OSError:
        return ""
    user = os.geteuid()
    # Root uses everybody's files, as elsewhere.
    if user != 0 and status.st_uid not in (user, 0):
        return f"belongs to the user {status.st_uid}"
    if status.st_mode & stat.S_ISVTX:
        return ""
    if status.st_mode & stat.S_IWOTH:
        return "can be written by every user"
    if status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_gid):
        return f"can be written by the group {status.st_gid}"
    return ""


def _is_own_group(group: int) -> bool:
    """Whether nobody but this user and root is in a group: many systems give each user one of the user's own."""
    import grp
    import pwd

    try:
        members = {*grp.getgrgid(group).gr_mem}
        user = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False
    members.update(entry.pw_name for entry in pwd.getpwall() if entry.pw_gid == group)
    return members <= {user, "root"}
