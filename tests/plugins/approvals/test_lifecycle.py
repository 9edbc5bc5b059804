"""Permissions, plans and forms, from the request to the verdict."""

from __future__ import annotations

import shutil
import threading
from typing import Any

import pytest

from hookrouter.config import Agent, AnswerConfig, Config
from hookrouter.dialogs.answers.identity import Author
from hookrouter.dialogs.handover import Handover, end_all
from hookrouter.dialogs.stories.history import history
from hookrouter.dialogs.verdicts import Verdict, list_verdicts, save_verdict
from hookrouter.messaging import pauses
from hookrouter.replies import ElicitationReply, PermissionRequestReply, Reply
from hookrouter.terminals import TerminalAddress
from hookrouter_approvals.kinds import PermissionKind
from plugins.approvals.conftest import RULES

COMMAND = {"command": "touch x", "description": "Make a file"}
PLAN = {"plan": "# Plan\n1. x\n", "planFilePath": "/plans/a.md"}
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "size": {"enum": ["s", "l"]},
        "count": {"type": "integer", "minimum": 1},
    },
    "required": ["name"],
}


def verdicts(asking: Any) -> list[tuple[str, str, str]]:
    return [(one.kind, one.outcome, one.by) for one in list_verdicts(asking.app.store)]


def test_an_allowed_call_is_verified_by_what_ran(asking: Any) -> None:
    question = asking.asked("Bash", COMMAND)
    assert (question.kind, question.tool_use_id, question.agent) == ("permission", "toolu_1", "night")
    assert question.request["input"] == COMMAND
    [message] = asking.wakes()
    assert "> touch x" in message.text
    assert '{"action": "deny", "text": "..."}' in message.text
    assert "The rule `[[approvals.rules]]` `Bash` gives this decision to you." in message.text
    result = asking.decide({"action": "allow"})
    assert (result.outcome, result.kind, result.channel) == ("delivered", "permission", "reply")
    reply = asking.given()
    assert reply == PermissionRequestReply.allow()
    record = asking.ran("Bash", COMMAND)
    assert record["outcome"] == "verified"
    assert verdicts(asking) == [("permission", "verified", "agent")]
    assert asking.open() == []
    [story] = history(asking.app.journal, asking.app.store)
    assert (story["kind"], story["outcome"], story["by"]) == ("permission", "verified", "agent")


def test_another_input_than_was_allowed_is_a_mismatch_and_the_agent_is_told(asking: Any) -> None:
    asking.asked("Bash", COMMAND)
    changed = {"command": "touch y", "description": "Make a file"}
    asking.decide({"action": "allow", "input": changed})
    assert asking.given() == PermissionRequestReply.allow(updated_input=changed)
    record = asking.ran("Bash", COMMAND)
    assert (record["outcome"], record["reason"]) == ("mismatch", "another input ran than was allowed")
    assert [one.kind for one in asking.wakes()][-1] == "mismatch"
    assert '"touch y"' in asking.wakes()[-1].text


def test_a_proposal_of_the_client_is_given_back_as_it_came(asking: Any) -> None:
    proposal = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    question = asking.asked("Bash", COMMAND, permission_suggestions=[proposal])
    assert question.questions[0]["options"][1]["label"] == "Allow, and switch to the mode acceptEdits for this session"
    for number in (0, 2):
        refused = asking.decide({"action": "allow", "always": number})
        reason = f'"always" is {number}; allowed: 1 to 1, the options that are proposals'
        assert (refused.outcome, refused.reason) == ("invalid", reason)
    asking.decide({"action": "allow", "always": 1}, author=Author("person", "eve", is_present=True))
    assert asking.given() == PermissionRequestReply.allow(updated_permissions=[proposal])


def test_a_refusal_is_verified_by_what_claude_was_told(asking: Any) -> None:
    asking.asked("Bash", COMMAND)
    asking.decide({"action": "deny", "text": "use y"})
    assert asking.given() == PermissionRequestReply.deny("use y")
    asking.refused("approvals: use y")
    asking.hook("stop", stop_hook_active=False)
    assert verdicts(asking) == [("permission", "verified", "agent")]
    assert asking.open() == []


def test_answer_itself_sees_the_refusal_in_the_transcript(asking: Any) -> None:
    asking.asked("Bash", COMMAND)
    told = threading.Thread(target=lambda: (asking.given(), asking.refused("approvals: use y")))
    told.start()
    assert asking.decide({"action": "deny", "text": "use y"}, wait=10).outcome == "verified"
    told.join()
    assert asking.open() == []


def test_other_words_than_were_meant_are_a_mismatch(asking: Any) -> None:
    asking.asked("Bash", COMMAND)
    asking.decide({"action": "deny", "text": "use y"})
    asking.given()
    asking.refused("another hook: no")
    asking.hook("stop", stop_hook_active=False)
    assert verdicts(asking) == [("permission", "mismatch", "agent")]


def test_a_refused_call_that_runs_is_a_mismatch(asking: Any) -> None:
    asking.asked("Bash", COMMAND)
    asking.decide({"action": "deny", "text": "no"})
    asking.given()
    assert asking.ran("Bash", COMMAND)["reason"] == "it ran although it was refused"


def test_a_person_may_be_first(asking: Any) -> None:
    asking.asked("Bash", COMMAND)
    assert asking.ran("Bash", COMMAND)["outcome"] == "answered_by_person"
    assert asking.given() is None
    late = asking.decide({"action": "deny", "text": "no"}, tool_use_id="toolu_1")
    assert (late.outcome, late.exit_code) == ("answered_by_person", 4)


def test_a_persons_refusal_shows_in_the_transcript(asking: Any) -> None:
    asking.asked("Bash", COMMAND)
    asking.refused("The user doesn't want to proceed with this tool use.")
    asking.hook("user_prompt_submit", prompt="go on")
    assert verdicts(asking) == [("permission", "answered_by_person", "person")]


def test_a_client_that_ends_leaves_nothing(asking: Any) -> None:
    asking.asked("Bash", COMMAND)
    asking.hook("session_end", reason="other")
    assert verdicts(asking) == [("permission", "unanswered", "nobody")]
    assert asking.open() == []


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rm x", PermissionRequestReply.deny("A rule of the user forbids this. (Bash(rm:*))")),
        ("ls", PermissionRequestReply.allow()),
    ],
)
def test_rules_decide_at_once(asking: Any, command: str, expected: Reply | None) -> None:
    asking.call("Bash", {"command": command})
    reply, record = asking.request("Bash", {"command": command})
    assert reply == expected
    assert asking.open() == []
    assert asking.wakes() == []
    assert record["rule"]["tool"].startswith("Bash(")


def test_nothing_is_decided_while_the_session_is_paused(asking: Any) -> None:
    pauses.begin(asking.app.store, None)
    for command in ("rm x", "ls"):
        asking.call("Bash", {"command": command})
        assert asking.request("Bash", {"command": command})[0] is None
    question = asking.asked("Bash", COMMAND)
    assert question.missed
    assert asking.wakes() == []
    assert asking.decide({"action": "allow"}, tool_use_id="toolu_1").outcome == "paused"
    assert asking.decide({"action": "allow"}, author=Author("person", "eve", is_present=True)).outcome == "delivered"


def test_a_session_that_nobody_manages_is_left_alone(asking: Any) -> None:
    asking.config = asking.config._with(agents=(Agent(id="night", sessions=("other",)),))
    asking.call("Bash", {"command": "rm x"})
    assert asking.request("Bash", {"command": "rm x"})[0] is None


def test_no_agent_oversteps_a_rule_that_was_made_stricter_meanwhile(asking: Any) -> None:
    asking.asked("Bash", COMMAND)
    strict = asking.config.approvals._with(rules=asking.config.approvals.rules[:3])
    asking.config = asking.config._with(approvals=strict)
    refused = asking.decide({"action": "allow"})
    assert (refused.outcome, refused.exit_code) == ("invalid", 2)
    assert "no rule gives it to an agent, so no agent may decide this" in refused.reason
    assert [record["outcome"] for record in asking.app.journal.records("s-1") if record["event"] == "answer"] == [
        "invalid"
    ]
    # Whoever only says to be a person is held to the rules, too.
    assert asking.decide({"action": "allow"}, author=Author("person", "eve")).exit_code == 2
    assert asking.decide({"action": "allow"}, author=Author("person", "eve", is_present=True)).outcome == "delivered"


def test_no_agent_changes_an_input_to_what_a_rule_forbids(asking: Any) -> None:
    asking.asked("Bash", COMMAND)
    for command, rule in (
        ("rm -rf x", "Bash(rm:*)"),
        ("touch x && make", "Bash(make:*)"),
        ("touch x; $y", "Bash(rm:*)"),
    ):
        refused = asking.decide({"action": "allow", "input": {"command": command}})
        assert refused.exit_code == 2
        assert rule in refused.reason
    assert asking.decide({"action": "allow", "input": {"command": "touch y"}}).outcome == "delivered"


def test_no_agent_grants_what_could_go_past_a_rule(asking: Any) -> None:
    proposals = [
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
        {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "rm:*"}], "behavior": "allow"},
        {"type": "addRules", "rules": [{"toolName": "Read"}], "behavior": "allow", "destination": "session"},
    ]
    asking.asked("Bash", COMMAND, permission_suggestions=proposals)
    for number in (1, 2):
        refused = asking.decide({"action": "allow", "always": number})
        assert (refused.exit_code, "could go past the rule 'Bash(rm:*)'" in refused.reason) == (2, True)
    assert asking.decide({"action": "allow", "always": 3}).outcome == "delivered"


def test_two_calls_that_are_the_same_are_left_to_the_person(asking: Any) -> None:
    asking.call("Bash", COMMAND)
    asking.call("Bash", COMMAND, "toolu_2")
    reply, record = asking.request("Bash", COMMAND)
    assert reply is None
    assert "it could be any of" in record["reason"]
    # Once one of them has ended, the other is known.
    asking.ran("Bash", COMMAND)
    assert asking.wait("permission_request", tool_name="Bash", tool_input=COMMAND).tool_use_id == "toolu_2"


def test_a_call_that_was_refused_is_not_taken_for_the_same_one_again(asking: Any) -> None:
    asking.call("Bash", COMMAND)
    asking.refused("no")
    asking.call("Bash", COMMAND, "toolu_2")
    assert asking.wait("permission_request", tool_name="Bash", tool_input=COMMAND).tool_use_id == "toolu_2"


def test_a_request_without_a_call_is_left_to_the_person(asking: Any) -> None:
    reply, record = asking.request("Bash", COMMAND)
    assert reply is None
    assert "no call was seen to begin" in record["reason"]


def test_a_plan_is_approved_in_a_mode_and_with_a_change(asking: Any) -> None:
    question = asking.asked("ExitPlanMode", PLAN)
    assert question.kind == "plan"
    refused = asking.decide({"action": "approve", "mode": "bypassPermissions"})
    assert refused.reason == '"mode" is "bypassPermissions"; allowed are default, acceptEdits, auto'
    assert "could go past the rule" in asking.decide({"action": "approve", "mode": "acceptEdits"}).reason
    asking.config = asking.config._with(approvals=asking.config.approvals._with(rules=RULES[3:]))
    asking.decide({"action": "approve", "mode": "acceptEdits", "plan": "# Other"})
    assert asking.given() == PermissionRequestReply.allow(
        updated_input={**PLAN, "plan": "# Other"},
        updated_permissions=[{"type": "setMode", "mode": "acceptEdits", "destination": "session"}],
    )
    record = asking.ran(
        "ExitPlanMode", {"plan": "# Other"}, tool_response={"plan": "# Other"}, permission_mode="acceptEdits"
    )
    assert record["outcome"] == "verified"


@pytest.mark.parametrize(
    ("mode", "plan", "reason"),
    [("auto", "# Other", "the mode is auto"), ("acceptEdits", "# Third", "another plan was approved")],
)
def test_another_mode_or_plan_is_a_mismatch(asking: Any, mode: str, plan: str, reason: str) -> None:
    asking.config = asking.config._with(approvals=asking.config.approvals._with(rules=RULES[3:]))
    asking.asked("ExitPlanMode", PLAN)
    asking.decide({"action": "approve", "mode": "acceptEdits", "plan": "# Other"})
    asking.given()
    record = asking.ran("ExitPlanMode", {}, tool_response={"plan": plan}, permission_mode=mode)
    assert (record["outcome"], record["reason"]) == ("mismatch", reason)


def test_an_answered_question_is_none_of_its_business(asking: Any) -> None:
    """The plugin of questions has noted how it ended, in the same run of the same event."""
    ended = Verdict("work", "s-1", "toolu_q", "verified", by="agent")
    save_verdict(asking.app.store, ended)
    _, record = asking.hook(
        "post_tool_use", tool_name="AskUserQuestion", tool_use_id="toolu_q", tool_input={}, tool_response={}
    )
    assert "outcome" not in record


def test_a_form_is_submitted(asking: Any) -> None:
    fields = {"mcp_server_name": "demo", "message": "Your name?", "mode": "form", "requested_schema": SCHEMA}
    question = asking.wait("elicitation", **fields)
    assert question.kind == "elicitation"
    wrong = asking.decide({"action": "submit", "content": {"size": "m", "count": 0, "other": 1}})
    assert wrong.reason.splitlines() == [
        '"name" is missing',
        '"size" is "m"; allowed are s, l',
        '"count" is 0; allowed is at least 1',
        '"other" is not a field of the form; allowed are name, size, count',
    ]
    result = asking.decide({"action": "submit", "content": {"name": "bob"}}, wait=10)
    assert result.outcome == "verified"
    assert asking.given() == ElicitationReply.accept({"name": "bob"})
    assert verdicts(asking) == [("elicitation", "verified", "agent")]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("{}", '"action" is missing; allowed are allow, deny'),
        ('{"action": "alow"}', "did you mean"),
        ('{"action": "approve"}', "allowed are allow, deny"),
        ('{"action": "allow", "text": "x"}', '"text" is not a key of allow; allowed are input, always'),
        ('{"action": "allow", "input": 3}', '"input" must be an object'),
        ('{"action": "allow", "always": true}', "allowed: none: the client proposes nothing"),
        ('{"action": "deny"}', '"text" must be a non-empty string'),
        ('{"action": "deny", "text": "x", "stop": 1}', '"stop" must be true or false'),
        ("[]", "0 decisions for one permission"),
        ("[3]", "the decision must be an object"),
        ("nope", "not JSON"),
    ],
)
def test_bad_input_is_told_and_nothing_is_done(asking: Any, said: str, told: str) -> None:
    asking.asked("Bash", COMMAND)
    result = asking.decide(said)
    assert (result.outcome, result.exit_code) == ("invalid", 2)
    assert told in result.reason
    assert asking.app.store.stamps("pending-answer") == {}


def test_a_choice_on_the_form_means_a_decision(asking: Any) -> None:
    asking.asked("Bash", COMMAND)
    result = asking.decide([{"action": "select", "optionIndex": 0}])
    assert result.questions[0]["intended"] == "allow"
    asking.given()


def test_an_agent_that_does_not_want_to_hear_of_it_is_not_told(asking: Any) -> None:
    asking.config = Config(
        agents=(Agent(id="night", wake_on=("question",)),),
        answer=asking.config.answer,
        approvals=asking.config.approvals,
    )
    asking.asked("Bash", COMMAND)
    assert asking.wakes() == []


def test_an_agent_hears_of_every_kind_unless_it_says_otherwise() -> None:
    assert all(Agent(id="night").hears_of(kind) for kind in ("question", "plan", "a-plugins-own"))
    chosen = Agent(id="night", wake_on=("plan", "a-plugins-own"))
    assert [kind for kind in ("question", "plan", "a-plugins-own", "blocked") if chosen.hears_of(kind)] == [
        "plan",
        "a-plugins-own",
    ]
    assert Agent(id="night", wake_on=("*",)).hears_of("blocked")
    assert not Agent(id="night", wake_on=()).hears_of("question")


def test_a_request_that_is_repeated_after_its_hook_was_killed_goes_on_with_the_same_dialog(asking: Any) -> None:
    first = asking.asked("Bash", COMMAND)
    # Whoever kills the hook leaves the document, and no lock.
    asking.end_waiting()
    again = asking.wait_again("permission_request", tool_name="Bash", tool_input=COMMAND)
    assert (again.tool_use_id, again.saved_at) == (first.tool_use_id, first.saved_at)
    assert len([one for one in asking.wakes() if one.kind == "question"]) == 1
    assert asking.decide({"action": "allow"}).outcome == "delivered"
    assert asking.given() == PermissionRequestReply.allow()


def test_the_end_of_the_turn_leaves_what_a_subagent_asks(asking: Any) -> None:
    asking.call("Bash", COMMAND)
    asking.hook("pre_tool_use", tool_name="Bash", tool_input=COMMAND, tool_use_id="toolu_2", agent_id="a1")
    asking.wait("permission_request", tool_name="Bash", tool_input=COMMAND, agent_id="a1")
    asking.hook("stop", stop_hook_active=False)
    end_all(asking.app.store, "s-1")
    assert asking.decide({"action": "allow"}, tool_use_id="toolu_2").outcome == "delivered"
    assert asking.given() == PermissionRequestReply.allow()


def test_the_same_form_again_is_another_dialog_and_a_repeated_one_is_not(asking: Any) -> None:
    fields = {"mcp_server_name": "demo", "message": "Your name?", "mode": "form", "requested_schema": SCHEMA}
    first = asking.wait("elicitation", **fields)
    assert asking.decide({"action": "decline"}, wait=10).outcome == "verified"
    second = asking.wait("elicitation", **fields)
    assert second.tool_use_id != first.tool_use_id
    assert asking.decide({"action": "cancel"}, wait=10).outcome == "verified"
    assert [one.outcome for one in list_verdicts(asking.app.store)] == ["verified", "verified"]


def test_what_is_noted_of_a_form_is_the_decision_that_was_given(asking: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one was taken back while its reply was made, and another one given."""
    take = Handover.take
    replaced: list[str] = []

    def late(handover: Handover, token: str, *seen: Any) -> Any:
        if not replaced:
            replaced.append(token)
            assert handover.take_back()
            handover.give({"decision": {"action": "decline"}, "by": "person"}, {"token": token}, "any")
        return take(handover, token, *seen)

    monkeypatch.setattr(Handover, "take", late)
    fields = {"mcp_server_name": "demo", "message": "Your name?", "mode": "form", "requested_schema": SCHEMA}
    question = asking.wait("elicitation", **fields)
    handover = Handover.of_call(asking.app.store, "s-1", question.tool_use_id)
    handover.give({"decision": {"action": "submit", "content": {"name": "bob"}}, "by": "agent"}, {}, "any")
    assert asking.given() == ElicitationReply.decline()
    [verdict] = list_verdicts(asking.app.store)
    assert (verdict.outcome, verdict.by) == ("verified", "person")
    assert [one["intended"] for one in verdict.verification["questions"]] == ["decline"]


def test_a_form_that_nobody_answers_is_left_to_the_dialog(asking: Any) -> None:
    fields = {"mcp_server_name": "demo", "message": "Your name?", "mode": "form", "requested_schema": SCHEMA}
    asking.wait("elicitation", **fields)
    asking.end_waiting()
    assert verdicts(asking) == [("elicitation", "unanswered", "nobody")]
    assert asking.open() == []


def test_what_a_form_told_is_known_without_the_journal_when_a_person_has_answered_it(asking: Any) -> None:
    fields = {"mcp_server_name": "demo", "message": "Your name?", "mode": "form", "requested_schema": SCHEMA}
    asking.wait("elicitation", **fields)
    asking.end_waiting()
    [left] = history(asking.app.journal, asking.app.store)
    asking.hook("elicitation_result", mcp_server_name="demo", action="accept", content={"name": "Bob"})
    shutil.rmtree(asking.home.logs)
    [story] = history(asking.app.journal, asking.app.store)
    assert (story["outcome"], story["rule"]) == ("answered_by_person", "Elicitation")
    told = ("header", "question")
    assert [[entry[key] for key in told] for entry in story["questions"]] == [
        [entry[key] for key in told] for entry in left["questions"]
    ]


def test_a_form_that_the_former_release_left_is_noted(asking: Any) -> None:
    fields = {"mcp_server_name": "demo", "message": "Your name?", "mode": "form", "requested_schema": SCHEMA}
    asking.wait("elicitation", **fields)
    asking.end_waiting()
    [(name, left)] = asking.app.store.entries("form-left")
    asking.app.store.write("form-left", name, {key: value for key, value in left.items() if key != "asked"})
    asking.hook("elicitation_result", mcp_server_name="demo", action="decline")
    assert verdicts(asking) == [("elicitation", "answered_by_person", "person")]


@pytest.mark.parametrize("answer", [AnswerConfig(channels=("keys",)), AnswerConfig(channels=("reply",), wait=0.0)])
def test_nobody_is_asked_whose_decision_could_not_be_given(asking: Any, answer: AnswerConfig) -> None:
    asking.config = asking.config._with(answer=answer)
    asking.call("Bash", COMMAND)
    assert asking.request("Bash", COMMAND)[0] is None
    assert (asking.open(), asking.wakes()) == ([], [])
    # Rules need no wait.
    asking.call("Bash", {"command": "ls"}, "toolu_2")
    assert asking.request("Bash", {"command": "ls"})[0] == PermissionRequestReply.allow()


def test_where_a_terminal_is_known_a_decision_may_go_by_keys(asking: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pane = TerminalAddress("tmux", "managed", "%1", "/tmp/server")
    monkeypatch.setattr("hookrouter._wiring.locate_terminal", lambda _: (pane, ""))
    asking.config = asking.config._with(answer=AnswerConfig(channels=("keys",)))
    asking.call("Bash", COMMAND)
    assert asking.request("Bash", COMMAND)[0] is None
    [question] = asking.open()
    assert (question.terminal, len(asking.wakes())) == (pane, 1)
    # A planner hears which other calls the client may be asking for.
    asking.call("Bash", {"command": "touch y"}, "toolu_2")
    asked = PermissionKind().asked(question, [{"action": "allow"}], asking.app.store)
    assert asked is not None
    beside = {"tool": "Bash", "input": {"command": "touch y"}}
    assert (asked.request["input"], asked.others) == (COMMAND, (beside,))
    # One that is longer than any pane comes without it.
    asking.call("Bash", {"command": "x" * 70000}, "toolu_3")
    asked = PermissionKind().asked(question, [{"action": "allow"}], asking.app.store)
    assert asked is not None
    assert {"tool": "Bash"} in asked.others


def test_a_call_that_begins_asks_no_terminal(asking: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookrouter._wiring.locate_terminal", lambda _: pytest.fail("the terminal was asked"))
    asking.call("Bash", COMMAND)
    assert list(asking.app.store.stamps("call")) == ["s-1:toolu_1"]
    asking.config = asking.config._with(agents=(Agent(id="night", workdirs=("/other",)),))
    asking.call("Bash", COMMAND, "toolu_2")
    assert list(asking.app.store.stamps("call")) == ["s-1:toolu_1"]


def test_what_was_decided_stays_decided_while_the_tool_runs(asking: Any) -> None:
    asking.asked("Bash", COMMAND)
    assert asking.decide({"action": "allow"}).outcome == "delivered"
    asking.given()
    again = asking.decide({"action": "deny", "text": "no"})
    assert (again.outcome, again.exit_code) == ("not_delivered", 4)
    assert again.reason == "an agent has decided already: allow; what came of it is not known yet"
    assert asking.ran("Bash", COMMAND)["outcome"] == "verified"


def test_a_call_that_was_decided_on_is_not_meant_by_the_next_answer(asking: Any) -> None:
    asking.asked("Bash", COMMAND)
    assert asking.decide({"action": "allow"}).outcome == "delivered"
    asking.given()
    # It still runs, and asks something itself.
    fields = {"mcp_server_name": "demo", "message": "Your name?", "mode": "form", "requested_schema": SCHEMA}
    asking.wait("elicitation", **fields)
    result = asking.decide({"action": "decline"}, wait=10)
    assert (result.outcome, result.kind) == ("verified", "elicitation")
