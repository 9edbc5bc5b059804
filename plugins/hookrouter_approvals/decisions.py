"""Reads what somebody decided about a call, a plan or a form, and checks it before anything is saved.

A decision is one JSON object, alone or in an array; ``select``, ``type`` and ``chat``, as for questions, choose by the
form that people see.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hookrouter.answering.decisions import Chat, FreeText, Select
from hookrouter.dialogs.decisions import DecisionError, check_decisions, load_json
from hookrouter.dialogs.form import form_of
from hookrouter.util.text import did_you_mean, printable
from hookrouter_approvals.names import ELICITATION, PERMISSION, PLAN
from hookrouter_approvals.requests import MODES
from hookrouter_approvals.schema import content_faults
from hookrouter_approvals.typed_values import read_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter.answering.decisions import Decision
    from hookrouter.dialogs.documents import Dialog

__all__ = ["chosen", "parse"]

_KEYS: dict[str, dict[str, tuple[str, ...]]] = {
    PERMISSION: {"allow": ("input", "always"), "deny": ("text", "stop")},
    PLAN: {"approve": ("mode", "plan"), "revise": ("text",)},
    ELICITATION: {"submit": ("content",), "decline": (), "cancel": ()},
}
_BY_FORM = ("select", "type", "chat")
_UNSAVED = "what the server asks could not be saved, so only a person can answer it, at the session's terminal"


def parse(question: Dialog, text: str) -> list[dict[str, Any]]:
    """Return the one decision in a JSON text, checked against what is asked. Raises DecisionError."""
    if question.request.get("unsaved"):
        raise DecisionError([_UNSAVED])
    document = load_json(text)
    items = document if isinstance(document, list) else [document]
    if len(items) != 1:
        raise DecisionError([f"{len(items)} decisions for one {question.kind}"])
    [item] = items
    if not isinstance(item, dict):
        raise DecisionError([f"the decision must be an object; allowed actions are {_actions(question)}"])
    action = item.get("action")
    if action in _BY_FORM:
        return chosen(question, check_decisions(items, form_of(question)))
    keys = _KEYS[question.kind].get(action) if isinstance(action, str) else None
    if keys is None:
        hint = did_you_mean(action, _KEYS[question.kind]) if isinstance(action, str) else ""
        shown = printable(json.dumps(action, ensure_ascii=False))[:60] if "action" in item else "missing"
        raise DecisionError([f'"action" is {shown}{f", {hint}" if hint else ""}; allowed are {_actions(question)}'])
    faults = [
        f'"{printable(key)[:60]}" is not a key of {action}; allowed are {", ".join(keys) or "none"}'
        for key in item
        if key not in ("action", *keys)
    ]
    faults += _CHECKS[question.kind](question, item)
    if faults:
        raise DecisionError(faults)
    # A flag that is off says nothing.
    return [{key: value for key, value in item.items() if value is not None and not (key == "stop" and not value)}]


def chosen(question: Dialog, decisions: Sequence[Decision]) -> list[dict[str, Any]]:
    """Return the decision that a choice on the form means. Raises DecisionError."""
    if question.request.get("unsaved"):
        raise DecisionError([_UNSAVED])
    [choice] = decisions
    if isinstance(choice, Select):
        return [_of_option(question, choice.option_index)]
    if isinstance(choice, (FreeText, Chat)):
        return [_of_words(question, choice.text)]
    raise DecisionError(["this dialog has no options of which several can be chosen"])


def _of_option(question: Dialog, index: int) -> dict[str, Any]:
    if question.kind == PLAN:
        if index < len(MODES):
            return {"action": "approve", "mode": MODES[index]}
        raise DecisionError(["say in your own words what is missing in the plan"])
    if question.kind == ELICITATION:
        return {"action": ("decline", "cancel")[index]}
    last = len(question.questions[0]["options"]) - 1
    if index == last:
        return {"action": "deny", "text": "The user does not want this."}
    return {"action": "allow"} if index == 0 else {"action": "allow", "always": index}


def _of_words(question: Dialog, text: str) -> dict[str, Any]:
    if question.kind == PERMISSION:
        return {"action": "deny", "text": text}
    if question.kind == PLAN:
        return {"action": "revise", "text": text}
    if question.request.get("mode") == "url":
        raise DecisionError(["what is asked is to visit an address, so there is nothing to fill in; decline or cancel"])
    schema = question.request.get("schema")
    content = read_values(text, schema if isinstance(schema, dict) else {})
    decision = {"action": "submit", "content": content}
    if faults := _check_elicitation(question, decision):
        raise DecisionError(faults)
    return decision


def _check_permission(question: Dialog, item: Mapping[str, Any]) -> list[str]:
    if item["action"] == "deny":
        return _text_faults(item) + _flag_faults(item, "stop")
    faults = []
    if "input" in item and not isinstance(item["input"], dict):
        faults.append('"input" must be an object: the whole input of the tool')
    elif "input" in item and not item["input"]:
        faults.append('"input" is empty, and Claude Code would run its own in place of it; leave it out, or deny')
    if "always" in item:
        count = len(question.request.get("suggestions") or ())
        number = item["always"]
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= count:
            allowed = f"1 to {count}, the options that are proposals" if count else "none: the client proposes nothing"
            faults.append(f'"always" is {printable(json.dumps(number, ensure_ascii=False))[:60]}; allowed: {allowed}')
    return faults


def _check_plan(question: Dialog, item: Mapping[str, Any]) -> list[str]:
    if item["action"] == "revise":
        return _text_faults(item)
    faults = []
    if "mode" in item and item["mode"] not in MODES:
        shown = printable(json.dumps(item["mode"], ensure_ascii=False))[:60]
        faults.append(f'"mode" is {shown}; allowed are {", ".join(MODES)}')
    if "plan" in item and (not isinstance(item["plan"], str) or not item["plan"].strip()):
        faults.append('"plan" must be a non-empty string')
    if "plan" in item and not isinstance(question.request.get("input", {}).get("plan"), str):
        faults.append('"plan": there is no plan to replace')
    return faults


def _check_elicitation(question: Dialog, item: Mapping[str, Any]) -> list[str]:
    if item["action"] != "submit":
        return []
    if question.request.get("mode") == "url":
        if item.get("content") not in (None, {}):
            return ['"content": this request is to visit an address, so it has no form']
        return []
    if not isinstance(item.get("content"), dict):
        return ['"content" must be an object with the values of the form']
    schema = question.request.get("schema")
    return content_faults(item["content"], schema if isinstance(schema, dict) else {})


_CHECKS: dict[str, Callable[[Dialog, Mapping[str, Any]], list[str]]] = {
    PERMISSION: _check_permission,
    PLAN: _check_plan,
    ELICITATION: _check_elicitation,
}


def _text_faults(item: Mapping[str, Any]) -> list[str]:
    text = item.get("text")
    if not isinstance(text, str) or not text.strip():
        return ['"text" must be a non-empty string: what Claude is told']
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        return ['"text" holds a character that is none']
    return []


def _flag_faults(item: Mapping[str, Any], key: str) -> list[str]:
    return [f'"{key}" must be true or false'] if key in item and not isinstance(item[key], bool) else []


def _actions(question: Dialog) -> str:
    return ", ".join(_KEYS[question.kind])
