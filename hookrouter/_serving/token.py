"""The token of http hooks: whoever sends it is this user, because only this user can read the file it is in."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from hookrouter.storage.home import ensure

if TYPE_CHECKING:
    from hookrouter.storage.home import Home

__all__ = ["TOKEN_VARIABLE", "made_token", "read_token", "token_file"]

TOKEN_VARIABLE = "HOOKROUTER_TOKEN"  # noqa: S105 - the variable's name
"""The variable of Claude Code's environment that holds it."""

_BYTES = 32
_MAX_FILE = 256


def token_file(home: Home) -> str:
    """Return the path of the file, in the state folder."""
    return os.path.join(home.state, "http-token")


def read_token(home: Home) -> str:
    """Return a home's token; empty if none was made yet.

    Raises OSError if the file cannot be read, and PermissionError if others may read or have written it.
    """
    path = token_file(home)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise PermissionError(f"{path} is not this user's alone; remove it, and a new token is made")
        return file.read(_MAX_FILE).decode("ascii", "replace").strip()


def made_token(home: Home) -> str:
    """Return a home's token; it is made the first time. Raises OSError."""
    ensure(home.state)
    path = token_file(home)
    if not (token := read_token(home)):
        new = f"{path}.{os.getpid()}"
        with suppress(FileNotFoundError):
            os.unlink(new)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(_BYTES) + "\n")
        try:
            # Of two that make one at the same time, the first one's counts.
            with suppress(FileExistsError):
                os.link(new, path)
        finally:
            os.unlink(new)
        token = read_token(home)
    if not token:
        raise PermissionError(f"{path} is empty; remove it, and a new token is made")
    return token
