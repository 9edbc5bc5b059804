"""What keys have typed into a session's prompt box and not seen to leave it: known again by whatever item comes next.

The item itself may have been dropped, moved or given to another channel since, or its process killed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.storage.home import DocumentKind
from hookrouter_keystrokes.prompting.situation import Entry

if TYPE_CHECKING:
    from hookrouter.queue.channels import PromptRequest

__all__ = ["Left"]

_KIND = DocumentKind("keys-typed")


class Left:
    """What is left in the box of one session's client. Its methods raise StoreError."""

    def __init__(self, request: PromptRequest) -> None:
        """``request`` names the session, its client, and where this is noted."""
        self._store, self._session, self._pid = request.store, request.session, request.client_pid

    def note(self, entry: Entry) -> None:
        """Note that an entry is about to be typed."""
        document = {"version": 1, "client_pid": self._pid, "mode": entry.mode, "text": entry.text}
        # It outlives this process, and no machine that goes down: neither does the client.
        self._store.write(_KIND, self._session, document, durable=False)

    def entry(self) -> Entry | None:
        """Return what may be left; None for nothing, and if another client has had it."""
        found = self._store.read(_KIND, self._session) or {}
        mode, text = found.get("mode"), found.get("text")
        if found.get("client_pid") != self._pid or not isinstance(mode, str) or not isinstance(text, str):
            return None
        return Entry(mode, text, is_bare_command=False)

    def forget(self) -> None:
        """Nothing is left."""
        self._store.delete(_KIND, self._session)
