"""Reads what a person types for the form of an MCP server: ``name=Bob Smith ok=yes``, or JSON.

A value goes on until the name of the form's next field, so that no quotes are needed. What cannot be read as a value of
its field's type stays a text: the check of the values (:mod:`hookrouter_approvals.schema`) says what is allowed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hookrouter.dialogs.decisions import DecisionError, load_json
from hookrouter.util.text import printable
from hookrouter_approvals.schema import choices, fields_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["read_values", "words_for"]

_YES_NO = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}
_WHOLE = re.compile(r"[+-]?[0-9]{1,300}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,300}(?:\.[0-9]{1,300})?")


def read_values(text: str, schema: Mapping[str, Any]) -> object:
    """Return the values that a text means for a form, by name. Raises DecisionError."""
    fields = fields_of(schema)
    if text.lstrip().startswith("{"):
        return load_json(text)
    found = _named(text, list(fields))
    if not found:
        if len(fields) == 1:
            [(name, field)] = fields.items()
            return {name: _value(text.strip(), field)}
        raise DecisionError([f"type the values as {words_for(schema)}, in any order, or as a JSON object"])
    if len(fields) == 1 and not text.lstrip().startswith(f"{found[0][0]}="):
        # A text that only holds the name.
        [(name, field)] = fields.items()
        return {name: _value(text.strip(), field)}
    values: dict[str, Any] = {}
    faults = []
    if before := text[: found[0][1]].strip(" \t\n,"):
        faults.append(f'"{printable(before)[:60]}" comes before the first value')
    for index, (name, _, start) in enumerate(found):
        is_last = index == len(found) - 1
        said = text[start : len(text) if is_last else found[index + 1][1]].strip()
        if name in values:
            faults.append(f'"{printable(name)[:60]}" is there twice')
        values[name] = _value(said if is_last else said.rstrip(" \t\n,"), fields[name])
    if faults:
        raise DecisionError(faults)
    return values


def words_for(schema: Mapping[str, Any]) -> str:
    """Return what a person types for a form, with gaps for the values."""
    return " ".join(f"{printable(name)}=…" for name in fields_of(schema))


def _named(text: str, names: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return each name of a field that stands before a ``=``, where it begins, and where its value does."""
    if not names:
        return []
    # Of two names of which one begins as the other, the longer one is meant.
    one_of = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return [(found[1], found.start(1), found.end()) for found in re.finditer(rf"(?:^|(?<=[\s,]))({one_of})=", text)]


def _value(text: str, field: Mapping[str, Any]) -> object:
    if field.get("type") == "array":
        allowed = choices(field.get("items"))
        return [_choice(part.strip(), allowed) for part in text.split(",")] if text.strip() else []
    if allowed := choices(field):
        return _choice(text, allowed)
    kind = field.get("type")
    if kind == "boolean":
        return _YES_NO.get(text.casefold(), text)
    if kind == "integer" and _WHOLE.fullmatch(text):
        return int(text)
    if kind == "number" and _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return text


def _choice(text: str, allowed: Mapping[Any, str]) -> object:
    """Return the value that is called so, or has this title."""
    by_value = {str(value): value for value in allowed}
    by_title = {title.casefold(): value for value, title in allowed.items()}
    return by_value.get(text, by_title.get(text.casefold(), text))
