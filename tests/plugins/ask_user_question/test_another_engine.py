"""The story of a question on an engine that is not files: no caller goes past the storage interface."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hookrouter._isolation import circuit_breaker
from hookrouter._isolation.policy import choose
from hookrouter.answering.interfaces import AnswerOutcome, AnswerRequest, AnswerStatus
from hookrouter.config import Config
from hookrouter.dialogs.answers.answer import answer
from hookrouter.dialogs.stories.history import history
from hookrouter.dialogs.verdicts import list_verdicts
from hookrouter.messaging import notices, pauses
from hookrouter.messaging.delivery.deliverer import Deliverer, deliver_all
from hookrouter.messaging.gateway import Message, SendResult
from hookrouter.messaging.spawn import is_delivering, push
from hookrouter.storage.engine import OUTBOX, open_store, use_engine
from support.memory_storage import MemoryEngine

DECISIONS = [{"action": "select", "optionIndex": 1}, {"action": "multi-select", "selectedIndices": [1, 0]}]
ANSWERS = {"Which database?": "Postgres", "Which features?": "Auth, Export"}

DELIVERED = AnswerOutcome(AnswerStatus.DELIVERED, "the dialog took it", ("press Enter",))


@pytest.fixture(autouse=True)
def engine() -> Iterator[MemoryEngine]:
    engine = MemoryEngine()
    former = use_engine(engine)
    yield engine
    use_engine(former)


class Gateway:
    type = "inbox"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def deliver(self, message: Message, _settings: object) -> SendResult:
        self.texts.append(message.text)
        return SendResult(delivered=True, reason="taken")


def test_a_question_is_asked_told_answered_and_verified(ask_session: Any, engine: MemoryEngine) -> None:
    app = ask_session.app
    ask_session.ask()
    assert [message.kind for message in app.outbox.pending()] == ["question"]

    gateway = Gateway()
    deliverer = Deliverer(app.outbox, ask_session.config, {"inbox": gateway}, ask_session.journal)
    with app.outbox.locks.delivering():
        assert is_delivering(open_store(ask_session.home, pytest.fail, OUTBOX), "")
        assert deliver_all(ask_session.app.outbox, deliverer.deliver_due) is False
    assert deliver_all(app.outbox, deliverer.deliver_due) is True
    assert len(gateway.texts) == 1
    assert app.outbox.count() == 0

    def act(request: AnswerRequest) -> Any:
        ask_session.record_answers(ANSWERS, tool_use_id=request.tool_use_id)
        return DELIVERED

    ask_session.first.act = act
    result = answer(app, "main", json.dumps(DECISIONS), wait=5.0)
    assert (result.outcome, result.exit_code) == ("verified", 0)
    (verdict,) = list_verdicts(app.store)
    assert (verdict.outcome, verdict.tool_use_id) == ("verified", "toolu_1")
    (story,) = history(ask_session.journal, store=app.store)
    assert story["outcome"] == "verified"
    assert not Path(ask_session.home.state).exists()
    assert {area for _, area in engine.areas} == {"", OUTBOX}


def test_what_stands_beside_a_question(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses, notices, what waits for a push, and what is known of plugins that failed."""
    app, home = ask_session.app, ask_session.home
    message = Message("closed", "a", "g", "main", "s-1", "toolu_1", "over", "The question is over.")
    pauses.begin(app.store, "main", "lunch")
    assert pauses.is_paused(ask_session.app.store, "main")
    notices.save(app.store, message._replace(id="1"))
    assert notices.dismiss_all(app.store) == ["1"]
    with app.outbox.watches()[1] as again:
        app.outbox.look_again()
        assert again.wait(5)
    monkeypatch.setattr("hookrouter.messaging.spawn._spawn", lambda *_: 1)
    app.outbox.put(message)
    assert push({}, home)
    assert not push({}, home)
    circuit_breaker.isolate(home, {"other": "pre_tool_use"})
    assert choose(home, [], Config(), pytest.fail).health["other"].isolated
    assert not Path(home.state).exists()
