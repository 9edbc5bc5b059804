"""Writes ``hookrouter.tools``: one module for each tool, the package that finds them, and the table of their fields."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from hookrouter import tool_calls
from hookrouter.contract.model import (
    RAW,
    WIDTH,
    Field,
    docstring,
    escaped,
    field_lines,
    from_import,
    header,
    record_item,
    sorted_all,
    table,
)

if TYPE_CHECKING:
    from hookrouter.contract.shapes import Tool

__all__ = ["ENTRY", "write_package", "write_tool", "write_tool_fields"]

ENTRY = "tuple[str, str, bool, str | None, object]"
"""The type of one field's entry in the tables."""

HELPERS = ("mcp_name", "mcp_text", "typed_input", "typed_response")
"""The functions of the package, written by hand in ``hookrouter.tool_calls``."""

RAW_RESPONSE = '''
    raw: Any = attrs.field(factory=dict, repr=False, eq=False)
    """What the tool returned, as parsed from JSON: of any type, with the fields that this version does not know."""
'''


def write_tool(tool: Tool, version: str) -> str:
    """Return the module of one tool."""
    out = [
        header(
            f"The input and the response of ``{tool.name}`` as frozen attrs classes.",
            version,
            "Descriptions are Claude Code's own; the sets of values named below are open.",
        ),
        # Not postponed: the annotations are read when inputs are structured.
        "from collections.abc import Mapping\nfrom typing import Any\n\nimport attrs\n\n",
        all_list(list(tool.records)),
    ]
    for record, fields in tool.records.items():
        raw = RAW_RESPONSE if record == tool.output else RAW
        out.append(f"\n\n@attrs.frozen(kw_only=True)\nclass {record}:\n{docstring(record_doc(tool, record))}\n")
        out.append(tool_class_body(fields) + raw.lstrip("\n"))
    return "".join(out).replace(
        "from collections.abc import Mapping\n", "from collections.abc import Mapping\n" if uses_mapping(out) else ""
    )


def uses_mapping(parts: list[str]) -> bool:
    """Say whether an annotation names Mapping."""
    return any("Mapping[" in part for part in parts)


def all_list(names: list[str]) -> str:
    """Return ``__all__`` as the formatter writes it."""
    listed = [f'"{name}"' for name in sorted_all(names)]
    line = f"__all__ = [{', '.join(listed)}]\n"
    if len(line) <= WIDTH + 1:
        return line
    return "__all__ = [\n" + "".join(f"    {name},\n" for name in listed) + "]\n"


def record_doc(tool: Tool, record: str) -> str:
    """Return the docstring of a record."""
    note = tool.notes.get(record, "")
    if record == tool.input:
        return note if tool.name == "AskUserQuestion" else f"The input of ``{tool.name}``. {note}"
    if record == tool.output:
        return note if tool.name == "AskUserQuestion" else f"What ``{tool.name}`` returned. {note}"
    if tool.name == "AskUserQuestion":
        return note
    owner, field = next(
        (owner, field) for owner, fields in tool.records.items() for field in fields if field.kind.record == record
    )
    what = "An item of" if field.kind.name.startswith("array") else "The field"
    return f"{what} ``{field.attribute}`` of ``{owner}``. {note}"


def tool_class_body(fields: list[Field]) -> str:
    """Return the attributes of a class; those that the contract says nothing of have no docstring."""
    lines = []
    for field in fields:
        default = "" if field.required else f" = {field.default!r}".replace("''", '""')
        lines.append(f"    {field.attribute}: {field.annotation}{default}\n")
        doc = escaped(field.doc) if "``" in field.doc or '"' in field.doc else field.doc
        if field.kind.values:
            values = ", ".join(f"``{value}``" for value in field.kind.values)
            doc = f"{doc} {values}, or what newer clients add.".strip()
        if doc:
            lines.append(docstring(doc))
    return "".join(lines)


def write_tool_fields(tools: list[Tool], version: str) -> str:
    """Return tool_fields.py: the tables of the tools that the way of ``hookrouter run`` does not check."""
    items = [record_item(record, field_lines(fields)) for tool in tools for record, fields in tool.records.items()]
    return (
        header(
            "The fields of the tools' inputs and responses, as ``hookrouter.tables.FIELDS`` has those of the events.",
            version,
            "Imported when a plugin reads the first field of a tool's input or response.\n\n"
            "Where a response lacks a required field, a view gives the default that stands here.",
        ).rstrip("\n")
        + '\n\n__all__ = ["TOOL_FIELDS"]\n\n'
        + table("TOOL_FIELDS", f"str, dict[str, {ENTRY}]", items, "Record -> attribute -> entry.").rstrip("\n")
        + "\n"
    )


def write_package(tools: list[tuple[str, Tool]], version: str) -> str:
    """Return ``__init__.py`` of the package; ``tools`` holds (module, tool)."""
    homes = {record: module for module, tool in tools for record in tool.records}
    inputs = [(tool.name, tool.input) for _, tool in tools]
    outputs = [(tool.name, tool.output) for _, tool in tools]
    out = [
        header(
            f"The inputs and responses of the {len(tools)} tools of Claude Code as frozen attrs classes.",
            version,
            PACKAGE_DOC,
        ),
        "TYPE_CHECKING = False\n\nif TYPE_CHECKING:\n",
        "    from typing import Any, Literal, Protocol, TypeAlias, overload\n\n",
        "    from hookrouter.hooks import mcp_name as mcp_name\n",
        "    from hookrouter.tool_calls import mcp_text as mcp_text\n",
    ]
    modules = {module: sorted_all(list(tool.records)) for module, tool in tools}
    for module in sorted(modules):
        for name in modules[module]:
            out += [f"    {line}\n" for line in from_import(f"hookrouter.tools.{module}", [f"{name} as {name}"])]
    out.append(CALL_TYPES)
    out.append(alias("ToolInput", [name for _, name in inputs], "The input of any tool."))
    out.append(alias("ToolResponse", [name for _, name in outputs], "The response of any tool."))
    out.append(overloads("typed_input", "Call", inputs, "ToolInput"))
    out.append(overloads("typed_response", "FinishedCall", outputs, "ToolResponse"))
    out.append("\n\n_HOMES = {\n" + "".join(f'    "{name}": "hookrouter.tool_calls",\n' for name in HELPERS[1:]))
    out.append(f'    "{HELPERS[0]}": "hookrouter.hooks",\n')
    out += [f'    "{name}": "hookrouter.tools.{homes[name]}",\n' for name in homes]
    out.append("}\n\n" + all_list([*homes, *HELPERS]))
    out.append(LAZY)
    return "".join(out)


def alias(name: str, members: list[str], doc: str) -> str:
    """Return a union, one member to a line."""
    return f"\n    {name}: TypeAlias = (\n        " + "\n        | ".join(members) + f'\n    )\n    """{doc}"""\n'


def overloads(function: str, call: str, classes: list[tuple[str, str]], every: str) -> str:
    """Return what a type checker knows of a helper: which class belongs to which tool's name."""
    out = []
    for tool, name in classes:
        line = f'    def {function}(call: {call}, tool: Literal["{tool}"]) -> {name} | None: ...\n'
        if len(line) > WIDTH + 1:
            line = f'    def {function}(\n        call: {call}, tool: Literal["{tool}"]\n    ) -> {name} | None: ...\n'
        out.append(f"\n    @overload\n{line}")
    out.append(f"\n    @overload\n    def {function}(call: {call}, tool: None = None) -> {every} | None: ...\n")
    doc = docstring(inspect.getdoc(getattr(tool_calls, function)) or "", " " * 8)
    out.append(f"\n    def {function}(call: {call}, tool: str | None = None) -> Any:\n{doc}")
    return "".join(out)


PACKAGE_DOC = """\
Hooks receive views that read like these classes (:mod:`hookrouter.views`). Each class is defined when it is first
used, which loads attrs: a plugin that only annotates with it should import it under ``TYPE_CHECKING``.

An optional field that is missing, or of another type than the contract says, reads as its default. A required one
reads as None in an input, so that a guard does not take it for harmless, and as an empty value in a response, which
may be anything: text, a list, an object of a newer client. ``raw`` is always what Claude Code sent.

In a hook of all tools, ``typed_input(event, "Bash")`` is the input of a call of Bash, and None for any other call;
``typed_input(event)`` is that of any known tool. ``typed_response`` does the same with what the tool returned. For
tools of MCP servers there are ``mcp_name`` and ``mcp_text``."""

CALL_TYPES = '''
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
'''

LAZY = """

def __getattr__(name: str) -> object:
    try:
        module = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    from importlib import import_module

    return getattr(import_module(module), name)
"""
