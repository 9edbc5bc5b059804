"""The advice on how to decide: what an agent reads once for each session, and where it is remembered that it has.

``guidance-<session id>:<agent>`` says in which message an agent got it, with ``:approvals`` behind it for what is no
question. A cleared or new session has another id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs.documents import QUESTION
from hookrouter.dialogs.messages.prompts import read_prompt
from hookrouter.dialogs.messages.surroundings import gsd_files

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

_PROMPT = "ask_user_question.md"
_APPROVALS_PROMPT = "approvals.md"
_GSD_PROMPT = "ask_user_question_gsd.md"


def guidance(services: Services, folder: str, kind: str = QUESTION) -> str:
    """Return the advice for dialogs of a kind about the project in a folder; empty if no prompt can be read."""
    if kind != QUESTION:
        return _text(services, _APPROVALS_PROMPT)
    parts = [_text(services, _PROMPT)]
    if files := gsd_files(folder):
        named = ", ".join(f"`{name}`" for name in files)
        parts.append(_text(services, _GSD_PROMPT).replace("$files", named))
    return "\n\n".join(filter(None, parts))


def guidance_for(services: Services, message: Message, agent: str, question: Dialog) -> str:
    """Return the advice if this message is the one that brings it to the agent; empty if another one did.

    Asked again for the same message, which may be tried several times, it says the same. A message that was never
    delivered has brought nothing. Raises StoreError.
    """
    # The advice on questions, and the one on all else, are brought once each.
    name = f"{message.session_id}:{agent}" + ("" if question.kind == QUESTION else ":approvals")
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


def _text(services: Services, name: str) -> str:
    try:
        return read_prompt(services.home, name).strip()
    except (OSError, ValueError) as error:
        services.warn(f"prompt {name}: {error}")
        return ""
