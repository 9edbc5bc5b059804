"""Mistakes of a plugin author that a type checker must report, each with the code it reports. Never run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

from hookrouter import hookimpl
from hookrouter.hookspecs import CommandSpecs, EventSpecs, PreToolUseSpecs
from hookrouter.replies import PreToolUseReply, StopReply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.context import Context
    from hookrouter.events import PreToolUse, SessionEnd, Stop
    from hookrouter.tools import AskUserQuestionInput


class WrongEvent(EventSpecs):
    @hookimpl
    def stop(self, event: SessionEnd, context: Context) -> StopReply | None:  # error: override
        return None


class WrongReturn(EventSpecs):
    @hookimpl
    def stop(self, event: Stop, context: Context) -> int:  # error: override
        return 1


class ReplyOfAnotherEvent(PreToolUseSpecs):
    @hookimpl
    def pre_tool_use_bash(  # error: override
        self, event: PreToolUse, tool_input: Mapping[str, Any], context: Context
    ) -> StopReply:
        return StopReply.block("no")


class MisspeltHook(PreToolUseSpecs):
    @hookimpl
    @override
    def pre_tool_use_bahs(  # error: misc
        self, event: PreToolUse, tool_input: Mapping[str, Any], context: Context
    ) -> None:
        return None


class WrongArguments(PreToolUseSpecs):
    @hookimpl
    def pre_tool_use_mcp(  # error: override
        self, event: PreToolUse, tool_input: Mapping[str, Any], context: Context
    ) -> None:
        return None


class FormAsMapping(PreToolUseSpecs):
    @hookimpl
    def pre_tool_use_ask_user_question(  # error: override
        self, event: PreToolUse, tool_input: dict[str, Any], context: Context
    ) -> None:
        return None


class WrongCommands(CommandSpecs):
    @hookimpl
    def cli_commands(self) -> list[str]:  # error: override
        return ["greet"]


def reads(event: PreToolUse, form: AskUserQuestionInput) -> None:
    print(event.tool_nane)  # error: attr-defined
    print(event.permission_mode.upper())  # error: union-attr
    print(form.questions[0].multiSelect)  # error: attr-defined
    event.cwd = "/elsewhere"  # error: misc
    PreToolUseReply.deny()  # error: call-arg
