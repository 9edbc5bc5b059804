"""The advice on how to decide: what an agent reads once for each session, and for each prompt that gives advice."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from hookrouter.dialogs.documents import FORM
from hookrouter.dialogs.kinds import dialog_kinds
from hookrouter.messaging.advice import brought

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.messaging.gateway import Message

__all__ = ["guidance", "guidance_for"]


def guidance(services: Services, folder: str, kind: str = FORM) -> str:
    """Return the advice for dialogs of a kind about the project in a folder; empty if it has none, or is not known."""
    found = dialog_kinds(services.plugins).get(kind)
    return "" if found is None else found.advice(services, folder)


def guidance_for(services: Services, message: Message, agent: str, question: Dialog) -> str:
    """Return the advice if this message is the one that brings it to the agent; empty if another one did.

    See :func:`hookrouter.messaging.advice.brought`. Raises StoreError.
    """
    reader = agent, _mark(services, question)
    advice = partial(guidance, services, question.cwd, question.kind)
    return brought(services.store, services.outbox, message, reader, advice)


def _mark(services: Services, question: Dialog) -> str:
    # Kinds with the same advice bring it once.
    kind = None if question.is_form else dialog_kinds(services.plugins).get(question.kind)
    return "" if kind is None else os.path.splitext(kind.prompt)[0]
