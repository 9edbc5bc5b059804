"""The hook specifications: what plugins may implement.

One class per family. Each is also a base class for plugins: pluggy registers only the methods that a subclass overrides
and marks with ``@hookimpl``, and a type checker compares their signatures with the specs. Importing a class loads its
module alone.
"""

from __future__ import annotations

from hookrouter._contract.hook_names import event_facts, hook_names
from hookrouter.markers import hookspec
from hookrouter.util.lazy import lazy_names

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hookrouter.hookspecs.answering import *
    from hookrouter.hookspecs.commands import CommandSpecs as CommandSpecs
    from hookrouter.hookspecs.events import *
    from hookrouter.hookspecs.pages import *
    from hookrouter.hookspecs.permission_denied import *
    from hookrouter.hookspecs.permission_request import *
    from hookrouter.hookspecs.post_tool_use import *
    from hookrouter.hookspecs.post_tool_use_failure import *
    from hookrouter.hookspecs.pre_tool_use import *
    from hookrouter.hookspecs.prompting import *
    from hookrouter.hookspecs.residing import *
    from hookrouter.hookspecs.settings import *
    from hookrouter.hookspecs.storage import *
    from hookrouter.hookspecs.watching import *

_SPECS = {
    "hookrouter.hookspecs.events": "EventSpecs",
    "hookrouter.hookspecs.pre_tool_use": "PreToolUseSpecs",
    "hookrouter.hookspecs.permission_request": "PermissionRequestSpecs",
    "hookrouter.hookspecs.permission_denied": "PermissionDeniedSpecs",
    "hookrouter.hookspecs.post_tool_use": "PostToolUseSpecs",
    "hookrouter.hookspecs.post_tool_use_failure": "PostToolUseFailureSpecs",
    "hookrouter.hookspecs.answering": "AnswerSpecs",
    "hookrouter.hookspecs.commands": "CommandSpecs",
    "hookrouter.hookspecs.pages": "PageSpecs",
    "hookrouter.hookspecs.prompting": "PromptSpecs",
    "hookrouter.hookspecs.residing": "ResidentSpecs",
    "hookrouter.hookspecs.settings": "SettingsSpecs",
    "hookrouter.hookspecs.storage": "StorageSpecs",
    "hookrouter.hookspecs.watching": "WatchSpecs",
}

_find = lazy_names(__name__, _SPECS)

if not TYPE_CHECKING:
    __getattr__ = _find


def all_spec_classes() -> list[type]:
    """Return every spec class. Imports all of their modules, so not for ``hookrouter run``."""
    found: list[Any] = [_find(name) for name in _SPECS.values()]
    return found


# What pluggy needs of a spec is its name and its argument names, so a run does not load the documented classes.


@hookspec
def _event(event: Any, context: Any) -> Any: ...


@hookspec
def _tool(event: Any, tool_input: Any, context: Any) -> Any: ...


@hookspec
def _mcp(event: Any, server: Any, tool: Any, tool_input: Any, context: Any) -> Any: ...


@hookspec
def _tool_response(event: Any, tool_input: Any, tool_response: Any, context: Any) -> Any: ...


@hookspec
def _mcp_response(event: Any, server: Any, tool: Any, tool_input: Any, tool_response: Any, context: Any) -> Any: ...


@hookspec
def _raw_event(event_name: Any, payload: Any, context: Any) -> Any: ...


@hookspec
def _contribution() -> Any: ...


class CallSpecs:
    """A namespace of spec functions for ``pluggy.PluginManager.add_hookspecs``: the hooks of one call and no others."""

    def __init__(self, specs: dict[str, Callable[..., Any]]) -> None:
        """Hold ``specs`` under their names."""
        self.__dict__.update(specs)

    def __dir__(self) -> list[str]:
        """Name the specs, which is where pluggy looks for them."""
        return list(self.__dict__)


def hookspecs_for(event: str, tool_name: str | None = None) -> CallSpecs:
    """Return the specs of the hooks that one payload concerns: the tool's, the event's and ``raw_event``.

    ``event`` is either of the event's names, ``PreToolUse`` or ``pre-tool-use``; an unknown one has only ``raw_event``.
    They take the same arguments as the specs of the same names in the spec classes.
    """
    *named, raw = hook_names(event, tool_name)
    specs: dict[str, Callable[..., Any]] = {raw: _raw_event}
    if named:
        specs[named[-1]] = _event
    if len(named) > 1:
        is_mcp, responds = named[0] == f"{named[1]}_mcp", _responds(event)
        specs[named[0]] = (_mcp_response if responds else _mcp) if is_mcp else (_tool_response if responds else _tool)
    return CallSpecs(specs)


def _responds(event: str) -> bool:
    record = event_facts(event)
    return record is not None and record.name == "PostToolUse"


def contribution_spec(hook: str) -> CallSpecs:
    """Return the spec of one hook of the classes that are about no event: they take no arguments."""
    return CallSpecs({hook: _contribution})
