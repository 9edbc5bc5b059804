"""The advice on how to decide: what an agent reads once for each session, and where it is remembered that it has.

``guidance-<session id>:<agent>`` says in which message an agent got it, with the name of its prompt behind it for what
is no form. A cleared or new session has another id.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrouter.dialogs.documents import FORM
from hookrouter.dialogs.kinds import dialog_kinds

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.messaging.gateway import Message
    from hookrouter.storage.interface import DocumentStore

__all__ = ["guidance", "guidance_for", "prune_guidance"]

KIND = "guidance"
VERSION = 1

KEPT_SECONDS = 30 * 24 * 3600.0
"""How long it is remembered; an agent of a session that goes on for longer gets the advice again."""


def guidance(services: Services, folder: str, kind: str = FORM) -> str:
    """Return the advice for dialogs of a kind about the project in a folder; empty if it has none, or is not known."""
    found = dialog_kinds(services.plugins).get(kind)
    return "" if found is None else found.advice(services, folder)


def guidance_for(services: Services, message: Message, agent: str, question: Dialog) -> str:
    """Return the advice if this message is the one that brings it to the agent; empty if another one did.

    Asked again for the same message, which may be tried several times, it says the same. A message that was never
    delivered has brought nothing. Raises StoreError.
    """
    # Kinds with the same advice bring it once.
    name = f"{message.session_id}:{agent}{_mark(services, question)}"
    known = services.store.read(KIND, name)
    brought = known.get("message") if known is not None else None
    if isinstance(brought, str) and brought != message.id and services.outbox.get(brought) is None:
        return ""
    text = guidance(services, question.cwd, question.kind)
    if text and brought != message.id:
        from hookrouter.util.clock import iso

        document = {"version": VERSION, "session_id": message.session_id, "agent": agent}
        services.store.write(KIND, name, {**document, "message": message.id, "at": iso()}, durable=False)
    return text


def prune_guidance(store: DocumentStore) -> None:
    """Forget what is older than :data:`KEPT_SECONDS`. Raises StoreError."""
    from hookrouter.util.clock import iso, now

    earliest = iso(now() - KEPT_SECONDS)
    for name, document in store.entries(KIND):
        if str(document.get("at") or "") < earliest:
            store.delete(KIND, name)


def _mark(services: Services, question: Dialog) -> str:
    kind = None if question.is_form else dialog_kinds(services.plugins).get(question.kind)
    return "" if kind is None else f":{os.path.splitext(kind.prompt)[0]}"
