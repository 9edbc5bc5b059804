"""The kinds of documents that machines see of each other, as the engines of released versions have them."""

from __future__ import annotations

from hookrouter.storage.engine import OUTBOX
from hookrouter.storage.home import DocumentKind

__all__ = ["SHARED", "SHARED_KINDS"]

SHARED = {
    "": (
        "question",
        "pending-answer",
        "answer-result",
        "told",
        "unsettled",
        "form-left",
        "guidance",
        "notice",
        "queue",
        "queued-item",
        "session",
        "last-wake",
        "last-told",
        "paused",
        "login",
    ),
    OUTBOX: ("wake",),
}
"""By area. What is taken out, other machines no longer see, and a machine whose disk is lost does not get back."""

SHARED_KINDS = [DocumentKind(kind, shared=True, area=area) for area, kinds in SHARED.items() for kind in kinds]
