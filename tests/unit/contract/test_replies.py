from __future__ import annotations

import copy
import inspect
from typing import Any

import pytest

import hookrouter
from hookrouter import replies
from hookrouter._contract.document import contract
from hookrouter.replies import (
    REPLIES,
    ConfigChangeReply,
    CwdChangedReply,
    ElicitationReply,
    MessageDisplayReply,
    NotificationReply,
    PermissionRequestReply,
    PostToolUseReply,
    PreCompactReply,
    PreModelSwitchReply,
    PreToolUseReply,
    Reply,
    SessionStartReply,
    StopReply,
    TaskCreatedReply,
    UserPromptSubmitReply,
    WorktreeCreateReply,
    closed,
    expected_reply,
    message,
)

CONTRACT: dict[str, Any] = contract()
EVENTS: dict[str, dict[str, Any]] = CONTRACT["events"]
UNIVERSAL = {"message": "systemMessage", "halt": "continue"}


def test_every_event_with_output_has_its_class():
    without = {
        name
        for name, event in EVENTS.items()
        if not event["output"] and not event["blockable"] and event["plain_stdout"] == "debug log only"
    }
    assert EVENTS.keys() - REPLIES.keys() == without == {"StopFailure", "InstructionsLoaded", "SessionEnd"}
    assert REPLIES.keys() <= EVENTS.keys()
    assert all(kind.__name__ == f"{event}Reply" for event, kind in REPLIES.items())


@pytest.mark.parametrize("event", EVENTS)
def test_what_an_event_discards_cannot_be_spelled(event):
    kind = expected_reply(event)
    for constructor, field in UNIVERSAL.items():
        discarded = field in EVENTS[event]["discarded_universal_fields"]
        # An event whose stdout is plain text cannot carry JSON either.
        plain = kind.__name__ in ("PreCompactReply", "PostCompactReply", "WorktreeCreateReply")
        assert hasattr(kind, constructor) is not (discarded or plain)
    if "systemMessage" in EVENTS[event]["discarded_universal_fields"]:
        for name, function in inspect.getmembers(kind, inspect.ismethod):
            assert "system_message" not in inspect.signature(function).parameters or name == "_make"


def test_taking_a_discarded_constructor_says_why():
    with pytest.raises(AttributeError, match="NotificationReply has no such constructor: Claude Code discards it"):
        NotificationReply.message("hello")


@pytest.mark.parametrize("event", [*EVENTS, "FutureEvent"])
def test_failing_closed_refuses_where_the_event_can_be_blocked(event):
    reply = closed(event, "broken")
    assert (reply is not None) is EVENTS.get(event, {"blockable": False})["blockable"]
    if reply is not None:
        assert type(reply) is REPLIES[event]
        assert reply.verdict in ("deny", "block", "decline")
        assert reply.reason == "broken"


@pytest.mark.parametrize("event", [*EVENTS, "FutureEvent"])
def test_a_message_can_be_told_where_the_event_takes_one(event):
    reply = message(event, "look")
    fields = EVENTS.get(event, {"discarded_universal_fields": ()})["discarded_universal_fields"]
    assert (reply is not None) is ("systemMessage" not in fields)
    assert reply is None or reply.system_message == "look"


def test_all_replies_are_public_names_of_the_package():
    for name in {kind.__name__ for kind in REPLIES.values()} | {"Reply"}:
        assert name in hookrouter.__all__
        assert getattr(hookrouter, name) is getattr(replies, name)


def test_a_reply_is_made_by_a_named_constructor_only():
    with pytest.raises(TypeError, match="one of its constructors: allow, ask, context, defer, deny, halt, message"):
        PreToolUseReply("deny")


def test_illegal_combinations_do_not_exist():
    with pytest.raises(TypeError, match="updated_input"):
        PreToolUseReply.deny("no", updated_input={})  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="updated_input"):
        PermissionRequestReply.deny("no", updated_input={})  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="content"):
        ElicitationReply.decline(content={})  # type: ignore[call-arg]
    assert not hasattr(TaskCreatedReply, "halt")
    assert not hasattr(StopReply, "deny")


LEVELS: list[Any] = []
LEVELS.append(LEVELS)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: PreToolUseReply.deny(""), ValueError, "reason must not be empty"),
        (lambda: PreToolUseReply.deny(" \n"), ValueError, "reason must not be empty"),
        (lambda: PreToolUseReply.deny(None), TypeError, "reason must be a str, not NoneType"),
        (lambda: PreToolUseReply.allow(5), TypeError, "reason must be a str, not int"),
        (lambda: PreToolUseReply.allow(updated_input=[]), TypeError, "updated_input must be a dict, not list"),
        (lambda: PreToolUseReply.update_input(None), TypeError, "updated_input must be a dict, not None"),
        (lambda: PreToolUseReply.allow(updated_input={1: 2}), TypeError, "updated_input has the key 1"),
        (
            lambda: PreToolUseReply.allow(updated_input={"a": [0, {"b": object()}]}),
            TypeError,
            "updated_input['a'][1]['b'] is a object",
        ),
        (lambda: PreToolUseReply.allow(updated_input={"a": float("inf")}), ValueError, "updated_input['a'] is inf"),
        (lambda: PreToolUseReply.allow(updated_input={"a": LEVELS}), ValueError, "nested too deeply, or holds itself"),
        (lambda: PreToolUseReply.context(b"x"), TypeError, "text must be a str, not bytes"),
        (lambda: StopReply.block("x", system_message=3), TypeError, "system_message must be a str, not int"),
        (lambda: Reply.halt(""), ValueError, "stop_reason must not be empty"),
        (lambda: PermissionRequestReply.deny("x", interrupt=1), TypeError, "interrupt must be a bool, not int"),
        (lambda: CwdChangedReply.watch("/a"), TypeError, "paths must be a list of absolute paths, not str"),
        (lambda: CwdChangedReply.watch(["a"]), ValueError, "paths[0] must be an absolute path in one line, not 'a'"),
        (lambda: WorktreeCreateReply.path("/a\n/b"), ValueError, "worktree_path must be an absolute path in one line"),
        (lambda: WorktreeCreateReply.path("/a\udc80"), ValueError, "worktree_path must be a path in UTF-8"),
        (lambda: PreCompactReply.instructions(' {"a": 1}'), ValueError, "text must not begin with '{'"),
        (lambda: SessionStartReply.prepare(), ValueError, "prepare() needs at least one argument"),
        (lambda: PostToolUseReply.update_output(None), TypeError, "output must be a JSON value other than None"),
        (lambda: PostToolUseReply.classifier_context("😀" * 1001), ValueError, "2000 UTF-16 units"),
        (lambda: MessageDisplayReply.display(None), TypeError, "content must be a str, not NoneType"),
        (lambda: Reply.terminal("\x1b[2J"), ValueError, "sequence may hold BEL and the OSC commands"),
        (lambda: Reply.terminal("\x1b]52;c;AAAA\a"), ValueError, "sequence may hold BEL and the OSC commands"),
        (lambda: Reply.terminal("\x1b]0;a\x1b[2J\a"), ValueError, "sequence may hold BEL and the OSC commands"),
        (lambda: Reply.terminal("\x1b]0;unfinished"), ValueError, "sequence may hold BEL and the OSC commands"),
        (lambda: Reply.terminal("\x1b]0;" + "x" * 4096 + "\a"), ValueError, "longer than 4096 bytes"),
    ],
)
def test_a_wrong_argument_is_named(make, error, says):
    with pytest.raises(error) as raised:
        make()
    assert says in str(raised.value)


@pytest.mark.parametrize("sequence", ["\a", "\x1b]0;title\a", "\x1b]9;done\a\a", "\x1b]777;notify;a;b\a"])
def test_terminal_sequences_that_claude_code_passes_on(sequence):
    assert Reply.terminal(sequence).terminal_sequence == sequence


ADD_RULE = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}], "behavior": "allow",
            "destination": "session"}  # fmt: skip


@pytest.mark.parametrize(
    "update",
    [
        ADD_RULE,
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
        {"type": "addDirectories", "directories": ["/a"], "destination": "localSettings"},
    ],
)
def test_permission_updates_pass(update):
    assert PermissionRequestReply.allow(updated_permissions=[update]).output == {"updatedPermissions": [update]}


@pytest.mark.parametrize(
    ("update", "says"),
    [
        ({}, "updated_permissions[0]['type'] is None; allowed: addRules"),
        (
            {"type": "addRule"},
            "updated_permissions[0]['type'] is 'addRule', did you mean 'addRules'?; allowed: addRules",
        ),
        ({**ADD_RULE, "behavior": "alow"}, "'alow', did you mean 'allow'?; allowed: allow, deny, ask"),
        ({**ADD_RULE, "behavior": "maybe"}, "updated_permissions[0]['behavior'] is 'maybe'; allowed: allow, deny, ask"),
        ({**ADD_RULE, "destination": "x"}, "updated_permissions[0]['destination'] is 'x'"),
        ({**ADD_RULE, "rules": [{"tool": "Bash"}]}, "updated_permissions[0]['rules'][0]['toolName'] must be a str"),
        ({**ADD_RULE, "mode": "plan"}, "updated_permissions[0] has the unknown key 'mode'"),
        ({"type": "setMode", "mode": "x", "destination": "session"}, "updated_permissions[0]['mode'] is 'x'"),
        ("x", "updated_permissions[0] must be a dict"),
    ],
)
def test_a_wrong_permission_update_is_named(update, says):
    with pytest.raises((TypeError, ValueError)) as raised:
        PermissionRequestReply.allow(updated_permissions=[update])
    assert says in str(raised.value)


def test_a_reply_does_not_change():
    given = {"command": ["ls"]}
    reply = PreToolUseReply.allow(updated_input=given)
    given["command"].append("-l")
    assert reply.updated_input == {"command": ["ls"]}
    with pytest.raises(AttributeError, match="immutable"):
        reply.verdict = "deny"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="immutable"):
        del reply.verdict
    assert copy.deepcopy(reply) is reply


def test_replies_are_equal_where_they_say_the_same():
    assert PreToolUseReply.deny("no") == PreToolUseReply.deny("no")
    assert PreToolUseReply.deny("no") != PreToolUseReply.deny("yes")
    assert PreToolUseReply.deny("no") != PreModelSwitchReply.deny("no")
    assert ConfigChangeReply.block("no") != "no"


def test_a_reply_shows_what_it_says():
    assert repr(PreToolUseReply.deny("no")) == "<PreToolUseReply reason='no', verdict='deny'>"
    assert repr(UserPromptSubmitReply.title("t")) == "<UserPromptSubmitReply output={'sessionTitle': 't'}>"
