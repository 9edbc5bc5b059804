"""Which entries of settings.json are wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._contract.matchers import matches
from hookrouter._contract.tables import EVENTS
from hookrouter._installation.registrations import (
    RegistrationSource,
    http_registrations,
    registration_sources,
    registrations,
    ruled_tools,
)
from hookrouter._plugins.registry import NOT_INSTALLED, UNKNOWN_HOOKS, PluginInfo, Plugins, PluginStatus
from hookrouter.config import Agent, ApprovalRule, ApprovalsConfig, Config, PluginConfig

if TYPE_CHECKING:
    pass

from support.registrations import HOOKS, SCRIPT, shape, wanted


def plugin(name: str, status: str, hooks: tuple[str, ...] | None, timeout: float = 10) -> PluginInfo:
    return PluginInfo(name=name, status=status, hooks=hooks or (), hooks_known=hooks is not None, timeout=timeout)


@pytest.mark.parametrize(
    ("hooks", "expected"),
    [
        (["stop"], [("Stop", None)]),
        (["gateway", "cli_commands", "web_pages"], []),
        (["pre_tool_use_ask_user_question"], [("PreToolUse", "AskUserQuestion")]),
        (["pre_tool_use_write", "pre_tool_use_bash"], [("PreToolUse", "Bash|Write")]),
        (["pre_tool_use_mcp"], [("PreToolUse", "mcp__.*")]),
        (["pre_tool_use_mcp", "pre_tool_use_bash"], [("PreToolUse", "Bash"), ("PreToolUse", "mcp__.*")]),
        (["pre_tool_use", "pre_tool_use_mcp", "pre_tool_use_bash"], [("PreToolUse", None)]),
        (["post_tool_use_failure"], [("PostToolUseFailure", None)]),
        (
            ["post_tool_use_failure_bash", "post_tool_use_bash"],
            [("PostToolUse", "Bash"), ("PostToolUseFailure", "Bash")],
        ),
    ],
)
def test_a_hook_registers_the_event_and_the_narrowest_matcher(
    hooks: list[str], expected: list[tuple[str, str | None]]
) -> None:
    assert shape(wanted(*hooks)) == expected


def test_a_hook_about_some_calls_registers_a_matcher_for_them() -> None:
    values = {"notification": ("idle_prompt", "auth_success"), "session_end": ("logout",), "pre_tool_use": ("Bash",)}
    some = RegistrationSource(tuple(values), 1, False, matching=values)
    assert shape(registrations([some], SCRIPT, None)) == [
        ("PreToolUse", "Bash"),
        ("Notification", "auth_success|idle_prompt"),
        ("SessionEnd", "logout"),
    ]
    every = RegistrationSource(("notification", "stop"), 1, False)
    assert shape(registrations([some, every], SCRIPT, None))[1] == ("Notification", None)


WAKING = RegistrationSource(
    ("file_changed",), 1, False, matching={"file_changed": ("bell", ".env")}, wakes=frozenset(["file_changed"])
)


def test_hooks_that_wake_have_entries_of_their_own() -> None:
    plain = RegistrationSource(("file_changed", "raw_event"), 1, False, matching={"file_changed": ("bell",)})
    entries = [one for one in registrations([WAKING, plain], SCRIPT, "/h") if one.event == "FileChanged"]
    assert [(one.matcher, one.wakes) for one in entries] == [(None, False), ("bell", True), (".env", True)]
    assert entries[0].handler() == {
        "type": "command",
        "command": f"HOOKROUTER_HOME=/h {SCRIPT[0]} run file-changed",
        "timeout": 60,
    }
    assert entries[1].handler() == {
        "type": "command",
        "command": f"HOOKROUTER_WAKE=1 HOOKROUTER_HOME=/h {SCRIPT[0]} run file-changed",
        "timeout": 60,
        "asyncRewake": True,
    }


def test_an_entry_that_wakes_stays_a_command_beside_http_hooks() -> None:
    wanted = registrations([WAKING, RegistrationSource(("file_changed",), 1, False)], SCRIPT, None)
    kinds = {one.matcher: one.handler()["type"] for one in http_registrations(wanted, "127.0.0.1:8787")}
    assert kinds == {None: "http", "bell": "command", ".env": "command"}


RUN_AND_EDIT = "Bash|Edit|Monitor|MultiEdit|NotebookEdit|PowerShell|Write"
RULED = ("pre_tool_use", "permission_request", "elicitation", "stop")


def ruled(*tools: str) -> RegistrationSource:
    config = Config(approvals=ApprovalsConfig(rules=tuple(ApprovalRule(tool=one, decide="agent") for one in tools)))
    return RegistrationSource(RULED, 1, False, {}, dict.fromkeys(RULED, ruled_tools(config)))


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        (
            ["Bash(git:*)", "Edit"],
            [("PreToolUse", RUN_AND_EDIT), ("PermissionRequest", RUN_AND_EDIT), ("Stop", None)],
        ),
        (
            ["mcp__a", "mcp__a__b", "mcp__b__c", "Elicitation"],
            [
                *(("PreToolUse", one) for one in ("mcp__b__c", "mcp__a__.*")),
                *(("PermissionRequest", one) for one in ("mcp__b__c", "mcp__a__.*")),
                ("Stop", None),
                ("Elicitation", None),
            ],
        ),
        (["*"], [("PreToolUse", None), ("PermissionRequest", None), ("Stop", None), ("Elicitation", None)]),
    ],
)
def test_only_tools_that_a_rule_names_start_a_hook(tools: list[str], expected: list[tuple[str, str | None]]) -> None:
    entries = shape(registrations([ruled(*tools)], SCRIPT, None))
    assert sorted(entries, key=str) == sorted(expected, key=str)


def test_a_rule_that_refuses_files_starts_one_for_command_lines_too() -> None:
    rules = (ApprovalRule(tool="Read(.env)", decide="person"),)
    found = ruled_tools(Config(approvals=ApprovalsConfig(rules=rules)))
    assert found == ("Read", "Grep", "Glob", "Bash", "Monitor", "PowerShell")
    person = Agent(id="me", kind="person")
    assert ruled_tools(Config(approvals=ApprovalsConfig(rules=rules), agents=(person,))) == ("*",)


TOOL_RULES = st.sampled_from(["Bash", "Edit", "*", "mcp__a", "mcp__a__b", "mcp__a__b*", "mcp__b__c", "Elicitation"])


@given(st.lists(TOOL_RULES, unique=True), st.sets(HOOKS))
def test_no_ruled_call_matches_two_entries(tools: list[str], hooks: set[str]) -> None:
    entries = registrations([ruled(*tools), RegistrationSource(tuple(hooks), 1, False)], SCRIPT, None)
    for event in ("PreToolUse", "PermissionRequest"):
        for tool in ("Bash", "Edit", "mcp__a__b", "mcp__a__bc", "mcp__b__c", "mcp__c__d"):
            matching = [one for one in entries if one.event == event and matches(event, one.matcher, tool)]
            assert len(matching) <= 1, (tool, matching)


def test_the_raw_hook_registers_every_event_but_the_one_that_a_hook_takes_over() -> None:
    events = [event for event, matcher in shape(wanted("raw_event", "pre_tool_use_bash")) if matcher is None]
    assert events == [event.name for event in EVENTS.values() if event.name != "WorktreeCreate"]
    assert shape(wanted("worktree_create")) == [("WorktreeCreate", None)]


@given(st.sets(HOOKS), st.sets(HOOKS))
def test_no_call_matches_two_entries(hooks: set[str], guarded: set[str]) -> None:
    entries = registrations(
        [RegistrationSource(tuple(hooks), 1, False), RegistrationSource(tuple(guarded), 1, True)], SCRIPT, None
    )
    for name in {entry.event for entry in entries}:
        matchers = [entry.matcher for entry in entries if entry.event == name]
        assert matchers == [None] or None not in matchers
        exact = [tool for matcher in matchers if matcher and "*" not in matcher for tool in matcher.split("|")]
        assert len(exact) == len(set(exact))
        assert len(matchers) == len(set(matchers)) <= 3


def test_timeouts_leave_room_for_the_plugins_and_a_scan_but_never_hold_up_the_end_of_a_session() -> None:
    hooks = ("stop", "session_end", "user_prompt_submit", "message_display")
    timeouts = {entry.event: entry.timeout for entry in wanted(*hooks)}
    assert timeouts == {"Stop": 60, "SessionEnd": 1.5, "UserPromptSubmit": 60, "MessageDisplay": 10}
    slow = {entry.event: entry.timeout for entry in wanted(*hooks, seconds=120)}
    assert slow == {"Stop": 170, "SessionEnd": 1.5, "UserPromptSubmit": 170, "MessageDisplay": 10}


def test_a_plugin_counts_once_for_an_event_however_many_of_its_hooks_are_called() -> None:
    one = RegistrationSource(("pre_tool_use_bash", "pre_tool_use", "raw_event", "stop"), 30, closed=False)
    other = RegistrationSource(("pre_tool_use_mcp",), 7.5, closed=False)
    timeouts = {entry.event: entry.timeout for entry in registrations([one, other], SCRIPT, None)}
    assert (timeouts["PreToolUse"], timeouts["Stop"]) == (87.5, 80)


def test_only_plugins_that_can_answer_or_must_refuse_are_registered() -> None:
    config = Config(plugins={"guard": PluginConfig(on_error="closed"), "x": PluginConfig(enabled=False)})
    listed = [
        plugin("a", PluginStatus.ACTIVE, ("stop",)),
        plugin("b", PluginStatus.BROKEN, ("setup",)),
        plugin("x", PluginStatus.DISABLED, ("setup",)),
    ]
    assert registration_sources(listed, config) == [RegistrationSource(("stop",), 10, closed=False, name="a")]
    for status in (PluginStatus.ACTIVE, PluginStatus.BROKEN):
        guard = plugin("guard", status, ("pre_tool_use_bash",), 20)
        assert registration_sources([guard], config) == [
            RegistrationSource(("pre_tool_use_bash",), 20, closed=True, name="guard")
        ]


def test_each_entry_names_the_plugins_that_it_is_for_in_calling_order() -> None:
    plugins = [
        RegistrationSource(("pre_tool_use_write", "stop"), 1, closed=False, name="z"),
        RegistrationSource(("pre_tool_use_bash", "pre_tool_use_mcp"), 1, closed=False, name="a"),
        RegistrationSource(("pre_tool_use_read", "pre_tool_use_bash"), 1, closed=True, name="guard"),
        RegistrationSource(("gateway",), 1, closed=False, name="gateway"),
    ]
    found = {(want.event, want.matcher): want.plugins for want in registrations(plugins, SCRIPT, None)}
    assert found == {
        ("PreToolUse", "Write"): ("z",),
        ("PreToolUse", "Bash|Read"): ("a", "guard"),
        ("PreToolUse", "mcp__.*"): ("a",),
        ("Stop", None): ("z",),
    }


def test_a_guard_that_is_not_known_guards_every_tool_and_nothing_else() -> None:
    config = Config(plugins={"guard": PluginConfig(on_error="closed")})
    missing = Plugins((), config, pytest.fail).listing()
    assert [(info.status, info.reason) for info in missing] == [(PluginStatus.BROKEN, NOT_INSTALLED)]
    for listed in ([plugin("guard", PluginStatus.BROKEN, None)], missing):
        assert registration_sources(listed, config) == [
            RegistrationSource(UNKNOWN_HOOKS, 10, closed=True, name="guard")
        ]
    assert shape(registrations(registration_sources(missing, config), SCRIPT, None)) == [
        ("PreToolUse", None),
        ("PermissionRequest", None),
    ]


def test_claude_code_refuses_what_a_guard_guards_if_the_whole_program_fails() -> None:
    entries = wanted("pre_tool_use_bash", "user_prompt_submit", "permission_request", "stop", "setup", closed=True)
    failing = {entry.event: entry.handler().get("onFailure") for entry in entries}
    assert failing == {
        "PreToolUse": "block",
        "UserPromptSubmit": "block",
        "PermissionRequest": None,
        "Stop": None,
        "Setup": None,
    }
    assert all("onFailure" not in entry.handler() for entry in wanted("pre_tool_use", "user_prompt_submit"))


def test_tools_that_no_guard_watches_stay_free_of_its_failures() -> None:
    guard = RegistrationSource(("pre_tool_use_bash", "pre_tool_use_write"), 10, closed=True)
    other = RegistrationSource(
        ("pre_tool_use_ask_user_question", "pre_tool_use_mcp", "pre_tool_use_write"), 10, closed=False
    )
    entries = registrations([other, guard], SCRIPT, None)
    assert [(entry.matcher, entry.block_on_failure) for entry in entries] == [
        ("AskUserQuestion", False),
        ("Bash|Write", True),
        ("mcp__.*", False),
    ]
