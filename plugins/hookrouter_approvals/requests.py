"""What is asked, as a dialog's document has it: the form that people see, and the request that decisions are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs.messages.answer_schema import action_schema
from hookrouter.dialogs.messages.ways import way
from hookrouter.dialogs.opening import Opening
from hookrouter.util import fastjson
from hookrouter.util.difference import unified
from hookrouter.util.text import printable
from hookrouter_approvals.names import ELICITATION, PERMISSION, PLAN
from hookrouter_approvals.rules import widened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter import events
    from hookrouter.config import ApprovalRule

__all__ = ["MODES", "form_request", "permission_request", "plan_request", "proposal", "words"]

_AFTER_PLAN = {
    "default": ("Approve", "each edit is asked for, as before the plan"),
    "acceptEdits": ("Approve, accept edits", "edits are not asked for"),
    "auto": ("Approve, auto mode", "Claude Code decides what is asked for"),
}
MODES = tuple(_AFTER_PLAN)
"""The permission modes in which an approved plan may be carried out."""

_TEXT_TOOLS = {"Edit": ("old_string", "new_string"), "Write": ("", "content")}

_TEXT = {"type": "string", "minLength": 1, "pattern": r"\S"}

_DENY = {"label": "Deny", "description": "Claude reads that it may not; your own words say why"}


def permission_request(
    event: events.PermissionRequest, tool_use_id: str, rule: str, rules: Sequence[ApprovalRule]
) -> Opening:
    """Return what is asked by a tool call. An agent is offered the proposals that ``rules`` would let it take."""
    tool, tool_input = event.tool_name, dict(event.raw.get("tool_input") or {})
    suggestions = [dict(one) for one in event.permission_suggestions or ()]
    always = [{"label": f"Allow, and {words(one)}", "description": "the client's own proposal"} for one in suggestions]
    # As their options count: 0 is this one call.
    proposed = {number: words(one) for number, one in enumerate(suggestions, 1) if not widened(rules, one)}
    text = f"Claude wants to use {tool}:\n\n{_shown(tool, tool_input)}"
    return Opening(
        tool_use_id=tool_use_id,
        questions=[_form(tool, text, [{"label": "Allow", "description": "this one call"}, *always, _DENY])],
        kind=PERMISSION,
        request={
            "tool": tool,
            "input": tool_input,
            "suggestions": suggestions,
            "rule": rule,
            "how": [
                way('{"action": "allow"}', "this one call, as it is"),
                way('{"action": "allow", "input": {...}}', "with this input in place of the whole of Claude's own"),
                *(
                    way(f'{{"action": "allow", "always": {number}}}', "this call, and the client's own proposal", told)
                    for number, told in proposed.items()
                ),
                way('{"action": "deny", "text": "..."}', "Claude reads the text and continues"),
                way('{"action": "deny", "text": "...", "stop": true}', "and its turn ends"),
            ],
            "answer_schema": action_schema(
                {
                    "allow": {
                        "input": {"type": "object", "minProperties": 1},
                        **({"always": {"enum": list(proposed)}} if proposed else {}),
                    },
                    "deny": {"text": _TEXT, "stop": {"type": "boolean"}},
                },
                ("input", "always", "stop"),
            ),
        },
        **_place(event),
    )


def plan_request(
    event: events.PermissionRequest, tool_use_id: str, rule: str, rules: Sequence[ApprovalRule]
) -> Opening:
    """Return what is asked by ExitPlanMode. An agent is offered the modes that ``rules`` would let it choose."""
    tool_input = dict(event.raw.get("tool_input") or {})
    plan = tool_input.get("plan")
    text = f"Claude has a plan:\n\n{plan}" if isinstance(plan, str) else "Claude wants to leave the plan mode."
    modes = [mode for mode in MODES if not widened(rules, {"type": "setMode", "mode": mode})]
    options = [{"label": label, "description": told} for label, told in _AFTER_PLAN.values()]
    options.append({"label": "Keep planning", "description": "your own words say what is missing"})
    return Opening(
        tool_use_id=tool_use_id,
        questions=[_form("Plan", text, options)],
        kind=PLAN,
        request={
            "tool": event.tool_name,
            "input": tool_input,
            "rule": rule,
            "how": [
                way('{"action": "approve"}', "carry the plan out, in the mode before the plan"),
                *(way(f'{{"action": "approve", "mode": "{mode}"}}', _AFTER_PLAN[mode][1]) for mode in modes),
                way(
                    '{"action": "approve", "plan": "..."}', "with this plan in place of its own; `mode` may go with it"
                ),
                way('{"action": "revise", "text": "..."}', "Claude reads the text and goes on planning"),
            ],
            "answer_schema": action_schema(
                {"approve": {"mode": {"enum": modes}, "plan": _TEXT}, "revise": {"text": _TEXT}},
                ("mode", "plan"),
            ),
        },
        **_place(event),
    )


def form_request(event: events.Elicitation, tool_use_id: str, rule: str) -> Opening:
    """Return what an MCP server asks. It is known by an id of its own: the payload names no tool call."""
    # A request for permission, which is on the way of a tool call, needs none of these.
    from hookrouter_approvals.schema import fields_of
    from hookrouter_approvals.typed_values import words_for

    schema = dict(event.raw.get("requested_schema") or {})
    required = schema.get("required")
    fields = [
        _field(name, one, is_required=isinstance(required, list) and name in required)
        for name, one in fields_of(schema).items()
    ]
    if fields:
        fields.append(f"To fill it in: your own words, {words_for(schema)}")
    shown = "\n".join([event.message, *fields, *([event.url] if event.url else [])])
    options = [
        {"label": "Decline", "description": "the server is told that you do not want to"},
        {"label": "Cancel", "description": "the server is told that nobody decided"},
    ]
    return Opening(
        tool_use_id=tool_use_id,
        questions=[_form(event.mcp_server_name, f"The MCP server {event.mcp_server_name} asks:\n\n{shown}", options)],
        kind=ELICITATION,
        request={
            "server": event.mcp_server_name,
            "message": event.message,
            "mode": event.mode or "form",
            "url": event.url or "",
            "schema": schema,
            "rule": rule,
            "how": [
                way('{"action": "submit", "content": {...}}', "the values of the form, by name"),
                way('{"action": "decline"}', "the server is told that it gets no answer"),
                way('{"action": "cancel"}', "the server is told that nobody decided"),
            ],
            "answer_schema": action_schema(
                {"submit": {"content": {**schema, "type": "object"}}, "decline": {}, "cancel": {}},
                ("content",) if event.mode == "url" else (),
            ),
        },
        **_place(event),
    )


def proposal(request: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """Return the client's proposal that is option ``number`` of a permission's form. Raises LookupError for none."""
    suggestions: Sequence[Mapping[str, Any]] = request.get("suggestions") or ()
    if not 1 <= number <= len(suggestions):
        raise LookupError(f"option {number} is not a proposal of the client; allowed: 1 to {len(suggestions)}")
    return suggestions[number - 1]


def words(suggestion: Mapping[str, Any]) -> str:
    """Return in words what one of the client's proposals does."""
    where = {"session": "for this session", "localSettings": "in this project, for you"}.get(
        str(suggestion.get("destination")), f"in {suggestion.get('destination')}"
    )
    kind = suggestion.get("type")
    if kind == "setMode":
        return printable(f"switch to the mode {suggestion.get('mode')} {where}")
    if kind == "addDirectories":
        folders = ", ".join(map(str, suggestion.get("directories") or ()))
        return printable(f"work in {folders} too, {where}")
    rules = suggestion.get("rules")
    if kind == "addRules" and isinstance(rules, list):
        named = ", ".join(_rule(rule) for rule in rules if isinstance(rule, dict))
        return printable(f"always {suggestion.get('behavior')} {named} {where}")
    return printable(fastjson.dumps(dict(suggestion)))


def _rule(rule: Mapping[str, Any]) -> str:
    content = rule.get("ruleContent")
    return f"{rule.get('toolName')}({content})" if content else str(rule.get("toolName"))


def _form(header: str, text: str, options: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    return {"header": header, "question": text, "multiSelect": False, "options": [dict(one) for one in options]}


def _place(event: events.PermissionRequest | events.Elicitation) -> dict[str, str]:
    return {
        "transcript_path": event.transcript_path or "",
        "permission_mode": event.permission_mode or "",
        "agent_id": event.agent_id or "",
    }


def _shown(tool: str, tool_input: Mapping[str, Any]) -> str:
    """Return a tool's input for people: a command as it is, an edit as a difference, all else as JSON."""
    if tool == "Bash" and isinstance(tool_input.get("command"), str):
        rest = {key: value for key, value in tool_input.items() if key != "command"}
        return "\n".join([tool_input["command"], *([_json(rest)] if rest else [])])
    path = tool_input.get("file_path")
    if tool in _TEXT_TOOLS and isinstance(path, str):
        before, after = (tool_input.get(key) for key in _TEXT_TOOLS[tool])
        if isinstance(after, str):
            rest = {key: value for key, value in tool_input.items() if key not in ("file_path", *_TEXT_TOOLS[tool])}
            changed = unified(path, before if isinstance(before, str) else None, after)
            return "\n".join([path, changed.rstrip("\n"), *([_json(rest)] if rest else [])])
    return _json(tool_input)


def _json(value: object) -> str:
    from json import dumps

    return dumps(value, indent=2, ensure_ascii=False)


def _field(name: str, schema: Mapping[str, Any], *, is_required: bool) -> str:
    """Return in a line what a field of a form takes."""
    from hookrouter_approvals.schema import choices

    kind = str(schema.get("type") or "any")
    inner = schema.get("items") if kind == "array" else schema
    if named := choices(inner):
        words = [str(value) if str(value) == title else f"{value} ({title})" for value, title in named.items()]
        kind = f"{'any' if kind == 'array' else 'one'} of {', '.join(words)}"
    facts = [kind, *([str(schema["format"])] if schema.get("format") else []), *(["required"] if is_required else [])]
    if "default" in schema:
        facts.append(f"proposed: {fastjson.dumps(schema['default'])}")
    about = [str(schema[key]) for key in ("title", "description") if schema.get(key)]
    return f"- {name} ({'; '.join(facts)}){': ' if about else ''}{', '.join(about)}"
