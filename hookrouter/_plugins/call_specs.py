"""The specs of one call: what pluggy needs of them is a name and the names of the arguments.

So a run does not load the documented classes of :mod:`hookrouter.hookspecs`, which hold the same hooks.
"""

from __future__ import annotations

from hookrouter._contract.hook_names import event_facts, hook_names
from hookrouter.markers import hookspec

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["CallSpecs", "contribution_spec", "hookspecs_for"]


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
