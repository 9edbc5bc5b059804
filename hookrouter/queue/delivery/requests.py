"""What a prompt channel is given for one item, and what it may ask while it submits it.

Knows what :class:`hookrouter.queue.channels.PromptRequest` promises. Which channel is asked, and what becomes of its
answer, it does not know.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookrouter.dialogs.transcript import client_version
from hookrouter.queue import transitions
from hookrouter.queue.channels import PromptRequest, sees_idle
from hookrouter.queue.delivery.readiness import why_not, why_not_yet, why_withdrawn
from hookrouter.queue.delivery.terminal import backend_of
from hookrouter.queue.items import DELIVERING
from hookrouter.sessions.records import client_here
from hookrouter.storage.interface import StoreError
from hookrouter.util.clock import now
from hookrouter.util.text import version_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.queue.channels import PromptChannel
    from hookrouter.queue.delivery.evidence import Evidence
    from hookrouter.queue.delivery.readiness import Sight
    from hookrouter.queue.delivery.session_queue import SessionQueue
    from hookrouter.queue.items import Item
    from hookrouter.sessions.records import SessionRecord

__all__ = ["SUBMIT_SECONDS", "PromptRequests", "why_not_by"]

SUBMIT_SECONDS = 60.0
"""Seconds that a channel has to submit an item."""


def why_not_by(channel: PromptChannel, sight: Sight) -> str:
    """Return why a channel may not submit anything now; empty if it may."""
    return why_not_yet(sight, now()) if sees_idle(channel) else why_not(sight)


class PromptRequests:
    """Makes the requests for one session's channels."""

    def __init__(self, queue: SessionQueue, evidence: Evidence) -> None:
        """``evidence`` is what a channel asks whether its item is proven."""
        self._queue = queue
        self._evidence = evidence

    def request(self, record: SessionRecord, item: Item, channel: PromptChannel) -> PromptRequest:
        """Return all that a channel needs to submit an item now."""
        services = self._queue.services
        terminal = backend_of(services, record)
        return PromptRequest(
            item=item,
            session=self._queue.session,
            session_id=record.session_id,
            client_pid=client_here(record),
            client_version=self._client_version(record),
            folder=record.cwd,
            transcript_path=record.transcript_path,
            address=record.terminal if terminal is not None else None,
            terminal=terminal,
            store=self._queue.store,
            deadline=time.monotonic() + SUBMIT_SECONDS,
            save_phase=lambda phase: self._save_phase(item, phase),
            is_proven=lambda: self._evidence.is_proven(record, item),
            stopped=lambda: self._stopped(item, lambda sight: why_not_by(channel, sight)),
            withdrawn=lambda: self._stopped(item, why_withdrawn),
            settings=services.settings,
            home=services.home,
        )

    def _client_version(self, record: SessionRecord) -> tuple[int, ...] | None:
        """Return the client's version: the registry's, else the transcript's, which begins with the first turn."""
        client = self._queue.look().client
        version = None if client is None else version_numbers(client.version)
        return version or client_version(record.transcript_path)

    def _save_phase(self, item: Item, phase: str) -> None:
        """See ``PromptRequest.save_phase``. Raises StoreError."""
        kept = self._queue.change(lambda queue: transitions.phase_saved(queue, item.id, phase)).item(item.id)
        if kept is None or kept.state != DELIVERING or kept.phase != phase:
            raise StoreError(f"the item {item.id} is not being delivered any more")

    def _stopped(self, item: Item, why: Callable[[Sight], str]) -> str:
        sight = self._queue.look()
        kept = sight.queue.item(item.id)
        if kept is None or kept.state != DELIVERING:
            return "the item is not being delivered any more"
        return why(sight)
