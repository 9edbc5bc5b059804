"""What a plugin author writes and a type checker accepts. Never run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, assert_type

from typing_extensions import override

from hookrouter import hookimpl
from hookrouter.events import BackgroundTask
from hookrouter.hookspecs import AnswerSpecs, CommandSpecs, EventSpecs, PostToolUseSpecs, PreToolUseSpecs
from hookrouter.hookspecs.commands import Command
from hookrouter.replies import PostToolUseReply, PreToolUseReply, StopReply
from hookrouter.tools import AskUserQuestionInput, Question
from hookrouter.views import view

if TYPE_CHECKING:
    from hookrouter.answering import Gateway
    from hookrouter.context import Context
    from hookrouter.events import PostToolUse, PreToolUse, Stop


class Plugin(EventSpecs, PreToolUseSpecs, PostToolUseSpecs, AnswerSpecs, CommandSpecs):
    @hookimpl
    @override
    def stop(self, event: Stop, context: Context) -> StopReply | None:
        assert_type(event.stop_hook_active, bool)
        assert_type(event.background_tasks, tuple[BackgroundTask, ...] | None)
        assert_type(event.permission_mode, str | None)
        assert_type(event.raw, Mapping[str, Any])
        return StopReply.block("not yet")

    @hookimpl
    @override
    def pre_tool_use_bash(
        self, event: PreToolUse, tool_input: Mapping[str, Any], context: Context
    ) -> PreToolUseReply | None:
        if event.mcp_server is not None:
            assert_type(event.mcp_server.name, str)
        return PreToolUseReply.deny(str(tool_input["command"]))

    @hookimpl
    @override
    def pre_tool_use_ask_user_question(
        self, event: PreToolUse, tool_input: AskUserQuestionInput, context: Context
    ) -> PreToolUseReply | None:
        assert_type(tool_input.questions, tuple[Question, ...])
        assert_type(tool_input.questions[0].options[1].label, str)
        assert_type(tool_input.questions[0].multi_select, bool)
        return None

    @hookimpl
    @override
    def pre_tool_use_mcp(
        self, event: PreToolUse, server: str, tool: str, tool_input: Mapping[str, Any], context: Context
    ) -> None:
        return None

    @hookimpl
    @override
    def post_tool_use(self, event: PostToolUse, context: Context) -> PostToolUseReply | None:
        assert_type(event.duration_ms, float | None)
        assert_type(event.tool_response, Any)
        return None

    @hookimpl
    @override
    def gateway(self) -> Gateway | None:
        return None

    @hookimpl
    @override
    def cli_commands(self) -> list[Command]:
        return [Command("greet", "Say hello.", "greet.cli:greet")]


def from_json(raw: Mapping[str, Any]) -> str:
    form = view("AskUserQuestionInput", raw)
    assert_type(form, AskUserQuestionInput)
    return form.questions[0].question
