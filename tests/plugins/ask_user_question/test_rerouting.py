"""What is asked while config.toml has problems is brought to the agent that the corrected file names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.cli.main import main
from hookrouter.config import Agent, AnswerConfig, Config
from hookrouter.dialogs import documents
from hookrouter.messaging import pauses

if TYPE_CHECKING:
    from hookrouter.dialogs.documents import Dialog

PROBLEMS = ("config.toml: answer.remind_aftr: unknown key",)
GATEWAYS = {name: {"type": "recorder"} for name in ("chat", "other")}
RIGHT = Config(agents=(Agent("night", gateway="chat"),), gateways=GATEWAYS)
FORMER = Config(agents=(Agent("former", gateway="other"),), gateways=GATEWAYS, answer=AnswerConfig(remind_after=600))
ELSEWHERE = Config(agents=(Agent("night", sessions=("elsewhere",), gateway="chat"),), gateways=GATEWAYS)


def question(session: Any) -> Dialog:
    [found] = documents.list_questions(session.app.store)
    return found


def routes(session: Any) -> list[tuple[str, str, str]]:
    return [(wake.kind, wake.agent, wake.gateway) for wake in session.wakes()]


def broken(config: Config) -> Config:
    return config._with(problems=PROBLEMS)


@pytest.mark.parametrize("event", ["prompt", "start", "stop", "asked"])
def test_after_the_repair_the_next_hook_of_any_session_wakes_the_right_agent(ask_session: Any, event: str) -> None:
    ask_session.config = broken(Config())
    ask_session.ask()
    assert (question(ask_session).agent, question(ask_session).provisional) == ("default", True)
    other = {"session_id": "s-2", "environ": {"FAKE_SESSION": "second"}}
    calls: dict[str, Any] = {
        "prompt": lambda: ask_session.hook("user_prompt_submit", prompt="hi", **other),
        "start": lambda: ask_session.hook("session_start", source="startup", **other),
        "stop": lambda: ask_session.hook("stop", stop_hook_active=False, **other),
        "asked": lambda: ask_session.ask(tool_use_id="toolu_2", **other),
    }
    calls[event]()
    if event == "asked":
        documents.delete_question(ask_session.app.store, "second", "toolu_2")
    assert question(ask_session).agent == "default"
    ask_session.config = RIGHT
    record = calls[event]()
    found = [one for one in documents.list_questions(ask_session.app.store) if one.session == "main"]
    assert [(one.agent, one.gateway, one.provisional) for one in found] == [("night", "chat", False)]
    woken = [wake for wake in ask_session.wakes() if wake.tool_use_id == "toolu_1"]
    assert [(wake.kind, wake.agent, wake.gateway) for wake in woken] == [("question", "night", "chat")]
    assert record["rerouted"] == ["toolu_1"]
    assert record["delivery_started"]
    assert "rerouted" not in calls["prompt"]()


def test_the_agent_of_before_is_not_reminded_of_a_question_that_another_one_gets(ask_session: Any) -> None:
    ask_session.config = broken(FORMER)
    ask_session.ask()
    assert routes(ask_session) == [("question", "former", "other")]
    ask_session.config = RIGHT
    ask_session.hook("user_prompt_submit", prompt="hi", session_id="s-2")
    assert routes(ask_session) == [("question", "night", "chat")]


def test_an_agent_that_stays_the_same_is_not_woken_again(ask_session: Any) -> None:
    ask_session.config = broken(RIGHT)
    ask_session.ask()
    ask_session.config = RIGHT
    ask_session.hook("user_prompt_submit", prompt="hi", session_id="s-2")
    assert not question(ask_session).provisional
    assert routes(ask_session) == [("question", "night", "chat")]


def test_a_session_that_only_the_corrected_file_manages_is_not_left_behind(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask_session.config = broken(ELSEWHERE)
    ask_session.ask()
    assert (question(ask_session).agent, question(ask_session).missed) == ("", True)
    assert ask_session.wakes() == []
    Path(ask_session.home.config_file).write_text("broken")
    monkeypatch.setenv("HOOKROUTER_HOME", ask_session.home.root)
    monkeypatch.setattr("hookrouter.cli.dialogs.questions.push", lambda *_: False)
    assert main(["questions"]) == 0
    assert "agent not known yet" in capsys.readouterr().out
    ask_session.config = RIGHT
    ask_session.hook("user_prompt_submit", prompt="hi", session_id="s-2")
    assert routes(ask_session) == [("question", "night", "chat")]
    assert not question(ask_session).missed


def test_a_session_that_the_corrected_file_does_not_manage_is_forgotten(ask_session: Any) -> None:
    ask_session.config = broken(ELSEWHERE)
    ask_session.ask()
    ask_session.config = ELSEWHERE
    ask_session.hook("user_prompt_submit", prompt="hi", session_id="s-2")
    assert ask_session.documents() == []
    assert ask_session.wakes() == []


def test_a_question_of_a_session_that_is_left_to_nobody_stays_where_it_is(ask_session: Any) -> None:
    ask_session.config = broken(FORMER)
    ask_session.ask()
    ask_session.config = ELSEWHERE
    ask_session.hook("user_prompt_submit", prompt="hi", session_id="s-2")
    assert (question(ask_session).agent, question(ask_session).provisional) == ("former", False)
    assert routes(ask_session) == [("question", "former", "other")]


def test_while_its_session_is_paused_the_agent_is_changed_and_not_woken(ask_session: Any) -> None:
    ask_session.config = broken(Config())
    pauses.begin(ask_session.app.store, "main")
    ask_session.ask()
    ask_session.config = RIGHT
    ask_session.hook("user_prompt_submit", prompt="hi", session_id="s-2")
    assert (question(ask_session).agent, question(ask_session).missed) == ("night", True)
    assert ask_session.wakes() == []


def test_the_command_that_lists_questions_brings_them_too(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask_session.config = broken(Config())
    ask_session.ask()
    text = '[[agents]]\nid = "night"\ngateway = "chat"\n[gateways.chat]\ntype = "command"\nargv = ["true"]\n'
    Path(ask_session.home.config_file).write_text(text)
    monkeypatch.setenv("HOOKROUTER_HOME", ask_session.home.root)
    monkeypatch.setattr("hookrouter.cli.dialogs.questions.push", lambda *_: False)
    started: list[object] = []
    monkeypatch.setattr("hookrouter.cli.dialogs.questions.spawn_delivery", lambda *given: started.append(given))
    assert main(["questions", "--json"]) == 0
    [entry] = json.loads(capsys.readouterr().out)["questions"]
    assert (entry["agent"], entry["gateway"]) == ("night", "chat")
    assert len(started) == 1
    assert ("question", "night", "chat") in routes(ask_session)


def test_a_question_whose_agent_cannot_be_woken_yet_is_tried_again(
    ask_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hookrouter.messaging.outbox import Outbox
    from hookrouter.storage.interface import StoreError

    def full(*_given: Any, **_named: Any) -> None:
        raise StoreError("no space left")

    ask_session.config = broken(Config())
    ask_session.ask()
    ask_session.config = RIGHT
    with monkeypatch.context() as patched:
        patched.setattr(Outbox, "put", full)
        record = ask_session.hook("user_prompt_submit", prompt="hi", session_id="s-2")
    assert "no space left" in record["warnings"][0]
    assert question(ask_session).provisional
    ask_session.hook("user_prompt_submit", prompt="hi", session_id="s-2")
    assert question(ask_session).agent == "night"
