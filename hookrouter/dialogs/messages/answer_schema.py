"""The JSON Schema of the decisions that fit one form, for programs that decide.

It says what :mod:`hookrouter.dialogs.decisions` checks, as far as JSON Schema can. What only that module
checks: characters that a terminal does not take, texts that the dialog's empty fields show, texts that begin or end in
a way that the client reads as something else, and numbers such as ``1.0``, which JSON Schema takes for whole ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.answering.input_limits import MAX_TEXT
from hookrouter.dialogs.messages.formatting import has_previews

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

__all__ = ["action_schema", "answer_schema"]

_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT, "pattern": r"\S"}
_NOTE = {**_TEXT, "pattern": r"^[^\n\t]*\S[^\n\t]*$"}


def answer_schema(questions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the schema of the JSON array that answers a form: one decision for each question, or a chat as the last.

    A chat declines the whole form, so it may stand after the decisions of any of the questions before it.
    """
    decisions = [{"$ref": f"#/$defs/question{number}"} for number in range(1, len(questions) + 1)]
    chats = [_array([*decisions[:number], {"$ref": "#/$defs/chat"}]) for number in range(len(decisions))]
    defs = {f"question{number}": _decision(form) for number, form in enumerate(questions, 1)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "array",
        "anyOf": [_array(decisions), *chats],
        "$defs": {**defs, "chat": _object({"action": {"const": "chat"}, "text": _TEXT})},
    }


def action_schema(actions: Mapping[str, Mapping[str, Any]], optional: Container[str] = ()) -> dict[str, Any]:
    """Return the JSON Schema of an array of one decision; ``actions`` has the schemas of each action's keys."""
    decisions = [
        {
            "type": "object",
            "properties": {"action": {"const": action}, **keys},
            "required": ["action", *(key for key in keys if key not in optional)],
            "additionalProperties": False,
        }
        for action, keys in actions.items()
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "array",
        "prefixItems": [{"anyOf": decisions}],
        "minItems": 1,
        "maxItems": 1,
    }


def _array(items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"prefixItems": items, "minItems": len(items), "maxItems": len(items)}


def _decision(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of what answers one question."""
    indices = list(range(len(form["options"])))
    if form.get("multiSelect"):
        chosen = {"type": "array", "items": {"type": "integer", "enum": indices}, "uniqueItems": True}
        several = _object(
            {"action": {"const": "multi-select"}, "selectedIndices": chosen, "text": _TEXT}, optional=("text",)
        )
        any_at_all = {"properties": {"selectedIndices": {"minItems": 1}}}
        return {**several, "anyOf": [any_at_all, {"required": ["text"]}]}
    select = {"action": {"const": "select"}, "optionIndex": {"type": "integer", "enum": indices}}
    if has_previews(form):
        return _object({**select, "notes": _NOTE}, optional=("notes",))
    return {"anyOf": [_object(select), _object({"action": {"const": "type"}, "text": _TEXT})]}


def _object(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }
