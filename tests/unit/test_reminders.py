"""A question that nobody answers: what follows its wake, and what `hookrouter questions` says of it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from hookrouter.answering import FollowUp, Woken
from hookrouter.cli.main import main
from hookrouter.config import Agent, AnswerConfig, Config
from hookrouter.delivery import Deliverer

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest


class Gateway:
    """Takes everything."""

    type = "recorder"

    def __init__(self) -> None:
        self.wakes: list[Any] = []

    def check(self, settings: Mapping[str, object]) -> list[str]:
        return []

    def deliver(self, wake: Any, settings: Mapping[str, object]) -> Woken:
        self.wakes.append(wake)
        return Woken(delivered=True, reason="taken")


REMINDING = AnswerConfig(
    remind_after=600, remind_every=300, reminders=2, escalate_after=3600, escalate_to="person", terminal="fake"
)
AGENT = Agent("main", gateway="chat", fallbacks=("desktop",))
GATEWAYS: dict[str, Mapping[str, object]] = {name: {"type": "recorder"} for name in ("chat", "desktop", "person")}


def config_of(session: Any, answer: AnswerConfig) -> Config:
    return Config(agents=(AGENT,), gateways=GATEWAYS, answer=answer)


def deliver(session: Any, seconds: float, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let so many seconds pass, deliver what is due, and return it."""
    later = time.time() + seconds
    monkeypatch.setattr(time, "time", lambda: later)
    gateway = Gateway()
    deliverer = Deliverer(session.app.outbox, session.config, {"recorder": gateway}, session.journal)
    deliverer.deliver_due()
    return gateway.wakes


def test_without_a_configuration_nothing_follows(ask_session: Any) -> None:
    ask_session.ask()
    [wake] = ask_session.wakes()
    assert wake["then"] == []


def test_reminders_then_the_escalation(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_session.config = config_of(ask_session, REMINDING)
    ask_session.ask()
    [question] = ask_session.wakes()
    assert (question["gateway"], question["fallbacks"]) == ("chat", ["desktop"])

    [first] = deliver(ask_session, 0, monkeypatch)
    assert deliver(ask_session, 590, monkeypatch) == []
    [second] = deliver(ask_session, 20, monkeypatch)
    [third] = deliver(ask_session, 310, monkeypatch)
    assert deliver(ask_session, 2000, monkeypatch) == []
    [person] = deliver(ask_session, 800, monkeypatch)

    assert [wake.kind for wake in (first, second, third, person)] == ["question", "reminder", "reminder", "escalation"]
    assert [wake.gateway for wake in (first, second, third, person)] == ["chat", "chat", "chat", "person"]
    assert second.subject == f"Reminder: {first.subject}"
    assert second.text.startswith("# Reminder 1 of 2\n")
    assert third.text.startswith("# Reminder 2 of 2\n")
    assert second.text.endswith(first.text)
    assert person.text.startswith("# Nobody has answered for 60 minutes\n")
    assert len({wake.id for wake in (first, second, third, person)}) == 4
    assert ask_session.app.outbox.count() == 0


def test_an_answered_question_is_not_reminded_of(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_session.config = config_of(ask_session, REMINDING)
    ask_session.ask()
    deliver(ask_session, 0, monkeypatch)
    ask_session.record_answers({})
    assert deliver(ask_session, 4000, monkeypatch) == []
    assert ask_session.app.outbox.count() == 0


def test_questions_says_how_often_the_agent_was_reminded(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask_session.config = config_of(ask_session, REMINDING)
    monkeypatch.setenv("HOOKROUTER_HOME", ask_session.home.root)
    monkeypatch.setattr("hookrouter_ask_user_question.cli.push", lambda *_: False)
    ask_session.ask()
    deliver(ask_session, 0, monkeypatch)

    def entry() -> dict[str, Any]:
        assert main(["questions", "--json"]) == 0
        [found] = json.loads(capsys.readouterr().out)["questions"]
        return dict(found)

    before = entry()
    assert (before["reminded_at"], before["escalated_at"]) == ([], None)
    assert before["next_reminder_at"] is not None
    deliver(ask_session, 610, monkeypatch)
    deliver(ask_session, 310, monkeypatch)
    deliver(ask_session, 3000, monkeypatch)

    after = entry()
    assert len(after["reminded_at"]) == 2
    assert after["escalated_at"] is not None
    assert after["next_reminder_at"] is None
    assert main(["questions"]) == 0
    assert "reminded 2 times, escalated 0 s ago" in capsys.readouterr().out


def test_the_last_reminder_has_no_next_one() -> None:
    from hookrouter.answering import Wake
    from hookrouter_ask_user_question.documents import Question
    from hookrouter_ask_user_question.reminders import follow_ups

    question = Question("s", "sid", "t", [], None, "main", "chat")
    wake = Wake("question", "main", "chat", "s", "sid", "t", "subject", "text")

    def depth(one: FollowUp) -> int:
        return 1 + sum(depth(other) for other in one.then)

    [chain] = follow_ups(question, wake, AnswerConfig(remind_after=1, reminders=5))
    assert depth(chain) == 5
    assert [one.seconds for one in chain.then] == [1]
    assert follow_ups(question, wake, AnswerConfig(remind_after=1, reminders=0)) == ()
