from __future__ import annotations

from typing import Any

import pytest

from hookrouter._routing.reply_check import checked_reply, decode_reply
from hookrouter.replies import NotificationReply, PreToolUseReply, Reply, StopReply, UserPromptSubmitReply


@pytest.mark.parametrize(
    ("event", "reply"),
    [
        ("Stop", None),
        ("Stop", StopReply.block("x")),
        ("Stop", Reply.halt("x", system_message="y")),
        ("TaskCreated", Reply.message("x")),
        ("Notification", Reply.terminal("\a")),
        ("SessionEnd", Reply.terminal("\a")),
        ("FutureEvent", Reply.message("x")),
    ],
)
def test_replies_that_fit_pass(event, reply):
    assert checked_reply(event, reply) == reply


@pytest.mark.parametrize(
    ("event", "result", "says"),
    [
        ("Stop", "no", "a hook about Stop returns None or a StopReply, not a str: 'no'"),
        ("Stop", {"decision": "block"}, "a hook about Stop returns None or a StopReply, not a dict: {'decision'"),
        ("Stop", PreToolUseReply.deny("x"), "a hook about Stop returns None or a StopReply, not a PreToolUseReply"),
        ("SessionEnd", NotificationReply.terminal("\a"), "returns None or a Reply, not a NotificationReply"),
        ("SessionEnd", Reply.message("x"), "Claude Code discards what Reply.message() says on SessionEnd"),
        ("TaskCreated", Reply.halt("x"), "Claude Code discards what Reply.halt() says on TaskCreated"),
        ("PreCompact", Reply.terminal("\a"), "Claude Code discards what Reply.terminal() says on PreCompact"),
        ("FutureEvent", StopReply.block("x"), "returns None or a Reply, not a StopReply"),
        ("FutureEvent", UserPromptSubmitReply, "not a type"),
    ],
)
def test_replies_that_do_not_fit_are_refused(event, result, says):
    with pytest.raises(TypeError) as raised:
        checked_reply(event, result)
    assert says in str(raised.value)


def changed(field: str, value: object) -> PreToolUseReply:
    reply = PreToolUseReply.deny("no")
    object.__setattr__(reply, field, value)
    return reply


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (changed("reason", 5), "the reason of a reply must be a str, not a int"),
        (changed("output", ["x"]), "the output of a reply must be a dict, not a list"),
        (changed("output", {"updatedInput": {"a": object()}}), "object cannot be written as JSON"),
        (changed("output", {"updatedInput": {"a": float("inf")}}), ""),
    ],
)
def test_a_reply_that_cannot_be_written_is_refused(reply: Reply, says: str) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        checked_reply("PreToolUse", reply)
    assert says in str(raised.value)


def test_what_a_plugin_changes_later_does_not_change_its_reply() -> None:
    given: dict[str, object] = {"command": "ls"}
    reply = PreToolUseReply.update_input(given)
    checked = checked_reply("PreToolUse", reply)
    reply.output["updatedInput"] = {"command": "rm"}
    assert checked is not None
    assert checked.output == {"updatedInput": {"command": "ls"}}


def test_an_object_that_only_pretends_to_be_a_reply_is_none() -> None:
    class Proxy:
        __class__ = PreToolUseReply  # type: ignore[assignment] # as a mock with a spec does

    with pytest.raises(TypeError, match="not a Proxy"):
        checked_reply("PreToolUse", Proxy())


def test_a_subclass_counts_as_the_reply_that_it_is() -> None:
    class Mine(PreToolUseReply):
        __slots__ = ()

    assert type(checked_reply("PreToolUse", Mine.deny("no"))) is PreToolUseReply


def test_a_class_that_another_process_does_not_know_is_a_plain_reply() -> None:
    told: list[Any] = ["NoSuchReply", False, {}, None, None, "look", None, None]
    assert decode_reply(told) == Reply.message("look")
