"""Opens a document for each session that stays stopped, once, and closes it when its dialog is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs import documents
from hookrouter.dialogs.closing import close_of_gone_clients, end, gone
from hookrouter.dialogs.opening import note_asked, open_dialog
from hookrouter.storage.home import DocumentKind
from hookrouter.util.clock import now
from hookrouter.util.filenames import digest
from hookrouter_blocked.dialog import BLOCKED
from hookrouter_blocked.looking import look_around
from hookrouter_blocked.settings import BlockedSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.context import Services
    from hookrouter.dialogs.documents import Dialog
    from hookrouter_blocked.dialog import Stopped
    from hookrouter_blocked.looking import Look

__all__ = ["EVENT", "BlockedWatcher"]

EVENT = "Watch"
"""What the journal calls it where a hook's event stands."""

_DRAWN_SECONDS = 5.0
"""Seconds after which a dialog is drawn, so that one that is not known by then is none of those that are."""

_SEEN = DocumentKind("blocked-seen")
"""The kind of the document that says since when which dialog is there."""


class BlockedWatcher:
    """The watcher of this plugin."""

    name = "blocked"

    def look(self, services: Services) -> None:
        """Look once. See :class:`hookrouter.sessions.watching.SessionWatcher`. Raises StoreError."""
        look = look_around(services)
        is_open = {_mark(one): one for one in _open(services)}
        for mark, question in is_open.items():
            key = str(question.request.get("key", ""))
            if key not in look.unclear and (key not in look.stopped or look.stopped[key].mark != mark[1]):
                _close(services, question)
        patience = services.settings(BlockedSettings).after
        for one, since in _since(services, look):
            # The registry knows of a dialog before it is drawn.
            least = patience if one.dialog is not None else max(patience, _DRAWN_SECONDS)
            if now() - since >= least and (one.key, one.mark) not in is_open:
                _tell(services, one, since)


def _open(services: Services) -> list[Dialog]:
    return [one for one in documents.list_questions(services.store) if one.kind == BLOCKED]


def _mark(question: Dialog) -> tuple[str, str]:
    return str(question.request.get("key", "")), str(question.request.get("mark", ""))


def _since(services: Services, look: Look) -> list[tuple[Stopped, float]]:
    """Return what was stopped by the same dialog at the look before, too, with the time since when it has been.

    That is in seconds since 1970. A screen that is just being drawn must not decide what it is.
    """
    former = services.store.read(_SEEN, "all") or {}
    entries: dict[str, Any] = {}
    found = []
    for key, one in look.stopped.items():
        since = _former(former, key, one.mark)
        entries[key] = {"mark": one.mark, "since": now() if since is None else since}
        if since is not None:
            found.append((one, since))
    entries |= {key: former[key] for key in look.unclear if key in former}
    if entries != former:
        services.store.write(_SEEN, "all", entries, durable=False)
    return found


def _former(former: Mapping[str, Any], key: str, mark: str) -> float | None:
    entry = former.get(key)
    if not isinstance(entry, dict) or entry.get("mark") != mark:
        return None
    since = entry.get("since")
    # A clock that was set back must not make it wait for ever.
    return since if isinstance(since, float) and since <= now() else None


def _tell(services: Services, one: Stopped, since: float) -> None:
    record: dict[str, object] = {}
    context = services.at_session(
        one.address, event=EVENT, session_id=one.session_id, cwd=one.folder or "/", pid=one.pid, record=record
    )
    if context.agent is None:
        return
    own_id = f"{BLOCKED}_{digest(f'{one.key} {one.mark} {since}')[:16]}"
    question = open_dialog(context, one.opening(own_id))
    if question.tool_use_id == own_id and "repeated" not in record:
        note_asked(context, question)


def _close(services: Services, question: Dialog) -> None:
    """Close what is not there any more: somebody at the terminal has, or an answer whose command was cut off."""
    if documents.is_client_gone(question):
        close_of_gone_clients(services, [question])
        return
    if documents.is_being_answered(services.store, question):
        # That command looks at the screen itself.
        return
    end(services, question, lambda _, pending: gone(pending, "the dialog is gone from the screen"), EVENT)
