"""Leaves messages in the state folder, where ``hookrouter questions`` lists them."""

from __future__ import annotations

import os
import sys

import attrs

from hookrouter.messaging import notices
from hookrouter.messaging.gateway import Gateway, Message, SendResult
from hookrouter.storage.engine import open_store
from hookrouter.storage.home import Home
from hookrouter.storage.interface import StoreError

__all__ = ["InboxGateway"]


@attrs.frozen
class InboxSettings:
    """A ``[gateways.NAME]`` table, which has no keys of its own."""


class InboxGateway(Gateway):
    """Keeps what is not a question as a notice; a question waits as its own document already."""

    type = "inbox"
    settings = InboxSettings

    def deliver(self, message: Message, settings: InboxSettings) -> SendResult:  # noqa: ARG002 - the interface
        """Keep the message in the state folder of this process's home."""
        if message.kind in ("question", "reminder"):
            return SendResult(delivered=True, reason="the question is kept in the inbox")
        store = open_store(Home.from_environ(os.environ), _report)
        try:
            notices.save(store, message)
        except StoreError as error:
            return SendResult(delivered=False, reason=str(error))
        return SendResult(delivered=True, reason="kept as a notice in the state folder")


def _report(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201 - the deliverer's stderr is its log
