"""Checks payloads against the contract's tables.

On the way of ``hookrouter run``: imports nothing but the tables.
"""

from __future__ import annotations

from hookrouter.tables import FIELDS

__all__ = ["as_object", "check", "conforms", "fields_of", "json_type"]

MAX_FAULTS = 20
"""Faults that one check reports; a payload of a million bad items is described well enough by these."""

_ALLOWED = {
    "string": "string",
    "string|null": "string or null",
    "number": "number",
    "number|null": "number or null",
    "integer": "integer",
    "boolean": "boolean",
    "object": "object",
    "record": "object",
    "record|null": "object or null",
    "map<record>": "object of objects",
    "array<string>": "array of strings",
    "array<object>": "array of objects",
    "array<record>": "array of objects",
    "array<record|string>": "array of objects and strings",
    "array<any>": "array",
    "array<any>|null": "array or null",
}


def fields_of(type_name: str) -> dict[str, tuple[str, str, bool, str | None, object]]:
    """Return the fields of a record of the contract: attribute -> entry. Raises KeyError for a name that it lacks."""
    found = FIELDS.get(type_name)
    if found is None:
        # Loaded only where a tool's input or response is read.
        from hookrouter.tool_fields import TOOL_FIELDS

        found = TOOL_FIELDS[type_name]
    return found


def as_object(type_name: str, raw: object) -> object:
    """Return ``raw``; for a record that is an array, an object that holds it under the only name, which is empty."""
    return {"": raw} if any(wire == "" for wire, *_ in fields_of(type_name).values()) else raw


def json_type(value: object) -> str:
    """Return the JSON name of the type of a parsed value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list | tuple):
        return "array"
    if isinstance(value, dict):
        return "object"
    return type(value).__name__


def check(type_name: str, payload: object) -> tuple[list[str], list[str]]:
    """Compare a payload with the record ``type_name`` of the contract; return errors and warnings.

    An error is a required field that is missing or of the wrong JSON type; a warning is an optional field of the wrong
    type, which a view then reads as missing. Each text names the field by its path, what was found and what is allowed.
    Unknown fields and new values of an enumeration are neither. Never raises for any parsed JSON; raises KeyError for a
    type name that the contract does not have.
    """
    errors: list[str] = []
    warnings: list[str] = []
    payload = as_object(type_name, payload)
    if isinstance(payload, dict):
        _check_record(type_name, payload, "", errors, warnings)
    else:
        errors.append(f"{type_name}: found {json_type(payload)}, allowed object")
    return _limited(errors), _limited(warnings)


def _limited(faults: list[str]) -> list[str]:
    if len(faults) <= MAX_FAULTS:
        return faults
    return [*faults[:MAX_FAULTS], f"and {len(faults) - MAX_FAULTS} more"]


def _check_record(type_name: str, record: dict[str, object], path: str, errors: list[str], warnings: list[str]) -> None:
    for wire, kind, required, nested, _default in fields_of(type_name).values():
        where = f"{path}{wire}"
        if wire not in record:
            if required:
                errors.append(f"{where}: missing, allowed {_ALLOWED.get(kind, 'any value')}")
        elif required:
            _check_value(kind, nested, record[wire], where, errors, warnings)
        elif record[wire] is not None:
            _check_value(kind, nested, record[wire], where, warnings, warnings)


def _check_value(
    kind: str, nested: str | None, value: object, where: str, errors: list[str], warnings: list[str]
) -> None:
    if not _is_kind(kind, value):
        errors.append(f"{where}: found {json_type(value)}, allowed {_ALLOWED[kind]}")
    elif kind.startswith("record"):
        if value is not None:
            _check_nested(nested, value, where, errors, warnings)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            if kind == "array<string>":
                if not isinstance(item, str):
                    errors.append(f"{where}[{index}]: found {json_type(item)}, allowed string")
            elif "any" not in kind and not (kind == "array<record|string>" and isinstance(item, str)):
                _check_nested(nested, item, f"{where}[{index}]", errors, warnings)
    elif kind == "map<record>" and isinstance(value, dict):
        for key, item in value.items():
            _check_nested(nested, item, f"{where}[{key!r}]", errors, warnings)


def _check_nested(nested: str | None, item: object, where: str, errors: list[str], warnings: list[str]) -> None:
    if not isinstance(item, dict):
        errors.append(f"{where}: found {json_type(item)}, allowed object")
    elif nested is not None:
        _check_record(nested, item, f"{where}.", errors, warnings)


def _is_kind(kind: str, value: object) -> bool:
    """Say whether the outer type of a value is right; what arrays and objects hold is not looked at."""
    if kind == "any":
        return True
    if kind == "string":
        return isinstance(value, str)
    if kind.endswith("|null"):
        return value is None or _is_kind(kind[:-5], value)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind.startswith("array"):
        return isinstance(value, list | tuple)
    return isinstance(value, dict)


def conforms(kind: str, nested: str | None, value: object) -> bool:
    """Say whether a value has the type of a field, required fields of nested records included."""
    if not _is_kind(kind, value):
        return False
    if value is None or (nested is None and not kind.startswith("array")):
        return True
    errors: list[str] = []
    _check_value(kind, nested, value, "", errors, [])
    return not errors
