"""The advice on how to judge a finished turn: what an agent reads once for each session."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hookrouter.dialogs.messages.prompts import read_prompt
from hookrouter.dialogs.messages.surroundings import gsd_files
from hookrouter.messaging.advice import brought

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.messaging.gateway import Message

__all__ = ["guidance", "guidance_for"]

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

    See :func:`hookrouter.messaging.advice.brought`. Raises StoreError.
    """
    return brought(services.store, services.outbox, message, (agent, "turns"), partial(guidance, services, folder))


def _text(services: Services, name: str) -> str:
    try:
        return read_prompt(services.home, name).strip()
    except (OSError, ValueError) as error:
        services.warn(f"prompt {name}: {error}")
        return ""
