"""Writes ``hookrouter.tools``: one module for each tool, and the package that finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.generate.python_text import (
    WIDTH,
    Field,
    all_list,
    docstring,
    escaped,
    field_line,
    header,
    long_header,
    record_class,
)

if TYPE_CHECKING:
    from scripts.generate.shapes import Tool

__all__ = ["HELPERS", "attribute_doc", "record_doc", "write_package", "write_tool"]


def write_tool(tool: Tool) -> str:
    """Return the module of one tool."""
    classes = "".join(tool_class(tool, record, fields) for record, fields in tool.records.items())
    names = ["Record"] if any(f"({name})" in classes for name in ["Record"]) else []
    names = sorted([*names, _input_base(tool), "ToolResponse"]) + (["field"] if " = field(" in classes else [])
    typing = [
        line
        for word, line in (
            ("Mapping[", "    from collections.abc import Mapping\n"),
            ("Any", "    from typing import Any\n"),
        )
        if word in classes
    ]
    return "".join(
        [
            header(f"The input and the response of ``{tool.name}``."),
            f"from __future__ import annotations\n\nfrom hookrouter.records import {', '.join(names)}\n\n",
            "".join(["TYPE_CHECKING = False\n\nif TYPE_CHECKING:\n", *typing, "\n"]) if typing else "",
            all_list(list(tool.records)),
            classes,
        ]
    )


_BASES = {
    **dict.fromkeys(("Bash", "Monitor"), "CommandInput"),
    **dict.fromkeys(("Edit", "Glob", "Grep", "NotebookEdit", "Read", "Write"), "FileInput"),
}
"""What reads more than its fields of a tool's input."""


def _input_base(tool: Tool) -> str:
    return _BASES.get(tool.name, "ToolInput")


def tool_class(tool: Tool, record: str, fields: list[Field]) -> str:
    """Return one class of a tool's module."""
    base = {tool.input: _input_base(tool), tool.output: "ToolResponse"}.get(record, "Record")
    body = "" if base == "Record" else f'    TOOL = "{tool.name}"\n'
    changed = _changed(fields) if record == tool.input and fields else ""
    parts = "\n".join(filter(None, [body, tool_class_body(fields), changed]))
    return record_class(record, base, record_doc(tool, record), parts)


def _changed(fields: list[Field]) -> str:
    """Return the signature of ``changed`` for the fields of an input, which type checkers alone see."""
    # A required field may read as None, and cannot be made so.
    types = {field.attribute: field.annotation for field in fields}
    types |= {field.attribute: field.annotation.removesuffix(" | None") for field in fields if field.required}
    given = ["self", "*", *(f"{name}: {kind} = ..." for name, kind in types.items())]
    begin, end, pad = "        def changed(", ") -> dict[str, Any]: ...\n", " " * 12
    signature = f"{begin}{', '.join(given)}{end}"
    if len(signature) > WIDTH + 1:
        inside = f"{pad}{', '.join(given)}\n"
        if len(inside) > WIDTH + 1:
            inside = "".join(f"{pad}{part},\n" for part in given)
        signature = f"{begin}\n{inside}        {end}"
    return f"    if TYPE_CHECKING:\n\n{signature}"


def record_doc(tool: Tool, record: str) -> str:
    """Return the docstring of a record."""
    note = tool.notes.get(record, "")
    if record == tool.input:
        more = {"CommandInput": " What it runs: ``commands()``.", "FileInput": " Its paths: ``reads()``, ``writes()``."}
        about = f"The input of ``{tool.name}``.{more.get(_input_base(tool), '')} {note}"
        return note if tool.name == "AskUserQuestion" else about
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
        lines.append(field_line(field))
        doc = attribute_doc(field)
        if doc:
            lines.append(docstring(doc))
    return "".join(lines)


def attribute_doc(field: Field) -> str:
    """Return what is known of a field beside its name and type; empty if that is nothing."""
    doc = escaped(field.doc) if "``" in field.doc or '"' in field.doc else field.doc
    if field.kind.values:
        values = ", ".join(f"``{value}``" for value in field.kind.values)
        doc = f"{doc} {values}, or what newer clients add.".strip()
    return doc


def write_package(modules: list[str], version: str) -> str:
    """Return ``__init__.py`` of the package; ``modules`` are those of the tools."""
    imports = "".join(f"    from hookrouter.tools.{module} import *\n" for module in sorted([*modules, HELPERS]))
    what = f"The inputs and responses of the {len(modules)} tools of Claude Code, for hooks of a tool and of all tools."
    return long_header(what, version, PACKAGE_DOC) + PACKAGE.format(imports=imports)


HELPERS = "calls"
"""The module of the package that is written by hand."""

PACKAGE_DOC = """\
The module of a tool is imported when one of its classes is first used. Descriptions are Claude Code's own; the sets of
values that they name are open.

An optional field that is missing, or of another type than the contract says, reads as its default. A required one
reads as None in an input, which is why its type says ``| None``: a guard must not take what it cannot read for
harmless. In a response it reads as an empty value. ``raw`` is always what Claude Code sent;
:func:`hookrouter.records.check` tells what does not fit.

In a hook of all tools, ``typed_input(event, BashInput)`` is the input of a call of Bash, and None for any other call;
``typed_input(event)`` is that of any known tool. A command of a skill's text (``PreSkillShellCommand``) is read in the
same way: ``typed_input(event, BashInput)``. ``typed_response`` does the same with what the tool returned. For
tools of MCP servers there are ``mcp_name`` and ``mcp_text``."""

PACKAGE = """\
TYPE_CHECKING = False

if TYPE_CHECKING:
{imports}else:

    def __getattr__(name):
        from hookrouter.tools.calls import find

        return find(name)
"""
