"""An outbox whose messages go to gateways that note what they are asked, and answer as told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.config import Agent, Config
from hookrouter.messaging.delivery.attempt import Limits
from hookrouter.messaging.delivery.deliverer import Deliverer, deliver_all
from hookrouter.messaging.gateway import Gateway, Message, SendResult
from hookrouter.messaging.message import QueuedMessage
from hookrouter.messaging.outbox import Outbox
from hookrouter.messaging.retry import RetryPolicy
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


__all__ = ["FAILED", "SENT", "Bench", "Recorder"]


SENT = SendResult(delivered=True, reason="taken")
FAILED = SendResult(delivered=False, reason="connection refused")


class Recorder(Gateway):
    """A gateway that notes what it is asked to deliver and answers as told."""

    type = "recorder"

    def __init__(self, answer: Callable[[Message], object] = lambda _wake: SENT) -> None:
        self.answer = answer
        self.seen: list[Message] = []
        self.problems: list[str] = []

    def check(self, settings: Mapping[str, object]) -> list[str]:
        return self.problems

    def deliver(self, wake: Message, settings: Mapping[str, object]) -> Any:
        self.seen.append(wake)
        return self.answer(wake)

    def texts(self) -> list[str]:
        return [wake.text for wake in self.seen]


class Bench:
    """An outbox with a deliverer over recorder gateways, in one home."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.outbox = Outbox(home, print)
        self.journal = Journal(home.logs)
        self.gateway = Recorder()
        self.tables: dict[str, Mapping[str, object]] = {"g": {"type": "recorder"}, "h": {"type": "recorder"}}
        self.problems: tuple[str, ...] = ()
        self.agents: tuple[Agent, ...] = ()
        self.attempt_seconds = 900.0

    def put(self, text: str, session: str = "s", gateway: str = "g", fallbacks: Sequence[str] = ()) -> Message:
        wake = Message("question", "a", gateway, session, "sid", "toolu_1", "subject", text)
        return self.outbox.put(wake, fallbacks=fallbacks)

    def deliverer(self, **fields: Any) -> Deliverer:
        config = Config(agents=self.agents, gateways=self.tables, problems=self.problems)
        fields = {"limits": Limits(self.attempt_seconds), "retry": RetryPolicy(lambda longest: longest), **fields}
        return Deliverer(self.outbox, config, {"recorder": self.gateway}, self.journal, **fields)

    def run(self) -> bool:
        """Deliver what is due, and let those wait that have failed."""
        return deliver_all(self.outbox, self.deliverer().deliver_due)

    def again(self) -> bool:
        """Deliver what is there, as ``hookrouter deliver`` by hand does."""
        for name in self.outbox.ids():
            self.outbox.hurry(name)
        return self.run()

    def message(self, wake: Message) -> QueuedMessage:
        message = self.outbox.get(wake.id)
        assert message is not None, f"{wake.text!r} is gone from the outbox"
        return message

    def records(self, session_id: str | None = "sid") -> list[tuple[object, object, object]]:
        return [(record["level"], record["outcome"], record["reason"]) for record in self.journal.records(session_id)]
