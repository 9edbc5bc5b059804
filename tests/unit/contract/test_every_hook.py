"""Every hook there is: documented, with a typed signature, and called with what the signature says."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from hookrouter import context, events, hookimpl, replies, tools
from hookrouter._contract.tables import EVENTS, TOOLS
from hookrouter._plugins.manager import collect
from hookrouter.answering.interfaces import AnswerChannel, KeystrokePlanner
from hookrouter.composing import MessageComposer, MessageTracing
from hookrouter.dialogs.kinds import DialogKind
from hookrouter.dialogs.linking import DialogLinks
from hookrouter.hookspecs import all_spec_classes
from hookrouter.hookspecs.commands import Command
from hookrouter.markers import PROJECT_NAME
from hookrouter.messaging.gateway import Gateway
from hookrouter.pages import Contribution
from hookrouter.queue.channels import PromptChannel
from hookrouter.serving.resident import ResidentProcess
from hookrouter.sessions.watching import SessionWatcher
from hookrouter.sharing import Sharing
from hookrouter.storage.home import DocumentKind
from hookrouter.storage.interface import StorageEngine
from hookrouter.terminals import TerminalBackend
from hookrouter.testing import Hooks

NAMES = {
    **{name: getattr(tools, name) for name in tools.__all__},
    **{name: getattr(events, name) for name in events.__all__},
    **{name: getattr(replies, name) for name in replies.__all__},
    "AnswerChannel": AnswerChannel,
    "Any": Any,
    "Command": Command,
    "Context": context.Context,
    "Contribution": Contribution,
    "DialogKind": DialogKind,
    "DialogLinks": DialogLinks,
    "DocumentKind": DocumentKind,
    "Gateway": Gateway,
    "MessageComposer": MessageComposer,
    "MessageTracing": MessageTracing,
    "KeystrokePlanner": KeystrokePlanner,
    "Mapping": Mapping,
    "PromptChannel": PromptChannel,
    "ResidentProcess": ResidentProcess,
    "Sequence": Sequence,
    "Sharing": Sharing,
    "SessionWatcher": SessionWatcher,
    "StorageEngine": StorageEngine,
    "TerminalBackend": TerminalBackend,
}

HOOKS = {
    name: (specs, function)
    for specs in all_spec_classes()
    for name, function in vars(specs).items()
    if hasattr(function, f"{PROJECT_NAME}_spec")
}

CONTRIBUTIONS = {name for name, (_, function) in HOOKS.items() if len(inspect.signature(function).parameters) == 1}

CALLS = {
    "raw_event": ("Notification", None),
    **{record.hook: (record.name, None) for record in EVENTS.values()},
    **{
        f"{record.hook}_{suffix}": (record.name, tool)
        for record in EVENTS.values()
        if record.is_tool
        for tool, suffix in {**TOOLS, "mcp__github__create_issue": "mcp"}.items()
    },
}
"""Hook -> the event and the tool at which it is called."""


def hints(hook: str) -> dict[str, Any]:
    """Return the types of a hook's arguments and of what it returns."""
    return typing.get_type_hints(HOOKS[hook][1], localns=NAMES)


def classes(annotation: Any) -> set[type]:
    """Return the classes that an annotation allows."""
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        return set().union(*map(classes, typing.get_args(annotation)))
    return {typing.get_origin(annotation) or annotation}


def test_every_hook_is_called_by_a_test() -> None:
    assert set(CALLS) | CONTRIBUTIONS == set(HOOKS)
    assert not set(CALLS) & CONTRIBUTIONS


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_documented_and_typed(hook: str) -> None:
    function = HOOKS[hook][1]
    doc = inspect.getdoc(function)
    assert doc is not None
    family = CALLS.get(hook, ("", None))[1]
    assert doc.startswith("When: " if family is None else f"``{CALLS[hook][0]}`` of ")
    typed = hints(hook)
    assert set(typed) == {*inspect.signature(function).parameters, "return"} - {"self"}
    for name, annotation in typed.items():
        # What an MCP server's tool returns may be anything.
        assert annotation is not Any or (hook, name) == ("post_tool_use_mcp", "tool_response"), f"{hook}: {name}"
    event, tool = CALLS.get(hook, (None, None))
    if event is not None and hook != "raw_event":
        assert typed["event"] is events.EVENT_CLASSES[event]
        assert classes(typed["return"]) == {replies.REPLIES.get(event, replies.Reply), type(None)}
    if tool is not None and tool in TOOLS:
        assert typed["tool_input"].__name__.endswith("Input")
        assert typed.get("tool_response", tools.BashOutput).__name__.endswith("Output")


@pytest.mark.parametrize("hook", CALLS)
def test_every_hook_is_called_with_what_its_signature_says(hook: str, hooks: Hooks) -> None:
    specs, _ = HOOKS[hook]
    typed = hints(hook)
    names = [name for name in typed if name != "return"]
    seen: dict[str, Any] = {}
    namespace: dict[str, Any] = {"seen": seen}
    exec(f"def {hook}(self, {', '.join(names)}):\n    seen.update({', '.join(f'{n}={n}' for n in names)})\n", namespace)
    hooks.add(type("Plugin", (specs,), {hook: hookimpl(namespace[hook])}), "plugin")

    event, tool = CALLS[hook]
    fired = hooks.fire(event, tool)

    assert [record["hook"] for record in fired.records] == [hook]
    assert list(seen) == names
    for name, value in seen.items():
        if typed[name] is not Any:
            assert isinstance(value, typing.get_origin(typed[name]) or typed[name]), name
    if "event" in seen:
        assert seen["event"].raw == fired.payload
    for name in {"tool_input", "tool_response"} & set(seen):
        sent, got = fired.payload[name], seen[name]
        if tool not in TOOLS:
            assert got == sent
            continue
        assert got.raw == sent
        for attribute, field in typed[name].FIELDS.items():
            if field.kind in ("string", "boolean", "number") and isinstance(sent, dict) and field.wire in sent:
                assert getattr(got, attribute) == sent[field.wire], attribute


@pytest.mark.parametrize("hook", sorted(CONTRIBUTIONS))
def test_every_contribution_is_collected(hook: str) -> None:
    specs, _ = HOOKS[hook]
    given = object()
    plugin = type("Plugin", (specs,), {hook: hookimpl(lambda self: given)})()
    problems: list[str] = []
    assert collect(hook, [("plugin", plugin)], lambda name, text: problems.append(text)) == [("plugin", given)]
    assert problems == []
