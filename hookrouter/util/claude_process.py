"""Which process is the Claude Code client that started a hook, and whether it still runs."""

from __future__ import annotations

import os

from hookrouter.util.system import process_began, process_space, process_status

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "client_pid",
    "is_another_alive",
    "is_gone",
    "is_in_background",
    "is_suspended",
    "parent_watch",
    "process_space",
    "set_hook_parent",
]

_hook_parent: int | None = None
"""The process that started this hook, if that is not this process's parent; 0 if it is not known."""


def client_pid(environ: Mapping[str, str]) -> int:
    """Return the process id of the client that started this hook (``CLAUDE_PID``); 0 if the environment has none."""
    text = environ.get("CLAUDE_PID", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def is_gone(pid: int) -> bool:
    """Whether a process of this machine has certainly ended; False for an id that is not known (0)."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        # No process of this system has so large an id.
        return True
    except OSError:
        return False
    return _is_zombie(pid)


def is_in_background(pid: int) -> bool:
    """Whether what is typed at a process's terminal certainly goes to another one.

    It was stopped, as Ctrl-Z does, or never was in the foreground, as what ``&`` starts: this says nothing of what
    reaches it otherwise.
    """
    status = process_status(pid)
    if status is None:
        return False
    is_behind = status.has_terminal and status.foreground > 0 and status.foreground != status.group
    return status.state == "T" or is_behind


def is_suspended(pid: int) -> bool:
    """Whether a process was stopped, as Ctrl-Z does; False where the system does not say."""
    status = process_status(pid)
    return status is not None and status.state == "T"


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended and its parent has not asked for it yet; False where the system does not say."""
    status = process_status(pid)
    return status is not None and status.state == "Z"


def is_another_alive(pid: int, host: str, own: int, saved_at: str = "") -> bool:
    """Whether a client that runs has this process id, which counts in ``host``, and is not the client ``own``.

    False if that cannot be known: of an id that is not known (0), or another container's. Also of one that belongs to
    a process that began after ``saved_at`` (ISO 8601), when the client ran, as ids are given again after a boot.
    """
    if not (pid > 0 and own > 0 and pid != own and host == process_space()) or is_gone(pid):
        return False
    if not saved_at:
        return True
    from hookrouter.util.clock import seconds

    saved, began = seconds(saved_at), process_began(pid)
    return saved is None or began is None or began <= saved + _CLOCK_SECONDS


_CLOCK_SECONDS = 60.0
"""By so much the clock may have been set while a client ran."""


def set_hook_parent(pid: int) -> None:
    """Say which process started the hook that this process runs for another one; 0 if that is not known."""
    global _hook_parent
    _hook_parent = pid


def parent_watch() -> Callable[[], bool]:
    """Return a function that says whether the process that started this hook has ended since."""
    if _hook_parent is not None:
        pid = _hook_parent
        return lambda: is_gone(pid)
    parent = os.getppid()
    return lambda: os.getppid() != parent
