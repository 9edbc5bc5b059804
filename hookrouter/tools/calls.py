"""What a hook of all tools does with a call: its input and response as objects, and the texts of MCP tools."""

from __future__ import annotations

from hookrouter._contract.hook_names import mcp_name
from hookrouter._contract.tables import TOOL_ALIASES, TOOLS
from hookrouter.records import ToolInput, ToolResponse

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, Protocol, TypeVar, overload

    class Call(Protocol):
        """An event about a tool call, or one call of ``PostToolBatch``."""

        @property
        def tool_name(self) -> str:
            """The tool."""

        @property
        def tool_input(self) -> Any:
            """Its input as parsed from JSON."""

    class FinishedCall(Call, Protocol):
        """A call whose tool has returned."""

        @property
        def tool_response(self) -> Any:
            """What it returned, as parsed from JSON."""

    _Input = TypeVar("_Input", bound=ToolInput)
    _Response = TypeVar("_Response", bound=ToolResponse)

__all__ = ["mcp_name", "mcp_text", "typed_input", "typed_response"]

_FORM_RECORDS = ("Annotation", "Option", "Question")
"""The classes of ``AskUserQuestion`` that are not named after their tool."""


if TYPE_CHECKING:

    @overload
    def typed_input(call: Call, record: type[_Input]) -> _Input | None: ...
    @overload
    def typed_input(call: Call, record: None = None) -> ToolInput | None: ...


def typed_input(call: Call, record: type[ToolInput] | None = None) -> ToolInput | None:
    """Return the input of a tool call as an object of its class.

    ``call`` is an event about a tool call, or one of the calls of ``PostToolBatch``; ``record`` the class of the tool
    that it must be a call of, such as ``BashInput``. None for a call of another tool, of an MCP server's tool, or of
    one that this version does not know: ``call.tool_input`` has their input. Raises TypeError if ``record`` is no class
    of a tool's input.
    """
    kind = _class_for(call, "Input", record, ToolInput)
    return None if kind is None else kind.from_json(call.tool_input)


if TYPE_CHECKING:

    @overload
    def typed_response(call: FinishedCall, record: type[_Response]) -> _Response | None: ...
    @overload
    def typed_response(call: FinishedCall, record: None = None) -> ToolResponse | None: ...


def typed_response(call: FinishedCall, record: type[ToolResponse] | None = None) -> ToolResponse | None:
    """Return what the tool of a call returned as an object of its class, such as ``BashOutput``.

    As :func:`typed_input`; ``call`` is the event ``PostToolUse``, or one of the calls of ``PostToolBatch``, whose
    responses are what the model sees: mostly text, which is in ``raw``.
    """
    kind = _class_for(call, "Output", record, ToolResponse)
    return None if kind is None else kind.from_json(call.tool_response)


def _class_for(call: Call, part: str, wanted: Any, base: type[Any]) -> Any:
    tool = TOOL_ALIASES.get(call.tool_name, call.tool_name)
    if wanted is None:
        return tool_class(tool, part) if tool in TOOLS else None
    if not isinstance(wanted, type) or not issubclass(wanted, base):
        raise TypeError(f"found {wanted!r}, allowed is a class of hookrouter.tools such as Bash{part}")
    return wanted if getattr(wanted, "TOOL", None) == tool else None


def tool_class(tool: str, part: str) -> Any:
    """Return the class of the ``Input`` or the ``Output`` (``part``) of a tool, by today's name; else KeyError."""
    return getattr(_module(TOOLS[tool]), f"{stem(tool)}{part}")


def stem(tool: str) -> str:
    """Return how the names of a tool's classes begin: ``propose_skills`` -> ``ProposeSkills``, ``Bash`` -> ``Bash``."""
    return "".join(word[:1].upper() + word[1:] for word in tool.split("_"))


def find(name: str) -> object:
    """Return a public name of ``hookrouter.tools``; raises AttributeError for others."""
    if name in __all__:
        return globals()[name]
    if name == "__all__":
        return [*__all__, *(record for suffix in TOOLS.values() for record in _module(suffix).__all__)]
    if name in _FORM_RECORDS:
        return getattr(_module("ask_user_question"), name)
    # Of tools whose names begin alike, the longest is the class's: ReadMcpResourceToolInput is not Read's.
    owner = max((tool for tool in TOOLS if name.startswith(stem(tool))), key=len, default=None)
    if owner is None:
        raise AttributeError(f"module 'hookrouter.tools' has no attribute {name!r}")
    return getattr(_module(TOOLS[owner]), name)


def _module(suffix: str) -> Any:
    return __import__(f"hookrouter.tools.{suffix}", fromlist=["__all__"])


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
