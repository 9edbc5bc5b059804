"""A hookrouter plugin that keeps every hook event as a line of JSON."""

from __future__ import annotations

import fcntl
import json
import os
from typing import TYPE_CHECKING, Any

from hookrouter import hookimpl, override
from hookrouter.hookspecs import EventSpecs, SettingsSpecs
from hookrouter.util.clock import iso

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter import Context

    from hookrouter_audit_log.settings import Settings


class AuditLog(EventSpecs, SettingsSpecs):
    """Appends each payload to a file that only its owner reads, and starts a new file when that one is large."""

    @hookimpl
    @override
    def plugin_settings(self) -> type[Settings]:
        from hookrouter_audit_log.settings import Settings

        return Settings

    @hookimpl(tryfirst=True)
    @override
    def raw_event(self, event_name: str, payload: Mapping[str, Any], context: Context) -> None:
        from hookrouter_audit_log.settings import Settings

        settings = context.settings(Settings)
        if settings.events and event_name not in settings.events:
            return
        kept = {key: value for key, value in payload.items() if key not in settings.leave_out}
        line = json.dumps({"at": iso(), "session": context.session, **kept})
        path = os.path.expanduser(settings.file) or os.path.join(context.home.logs, "audit", "events.jsonl")
        append(path, f"{line}\n".encode(), max_bytes=settings.max_megabytes * 1_000_000, backups=settings.backups)


def append(path: str, line: bytes, *, max_bytes: float, backups: int) -> None:
    """Append a line to a file of mode 0600; renames the file first if it would grow beyond ``max_bytes``.

    Older files are PATH.1 (the newest) to PATH.N. Processes that write at once take turns.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(f"{path}.lock", "wb", opener=_private) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(path) and os.path.getsize(path) + len(line) > max_bytes:
            for number in range(backups, 0, -1):
                older = path if number == 1 else f"{path}.{number - 1}"
                if os.path.exists(older):
                    os.replace(older, f"{path}.{number}")
            if backups == 0:
                os.remove(path)
        with open(path, "ab", opener=_private) as file:
            file.write(line)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
