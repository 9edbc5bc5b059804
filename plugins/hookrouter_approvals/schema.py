"""Checks the values of an MCP server's form against the schema that the server asks for.

The Model Context Protocol (2025-06-18) allows a flat object of strings, numbers, booleans and enumerations there, and
nothing else, so no library for JSON Schema is needed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["content_faults"]


def content_faults(content: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Return why the values do not fit, a sentence for each; empty if they do."""
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    faults = [
        f'"{printable(str(name))[:60]}" is missing'
        for name in (required if isinstance(required, list) else [])
        if name not in content
    ]
    for name, value in content.items():
        shown = f'"{printable(name)[:60]}"'
        if name not in known:
            faults.append(f"{shown} is no field of the form; allowed are {', '.join(map(printable, known)) or 'none'}")
        elif isinstance(known[name], dict) and (fault := _fault(value, known[name])):
            faults.append(f"{shown} {fault}")
    return faults


def _fault(value: object, schema: Mapping[str, Any]) -> str:
    allowed = schema.get("enum")
    shown = printable(json.dumps(value, ensure_ascii=False))[:60]
    if isinstance(allowed, list):
        return (
            "" if value in allowed else f"is {shown}; allowed are {', '.join(printable(str(one)) for one in allowed)}"
        )
    kind = schema.get("type")
    if not _is_of(kind, value):
        return f"is {shown}; allowed is a value of the type {kind}"
    if isinstance(value, str):
        return _size_fault(len(value), schema, ("minLength", "maxLength"), f"{shown}, {len(value)} characters long")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _size_fault(value, schema, ("minimum", "maximum"), shown)
    return ""


def _is_of(kind: object, value: object) -> bool:
    """Whether a value is of one of the protocol's types; True for a type that is none of them."""
    if kind in ("integer", "number"):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return is_number and (kind == "number" or not isinstance(value, float) or value.is_integer())
    if kind == "boolean":
        return isinstance(value, bool)
    return kind != "string" or isinstance(value, str)


def _size_fault(size: float, schema: Mapping[str, Any], keys: tuple[str, str], shown: str) -> str:
    least, most = (one if isinstance(one := schema.get(key), (int, float)) else None for key in keys)
    if (least is None or size >= least) and (most is None or size <= most):
        return ""
    allowed = [f"at least {least}"] if least is not None else []
    allowed += [f"at most {most}"] if most is not None else []
    return f"is {shown}; allowed is {' and '.join(allowed)}"
