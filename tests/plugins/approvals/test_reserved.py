"""What a rule reserves for a person, in an agent's session: told at once, listed, decided by a person alone."""

from __future__ import annotations

from typing import Any

import pytest

from hookrouter.config import Agent
from hookrouter.dialogs.answers.identity import Author
from hookrouter.dialogs.composer import DialogComposer
from hookrouter.dialogs.documents import list_questions
from hookrouter.messaging.message import QueuedMessage
from hookrouter.terminals import TerminalAddress

COMMAND = {"command": "make"}
OTHER = {"command": "echo one"}
PERSON = Author("person", "eve", is_present=True)


@pytest.fixture
def escalating(asking: Any) -> Any:
    config = asking.config
    asking.config = config._with(
        gateways={"phone": {"type": "webhook", "url": "http://localhost"}},
        answer=config.answer._with(escalate_to="phone", remind_after=60.0, reminders=3),
    )
    return asking


def outbox(asking: Any) -> list[QueuedMessage]:
    return [one for one in asking.app.outbox.pending() if one.tool_use_id == "toolu_1"]


def test_it_is_open_and_no_agent_may_decide_it(asking: Any) -> None:
    asking.asked("Bash", COMMAND)
    [question] = list_questions(asking.app.store)
    assert question.is_reserved
    refused = asking.decide({"action": "allow"})
    assert (refused.outcome, refused.exit_code) == ("invalid", 2)
    assert "'Bash(make:*)' says 'person'" in refused.reason
    assert asking.decide({"action": "allow"}, author=Author("person", "eve")).exit_code == 2
    assert asking.decide({"action": "allow"}, author=PERSON).outcome == "delivered"
    assert asking.ran("Bash", COMMAND)["outcome"] == "verified"


def test_the_agent_is_told_that_it_is_not_its_to_decide(asking: Any) -> None:
    asking.asked("Bash", COMMAND)
    [told] = outbox(asking)
    composed = DialogComposer().compose(told, 1, asking.app)
    assert composed is not None
    assert composed.text.startswith("# A person must decide")
    assert "This is not yours to decide" in composed.text
    assert "hookrouter answer" not in composed.text
    assert (composed.data["command"], composed.data["answer_schema"]) == ([], None)


def test_who_is_told_when_an_agent_is_silent_is_told_at_once(escalating: Any) -> None:
    escalating.asked("Bash", COMMAND)
    [told] = outbox(escalating)
    [escalation] = told.then
    assert (escalation["gateway"], escalation["seconds"]) == ("phone", 0.0), escalation
    assert escalation["subject"].startswith("A person must decide: ")


def test_so_it_is_if_the_agent_does_not_hear_of_it(escalating: Any) -> None:
    escalating.config = escalating.config._with(agents=(Agent(id="night", wake_on=("question",)),))
    escalating.asked("Bash", COMMAND)
    [told] = outbox(escalating)
    assert (told.gateway, told.then) == ("phone", ())
    composed = DialogComposer().compose(told, 1, escalating.app)
    assert composed is not None
    assert composed.text.startswith("# A person must decide: session ")
    assert "hookrouter allow" in composed.text or "hookrouter answer" in composed.text


def test_a_call_that_no_rule_is_about_is_left_to_the_terminal(asking: Any) -> None:
    asking.call("Read", {"file_path": "/x"})
    assert asking.request("Read", {"file_path": "/x"})[0] is None
    assert list_questions(asking.app.store) == []


def test_of_a_subagent_it_waits_a_short_time_because_no_dialog_is_drawn_meanwhile(asking: Any) -> None:
    asking.settings = type(asking.settings)(unseen_wait=0.01)
    fields = {"agent_id": "a-1", "agent_type": "general-purpose"}
    asking.show({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": COMMAND})
    asking.hook("pre_tool_use", tool_name="Bash", tool_input=COMMAND, tool_use_id="toolu_1", **fields)
    assert asking.request("Bash", COMMAND, **fields)[0] is None
    assert [one.agent_id for one in list_questions(asking.app.store)] == ["a-1"]


@pytest.mark.parametrize("channels", [("reply", "keys"), ("reply",)])
def test_what_keys_may_decide_later_waits_a_short_time_for_a_reply(
    asking: Any, monkeypatch: pytest.MonkeyPatch, channels: tuple[str, ...]
) -> None:
    asking.settings = type(asking.settings)(unseen_wait=0.01)
    asking.config = asking.config._with(answer=asking.config.answer._with(channels=channels))
    pane = TerminalAddress("tmux", "work", "%1", "/nowhere/socket")
    monkeypatch.setattr("hookrouter._wiring.locate_terminal", lambda _: (pane, ""))
    fields = {"tool_name": "Bash", "tool_input": OTHER, "agent_id": "a-1", "agent_type": "general-purpose"}
    asking.show({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": OTHER})
    asking.hook("pre_tool_use", tool_use_id="toolu_1", **fields)
    if "keys" in channels:
        assert asking.hook("permission_request", **fields)[0] is None
    else:
        asking.wait("permission_request", **fields)
    assert [one.agent_id for one in list_questions(asking.app.store)] == ["a-1"]


def test_plan_modes_own_dialogs_are_not_lifted_by_a_rule(asking: Any) -> None:
    asking.call("Bash", {"command": "ls"})
    assert asking.request("Bash", {"command": "ls"}, permission_mode="plan")[0] is None
    assert asking.request("Bash", {"command": "ls"})[0] is not None
