"""An outbox whose messages go to a phone that edits what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.config import Config
from hookrouter.messaging.delivery.deliverer import Deliverer, deliver_all
from hookrouter.messaging.delivery.workers import Inline
from hookrouter.messaging.gateway import Gateway, Message, SendResult, Sent
from hookrouter.messaging.outbox import Outbox
from hookrouter.messaging.retry import RetryPolicy
from hookrouter.storage.documents import Store
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.messaging.delivery.workers import Workers


__all__ = ["OPEN", "QUESTION", "Bench", "Phone"]


OPEN = {"kind": "question", "names": ["q"], "fields": {"tool_use_id": "toolu_1"}}
QUESTION = {"tool_use_id": "toolu_1"}


class Phone(Gateway):
    """A gateway that edits what it shows; the number that it gives a message is the receipt."""

    type = "phone"

    def __init__(self) -> None:
        self.shown: dict[str, tuple[str, str]] = {}
        """By the number: subject and text."""
        self.closed: list[tuple[Message, Sent]] = []
        self.refusal: SendResult | None = None
        self.receipt: Any = ...

    def deliver(self, message: Message, settings: Mapping[str, object]) -> SendResult:
        number = f"n{len(self.shown)}"
        self.shown[number] = message.subject, message.text
        return SendResult(True, "shown", receipt={"number": number} if self.receipt is ... else self.receipt)

    def close(self, message: Message, sent: Sent, settings: Mapping[str, object]) -> SendResult:
        self.closed.append((message, sent))
        if self.refusal is not None:
            return self.refusal
        self.shown[sent.receipt["number"]] = message.subject, message.text
        return SendResult(True, "edited")


class Bench:
    """An outbox whose messages go to a phone, and the document that they depend on."""

    def __init__(self, home: Home) -> None:
        self.outbox = Outbox(home, pytest.fail)
        self.documents = Store(home.state, pytest.fail)
        self.journal = Journal(home.logs)
        self.gateway: Any = Phone()
        self.phone = self.gateway
        self.documents.write("question", "q", QUESTION)

    def put(self, kind: str = "question", **more: Any) -> Message:
        message = Message(
            kind, "me", "mobile", "s", "sid", "toolu_1", "Claude asks", "Which?", link="https://x.example/1"
        )
        return self.outbox.put(message, **{"while_open": OPEN, **more})

    def end(self) -> None:
        self.documents.delete("question", "q")

    def run(self, workers: Workers | None = None) -> None:
        config = Config(gateways={"mobile": {"type": "phone"}})
        deliverer = Deliverer(
            self.outbox,
            config,
            {"phone": self.gateway},
            self.journal,
            workers=workers or Inline(),
            retry=RetryPolicy(lambda _longest: 0.0),
        )
        deliver_all(self.outbox, deliverer.deliver_due)

    def outcomes(self) -> list[tuple[object, object]]:
        return [(record["kind"], record["outcome"]) for record in self.journal.records("sid")]
