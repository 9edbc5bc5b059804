"""The router's sockets and its lock: made, taken over from systemd, launchd or a former router, kept in place.

One router serves a home: it holds the lock on the file ``lock`` in the router's folder, which the system lets go of
when it ends, however it ends. Nothing is read from that file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from hookrouter._serving import address
from hookrouter.storage.home import ensure
from hookrouter.util import unix_socket
from hookrouter.util.errors import HookrouterError
from hookrouter.util.system import is_darwin, launchd_descriptors

if TYPE_CHECKING:
    from collections.abc import MutableMapping

__all__ = ["INHERIT_VARIABLE", "LAUNCHD_LABEL", "LAUNCHD_SOCKET", "AlreadyServed", "RouterSockets"]

INHERIT_VARIABLE = "HOOKROUTER_SERVE_INHERIT"
"""Names the descriptors that a router hands to the one that takes its place: calls, control and lock."""

LAUNCHD_LABEL = "hookrouter.router"
"""How the labels of launchd agents begin; a home of its own adds a digest."""

LAUNCHD_SOCKET = "Calls"
"""The key of the agent's socket."""

_FIRST_PASSED = 3
"""The first descriptor that systemd passes (sd_listen_fds)."""


class AlreadyServed(HookrouterError):
    """Another router serves this home."""


class RouterSockets:
    """The two sockets on which a router listens, and its lock."""

    def __init__(
        self,
        folder: str,
        calls: socket.socket,
        control: socket.socket,
        lock: int,
        *,
        passed: bool,
    ) -> None:
        """``passed``: the socket for calls was made by whoever started this process, and stays when it ends."""
        self._folder = folder
        self.calls = calls
        self.control = control
        self._lock = lock
        self._is_passed = passed
        self._files = {name: unix_socket.file_identity(folder, name) for name in (address.CALLS, address.CONTROL)}
        for one in (calls, control):
            one.setblocking(False)

    @classmethod
    def open(cls, folder: str, environ: MutableMapping[str, str]) -> RouterSockets:
        """Take the sockets over that this process was started with, or make them.

        The variables that tell of them are taken out of ``environ``. Raises AlreadyServed, and OSError if the folder
        or a socket cannot be made.
        """
        inherited = environ.pop(INHERIT_VARIABLE, "")
        if inherited:
            calls, control, lock, passed = (int(number) for number in inherited.split(","))
            for descriptor in (calls, control, lock):
                os.set_inheritable(descriptor, False)
            found = socket.socket(fileno=calls), socket.socket(fileno=control)
            return cls(folder, *found, lock, passed=bool(passed))
        ensure(folder)
        lock = _take_lock(folder)
        passed_socket = _passed_socket(environ) or _launchd_socket(environ)
        calls_socket = passed_socket or unix_socket.listen(folder, address.CALLS, address.BACKLOG)
        control_socket = unix_socket.listen(folder, address.CONTROL, address.BACKLOG)
        return cls(folder, calls_socket, control_socket, lock, passed=passed_socket is not None)

    def hand_over(self) -> dict[str, str]:
        """Let the program that takes the place of this one have the descriptors; return the variables that tell it."""
        numbers = [self.calls.fileno(), self.control.fileno(), self._lock]
        for descriptor in numbers:
            os.set_inheritable(descriptor, True)
        said = ",".join(str(number) for number in [*numbers, int(self._is_passed)])
        return {INHERIT_VARIABLE: said}

    def restore(self) -> bool:
        """Put a socket that somebody has removed or replaced back in its place; say whether this router goes on.

        It does not if somebody has removed the folder, and another router serves the home by now. Raises nothing.
        """
        try:
            ensure(self._folder)
            held = os.fstat(self._lock)
            if unix_socket.file_identity(self._folder, address.LOCK) != (held.st_dev, held.st_ino):
                former, self._lock = self._lock, _take_lock(self._folder)
                os.close(former)
            if not self._is_passed:
                self.calls = self._in_place(self.calls, address.CALLS)
            self.control = self._in_place(self.control, address.CONTROL)
        except AlreadyServed:
            return False
        except OSError:
            # A full disk, for example: looked at again soon.
            return True
        return True

    def close(self) -> None:
        """Close them in this process alone."""
        self.calls.close()
        self.control.close()
        os.close(self._lock)

    def remove(self) -> None:
        """Close them, and remove the files that this router has made and that are still its own."""
        for name in [address.CONTROL] if self._is_passed else [address.CALLS, address.CONTROL]:
            if unix_socket.file_identity(self._folder, name) == self._files[name]:
                with suppress(OSError):
                    os.unlink(os.path.join(self._folder, name))
        self.close()

    def _in_place(self, listener: socket.socket, name: str) -> socket.socket:
        """Return a listener that is reached by its file: this one, or a new one in its place."""
        if unix_socket.file_identity(self._folder, name) == self._files[name]:
            return listener
        new = unix_socket.listen(self._folder, name, address.BACKLOG)
        new.setblocking(False)
        self._files[name] = unix_socket.file_identity(self._folder, name)
        # Whoever has connected to the old one and was not accepted yet runs cold.
        listener.close()
        return new


def _take_lock(folder: str) -> int:
    lock = os.open(os.path.join(folder, address.LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise AlreadyServed(f"another router serves this home, {folder}") from None
        raise
    return lock


def _passed_socket(environ: MutableMapping[str, str]) -> socket.socket | None:
    """Return the listening socket that systemd passes (LISTEN_FDS), if it is for this process."""
    count, pid = environ.pop("LISTEN_FDS", ""), environ.pop("LISTEN_PID", "")
    environ.pop("LISTEN_FDNAMES", None)
    if count != "1" or pid != str(os.getpid()):
        return None
    os.set_inheritable(_FIRST_PASSED, False)
    return socket.socket(fileno=_FIRST_PASSED)


def _launchd_socket(environ: MutableMapping[str, str]) -> socket.socket | None:
    """Return the listening socket that launchd keeps for this process, if it is its agent."""
    if not is_darwin or not environ.get("XPC_SERVICE_NAME", "").startswith(LAUNCHD_LABEL):
        return None
    descriptors = launchd_descriptors(LAUNCHD_SOCKET)
    for descriptor in descriptors[1:]:
        os.close(descriptor)
    if not descriptors:
        return None
    os.set_inheritable(descriptors[0], False)
    return socket.socket(fileno=descriptors[0])
