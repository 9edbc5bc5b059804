"""Starts a process of hookrouter that outlives this one, and holds none of its descriptors."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["inheritable_descriptors", "spawn_detached"]


def spawn_detached(words: Sequence[str], environ: Mapping[str, str], log: str, log_flags: int) -> int:
    """Start ``hookrouter WORDS...`` in a session of its own, and return its pid at once.

    Its stdin and stdout are the null device, its stderr is the file ``log``, opened with these flags and 0600. Raises
    OSError if it cannot be started.
    """
    if not sys.executable:
        raise OSError("the path of the Python interpreter is unknown")
    actions: list[tuple[Any, ...]] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, log, log_flags, 0o600),
        *((os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in inheritable_descriptors()),
    ]
    arguments = [sys.executable, "-P", "-m", "hookrouter", *words]
    try:
        return os.posix_spawn(sys.executable, arguments, environ, file_actions=actions, setsid=True)
    except NotImplementedError:
        # Interpreters built for an old C library have no setsid here; then the process itself does it, a little later.
        return os.posix_spawn(sys.executable, arguments, environ, file_actions=actions)


def inheritable_descriptors() -> list[int]:
    """Return the descriptors above stderr that a child would get: what the parent of this process left open."""
    try:
        descriptors = [int(name) for name in os.listdir("/dev/fd")]
    except (OSError, ValueError):
        return []
    found = []
    for descriptor in descriptors:
        try:
            if descriptor > 2 and os.get_inheritable(descriptor):
                found.append(descriptor)
        except OSError:
            continue
    return found
