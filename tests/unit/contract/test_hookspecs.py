"""The hook specifications: complete, uniform, documented, and usable as base classes of plugins."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pluggy
import pytest

from hookrouter import hookimpl, hookspecs
from hookrouter._contract.tables import EVENTS, TOOLS
from hookrouter._plugins.call_specs import CallSpecs, contribution_spec, hookspecs_for
from hookrouter.hookspecs import EventSpecs, PreToolUseSpecs, all_spec_classes
from hookrouter.hookspecs.commands import Command
from hookrouter.markers import PROJECT_NAME

PARTS = ("When: ", "Returns:", "Combined: ", "Args:", "Example::")


def specs_of(namespace: object) -> dict[str, Any]:
    """Return the functions of a spec namespace that carry the marker."""
    found = {name: getattr(namespace, name) for name in dir(namespace) if not name.startswith("__")}
    return {name: function for name, function in found.items() if hasattr(function, f"{PROJECT_NAME}_spec")}


ALL = {name: function for specs in all_spec_classes() for name, function in specs_of(specs).items()}

TOOL_EVENTS = [record for record in EVENTS.values() if record.is_tool]


def manager(*namespaces: object) -> pluggy.PluginManager:
    result = pluggy.PluginManager(PROJECT_NAME)
    for namespace in namespaces:
        result.add_hookspecs(namespace)
    return result


def arguments(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


def test_there_is_one_spec_for_each_event_and_for_each_tool_of_the_tool_events() -> None:
    events = {record.hook for record in EVENTS.values()} | {"raw_event"}
    tools = {f"{record.hook}_{suffix}" for record in TOOL_EVENTS for suffix in [*TOOLS.values(), "mcp"]}
    answering = {
        "answer_channel",
        "keystroke_planner",
        "terminal_backend",
        "gateway",
        "machines",
        "message_composer",
        "message_tracing",
        "cli_commands",
        "dialog_kinds",
        "dialog_links",
        "document_kinds",
        "session_watcher",
        "prompt_channel",
        "config_table",
        "plugin_settings",
        "statistics_section",
        "storage_engine",
        "resident_process",
        "web_pages",
    }
    assert len(events) == len(EVENTS) + 1
    assert len(tools) == 5 * 56
    assert set(ALL) == events | tools | answering


def test_all_specs_load_into_pluggy_together() -> None:
    hooks = manager(*all_spec_classes()).hook
    for name, function in ALL.items():
        caller = getattr(hooks, name)
        assert caller.spec is not None
        assert list(caller.spec.argnames) == arguments(function), name


@pytest.mark.parametrize("name", ALL)
def test_arguments_are_uniform(name: str) -> None:
    if name == "raw_event":
        expected = ["event_name", "payload", "context"]
    elif name in {record.hook for record in EVENTS.values()}:
        expected = ["event", "context"]
    elif name.endswith("_mcp"):
        expected = ["event", "server", "tool", "tool_input", "context"]
    elif any(name.startswith(f"{record.hook}_") for record in TOOL_EVENTS):
        expected = ["event", "tool_input", "context"]
    else:
        expected = []
    if name.startswith("post_tool_use_") and not name.startswith("post_tool_use_failure") and expected:
        expected.insert(-1, "tool_response")
    assert arguments(ALL[name]) == expected


TOOL_HOOKS = {f"{record.hook}_{suffix}": record for record in TOOL_EVENTS for suffix in [*TOOLS.values(), "mcp"]}
"""What is said of these is that their event's own hook says it."""

IN_FULL = [name for name in ALL if name not in TOOL_HOOKS]


@pytest.mark.parametrize("name", TOOL_HOOKS)
def test_docstrings_of_tools_hooks_say_where_to_read_on(name: str) -> None:
    doc = inspect.cleandoc(ALL[name].__doc__ or "")
    record = TOOL_HOOKS[name]
    assert doc.startswith(f"``{record.name}`` of ")
    assert " ".join(doc.split()).endswith(f"see ``EventSpecs.{record.hook}``.")
    assert len(doc.splitlines()) <= 3


@pytest.mark.parametrize("name", IN_FULL)
def test_docstrings_have_their_parts_in_order(name: str) -> None:
    doc = inspect.cleandoc(ALL[name].__doc__ or "")
    told_once = arguments(ALL[name]) == ["event", "context"]  # by the class, for all events
    parts = [part for part in PARTS if part != "Args:" or not told_once]
    places = [doc.find(part) if index == 0 else doc.find(f"\n\n{part}") for index, part in enumerate(parts)]
    assert places[0] == 0, f"{name} does not begin with {parts[0]!r}"
    assert -1 not in places, f"{name} lacks {[part for part, place in zip(parts, places, strict=True) if place < 0]}"
    assert places == sorted(places), f"{name} has its parts in another order"
    for argument in [] if told_once else arguments(ALL[name]):
        assert re.search(rf"^    {argument}: \S", doc, re.MULTILINE), f"{name} does not describe {argument}"


@pytest.mark.parametrize("name", IN_FULL)
def test_examples_are_code_that_implements_the_hook(name: str) -> None:
    example = dedent(inspect.cleandoc(ALL[name].__doc__ or "").split("Example::\n\n")[1])
    namespace: dict[str, Any] = {"hookimpl": hookimpl, "Command": Command}
    exec(compile(example, name, "exec"), namespace)
    plugins = manager(CallSpecs({name: ALL[name]}))
    plugins.register(type("Plugin", (), {name: staticmethod(namespace[name])})())
    plugins.check_pending()
    assert len(getattr(plugins.hook, name).get_hookimpls()) == 1


@pytest.mark.parametrize("record", EVENTS.values(), ids=lambda record: record.name)
def test_the_specs_of_one_call_equal_the_documented_ones(record: Any) -> None:
    tools = [*TOOLS, "mcp__demo__ask"] if record.is_tool else [None]
    for tool in tools:
        specs = specs_of(hookspecs_for(record.name, tool))
        ends = [] if tool is None else [f"{record.hook}_{TOOLS.get(tool, 'mcp')}"]
        assert set(specs) == {record.hook, "raw_event", *ends}
        for name, function in specs.items():
            assert arguments(function) == arguments(ALL[name]), name
            assert getattr(function, f"{PROJECT_NAME}_spec") == getattr(ALL[name], f"{PROJECT_NAME}_spec"), name
        hooks = manager(hookspecs_for(record.name, tool)).hook
        assert {name for name in vars(hooks) if not name.startswith("_")} == set(specs)
        for name in specs:
            assert list(getattr(hooks, name).spec.argnames) == arguments(ALL[name])


def test_the_specs_of_one_call_by_either_name_of_the_event() -> None:
    assert dir(hookspecs_for("pre-tool-use", "Task")) == dir(hookspecs_for("PreToolUse", "Agent"))


def test_an_unknown_event_or_tool_has_the_general_specs() -> None:
    assert dir(hookspecs_for("PostQuantumLeap", "Bash")) == ["raw_event"]
    assert dir(hookspecs_for("PreToolUse", "ToolOfTomorrow")) == ["pre_tool_use", "raw_event"]


CONTRIBUTED = [
    "answer_channel",
    "keystroke_planner",
    "terminal_backend",
    "gateway",
    "machines",
    "message_composer",
    "cli_commands",
    "document_kinds",
    "prompt_channel",
    "session_watcher",
    "storage_engine",
    "resident_process",
    "web_pages",
]


@pytest.mark.parametrize("hook", CONTRIBUTED)
def test_the_spec_of_a_contribution_equals_the_documented_one(hook: str) -> None:
    specs = specs_of(contribution_spec(hook))
    assert list(specs) == [hook]
    assert arguments(specs[hook]) == arguments(ALL[hook])
    assert getattr(specs[hook], f"{PROJECT_NAME}_spec") == getattr(ALL[hook], f"{PROJECT_NAME}_spec")


def test_a_plugin_that_subclasses_specs_registers_only_what_it_overrides() -> None:
    class Plugin(EventSpecs, PreToolUseSpecs):
        @hookimpl
        def stop(self, event: Any, context: Any) -> None:
            seen.append(("stop", event))

        @hookimpl
        def pre_tool_use_bash(self, event: Any, tool_input: Any, context: Any) -> None:
            seen.append(("bash", tool_input))

        def pre_tool_use(self, event: Any, context: Any) -> None:
            raise AssertionError("not marked, so not a hook")

    seen: list[tuple[str, object]] = []
    plugins = manager(*all_spec_classes())
    plugins.register(Plugin())
    plugins.check_pending()
    registered = {name for name in ALL if getattr(plugins.hook, name).get_hookimpls()}
    assert registered == {"stop", "pre_tool_use_bash"}
    plugins.hook.stop(event="s", context=None)
    plugins.hook.pre_tool_use_bash(event="e", tool_input={"command": "ls"}, context=None)
    plugins.hook.pre_tool_use(event="e", context=None)
    assert seen == [("stop", "s"), ("bash", {"command": "ls"})]


def test_an_implementation_with_an_unknown_argument_is_refused() -> None:
    class Plugin:
        @hookimpl
        def stop(self, event: Any, payload: Any) -> None: ...

    with pytest.raises(pluggy.PluginValidationError, match="payload"):
        manager(hookspecs_for("Stop")).register(Plugin())


def test_implementations_may_take_fewer_arguments() -> None:
    class Plugin:
        @hookimpl
        def pre_tool_use_mcp(self, server: str, tool: str) -> Any:
            return (server, tool)

    plugins = manager(hookspecs_for("PreToolUse", "mcp__demo__ask"))
    plugins.register(Plugin())
    called = plugins.hook.pre_tool_use_mcp(event=0, server="demo", tool="ask", tool_input={}, context=0)
    assert called == [("demo", "ask")]


def test_no_spec_stops_at_the_first_result() -> None:
    for name, function in ALL.items():
        assert getattr(function, f"{PROJECT_NAME}_spec")["firstresult"] is False, name


def test_a_name_that_is_no_spec_class_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="NoSuchSpecs"):
        _ = hookspecs.NoSuchSpecs


def test_every_exported_name_exists() -> None:
    for name in hookspecs.__all__:
        assert getattr(hookspecs, name) is not None
    modules = {path.stem for path in Path(hookspecs.__file__).parent.glob("*.py")} - {"__init__"}
    assert {f"hookrouter.hookspecs.{name}" for name in modules} == set(hookspecs._SPECS)


def test_call_specs_show_pluggy_only_their_specs() -> None:
    assert dir(CallSpecs({"stop": ALL["stop"]})) == ["stop"]
