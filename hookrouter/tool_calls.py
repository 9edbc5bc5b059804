"""What a hook of all tools does with a call: its input and response as views, and the texts of MCP tools.

Published as ``hookrouter.tools``, where a type checker finds which class belongs to which tool.
"""

from __future__ import annotations

from typing import Any

from hookrouter.tables import TOOL_ALIASES, TOOLS
from hookrouter.views import tool_view

__all__ = ["mcp_text", "typed_input", "typed_response"]


def typed_input(call: Any, tool: str | None = None) -> Any:
    """Return the input of a tool call as a view that reads like the tool's class, such as ``BashInput``.

    ``call`` is an event about a tool call, or one of the calls of ``PostToolBatch``; ``tool`` the tool that it must be
    a call of, by today's name. None for a call of another tool, of an MCP server's tool, or of one that this version
    does not know: ``call.tool_input`` has their input. Raises ValueError where ``tool`` is none of the known tools.
    """
    return _view(call.tool_name, tool, "Input", call.tool_input)


def typed_response(call: Any, tool: str | None = None) -> Any:
    """Return what the tool of a call returned as a view that reads like the tool's class, such as ``BashOutput``.

    As :func:`typed_input`; ``call`` is the event ``PostToolUse``, or one of the calls of ``PostToolBatch``, whose
    responses are what the model sees: mostly text, which is in ``raw``.
    """
    return _view(call.tool_name, tool, "Output", call.tool_response)


def _view(name: str, wanted: str | None, part: str, raw: object) -> Any:
    name = TOOL_ALIASES.get(name, name)
    if wanted is None or wanted == name:
        return tool_view(name, part, raw) if name in TOOLS else None
    if wanted not in TOOLS:
        from difflib import get_close_matches

        close = get_close_matches(wanted, TOOLS, n=1)
        raise ValueError(f"there is no tool {wanted!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
    return None


def mcp_text(tool_response: object) -> str:
    """Return the text of what a tool of an MCP server returned: its text blocks, one below the other.

    A response is text, a list of content blocks, or an object that holds such a list as ``content``; images and other
    blocks have no text. Empty for anything else.
    """
    if isinstance(tool_response, dict):
        tool_response = tool_response.get("content")
    if isinstance(tool_response, str):
        return tool_response
    if not isinstance(tool_response, list | tuple):
        return ""
    texts = [block.get("text") for block in tool_response if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))
