"""Unix sockets in a folder: made, reached, and told apart.

A path may be longer than a socket's address can hold (108 bytes on Linux, 104 on macOS), so sockets are named relative
to their folder, which is the working folder for that moment.
"""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hookrouter.util.system import PATH_ONLY, peer

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_listener", "connect", "file_identity", "in_folder", "is_own_peer", "listen", "peer_process"]


@contextmanager
def in_folder(folder: str) -> Iterator[None]:
    """Make a folder the working folder of this process for one block. Raises OSError."""
    # One may be in a folder that one may not list.
    former = os.open(".", PATH_ONLY | os.O_DIRECTORY)
    try:
        os.chdir(folder)
        try:
            yield
        finally:
            os.fchdir(former)
    finally:
        os.close(former)


def listen(folder: str, name: str, backlog: int) -> socket.socket:
    """Return a new listening socket that takes the place of what has this name in the folder. Raises OSError."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    new = f"{name}.{os.getpid()}"
    try:
        with in_folder(folder):
            with suppress(FileNotFoundError):
                os.unlink(new)
            mask = os.umask(0o177)
            try:
                listener.bind(new)
            finally:
                os.umask(mask)
            listener.listen(backlog)
            # A caller finds either the one before or one that listens.
            os.rename(new, name)
    except OSError:
        listener.close()
        raise
    return listener


def connect(folder: str, name: str, seconds: float) -> socket.socket:
    """Return a connection to a socket of the folder, with this time limit for all that is done with it.

    Raises OSError, FileNotFoundError or ConnectionRefusedError if nobody listens, PermissionError if another user does.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        with in_folder(folder):
            connection.connect(name)
        check_listener(connection)
    except OSError:
        connection.close()
        raise
    return connection


def file_identity(folder: str, name: str) -> tuple[int, int] | None:
    """Return what tells a file of the folder from any other one that had its name; None without one."""
    try:
        status = os.lstat(os.path.join(folder, name))
    except OSError:
        return None
    return status.st_dev, status.st_ino


def is_own_peer(connection: socket.socket) -> bool:
    """Whether the process at the other end is this user's, as the system says; root's is another user's."""
    return peer(connection)[1] == os.geteuid()


def peer_process(connection: socket.socket) -> int:
    """Return the process that has made a connection, as this one's system numbers it; 0 if it does not say."""
    return peer(connection)[0]


def check_listener(connection: socket.socket) -> None:
    """Raise PermissionError if what was connected to is another user's, who may write a folder on the way to it.

    Root's is none: root may read all that is said anyway, and launchd, which listens for a router, is root's.
    """
    user = peer(connection)[1]
    if user not in (os.geteuid(), 0):
        import errno

        raise PermissionError(errno.EPERM, f"the user {user} listens there")
