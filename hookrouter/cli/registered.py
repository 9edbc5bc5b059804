"""Which tools there are, and for which of them hookrouter's hooks stand in Claude Code's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._contract.hook_names import event_facts
from hookrouter._contract.tables import CLAUDE_CODE_VERSION, TOOL_ALIASES, TOOLS
from hookrouter._diagnostics.explain import registered_calls

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrouter.context import Services

__all__ = ["CLAUDE_CODE_VERSION", "tool_names", "unregistered"]


def tool_names() -> tuple[str, ...]:
    """Return the names of the tools of the newest client that is known, and the older names that it takes for them.

    Tools of MCP servers are not among them.
    """
    return (*TOOLS, *TOOL_ALIASES)


def unregistered(app: Services, event: str, tools: Iterable[str], folder: str) -> list[str]:
    """Return those of the tools whose calls start no hook of hookrouter at an event, for a session in a folder."""
    record = event_facts(event)
    if record is None:
        raise ValueError(f"{event!r} is not an event of the contract")
    starts = registered_calls(app, record, folder)
    return [tool for tool in tools if not starts(tool)]
