"""A journalled hook run again, against the plugins of today: what came of it then and now, side by side."""

from __future__ import annotations

import json
from difflib import unified_diff
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter._contract.hook_names import command_word
from hookrouter._diagnostics.dry_run import run_hook
from hookrouter.storage import payload_log
from hookrouter.storage.journal_query import calls, find, is_hook_run
from hookrouter.util.errors import HookrouterError
from hookrouter.util.fields import text
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrouter._diagnostics.dry_run import Result
    from hookrouter.context import Services
    from hookrouter.storage.journal_query import Entry
    from hookrouter.storage.payload_log import Kept

__all__ = ["Replay", "ReplayError", "choose", "replay"]

_COMPARED = ("plugin", "hook", "outcome", "error", "left", "updatedInput", "updatedToolOutput", "updatedMCPToolOutput")
"""What of a plugin's call is compared; its time differs in any case."""


class ReplayError(HookrouterError):
    """A record cannot be replayed. The message says why, and what to do."""


class Replay(NamedTuple):
    """A run then and now."""

    entry: Entry
    kept: Kept
    result: Result

    @property
    def then(self) -> dict[str, Any]:
        """What came of it then, without times."""
        return _outcome(self.entry.record, self.kept.exit_code, self.kept.stdout, self.kept.stderr)

    @property
    def now(self) -> dict[str, Any]:
        """What came of it now, without times."""
        return _outcome(self.result.record, self.result.exit_code, self.result.stdout, self.result.stderr)

    def diff(self) -> list[str]:
        """Return the lines of a diff from then to now; none if nothing is different."""
        before, after = (json.dumps(side, indent=2, ensure_ascii=False).splitlines() for side in (self.then, self.now))
        return list(unified_diff(before, after, "then", "now", lineterm=""))


def choose(app: Services, name: str, read: Callable[[int], None] = lambda _bytes: None) -> tuple[Entry, Kept]:
    """Return the record of this name (the beginning of its id, or ``last``) with its payload.

    ``read`` is told the length of every line that was looked at. Raises ReplayError.
    """
    try:
        found = find(app.journal, name, read)
    except ValueError as error:
        raise ReplayError(str(error)) from None
    if not found:
        raise ReplayError(f"the journal has no record {name!r}; 'hookrouter logs' shows the ids")
    if len(found) > 1:
        raise ReplayError(f"{name!r} is the beginning of several ids: {', '.join(entry.id for entry in found)}")
    (entry,) = found
    record = entry.record
    if not is_hook_run(record):
        raise ReplayError(
            f"{entry.id} is not a hook run; it is a record of {text(record, 'event') or 'something else'}"
        )
    if "payload" not in record:
        raise ReplayError(
            f"the payload of {entry.id} was not kept; to keep those of coming runs, set payloads = true in [journal] "
            f"of {app.home.config_file}, or start Claude Code with HOOKROUTER_TRACE=1"
        )
    key, session_id = text(record, "payload"), text(record, "session_id") or None
    if not key:
        limit = payload_log.MAX_BYTES
        raise ReplayError(f"the payload of {entry.id} is larger than {limit} bytes or could not be written")
    kept = payload_log.find(app.home.logs, key, session_id)
    if kept is None:
        raise ReplayError(f"the payload of {entry.id} is not there any more; the newest of each session are kept")
    return entry, kept


def replay(app: Services, entry: Entry, kept: Kept, *, for_real: bool = False, seconds: float = 30.0) -> Replay:
    """Run a record's hook again, by default on a copy of hookrouter's home (:mod:`hookrouter._diagnostics.dry_run`).

    ``for_real``: it changes state and may wake agents, as it did then. Raises OSError if it cannot be run.
    """
    event = text(entry.record, "event")
    try:
        payload = json.loads(kept.payload)
    except (ValueError, RecursionError):
        payload = None
    result = run_hook(
        app.home,
        app.environ,
        command_word(printable(event)),
        kept.payload,
        folder=payload.get("cwd") if isinstance(payload, dict) else None,
        for_real=for_real,
        seconds=seconds,
    )
    return Replay(entry, kept, result)


def _outcome(record: Mapping[str, Any], exit_code: int | None, stdout: str, stderr: str) -> dict[str, Any]:
    try:
        output = json.loads(stdout)
    except (ValueError, RecursionError):
        output = stdout
    return {
        "outcome": text(record, "outcome"),
        "by": text(record, "by"),
        "reason": text(record, "reason"),
        "plugins": [{key: call[key] for key in _COMPARED if key in call} for call in calls(record)],
        "exit_code": exit_code,
        "output": output,
        "stderr": stderr,
    }
