from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._contract.document import contract as read_contract
from hookrouter._routing.merge import merge, refusals
from hookrouter._routing.output import HookOutput
from hookrouter._routing.reply_check import checked_reply, decode_reply, encode_reply
from hookrouter.replies import (
    REPLIES,
    CwdChangedReply,
    ElicitationReply,
    NotificationReply,
    PermissionRequestReply,
    PostCompactReply,
    PostToolUseReply,
    PreCompactReply,
    PreModelSwitchReply,
    PreToolUseReply,
    Reply,
    SessionStartReply,
    StopReply,
    TaskCompletedReply,
    WorktreeCreateReply,
    expected_reply,
)

EVENTS: dict[str, dict[str, Any]] = read_contract()["events"]
BY_EXIT_CODE = ("TaskCompleted", "TeammateIdle", "WorktreeCreate", "WorktreeRemove")
PLAIN = ("WorktreeCreate", "PreCompact", "PostCompact")
BLOCKING = ("deny", "block", "defer", "decline", "cancel")

TEXT = st.text(st.characters(exclude_categories=()), min_size=1).filter(str.strip)
PATH = st.text("abc/", max_size=5).map(lambda text: f"/{text}")
OBJECT = st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.booleans()))
ARGUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "updated_input": OBJECT,
    "content": OBJECT,
    "output": OBJECT | st.lists(st.text()) | st.text(),
    "updated_permissions": st.lists(
        st.just({"type": "setMode", "mode": "plan", "destination": "session"})
        | st.builds(lambda folder: {"type": "addDirectories", "directories": [folder], "destination": "session"}, PATH)
    ),
    "interrupt": st.booleans(),
    "reload_skills": st.booleans(),
    "suppress_original_prompt": st.booleans(),
    "watch_paths": st.lists(PATH),
    "paths": st.lists(PATH),
    "worktree_path": PATH,
    "sequence": st.just("\x1b]0;title\a"),
}


@st.composite
def replies_to(draw: st.DrawFn, event: str) -> Reply:
    """Draw any reply that can be made for an event."""
    kind = expected_reply(event)
    constructors = [name for name, _ in inspect.getmembers(kind, inspect.ismethod) if not name.startswith("_")]
    name = draw(st.sampled_from(constructors))
    constructor = getattr(kind, name)
    arguments: dict[str, Any] = {}
    for parameter in inspect.signature(constructor).parameters.values():
        needed = parameter.default is inspect.Parameter.empty or (name == "prepare" and not arguments)
        if needed or draw(st.booleans()):
            strategy = ARGUMENTS.get(parameter.name, TEXT)
            if kind.__name__ == "MessageDisplayReply" and parameter.name == "content":
                strategy = st.text()
            if name in ("instructions", "show"):
                strategy = TEXT.filter(lambda text: not text.lstrip().startswith("{"))
            arguments[parameter.name] = draw(strategy)
    if name == "prepare" and arguments.get("reload_skills") is False:
        arguments["context"] = draw(TEXT)
    reply: Reply = constructor(**arguments)
    # The three events without a class of their own are answered by the base.
    return reply if event in REPLIES else Reply.terminal("\a")


@st.composite
def merges(draw: st.DrawFn) -> tuple[str, list[tuple[str, Reply]]]:
    """Draw an event and what some plugins reply to it."""
    event = draw(st.sampled_from(sorted(EVENTS)))
    replies = draw(st.lists(replies_to(event), max_size=4))
    return event, [(f"plugin-{number}", reply) for number, reply in enumerate(replies)]


def assert_fits(value: Any, schema: Any, place: str) -> None:
    """Check a value against the contract's notation: ``key?`` is optional, a type begins with its name."""
    if isinstance(schema, dict):
        assert isinstance(value, dict), place
        fields = {key.split(" ")[0].rstrip("?"): (key, kind) for key, kind in schema.items()}
        assert value.keys() <= fields.keys(), f"{place}: {value.keys()} are not all of {fields.keys()}"
        for name, (key, kind) in fields.items():
            if name in value:
                assert_fits(value[name], kind, f"{place}.{name}")
            else:
                assert "?" in key, f"{place}.{name} is missing"
    elif schema.startswith("'"):
        assert value in [choice.strip().strip("'") for choice in schema.split(" ")[0].split("|")], place
    elif schema.startswith("{behavior"):
        assert value["behavior"] in ("allow", "deny")
        allowed = {"updatedInput", "updatedPermissions"} if value["behavior"] == "allow" else {"message", "interrupt"}
        assert value.keys() - {"behavior"} <= allowed, place
    else:
        kinds = {
            "string": str,
            "boolean": bool,
            "object": dict,
            "any": object,
            "array<string": list,
            "array<string>": list,
            "object;": dict,
            "false": bool,
        }
        assert isinstance(value, kinds[schema.split(" ")[0]]), f"{place}: {value!r} is not {schema}"


@given(merges())
def test_the_answer_is_one_document_of_the_contract_or_nothing(case):
    event, replies = case
    output = merge(event, replies)
    contract = EVENTS[event]
    (output.stdout + output.stderr).encode("utf-8")
    assert output.exit_code in ((0, 2) if event in BY_EXIT_CODE or output.decision == "wake" else (0,))
    assert bool(output.stderr) is (output.exit_code == 2)
    if event in PLAIN and output.stdout and not output.stdout.lstrip().startswith("{"):
        assert output.exit_code == 0
        assert output.decision is None
        return
    if not output.stdout:
        return
    document = json.loads(output.stdout)
    assert output.stdout.isascii()
    assert "\n" not in output.stdout
    common = {name: kind for name, kind in read_contract()["common_output"].items() if name != "hookSpecificOutput?"}
    own = {name: kind for name, kind in contract["output"].items() if not name.startswith("hookSpecificOutput")}
    specific = [kind for name, kind in contract["output"].items() if name.startswith("hookSpecificOutput")]
    assert_fits(document, {**common, **own, **({"hookSpecificOutput?": specific[0]} if specific else {})}, event)
    assert not document.keys() & set(contract["discarded_universal_fields"])
    if "hookSpecificOutput" in document:
        assert document["hookSpecificOutput"]["hookEventName"] == event
        assert len(document["hookSpecificOutput"]) > 1
    if document.get("decision") == "block":
        assert document["reason"]


@given(merges(), st.randoms(use_true_random=False))
def test_the_verdict_does_not_depend_on_the_order(case, random):
    event, replies = case
    shuffled = list(replies)
    random.shuffle(shuffled)
    one, other = merge(event, replies), merge(event, shuffled)
    assert (one.decision, one.exit_code) == (other.decision, other.exit_code)
    assert set(one.by.split(", ")) == set(other.by.split(", "))


@given(merges())
def test_no_refusal_is_ever_lost(case):
    event, replies = case
    output = merge(event, replies)
    verdicts = {reply.verdict for _, reply in replies}
    text = output.stdout + output.stderr
    if "deny" in verdicts:
        assert '"deny"' in text
        assert '"updatedInput"' not in text
    if "block" in verdicts:
        assert output.exit_code == 2 or '"decision":"block"' in text
    assert output.decision is not None or not verdicts & set(BLOCKING)


@given(merges())
def test_every_message_and_context_arrives(case):
    event, replies = case
    output = merge(event, replies)
    document = json.loads(output.stdout) if output.stdout.startswith('{"') else {}
    for _, reply in replies:
        if reply.system_message is not None:
            assert reply.system_message in document["systemMessage"]
        if "additionalContext" in reply.output:
            assert reply.output["additionalContext"] in document["hookSpecificOutput"]["additionalContext"]


def specific(output: HookOutput) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output.stdout)["hookSpecificOutput"]
    return found


def test_nobody_says_anything():
    assert merge("PreToolUse", []) == HookOutput("", "", 0, None, "")


@pytest.mark.parametrize(
    ("event", "kind", "order"),
    [
        ("PreToolUse", PreToolUseReply, ["deny", "defer", "ask", "allow"]),
        ("PreModelSwitch", PreModelSwitchReply, ["deny", "ask", "allow"]),
        ("PermissionRequest", PermissionRequestReply, ["deny", "allow"]),
        ("Elicitation", ElicitationReply, ["cancel", "decline", "accept"]),
    ],
)
def test_the_graver_verdict_wins(event, kind, order):
    made = {verdict: getattr(kind, verdict)(*(["no"] if verdict == "deny" else [])) for verdict in order}
    for index, graver in enumerate(order):
        for lesser in order[index:]:
            for pair in ([graver, lesser], [lesser, graver]):
                output = merge(event, [(f"{verdict}er", made[verdict]) for verdict in pair])
                assert output.decision == graver
                assert set(output.by.split(", ")) == {f"{graver}er"}


def test_reasons_of_the_winners_are_joined_in_plugin_order():
    output = merge(
        "PreToolUse",
        [
            ("a", PreToolUseReply.allow("fine")),
            ("b", PreToolUseReply.deny("first", context="c1", system_message="m1")),
            ("c", PreToolUseReply.context("c2", system_message="m2")),
            ("d", PreToolUseReply.deny("second")),
        ],
    )
    assert json.loads(output.stdout) == {
        "systemMessage": "m1\nm2",
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "b: first\nd: second",
            "additionalContext": "c1\n\nc2",
        },
    }
    assert (output.decision, output.by) == ("deny", "b, d")


def test_a_reason_names_its_plugin_once_and_not_where_it_passes_on_somebodys_words():
    def said(reason: str, **how: Any) -> str:
        found: str = specific(merge("PreToolUse", [("guard", PreToolUseReply.deny(reason))], **how))[
            "permissionDecisionReason"
        ]
        return found

    assert said("no") == said("guard: no") == "guard: no"
    assert said("guardian angels say no") == "guard: guardian angels say no"
    assert said("hookrouter: plugin guard failed") == "hookrouter: plugin guard failed"
    assert said("let us talk", messengers=["guard"]) == "let us talk"
    hostile = merge("PreToolUse", [("a\x1b[31m", PreToolUseReply.deny("no"))])
    assert "\x1b" not in specific(hostile)["permissionDecisionReason"]


def test_the_last_updated_input_counts_unless_the_call_is_refused():
    first = ("a", PreToolUseReply.update_input({"n": 1}))
    second = ("b", PreToolUseReply.allow(updated_input={"n": 2}))
    assert specific(merge("PreToolUse", [first, second])) == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"n": 2},
    }
    assert specific(merge("PreToolUse", [second, first]))["updatedInput"] == {"n": 1}
    for refusal in (PreToolUseReply.deny("no"), PreToolUseReply.defer()):
        assert "updatedInput" not in specific(merge("PreToolUse", [first, ("c", refusal), second]))


def test_permission_requests_merge_into_one_decision():
    mode = {"type": "setMode", "mode": "plan", "destination": "session"}
    allow = [
        ("a", PermissionRequestReply.allow(updated_permissions=[mode])),
        ("b", PermissionRequestReply.allow(updated_input={"n": 1}, updated_permissions=[mode])),
    ]
    assert specific(merge("PermissionRequest", allow)) == {
        "hookEventName": "PermissionRequest",
        "decision": {"behavior": "allow", "updatedPermissions": [mode], "updatedInput": {"n": 1}},
    }
    denied = [
        *allow,
        ("c", PermissionRequestReply.deny("no")),
        ("d", PermissionRequestReply.deny("never", interrupt=True)),
    ]
    assert specific(merge("PermissionRequest", denied))["decision"] == {
        "behavior": "deny",
        "message": "c: no\nd: never",
        "interrupt": True,
    }


def test_somebody_elses_words_stand_as_they_are():
    reply = checked_reply("Stop", StopReply.go_on("the next\nprompt"))
    assert reply is not None
    assert decode_reply(encode_reply(reply)) == reply
    assert json.loads(merge("Stop", [("a", reply)]).stdout) == {"decision": "block", "reason": "the next\nprompt"}


def test_halting_wins_and_a_block_beside_it_stays():
    output = merge(
        "Stop", [("a", StopReply.block("go on")), ("b", StopReply.halt("budget")), ("c", StopReply.halt("time"))]
    )
    assert json.loads(output.stdout) == {
        "continue": False,
        "stopReason": "b: budget\nc: time",
        "decision": "block",
        "reason": "a: go on",
    }
    assert (output.decision, output.by) == ("halt", "b, c")


def test_some_events_block_by_exit_code_alone():
    replies = [("a", TaskCompletedReply.block("no tests")), ("b", TaskCompletedReply.block("no docs"))]
    assert merge("TaskCompleted", replies) == HookOutput("", "a: no tests\nb: no docs", 2, "block", "a, b")
    both = merge("TaskCompleted", [*replies, ("c", TaskCompletedReply.halt("enough"))])
    assert (json.loads(both.stdout), both.exit_code) == ({"continue": False, "stopReason": "c: enough"}, 2)


def test_a_worktrees_path_is_plain_text_unless_it_is_blocked():
    path = ("a", WorktreeCreateReply.path("/w/t"))
    assert merge("WorktreeCreate", [path]) == HookOutput("/w/t", "", 0, None, "")
    assert merge("WorktreeCreate", [path, ("b", WorktreeCreateReply.block("full"))]) == HookOutput(
        "", "b: full", 2, "block", "b"
    )


def test_compaction_takes_plain_text_or_a_block():
    instructions = [
        ("a", PreCompactReply.instructions("Keep the plan.")),
        ("b", PreCompactReply.instructions("And this.")),
    ]
    assert merge("PreCompact", instructions).stdout == "Keep the plan.\n\nAnd this."
    blocked = merge("PreCompact", [*instructions, ("c", PreCompactReply.block("not now"))])
    assert json.loads(blocked.stdout) == {"decision": "block", "reason": "c: not now"}
    assert merge("PostCompact", [("a", PostCompactReply.show("Done."))]).stdout == "Done."


def test_an_elicitation_is_answered_by_the_last_content_of_the_winners():
    accepted = [("a", ElicitationReply.accept({"n": 1})), ("b", ElicitationReply.accept())]
    assert specific(merge("Elicitation", accepted)) == {
        "hookEventName": "Elicitation",
        "action": "accept",
        "content": {"n": 1},
    }
    assert specific(merge("Elicitation", [*accepted, ("c", ElicitationReply.decline())])) == {
        "hookEventName": "Elicitation",
        "action": "decline",
    }
    why = merge("Elicitation", [*accepted, ("c", ElicitationReply.decline("broken"))])
    assert json.loads(why.stdout) == {"decision": "block", "reason": "c: broken"}


def test_paths_are_united_and_other_lists_are_not():
    watched = [("a", CwdChangedReply.watch(["/a", "/b"])), ("b", CwdChangedReply.watch(["/b", "/c"]))]
    assert specific(merge("CwdChanged", watched))["watchPaths"] == ["/a", "/b", "/c"]
    outputs = [("a", PostToolUseReply.update_output([1])), ("b", PostToolUseReply.update_output([2]))]
    assert specific(merge("PostToolUse", outputs))["updatedToolOutput"] == [2]


def test_classifier_context_stays_within_its_limit():
    replies = [
        ("a", PostToolUseReply.classifier_context("x" * 1500)),
        ("b", PostToolUseReply.classifier_context("😀" * 700)),
    ]
    context = specific(merge("PostToolUse", replies))["classifierContext"]
    assert 1998 <= len(context.encode("utf-16-le")) // 2 <= 2000


def test_terminal_sequences_follow_each_other():
    replies = [("a", NotificationReply.terminal("\x1b]9;one\a")), ("b", NotificationReply.terminal("\a"))]
    assert json.loads(merge("Notification", replies).stdout) == {"terminalSequence": "\x1b]9;one\a\a"}


def test_fields_of_a_session_start_are_merged():
    replies = [
        ("a", SessionStartReply.prepare(session_title="one", initial_user_message="go", reload_skills=True)),
        ("b", SessionStartReply.prepare(session_title="two", initial_user_message="on")),
    ]
    assert specific(merge("SessionStart", replies)) == {
        "hookEventName": "SessionStart",
        "sessionTitle": "two",
        "initialUserMessage": "go\n\non",
        "reloadSkills": True,
    }


def test_an_event_of_the_future_takes_the_shared_fields():
    reply = checked_reply("FutureEvent", Reply.halt("stop", system_message="look"))
    assert reply is not None
    assert json.loads(merge("FutureEvent", [("a", reply)]).stdout) == {
        "continue": False,
        "stopReason": "a: stop",
        "systemMessage": "look",
    }


@given(st.sampled_from(sorted(REPLIES)).flatmap(lambda event: st.tuples(st.just(event), replies_to(event))))
def test_a_reply_is_the_same_in_another_process(drawn: tuple[str, Reply]) -> None:
    event, reply = drawn
    checked = checked_reply(event, reply)
    assert checked is not None
    assert checked == reply
    assert decode_reply(json.loads(json.dumps(encode_reply(checked)))) == reply


def test_plugins_that_could_not_be_asked_refuse_where_an_event_can_be_blocked() -> None:
    found = merge("PreToolUse", refusals("PreToolUse", ["guard"], "the payload is not JSON"))
    assert found.decision == "deny"
    assert specific(found)["permissionDecisionReason"] == (
        "hookrouter: the payload is not JSON; plugin guard could not be asked and is set to fail closed, so this is "
        "refused"
    )
    assert refusals("Notification", ["guard"], "the payload is not JSON") == []
