"""What the end of a turn is to be replied with: noted by the deliverer, taken by the Stop hook.

So the hook, which everybody waits for, asks no channel: it looks for one document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.queue import transitions
from hookrouter.queue.delivery.sight import client_mark
from hookrouter.queue.items import DELIVERING, PROMPT, STARTED
from hookrouter.queue.proof import Proof, proof_by_reply
from hookrouter.storage.home import DocumentKind

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hookrouter.queue.documents import Queue
    from hookrouter.queue.items import Item
    from hookrouter.sessions.records import SessionRecord
    from hookrouter.storage.interface import DocumentStore

__all__ = ["MOST_IN_A_ROW", "REPLIED", "make_offer", "note_reply", "offered", "replied", "was_replied"]

_OFFER = DocumentKind("stop-offer")
_COUNT = DocumentKind("stop-replies")

MOST_IN_A_ROW = 8
"""Replies that Claude Code takes before it ends the turn all the same (2.1.150 to 2.1.330)."""

REPLIED = "replied"
"""The phase of an item that a Stop hook replies with."""

_KEPT = 50
"""Offers that are kept; the ids of items that are not in the queue any more do no harm."""


def make_offer(store: DocumentStore, session: str, item: str) -> None:
    """Have a Stop hook reply with an item, if it is the next one then. Raises StoreError."""
    known = _offers(store, session)
    if item not in known:
        store.write(_OFFER, session, {"items": [*known, item][-_KEPT:]}, durable=False)


def offered(store: DocumentStore, session: str, *, in_a_row: bool) -> Sequence[str]:
    """Return the ids of the items that a Stop hook may reply with.

    ``in_a_row``: the turn that ends was prolonged by a hook (``stop_hook_active``). Raises StoreError.
    """
    offers = _offers(store, session)
    return () if in_a_row and offers and _count(store, session) >= MOST_IN_A_ROW else offers


def note_reply(store: DocumentStore, session: str, *, in_a_row: bool) -> None:
    """Count a reply. Raises StoreError."""
    count = _count(store, session) + 1 if in_a_row else 1
    store.write(_COUNT, session, {"count": count}, durable=False)


def replied(queue: Queue, offers: Collection[str], record: SessionRecord, channel: str) -> Queue:
    """The Stop hook replies with an item, if that is the next one and nothing keeps it; else the same queue."""
    item = queue.next
    # Somebody may have edited it since: what is a command by now would be words to Claude, and count as done.
    if item is None or item.id not in offers or item.kind != PROMPT:
        return queue
    begun = transitions.begun(queue, item.id, boot=client_mark(record), channel=channel, exact=True)
    return transitions.phase_saved(begun, item.id, REPLIED)


def was_replied(queue: Queue, channel: str, transcript_path: str) -> Queue:
    """The turn that a Stop hook had prolonged is over: what it was prolonged with was taken, and is done.

    It has failed if the transcript shows that Claude was given something else.
    """
    item: Item | None = queue.under_way
    if item is None or item.channel != channel or item.phase != REPLIED or item.state not in (DELIVERING, STARTED):
        return queue
    from hookrouter.util.regular_file import last_lines

    proof = proof_by_reply(item, last_lines(transcript_path), item.delivering_at) or Proof(STARTED, {})
    said = {**proof.said, "event": "Stop", "stop_hook_active": True}
    return transitions.proven(queue, item.id, proof._replace(said=said))


def _offers(store: DocumentStore, session: str) -> list[str]:
    items = (store.read(_OFFER, session) or {}).get("items")
    return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []


def _count(store: DocumentStore, session: str) -> int:
    count = (store.read(_COUNT, session) or {}).get("count")
    return count if isinstance(count, int) else 0
