"""What a plugin author writes and a type checker accepts. Never run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, assert_type

import attrs

from hookrouter import hookimpl, override
from hookrouter.events import BackgroundTask
from hookrouter.hookspecs import (
    AnswerSpecs,
    CommandSpecs,
    EventSpecs,
    PageSpecs,
    PostToolUseSpecs,
    PreToolUseSpecs,
    SettingsSpecs,
)
from hookrouter.hookspecs.commands import Command
from hookrouter.pages import Contribution, Facts, Link, Page, PageRequest, SessionPanel, Table, Text
from hookrouter.replies import PostToolUseReply, PreToolUseReply, StopReply
from hookrouter.tools import (
    AskUserQuestionInput,
    BashInput,
    EditInput,
    EditOutput,
    Question,
    WebSearchResult,
    WriteInput,
    mcp_name,
    mcp_text,
    typed_input,
    typed_response,
)

if TYPE_CHECKING:
    from hookrouter.context import Context
    from hookrouter.events import PostToolUse, PreToolUse, Stop
    from hookrouter.messaging.gateway import Gateway
    from hookrouter.pages import Block, Cell
    from hookrouter.queue.overview import SessionView
    from hookrouter.tools import BashOutput, WebSearchInput, WebSearchOutput


@attrs.frozen
class Settings:
    words: tuple[str, ...] = ()


class Plugin(EventSpecs, PreToolUseSpecs, PostToolUseSpecs, AnswerSpecs, CommandSpecs, PageSpecs, SettingsSpecs):
    @hookimpl
    @override
    def plugin_settings(self) -> type[Settings]:
        return Settings

    @hookimpl
    @override
    def stop(self, event: Stop, context: Context) -> StopReply | None:
        assert_type(event.stop_hook_active, bool)
        assert_type(context.settings(Settings), Settings)
        assert_type(context.settings("plugin"), Mapping[str, object])
        assert_type(event.background_tasks, tuple[BackgroundTask, ...] | None)
        assert_type(event.permission_mode, str | None)
        assert_type(event.raw, Mapping[str, Any])
        return StopReply.block("not yet")

    @hookimpl
    @override
    def pre_tool_use_bash(self, event: PreToolUse, tool_input: BashInput, context: Context) -> PreToolUseReply | None:
        if event.mcp_server is not None:
            assert_type(event.mcp_server.name, str)
        assert_type(tool_input.command, str | None)
        assert_type(tool_input.timeout, float | None)
        assert_type(tool_input.raw, Mapping[str, Any])
        return PreToolUseReply.update_input(tool_input.changed(command=f"nice {tool_input.command}", timeout=None))

    @hookimpl(tryfirst=True)
    @override
    def pre_tool_use(self, event: PreToolUse, context: Context) -> PreToolUseReply | None:
        bash = typed_input(event, BashInput)
        assert_type(bash, BashInput | None)
        if bash is not None and (bash.command is None or "push --force" in bash.command):
            return PreToolUseReply.deny("no")
        match typed_input(event):
            case EditInput(file_path=path) | WriteInput(file_path=path) as known:
                assert_type(known.changed(file_path="/x"), dict[str, Any])
                assert_type(path, str | None)
            case _:
                pass
        if mcp_name(event.tool_name) is not None:
            context.note("input", dict(event.tool_input))
        return None

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
        assert_type(typed_response(event, EditOutput), EditOutput | None)
        return PostToolUseReply.context(mcp_text(event.tool_response))

    @hookimpl
    @override
    def post_tool_use_bash(
        self, event: PostToolUse, tool_input: BashInput, tool_response: BashOutput, context: Context
    ) -> PostToolUseReply | None:
        assert_type(tool_response.stdout, str)
        if tool_response.git_operation is not None and tool_response.git_operation.commit is not None:
            assert_type(tool_response.git_operation.commit.sha, str)
        return None

    @hookimpl
    @override
    def post_tool_use_web_search(
        self, event: PostToolUse, tool_input: WebSearchInput, tool_response: WebSearchOutput, context: Context
    ) -> None:
        assert_type(tool_response.results, tuple[WebSearchResult | str, ...])

    @hookimpl
    @override
    def gateway(self) -> Gateway | None:
        return None

    @hookimpl
    @override
    def cli_commands(self) -> list[Command]:
        return [Command("greet", "Say hello.", "greet.cli:greet")]

    @hookimpl
    @override
    def web_pages(self) -> list[Contribution]:
        return [Page("all", "All", all_of_them), SessionPanel("One", one_of_them), Link("Home", "/")]


def all_of_them(request: PageRequest) -> list[Block]:
    assert_type(request.query.get("q"), str | None)
    assert_type(request.role, str)
    rows: list[list[Cell]] = [["a", Link("b", "/sessions/b")]]
    return [Text("All."), Table(["name", "link"], rows), Facts({"role": request.role}.items())]


def one_of_them(view: SessionView, request: PageRequest) -> tuple[Text] | None:
    return (Text(view.session),) if view.cwd else None


def from_json(raw: Mapping[str, Any]) -> str:
    form = AskUserQuestionInput.from_json(raw)
    assert_type(form, AskUserQuestionInput)
    return form.questions[0].question
