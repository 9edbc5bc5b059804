"""Mistakes of a plugin author that a type checker must report: "error: mypy's code, pyright's rule". Never run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from hookrouter import hookimpl, override
from hookrouter.hookspecs import CommandSpecs, EventSpecs, PageSpecs, PostToolUseSpecs, PreToolUseSpecs, SettingsSpecs
from hookrouter.pages import Page, PageRequest, Table
from hookrouter.replies import PreToolUseReply, StopReply
from hookrouter.tools import BashInput, typed_input

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.context import Context
    from hookrouter.events import PostToolUse, PreToolUse, SessionEnd, Stop
    from hookrouter.tools import AskUserQuestionInput, BashOutput, EditInput


class WrongEvent(EventSpecs):
    @hookimpl
    def stop(  # error: override, reportIncompatibleMethodOverride
        self, event: SessionEnd, context: Context
    ) -> StopReply | None:
        return None


class WrongReturn(EventSpecs):
    @hookimpl
    def stop(self, event: Stop, context: Context) -> int:  # error: override, reportIncompatibleMethodOverride
        return 1


class ReplyOfAnotherEvent(PreToolUseSpecs):
    @hookimpl
    def pre_tool_use_bash(  # error: override, reportIncompatibleMethodOverride
        self, event: PreToolUse, tool_input: BashInput, context: Context
    ) -> StopReply:
        return StopReply.block("no")


class WrongReply(EventSpecs):
    @hookimpl
    @override
    def stop(self, event: Stop, context: Context) -> StopReply | None:
        return PreToolUseReply.deny("no")  # error: return-value, reportReturnType


class WrongChange(PreToolUseSpecs):
    @hookimpl
    @override
    def pre_tool_use_bash(self, event: PreToolUse, tool_input: BashInput, context: Context) -> PreToolUseReply | None:
        tool_input.changed(cmd="ls")  # error: call-arg, reportCallIssue
        tool_input.changed(command=5)  # error: arg-type, reportArgumentType
        return PreToolUseReply.update_input(tool_input.changed(command=None))  # error: arg-type, reportArgumentType


class MisspeltHook(PreToolUseSpecs):
    @hookimpl
    @override
    def pre_tool_use_bahs(  # error: misc, reportGeneralTypeIssues
        self, event: PreToolUse, tool_input: BashInput, context: Context
    ) -> None:
        return None


class InputOfAnotherTool(PreToolUseSpecs):
    @hookimpl
    def pre_tool_use_bash(  # error: override, reportIncompatibleMethodOverride
        self, event: PreToolUse, tool_input: EditInput, context: Context
    ) -> None:
        return None


class InputAsMapping(PreToolUseSpecs):
    @hookimpl
    def pre_tool_use_ask_user_question(  # error: override, reportIncompatibleMethodOverride
        self, event: PreToolUse, tool_input: Mapping[str, Any], context: Context
    ) -> None:
        return None


class ResponseOfAnotherTool(PostToolUseSpecs):
    @hookimpl
    def post_tool_use_edit(  # error: override, reportIncompatibleMethodOverride
        self, event: PostToolUse, tool_input: EditInput, tool_response: BashOutput, context: Context
    ) -> None:
        return None


class WrongArguments(PreToolUseSpecs):
    @hookimpl
    def pre_tool_use_mcp(  # error: override, reportIncompatibleMethodOverride
        self, event: PreToolUse, tool_input: Mapping[str, Any], context: Context
    ) -> None:
        return None


class WrongCommands(CommandSpecs):
    @hookimpl
    def cli_commands(self) -> list[str]:  # error: override, reportIncompatibleMethodOverride
        return ["greet"]


@attrs.frozen
class Settings:
    words: tuple[str, ...] = ()


def texts(request: PageRequest) -> list[str]:
    return ["All."]


Table(["name"], [[3]])  # error: list-item, reportArgumentType
Page("all", "All", texts)  # error: arg-type, reportArgumentType


class WrongPages(PageSpecs):
    @hookimpl
    def web_pages(self) -> list[str]:  # error: override, reportIncompatibleMethodOverride
        return ["all"]


class WrongSettings(SettingsSpecs):
    @hookimpl
    def plugin_settings(self) -> Settings:  # error: override, reportIncompatibleMethodOverride
        return Settings()


def sets(context: Context) -> None:
    print(context.settings(Settings).wrods)  # error: attr-defined, reportAttributeAccessIssue


def reads(event: PreToolUse, form: AskUserQuestionInput, asked: BashInput, answered: BashOutput) -> None:
    print(event.tool_nane)  # error: attr-defined, reportAttributeAccessIssue
    print(event.permission_mode.upper())  # error: union-attr, reportOptionalMemberAccess
    print(form.questions[0].multiSelect)  # error: attr-defined, reportAttributeAccessIssue
    print(asked.get("command"))  # error: attr-defined, reportAttributeAccessIssue
    print(asked.description.upper())  # error: union-attr, reportOptionalMemberAccess
    print(answered.stdout + 1)  # error: operator, reportOperatorIssue
    print(answered.git_operation.commit)  # error: union-attr, reportOptionalMemberAccess
    event.cwd = "/elsewhere"  # error: misc, reportAttributeAccessIssue
    PreToolUseReply.deny()  # error: call-arg, reportCallIssue
    typed_input(event, "Bash")  # error: call-overload, reportCallIssue
    print(typed_input(event, BashInput).command)  # error: union-attr, reportOptionalMemberAccess
