"""Payloads as they came on stdin, kept beside the journal so that a hook run can be replayed.

A file per session, like the journal's and under its rules: only the user can read it, it is rotated when it has grown
too large, and removed when the session has long been silent. Written only if the config or the environment asks
for it, because payloads hold whatever Claude and its tools read and write.
"""

from __future__ import annotations

import os
import time

from hookrouter.storage.journal import Journal, parsed
from hookrouter.util import fastjson
from hookrouter.util.clock import iso
from hookrouter.util.value import Value

__all__ = ["Kept", "find", "keep", "prune"]

MAX_BYTES = 1024 * 1024
"""The largest payload that is kept."""

_FOLDER = "payloads"
_BACKUPS = 1


class Kept(Value):
    """What went in and what came out of a hook run."""

    payload: bytes
    exit_code: int = 0
    stdout: str = ""
    stderr: str = ""


def keep(logs: str, kept: Kept, session_id: str | None) -> str:
    """Keep a payload with its reply; return the key under which :func:`find` has it. ``logs`` is the journal's folder.

    Empty if the payload is larger than MAX_BYTES or cannot be written. Raises nothing.
    """
    if len(kept.payload) > MAX_BYTES:
        return ""
    key = f"{time.time_ns():x}-{os.getpid():x}"
    line = {"at": iso(), "key": key, "exit_code": kept.exit_code, "stdout": kept.stdout, "stderr": kept.stderr}
    line["payload"] = kept.payload.decode("utf-8", "surrogateescape")
    try:
        return key if _journal(logs).append(fastjson.dumps(line).encode("ascii") + b"\n", session_id) else ""
    except (OSError, ValueError):
        return ""


def find(logs: str, key: str, session_id: str | None) -> Kept | None:
    """Return what was kept under a key for this session; None if it is gone. Raises nothing."""
    needle = f'"key":{fastjson.dumps(key)},'.encode("ascii")
    for line in _journal(logs).session_lines(session_id):
        record = parsed(line) if needle in line else None
        if record is None or record.get("key") != key:
            continue
        payload, exit_code = record.get("payload"), record.get("exit_code")
        stdout, stderr = record.get("stdout"), record.get("stderr")
        if (
            isinstance(payload, str)
            and isinstance(exit_code, int)
            and isinstance(stdout, str)
            and isinstance(stderr, str)
        ):
            try:
                return Kept(payload.encode("utf-8", "surrogateescape"), exit_code, stdout, stderr)
            except ValueError:
                continue
    return None


def prune(logs: str, seconds: float) -> None:
    """Remove the payloads of sessions that have not been written for so long. Raises nothing."""
    _journal(logs).prune(seconds)


def _journal(logs: str) -> Journal:
    return Journal(os.path.join(logs, _FOLDER), backups=_BACKUPS)
