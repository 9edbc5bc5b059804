"""Messages are completed by plugins when they go out, and go out as they are if that fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookrouter.cli.application import Application
from hookrouter.composing import Composing, MessageComposer
from hookrouter.config import Config
from hookrouter.messaging.delivery.deliverer import Deliverer
from hookrouter.messaging.gateway import Gateway, Message, ScheduledMessage, SendResult
from hookrouter.messaging.message import decode

MESSAGE = Message("question", "a", "chat", "s", "sid", "t", "subject", "text", "id-1", "now")


class Composer(MessageComposer):
    def __init__(self, name: str, act: Callable[[Message, int], Any]) -> None:
        self.name = name
        self.act = act

    def compose(self, message: Message, attempt: int, services: object) -> Any:
        assert isinstance(services, Application)
        return self.act(message, attempt)


@pytest.fixture
def composing(hookrouter_home: Path) -> Callable[..., Composing]:
    app = Application.from_environ()

    def make(*acts: Callable[[Message, int], Any]) -> Composing:
        return Composing({f"c{n}": Composer(f"c{n}", act) for n, act in enumerate(acts)}, app)

    return make


def complaints(composing: Composing) -> list[Any]:
    return [record["reason"] for record in composing.services.journal.records("sid")]


def test_the_first_that_returns_a_message_completes_it(composing: Any) -> None:
    def changed(message: Message, attempt: int) -> Message:
        return message._replace(text=f"try {attempt}", data={"a": 1}, subject="S", id="mine", gateway="mine", kind="x")

    asked = composing(lambda *_: None, changed, lambda *_: 1 / 0)
    assert asked(MESSAGE, 3) == MESSAGE._replace(text="try 3", data={"a": 1}, subject="S")
    assert complaints(asked) == []
    assert composing()(MESSAGE, 1) == MESSAGE


@pytest.mark.parametrize("found", ["text", 1, MESSAGE._replace(text=None), MESSAGE._replace(data=[])])  # type: ignore[arg-type]
def test_what_is_no_message_is_not_sent(composing: Any, found: object) -> None:
    asked = composing(lambda *_: found)
    assert asked(MESSAGE, 1) == MESSAGE
    [reason] = complaints(asked)
    assert reason.startswith("the composer c0 returned")


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), RecursionError()])
def test_a_composer_that_fails_costs_only_what_it_adds(composing: Any, error: BaseException) -> None:
    def fail(message: Message, attempt: int) -> Message:
        raise error

    asked = composing(fail, lambda message, _: message._replace(text="second"))
    assert asked(MESSAGE, 1).text == "second"
    assert "the composer c0 failed" in complaints(asked)[0]


def test_each_try_is_composed_anew(composing: Any) -> None:
    app = Application.from_environ()
    taken: list[Message] = []

    class Recorder(Gateway):
        type = "recorder"

        def check(self, settings: object) -> list[str]:
            return []

        def deliver(self, message: Message, settings: object) -> SendResult:
            taken.append(message)
            return SendResult(delivered=len(taken) > 1, reason="")

    put = app.outbox.put(MESSAGE._replace(data={"kept": True}), then=[ScheduledMessage(MESSAGE, 60)])
    config = Config(gateways={"chat": {"type": "recorder"}})
    asked = composing(lambda message, attempt: message._replace(text=f"{message.text} {attempt}"))
    deliverer = Deliverer(app.outbox, config, {"recorder": Recorder()}, app.journal, compose=asked)
    deliverer.deliver_due()
    app.outbox.retry(put.id)
    deliverer.deliver_due()
    assert [one.text for one in taken] == ["text 1", "text 2"]
    assert [one.data for one in taken] == [{"kept": True}, {"kept": True}]


def test_a_document_without_data_is_read_and_one_of_nonsense_too() -> None:
    document = {**MESSAGE._asdict(), "version": 1}
    del document["data"]
    assert decode("id-1", document).for_gateway("chat") == MESSAGE
    assert not decode("id-1", document).fault
    for nonsense in (None, "x", [], 1):
        assert decode("id-1", {**document, "data": nonsense}).for_gateway("chat").data == {}
    assert decode("id-1", {**document, "data": {"version": 1}}).for_gateway("chat").data == {"version": 1}
