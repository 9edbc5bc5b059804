"""A question that nobody answers: what follows its wake, and what `hookrouter questions` says of it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from hookrouter.cli.main import main
from hookrouter.composing import Composing
from hookrouter.config import Agent, AnswerConfig, Config
from hookrouter.dialogs.composer import DialogComposer
from hookrouter.messaging.delivery.deliverer import Deliverer
from hookrouter.messaging.gateway import Gateway, ScheduledMessage, SendResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest


class Recorder(Gateway):
    """Takes everything."""

    type = "recorder"

    def __init__(self) -> None:
        self.wakes: list[Any] = []

    def check(self, settings: Mapping[str, object]) -> list[str]:
        return []

    def deliver(self, wake: Any, settings: Mapping[str, object]) -> SendResult:
        self.wakes.append(wake)
        return SendResult(delivered=True, reason="taken")


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
    gateway = Recorder()
    app = session.app
    composing = Composing({"dialogs": DialogComposer()}, app)
    deliverer = Deliverer(app.outbox, session.config, {"recorder": gateway}, session.journal, compose=composing)
    deliverer.deliver_due()
    return gateway.wakes


def test_without_a_configuration_nothing_follows(ask_session: Any) -> None:
    ask_session.ask()
    [wake] = ask_session.wakes()
    assert wake.then == ()


def test_an_inbox_gets_no_reminders_because_nobody_would_see_them(ask_session: Any) -> None:
    answer = REMINDING._with(escalate_to="")
    inbox = Agent("main", gateway="box", fallbacks=("chat",))
    ask_session.config = Config(agents=(inbox,), gateways={**GATEWAYS, "box": {"type": "inbox"}}, answer=answer)
    ask_session.ask()
    [wake] = ask_session.wakes()
    assert wake.then == ()


def test_an_agent_with_a_gateway_is_reminded_by_default(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_session.config = config_of(ask_session, AnswerConfig())
    ask_session.ask()
    assert [wake.kind for wake in deliver(ask_session, 0, monkeypatch)] == ["question"]
    for _ in range(3):
        assert [wake.kind for wake in deliver(ask_session, 610, monkeypatch)] == ["reminder"]
    assert deliver(ask_session, 86400, monkeypatch) == []


def test_an_agent_that_took_a_question_and_gives_no_sign_is_silent(ask_session: Any) -> None:
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.dialogs.messages.reminders import silent_since
    from hookrouter.util.clock import iso, seconds

    question = Dialog("s", "sid", "t", [], None, "main", "chat")
    config = config_of(ask_session, AnswerConfig(escalate_after=1800))
    begun = seconds("2026-01-01T00:00:00.000Z")
    assert begun is not None

    def record(minutes: float, **fields: object) -> dict[str, object]:
        return {"at": iso(begun + 60 * minutes), "tool_use_id": "t", **fields}

    def taken(minutes: float, gateway: str = "chat") -> dict[str, object]:
        return record(minutes, event="delivery", outcome="delivered", kind="question", gateway=gateway)

    def since(minutes: float, *records: dict[str, object]) -> str | None:
        return silent_since(question, records, config, begun + 60 * minutes)

    assert since(29, taken(0)) is None
    assert since(30, taken(0)) == iso(begun)
    # Nobody took it: it waits in the inbox, or for its gateway.
    assert since(600, taken(0, "inbox")) is None
    assert since(600, {**taken(0), "outcome": "kept"}) is None
    # A reminder is no sign of the agent, an answer that was refused is; not if it is a person's, or another question's.
    assert since(30, taken(0), {**taken(10), "kind": "reminder"}) == iso(begun)
    answered = record(20, event="answer", outcome="undeliverable")
    assert since(30, taken(0), answered) is None
    assert since(50, taken(0), answered) == iso(begun + 1200)
    assert since(30, taken(0), {**answered, "by": "person"}) == iso(begun)
    assert since(30, taken(0), {**answered, "tool_use_id": "other"}) == iso(begun)


def test_reminders_then_the_escalation(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_session.config = config_of(ask_session, REMINDING)
    ask_session.ask()
    [question] = ask_session.wakes()
    assert (question.gateway, question.fallbacks) == ("chat", ("desktop",))

    [first] = deliver(ask_session, 0, monkeypatch)
    assert deliver(ask_session, 590, monkeypatch) == []
    [second] = deliver(ask_session, 20, monkeypatch)
    [third] = deliver(ask_session, 310, monkeypatch)
    assert deliver(ask_session, 2000, monkeypatch) == []
    [person] = deliver(ask_session, 800, monkeypatch)

    assert [wake.kind for wake in (first, second, third, person)] == ["question", "reminder", "reminder", "escalation"]
    assert [wake.gateway for wake in (first, second, third, person)] == ["chat", "chat", "chat", "person"]
    assert second.subject == f"Reminder: {first.subject}"
    assert second.text.startswith("# Reminder 1 of 2: Claude has waited for 10.2 min\n")
    assert third.text.startswith("# Reminder 2 of 2: Claude has waited for 15.3 min\n")
    assert person.text.startswith("# Nobody has answered for 62 min: session `main`\n")
    assert (second.data["reminder"], third.data["reminder"]) == ({"number": 1, "of": 2}, {"number": 2, "of": 2})
    assert [wake.data["answer_from"] for wake in (first, second, third, person)] == [*3 * ["agent"], "person"]
    assert len({wake.id for wake in (first, second, third, person)}) == 4
    assert ask_session.app.outbox.count() == 0


def test_an_answered_question_is_not_reminded_of(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_session.config = config_of(ask_session, REMINDING)
    ask_session.ask()
    deliver(ask_session, 0, monkeypatch)
    ask_session.record_answers({})
    assert deliver(ask_session, 4000, monkeypatch) == []
    assert ask_session.app.outbox.count() == 0


def test_a_question_that_was_answered_before_its_message_went_out_wakes_nobody(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_session.config = config_of(ask_session, REMINDING)
    ask_session.ask()
    ask_session.record_answers({})
    assert deliver(ask_session, 0, monkeypatch) == []
    assert ask_session.app.outbox.count() == 0
    [dropped, *_] = [one for one in ask_session.journal.records("s-1") if one.get("outcome") == "dropped"]
    assert dropped["reason"] == "what it is about has ended"


def test_of_a_question_that_was_escaped_before_its_message_went_out_its_end_is_told(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_session.config = config_of(ask_session, REMINDING)
    ask_session.ask()
    ask_session.hook("session_end", reason="exit")
    [told] = deliver(ask_session, 0, monkeypatch)
    assert (told.kind, told.tool_use_id) == ("unanswered", "toolu_1")
    assert "Which database?" in told.text


def test_questions_says_how_often_the_agent_was_reminded(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask_session.config = config_of(ask_session, REMINDING)
    monkeypatch.setenv("HOOKROUTER_HOME", ask_session.home.root)
    monkeypatch.setattr("hookrouter.cli.dialogs.questions.push", lambda *_: False)
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
    assert "reminded 2 times, no sign of the agent for 65.3 min, escalated 0 s ago" in capsys.readouterr().out


def test_the_last_reminder_has_no_next_one() -> None:
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.dialogs.messages.reminders import follow_ups
    from hookrouter.messaging.gateway import Message

    question = Dialog("s", "sid", "t", [], None, "main", "chat")
    wake = Message("question", "main", "chat", "s", "sid", "t", "subject", "text")

    def depth(one: ScheduledMessage) -> int:
        return 1 + sum(depth(other) for other in one.then)

    [chain] = follow_ups(question, wake, AnswerConfig(remind_after=1, reminders=5))
    assert depth(chain) == 5
    assert [one.seconds for one in chain.then] == [1]
    assert follow_ups(question, wake, AnswerConfig(remind_after=1, reminders=0)) == ()
