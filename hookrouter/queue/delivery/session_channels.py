"""The prompt channels of one session: asked in their order, made ready, and called once for an item.

They are plugins', and may fail in any way: what that means is said here. What their answer makes of the queue is not.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookrouter.queue.channels import PreparingChannel, PromptOutcome, PromptStatus
from hookrouter.queue.items import QUEUED
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from hookrouter.queue.channels import PromptChannel, PromptRequest
    from hookrouter.queue.delivery.requests import PromptRequests
    from hookrouter.queue.delivery.session_queue import SessionQueue
    from hookrouter.queue.documents import Queue
    from hookrouter.queue.items import Item
    from hookrouter.sessions.records import SessionRecord

__all__ = ["SessionChannels"]

_PREPARED_ITEMS = 10
"""How many of the items that come next are prepared."""


class SessionChannels:
    """The channels of ``[sessions] channels`` that are there, for one session."""

    def __init__(self, queue: SessionQueue, requests: PromptRequests) -> None:
        """``requests`` makes what a channel is given."""
        self._queue = queue
        self._services = queue.services
        self._requests = requests
        self._said = ("", "")
        self._prepared: set[str] = set()

    def listed(self) -> list[PromptChannel]:
        """Return the channels in the order in which they are asked."""
        there = self._services.plugins.prompt_channels()
        return [there[name] for name in self._services.config.sessions.channels if name in there]

    def refusal(self, channel: PromptChannel, record: SessionRecord, item: Item) -> str:
        """Return why a channel cannot carry an item, in one sentence; empty if it can."""
        return _refusal(channel, self._requests.request(record, item, channel))

    def submit(self, channel: PromptChannel, record: SessionRecord, item: Item) -> PromptOutcome:
        """Have a channel submit an item that is being delivered, and write down what it did. Raises StoreError."""
        request = self._requests.request(record, item, channel)
        started = time.monotonic()
        try:
            outcome = channel.submit(request)
        except Exception as error:  # noqa: BLE001 - it is a plugin's, and nobody knows what it has done
            outcome = PromptOutcome(
                PromptStatus.UNCERTAIN, f"the channel {channel.name} failed: {describe_error(error)}"
            )
        # The same answer to the same question, which is asked again and again, is written once.
        said, self._said = self._said, (item.id, outcome.reason)
        if outcome.status == PromptStatus.NOT_NOW and said == self._said:
            return outcome
        self._queue.write_journal(
            record,
            item,
            outcome.status,
            channel=channel.name,
            reason=outcome.reason,
            steps=list(outcome.steps),
            seconds=round(time.monotonic() - started, 3),
        )
        return outcome

    def prepare(self, queue: Queue, record: SessionRecord) -> None:
        """Have the channels of what comes next get ready, once for each item."""
        waiting = [item for item in queue.items if item.state == QUEUED][:_PREPARED_ITEMS]
        for item in waiting:
            if item.id in self._prepared:
                continue
            self._prepared.add(item.id)
            asked = ((one, self._requests.request(record, item, one)) for one in self.listed())
            channel, request = next((one for one in asked if not _refusal(*one)), (None, None))
            if isinstance(channel, PreparingChannel) and request is not None:
                try:
                    channel.prepare(request)
                except Exception as error:  # noqa: BLE001 - it is a plugin's, and is asked to submit the item later
                    reason = describe_error(error)
                    self._services.warn(f"the prompt channel {channel.name} is not prepared: {reason}")


def _refusal(channel: PromptChannel, request: PromptRequest) -> str:
    try:
        return channel.refusal(request)
    except Exception as error:  # noqa: BLE001 - it is a plugin's
        return f"it failed: {describe_error(error)}"
