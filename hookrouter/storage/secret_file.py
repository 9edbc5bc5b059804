"""A secret of this home in a file of its own: made once, readable by this user alone, and read with care.

Whoever sends the secret, or signs with it, is this user, because only this user can read the file.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress

from hookrouter.storage.home import ensure

__all__ = ["made_secret", "read_secret", "renew_secret"]

_BYTES = 32
_MAX_FILE = 256


def read_secret(path: str) -> str:
    """Return the secret in a file; empty if none was made yet.

    Raises OSError if the file cannot be read, and PermissionError if others may read or have written it.
    """
    try:
        # An opener's descriptor is closed if it is a folder's, too.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
                raise PermissionError(f"{path} is not this user's alone; remove it, and a new one is made")
            return file.read(_MAX_FILE).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return ""


def made_secret(path: str) -> str:
    """Return the secret in a file; it is made the first time, and its folder too. Raises OSError."""
    if not (secret := read_secret(path)):
        new = _new(path)
        try:
            # Of two that make one at the same time, the first one's counts.
            with suppress(FileExistsError):
                os.link(new, path)
        finally:
            os.unlink(new)
        secret = read_secret(path)
    if not secret:
        raise PermissionError(f"{path} is empty; remove it, and a new one is made")
    return secret


def renew_secret(path: str) -> str:
    """Put a new secret in the place of the one in a file, whatever that was, and return it. Raises OSError."""
    os.replace(_new(path), path)
    return made_secret(path)


def _new(path: str) -> str:
    """Write a new secret beside the file, and return where it is."""
    ensure(os.path.dirname(path))
    new = f"{path}.{os.getpid()}"
    with suppress(FileNotFoundError):
        os.unlink(new)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(_BYTES) + "\n")
    return new
