"""Messages that are withdrawn or edited once what they are about is over."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrouter.messaging.gateway import Gateway, Message, ScheduledMessage, SendResult, Sent
from hookrouter.messaging.message import decode, encode
from hookrouter.messaging.outbox import Outbox
from hookrouter.storage.documents import Store, StoreError
from hookrouter.storage.home import Home
from support.phone_bench import OPEN, QUESTION, Bench

if TYPE_CHECKING:
    from collections.abc import Mapping


@pytest.fixture
def bench(hookrouter_home: Path) -> Bench:
    return Bench(Home.in_folder(str(hookrouter_home)))


def test_a_message_is_edited_when_its_question_has_ended(bench: Bench) -> None:
    sent = bench.put()
    bench.run()
    assert bench.phone.shown == {"n0": ("Claude asks", "Which?")}
    [waiting] = bench.outbox.pending()
    assert (waiting.kind, waiting.closes, waiting.is_for_later) == ("closed", Sent(sent.id, {"number": "n0"}), True)
    bench.run()
    assert bench.phone.closed == []

    bench.end()
    bench.run()
    [(message, closes)] = bench.phone.closed
    assert (message.kind, message.link, message.data) == ("closed", "", {})
    assert (message.id, closes.id) == (f"{sent.id}-closed", sent.id)
    assert bench.phone.shown["n0"] == ("Over: Claude asks", message.text)
    assert bench.outbox.count() == 0
    assert bench.outcomes() == [("question", "delivered"), ("closed", "delivered")]


def test_each_message_about_the_question_is_closed(bench: Bench) -> None:
    later = Message("reminder", "me", "mobile", "s", "sid", "toolu_1", "Still", "Which?")
    escalation = ScheduledMessage(later._replace(kind="escalation"), 0, after_delivery=False)
    bench.put(then=(ScheduledMessage(later, 0), escalation))
    bench.run()
    bench.run()
    assert len(bench.phone.shown) == 3
    bench.end()
    bench.run()
    assert sorted(sent.receipt["number"] for _message, sent in bench.phone.closed) == ["n0", "n1", "n2"]
    assert bench.outbox.count() == 0


def test_one_that_fails_holds_up_no_question(bench: Bench) -> None:
    bench.put()
    bench.run()
    bench.end()
    bench.phone.refusal = SendResult(False, "no connection", retry_after=3000)
    bench.run()
    assert bench.outbox.pending()[0].failures == 1
    bench.documents.write("question", "q", QUESTION)
    bench.put()
    bench.run()
    assert len(bench.phone.shown) == 2


def test_those_behind_it_do_not_wait_for_it(bench: Bench) -> None:
    bench.put()
    bench.run()
    bench.put("warning", while_open=None)
    bench.run()
    assert len(bench.phone.shown) == 2
    assert [message.kind for message in bench.outbox.pending()] == ["closed"]


@pytest.mark.parametrize("receipt", [None, {}])
def test_a_gateway_says_what_is_to_be_closed(bench: Bench, receipt: dict[str, str] | None) -> None:
    bench.phone.receipt = receipt
    bench.put()
    bench.run()
    assert bench.outbox.count() == (receipt is not None)


def test_what_depends_on_nothing_stays_as_it_is(bench: Bench) -> None:
    bench.put("mismatch", while_open=None)
    bench.run()
    assert bench.outbox.count() == 0


@pytest.mark.parametrize("receipt", ["n0", {"number": 7}, {7: "n0"}, ["n0"]])
def test_a_receipt_that_is_none_is_the_plugins_fault(bench: Bench, receipt: object) -> None:
    bench.phone.receipt = receipt
    bench.put()
    bench.run()
    [message] = bench.outbox.pending()
    assert message.given_up is not None
    assert "a SendResult whose receipt is" in message.given_up.reason


def test_one_that_cannot_be_closed_is_dropped_and_journalled(bench: Bench) -> None:
    bench.put()
    bench.run()
    bench.end()
    bench.phone.refusal = SendResult(False, "it was deleted", retry=False)
    bench.run()
    assert bench.outbox.count() == 0
    last = [record for record in bench.journal.records("sid") if record["kind"] == "closed"][-1]
    assert (last["level"], last["outcome"], last["reason"]) == ("warning", "dropped", "it was deleted")


def test_an_outage_is_waited_for(bench: Bench) -> None:
    bench.put()
    bench.run()
    bench.end()
    bench.phone.refusal = SendResult(False, "no connection")
    bench.run()
    [message] = bench.outbox.pending()
    assert (message.failures > 0, message.last_error, message.is_for_later) == (True, "no connection", False)
    bench.phone.refusal = None
    bench.run()
    assert bench.outbox.count() == 0


class Deaf(Gateway):
    """A gateway of another version, which closes nothing."""

    type = "phone"

    def deliver(self, message: Message, settings: Mapping[str, object]) -> SendResult:
        pytest.fail(f"delivered: {message}")


def test_a_gateway_that_closes_no_more_drops_it(bench: Bench) -> None:
    bench.put()
    bench.run()
    bench.end()
    bench.gateway = Deaf()
    bench.run()
    assert bench.outbox.count() == 0
    assert bench.outcomes()[-1] == ("closed", "dropped")


def test_a_deliverer_that_is_killed_after_the_delivery_loses_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise SystemExit

    bench.put()
    with monkeypatch.context() as patch:
        patch.setattr(Outbox, "follow", killed)
        with pytest.raises(SystemExit):
            bench.run()
    bench.run()
    assert len(bench.phone.shown) == 1
    bench.end()
    bench.run()
    assert len(bench.phone.closed) == 1
    assert bench.outbox.count() == 0


def test_it_waits_while_nobody_can_see_whether_it_is_over(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.put()
    bench.run()

    def unreadable(*_: object) -> None:
        raise StoreError("the documents cannot be read")

    monkeypatch.setattr(Store, "read", unreadable)
    closing = bench.outbox.tries
    with pytest.raises(StoreError):
        closing.is_over(decode("x", {"once_over": OPEN}))
    monkeypatch.undo()
    bench.end()
    bench.run()
    assert len(bench.phone.closed) == 1


def test_its_document_is_read_as_it_was_written(bench: Bench) -> None:
    bench.put()
    bench.run()
    [message] = bench.outbox.pending()
    again = decode(message.id, encode(message))
    assert (again.closes, again.once_over) == (message.closes, message.once_over)


@pytest.mark.parametrize("value", [None, 7, "x", [], {"id": 7, "receipt": 3}, {"receipt": {"a": 1, "b": "c"}}])
def test_any_document_is_read(value: object) -> None:
    found = decode("x", {"closes": value, "once_over": value})
    assert found.once_over is None
    assert found.closes in (None, Sent("", {}), Sent("", {"b": "c"}))
