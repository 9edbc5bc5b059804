"""What init says at its end: to whom a question goes, and what if nobody answers."""

from __future__ import annotations

from hookrouter._diagnostics.configuration import untold_warning
from hookrouter._setup.summary import first_question, routes
from hookrouter.config import Agent, AnswerConfig, Config

GATEWAYS = {
    "wake": {"type": "command", "argv": ["/bin/agent", "--night"]},
    "claw": {"type": "openclaw", "agent": "main"},
    "chat": {"type": "webhook", "url": "https://example.org"},
}
NIGHT = AnswerConfig(remind_after=600.0, reminders=3, escalate_after=3600.0, escalate_to="chat")


def said(config: Config, **more: str) -> str:
    lines = first_question(config, **more)
    return " ".join(" ".join(lines).split())


def test_an_agent_with_reminders_and_somebody_who_is_told() -> None:
    agents = (
        Agent("a", sessions=("work-*",), gateway="wake", fallbacks=("chat",)),
        Agent("b", workdirs=("~/x",), gateway="claw"),
        Agent("off", enabled=False, gateway="chat"),
    )
    config = Config(agents=agents, gateways=GATEWAYS, answer=NIGHT)
    text = said(config)
    for part in (
        "When Claude asks in a session called work-*: a is told: hookrouter runs /bin/agent --night; if that fails,",
        "When Claude asks in any other session in ~/x: b is told: OpenClaw's agent main gets a turn.",
        "In any other session the question is yours alone: nobody is told.",
        "after 10 min a reminder is sent, up to 3 times; after 60 min chat is told: the gateway chat (webhook)",
        "the question stays on the screen, and Claude waits.",
        "hookrouter skill --for openclaw --install",
    ):
        assert part in text, part
    assert "off" not in text
    assert "warning" not in text
    assert routes(config, None) == [("a", "wake"), ("a", "chat"), ("b", "claw")]
    assert routes(config, "b") == [("b", "claw"), ("b", "chat")]


def test_nobody_who_is_told_is_a_warning() -> None:
    config = Config(agents=(Agent("a", gateway="wake"),), gateways=GATEWAYS, answer=AnswerConfig(remind_after=0.0))
    text = said(config)
    assert "When Claude asks in any session: a is told" in text
    assert "no reminder is sent: [answer] remind_after is 0;" in text
    assert f"warning: {untold_warning(config)};" in text
    assert "nobody is told: reminders are off" in text
    assert "any other session" not in text


def test_an_agent_that_is_reminded_is_the_only_one_who_is_told() -> None:
    config = Config(agents=(Agent("a", gateway="wake"),), gateways=GATEWAYS, answer=AnswerConfig(remind_after=600.0))
    assert untold_warning(config) == ""
    assert "warning: nobody else is told, because [answer] escalate_to is not set;" in said(config)


def test_an_inbox_to_which_it_escalates_tells_nobody() -> None:
    answer = AnswerConfig(remind_after=0.0, escalate_to="box")
    gateways = {**GATEWAYS, "box": {"type": "inbox"}}
    config = Config(agents=(Agent("a", gateway="wake"),), gateways=gateways, answer=answer)
    text = said(config)
    assert "the inbox box has it too;" in text
    assert "box is told" not in text
    assert f"warning: {untold_warning(config)};" in text


def test_the_inbox_tells_nobody() -> None:
    text = said(Config())
    assert "nobody is told. The question is shown on Claude's screen and in `hookrouter questions`" in text
    assert "reminder is sent" not in text
    assert f"warning: {untold_warning(Config())};" in text
    assert routes(Config(), None) == [("default", "inbox")]


def test_of_a_persons_silence_it_is_only_said_that_nobody_else_is_told() -> None:
    for gateway in ("inbox", "wake"):
        for answer in (AnswerConfig(), AnswerConfig(remind_after=0.0)):
            gateways = {**GATEWAYS, "inbox": {"type": "inbox"}}
            me = Agent("me", gateway=gateway, kind="person")
            config = Config(agents=(me,), gateways=gateways, answer=answer)
            text = said(config)
            assert untold_warning(config) == ""
            assert "warning" not in text
            assert "nobody else is told, because only a person answers;" in text
            mixed = config._with(agents=(me, Agent("a", gateway="wake")))
            assert "warning: " in said(mixed)
            assert "'me'" not in untold_warning(mixed)


def test_without_a_terminal_globs_may_fit_nothing() -> None:
    config = Config(agents=(Agent("a", sessions=("work-*",), gateway="wake"),), gateways=GATEWAYS, answer=NIGHT)
    assert "warning: there is no tmux program on PATH, so a session is called claude-" in said(
        config, without_terminal="there is no tmux program on PATH"
    )
    everywhere = Config(agents=(Agent("a", gateway="wake"),), gateways=GATEWAYS, answer=NIGHT)
    assert "no tmux" not in said(everywhere, without_terminal="there is no tmux program on PATH")


def test_foreign_text_cannot_steer_the_terminal() -> None:
    config = Config(agents=(Agent("a\x1b[2J", gateway="wake"),), gateways=GATEWAYS, answer=NIGHT)
    assert "\x1b" not in said(config)
