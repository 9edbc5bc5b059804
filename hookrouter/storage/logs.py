"""The logs in ``logs/`` that processes write to directly, beside the journal."""

from __future__ import annotations

import os

from hookrouter.storage.home import ensure

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hookrouter.storage.home import Home

__all__ = ["LOG_BYTES", "LOG_FLAGS", "prepare_log"]

LOG_BYTES = 1024 * 1024
"""Size from which a log that processes write to directly is set aside, replacing the one before."""

LOG_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
"""How such a log is opened: neither is a symbolic link followed, nor a pipe's reader waited for."""


def prepare_log(home: Home, name: str) -> str:
    """Return the path of a log in ``logs/`` that other processes write to directly; open it with LOG_FLAGS, 0600.

    Makes the folder, and sets a log that has grown large aside as ``<log>.1``. Raises OSError.
    """
    ensure(home.logs)
    path = os.path.join(home.logs, name)
    try:
        if os.stat(path).st_size >= LOG_BYTES:
            os.replace(path, f"{path}.1")
    except FileNotFoundError:
        pass
    return path
