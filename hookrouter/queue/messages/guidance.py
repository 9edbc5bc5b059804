"""The advice on how to judge a finished turn: what an agent reads once for each session.

It is remembered beside the advice on questions (:mod:`hookrouter.dialogs.guidance`):
``guidance-<session id>:<agent>:turns`` says in which message the agent got it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs.messages.prompts import read_prompt
from hookrouter.dialogs.messages.surroundings import gsd_files
from hookrouter.util.clock import iso

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.messaging.gateway import Message

__all__ = ["guidance", "guidance_for"]

KIND = "guidance"
VERSION = 1

_PROMPT = "turn_ended.md"
_GSD_PROMPT = "turn_ended_gsd.md"


def guidance(services: Services, folder: str) -> str:
    """Return the advice for sessions in a folder; empty if no prompt can be read."""
    parts = [_text(services, _PROMPT)]
    if files := gsd_files(folder):
        named = ", ".join(f"`{name}`" for name in files)
        parts.append(_text(services, _GSD_PROMPT).replace("$files", named))
    return "\n\n".join(filter(None, parts))


def guidance_for(services: Services, message: Message, agent: str, folder: str) -> str:
    """Return the advice if this message is the one that brings it to the agent; empty if another one did.

    Asked again for the same message it says the same. Raises StoreError.
    """
    name = f"{message.session_id}:{agent}:turns"
    known = services.store.read(KIND, name)
    brought = known.get("message") if known is not None else None
    if isinstance(brought, str) and brought != message.id and services.outbox.get(brought) is None:
        return ""
    text = guidance(services, folder)
    if text and brought != message.id:
        document = {"version": VERSION, "session_id": message.session_id, "agent": agent, "message": message.id}
        services.store.write(KIND, name, {**document, "at": iso()}, durable=False)
    return text


def _text(services: Services, name: str) -> str:
    try:
        return read_prompt(services.home, name).strip()
    except (OSError, ValueError) as error:
        services.warn(f"prompt {name}: {error}")
        return ""
