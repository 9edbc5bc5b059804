"""Keeps every event with its whole payload as a line of JSON, in a file that only its owner reads.

The file holds what Claude read and wrote, secrets included. It grows without limit: rotate it, or list fewer EVENTS.
"""

import json
import os
from collections.abc import Mapping

from hookrouter import Context, hookimpl
from hookrouter.util.clock import iso

EVENTS: frozenset[str] = frozenset()  # such as frozenset({"PreToolUse", "UserPromptSubmit"}); empty: all


@hookimpl(tryfirst=True)
def raw_event(event_name: str, payload: Mapping[str, object], context: Context) -> None:
    if EVENTS and event_name not in EVENTS:
        return
    line = json.dumps({"at": iso(), "session": context.session, **payload}) + "\n"
    path = os.path.join(context.home.logs, "audit.jsonl")
    os.makedirs(context.home.logs, mode=0o700, exist_ok=True)
    # One write to a file that is appended to: lines of processes that write at once do not mix.
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)
