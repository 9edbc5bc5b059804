"""The clients that run, as Claude Code's own registry has them: ``sessions/<pid>.json`` in its configuration folder.

Each client writes its file, and takes it away when it ends in good order. It has the state of the session also where
no hook tells of it. It is not documented; what is here was measured on 2.1.150 to 2.1.330. A file that cannot be read,
or whose client has ended, is none. The file is written once a session has begun: while a dialog of the client's start
is open (trust, a server's approval) there is none.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.util.claude_process import is_gone
from hookrouter.util.clock import iso
from hookrouter.util.system import process_environ

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DIALOG_OPEN",
    "INPUT_NEEDED",
    "PERMISSION_PROMPT",
    "WAITING",
    "RunningClient",
    "process_environ",
    "running_client",
    "running_clients",
    "transcript_path",
]

WAITING = "waiting"
"""The state of a session that a dialog has stopped."""

DIALOG_OPEN = "dialog open"
"""What a session waits for whose dialog no hook tells of (2.1.330): a picker, or a choice of the client's own."""

INPUT_NEEDED = "input needed"
"""What a session waits for that has a question, or the form of an MCP server, on its screen (2.1.330)."""

PERMISSION_PROMPT = "permission prompt"
"""What a session waits for that asks whether a tool may be called (2.1.330)."""

_INTERACTIVE = "interactive"
_LONGEST = 1 << 16
"""Bytes of a file; one has less than 1,000."""


class RunningClient(NamedTuple):
    """One client that runs."""

    pid: int
    """Its process id."""
    session_id: str
    """Claude Code's id of its session; it follows ``/clear``."""
    folder: str
    """Its working folder."""
    status: str
    """``idle``, ``busy``, ``shell`` (the turn is over, a background shell runs) or ``waiting``; empty if it does not
    say."""
    waiting_for: str
    """What it waits for: ``input needed`` (a question, a form), ``permission prompt`` or ``dialog open``; empty if it
    does not wait, and on clients that do not say (2.1.150)."""
    changed_at: str = ""
    """Since when it has this state, ISO 8601 in UTC; empty on clients that do not say (2.1.150)."""
    version: str = ""
    """The version of Claude Code, such as ``2.1.330``; empty if it does not say."""
    parked_job: str = ""
    """Under which id its session goes on in the background, in a process of its own; empty if it does not. So it is
    once the view of agents was opened in it (2.1.330); the client's own state stays as it was then."""


def running_clients(environ: Mapping[str, str]) -> list[RunningClient]:
    """Return the interactive clients that run now, by process id. ``environ`` says where Claude Code's folder is.

    Raises nothing: without a registry there are none.
    """
    folder = os.path.join(_client_folder(environ), "sessions")
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".json")]
    except OSError:
        return []
    found = filter(None, (_read(os.path.join(folder, name)) for name in names))
    return sorted(one for one in found if not is_gone(one.pid))


def running_client(environ: Mapping[str, str], pid: int, session_id: str = "") -> RunningClient | None:
    """Return the interactive client with this process id; with 0 the one that has this session. None for none.

    ``environ`` as for :func:`running_clients`. Raises nothing.
    """
    if pid <= 0:
        return next((one for one in running_clients(environ) if session_id and one.session_id == session_id), None)
    found = _read(os.path.join(_client_folder(environ), "sessions", f"{pid}.json"))
    return None if found is None or is_gone(found.pid) else found


def transcript_path(environ: Mapping[str, str], session_id: str) -> str:
    """Return where a client has the transcript of a session; empty if there is none. Raises nothing."""
    projects = os.path.join(_client_folder(environ), "projects")
    try:
        folders = os.listdir(projects)
        paths = (os.path.join(projects, folder, f"{session_id}.jsonl") for folder in folders)
        return next(filter(os.path.isfile, paths), "") if os.path.basename(session_id) == session_id else ""
    except (OSError, ValueError):
        return ""


def _client_folder(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME") or os.path.expanduser("~")
    return environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")


def _read(path: str) -> RunningClient | None:
    try:
        with open(path, "rb") as file:
            document = json.loads(file.read(_LONGEST))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    pid, kind = document.get("pid"), document.get("kind", _INTERACTIVE)
    if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0 or kind != _INTERACTIVE:
        return None
    session_id, folder, status, waiting_for, version = (
        _text(document.get(key)) for key in ("sessionId", "cwd", "status", "waitingFor", "version")
    )
    changed_at, parked_job = _time(document.get("statusUpdatedAt")), _text(document.get("parkedJobId"))
    return RunningClient(pid, session_id, folder, status, waiting_for, changed_at, version, parked_job)


def _time(value: object) -> str:
    """Return a time in milliseconds since 1970 as ISO 8601; empty for what is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        return ""
    try:
        return iso(value / 1000)
    except (ValueError, OverflowError, OSError):
        return ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
