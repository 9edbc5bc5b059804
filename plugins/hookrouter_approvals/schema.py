"""Checks the values of an MCP server's form against the schema that the server asks for.

The Model Context Protocol (2025-06-18 and 2025-11-25) allows a flat object of strings, numbers, booleans, enumerations
and lists of an enumeration's values there, and nothing else, so no library for JSON Schema is needed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hookrouter.util.text import printable
from hookrouter_approvals.formats import format_fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["choices", "content_faults", "fields_of"]


def content_faults(content: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Return why the values do not fit, a sentence for each; empty if they do."""
    known = fields_of(schema)
    required = schema.get("required")
    faults = [
        f'"{printable(str(name))[:60]}" is missing'
        for name in (required if isinstance(required, list) else [])
        # A server may send anything; of what is no text there is no field.
        if isinstance(name, str) and name not in content
    ]
    for name, value in content.items():
        shown = f'"{printable(name)[:60]}"'
        if name not in known:
            faults.append(
                f"{shown} is not a field of the form; allowed are {', '.join(map(printable, known)) or 'none'}"
            )
        elif fault := _fault(value, known[name]):
            faults.append(f"{shown} {fault}")
    return faults


def fields_of(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the fields of a form, by name, each with its own schema."""
    properties = schema.get("properties")
    found = properties if isinstance(properties, dict) else {}
    return {str(name): one if isinstance(one, dict) else {} for name, one in found.items()}


def choices(schema: object) -> dict[Any, str]:
    """Return the values that a field's schema enumerates, each with its title; empty if it enumerates none."""
    if not isinstance(schema, dict):
        return {}
    for key in ("oneOf", "anyOf"):
        if isinstance(named := schema.get(key), list):
            found = [one for one in named if isinstance(one, dict) and isinstance(one.get("const"), str)]
            return {one["const"]: str(one.get("title") or one["const"]) for one in found}
    values, titles = schema.get("enum"), schema.get("enumNames")
    if not isinstance(values, list):
        return {}
    names = titles if isinstance(titles, list) and len(titles) == len(values) else values
    return {
        value: str(title)
        for value, title in zip(values, names, strict=True)
        if isinstance(value, (str, int, float, type(None)))
    }


def _fault(value: object, schema: Mapping[str, Any]) -> str:
    shown = _shown(value)
    if schema.get("type") == "array":
        return _list_fault(value, schema)
    if allowed := choices(schema):
        return "" if _is_among(value, allowed) else f"is {shown}; allowed are {_listed(allowed)}"
    kind = schema.get("type")
    if not _is_of(kind, value):
        return f"is {shown}; allowed is a value of the type {kind}"
    if isinstance(value, str):
        sized = _size_fault(len(value), schema, ("minLength", "maxLength"), f"{shown}, {len(value)} characters long")
        if sized:
            return f"is {sized}"
        allowed_text = format_fault(schema.get("format"), value) if kind == "string" else ""
        return f"is {shown}; allowed is {allowed_text}" if allowed_text else ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        sized = _size_fault(value, schema, ("minimum", "maximum"), shown)
        return f"is {sized}" if sized else ""
    return ""


def _list_fault(value: object, schema: Mapping[str, Any]) -> str:
    """Return why a value is none of the lists that a field takes: several of an enumeration's values."""
    allowed = choices(schema.get("items"))
    if not isinstance(value, list):
        return f"is {_shown(value)}; allowed is a list of {_listed(allowed) if allowed else 'texts'}"
    for one in value:
        if not isinstance(one, str):
            return f"has {_shown(one)}; allowed are {_listed(allowed) if allowed else 'texts'}"
        if allowed and not _is_among(one, allowed):
            return f"has {_shown(one)}; allowed are {_listed(allowed)}"
    sized = _size_fault(len(value), schema, ("minItems", "maxItems"), f"{len(value)} items")
    return f"has {sized}" if sized else ""


def _is_among(value: object, allowed: Iterable[Any]) -> bool:
    # For Python 1 is True.
    return any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed)


def _listed(allowed: Iterable[Any]) -> str:
    return ", ".join(printable(str(one)) for one in allowed)


def _shown(value: object) -> str:
    return printable(json.dumps(value, ensure_ascii=False))[:60]


def _is_of(kind: object, value: object) -> bool:
    """Whether a value is of one of the protocol's types; True for a type that is none of them."""
    if kind in ("integer", "number"):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and value - value == 0
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
    return f"{shown}; allowed is {' and '.join(allowed)}"
