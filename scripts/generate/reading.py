"""Reads the contract into events, tools and their fields, and gives them the words that it lacks."""

from __future__ import annotations

import os
import re
from typing import Any

import attrs

from hookrouter._contract.document import CONTRACT_FILE, MCP_PATTERN, TOOL_EVENTS, contract, snake
from hookrouter.records import Record
from hookrouter.replies import REPLIES, Reply
from hookrouter.util.fastjson import json_type
from scripts.generate.python_text import Field, Kind, escaped
from scripts.generate.shapes import Tool, pascal, read_form, read_tool

__all__ = [
    "CHECKED_TOOL",
    "EVENT_KEYS",
    "NESTED_DOCS",
    "Contract",
    "Event",
    "faults",
    "field_doc",
    "read_contract",
    "words_missing",
]

CHECKED_TOOL = "AskUserQuestion"
"""The tool whose input must fit the contract: the first-party plugins answer it."""

NESTED_DOCS = {
    "Effort": "How hard the model was asked to think.",
    "McpServer": "The MCP server behind an ``mcp__*`` tool.",
    "ToolCall": "One call of a parallel batch.",
    "BackgroundTask": "A task that is still known when Claude stops.",
    "SessionCron": "A scheduled prompt of the session.",
}
"""Class of an object in events -> what it is. Its name is that of the field: ``tool_calls`` holds ``ToolCall``."""

FIELD_DOCS = {
    "session_id": "The session.",
    "transcript_path": "The session's transcript file.",
    "cwd": "The working directory of the session.",
    "hook_event_name": "The event's name, such as ``PreToolUse``.",
    "prompt_id": "The prompt that is being worked on.",
    "permission_mode": "The permission mode; sent with some events only.",
    "agent_id": "The subagent.",
    "agent_type": "The kind of agent.",
    "effort": "How hard the model is asked to think; sent with some events only.",
    "scratchpad_dir": "The session's scratchpad folder.",
    "model": "The model of the session.",
    "session_title": "The title of the session.",
    "seconds_since_last_response": "Seconds since the session's last response.",
    "context_tokens": "Tokens in the context.",
    "prompt_cache_likely_expired": "Whether the prompt cache has probably expired.",
    "estimated_cache_write_usd": "What writing the prompt cache again costs, in US dollars.",
    "prompt": "The text of the prompt.",
    "expansion_type": "What is expanded.",
    "command_name": "The command, without its slash.",
    "command_args": "What was typed after the command.",
    "command_source": "Where the command is defined.",
    "tool_name": "The tool; tools of MCP servers are named ``mcp__<server>__<tool>``.",
    "tool_input": "The tool's input, as parsed from JSON.",
    "tool_use_id": "The tool call; the same in all events about it.",
    "mcp_server": "The server behind an ``mcp__*`` tool.",
    "permission_suggestions": "The permission updates that the dialog offers, as parsed from JSON.",
    "tool_response": "What the tool returned, as parsed from JSON.",
    "duration_ms": "Milliseconds that the tool ran.",
    "is_interrupt": "Whether the tool was interrupted.",
    "tool_calls": "The calls of the batch; each has the input as the model sent it.",
    "message": "The text that is shown.",
    "title": "The title above the text.",
    "notification_type": "What the notification is about.",
    "turn_id": "The turn.",
    "message_id": "The assistant's message.",
    "index": "The number of this piece of the message, from 0.",
    "final": "Whether this is the message's last piece.",
    "delta": "The text of this piece.",
    "stop_hook_active": "Whether Claude continues because a hook blocked its stop before.",
    "last_assistant_message": "The text of the assistant's last message.",
    "background_tasks": "The tasks in the background.",
    "session_crons": "The session's scheduled prompts.",
    "agent_transcript_path": "The subagent's transcript file.",
    "task_id": "The task.",
    "task_subject": "The task in one line.",
    "task_description": "The task in full.",
    "teammate_name": "The teammate.",
    "team_name": "The team.",
    "error_details": "More about the error.",
    "file_path": "The file.",
    "memory_type": "Whose instructions they are.",
    "load_reason": "Why the file was loaded.",
    "globs": "The path patterns that the file applies to.",
    "trigger_file_path": "The file whose use made Claude Code load this one.",
    "parent_file_path": "The file that includes this one.",
    "old_cwd": "The working directory before.",
    "new_cwd": "The working directory now.",
    "directory": "The directory that was added.",
    "worktree_path": "The worktree's folder.",
    "custom_instructions": "What the user typed after ``/compact``.",
    "compact_summary": "The summary that replaces the conversation.",
    "from_model": "The model before.",
    "to_model": "The model after.",
    "requested_model": "The model as it was asked for.",
    "prompt_cache_warm": "Whether the prompt cache is warm.",
    "cache_ttl": "How long the prompt cache lives.",
    "pricing": "Where the price for the estimate comes from.",
    "mcp_server_name": "The server that asks.",
    "url": "The address to visit, in the mode ``url``.",
    "elicitation_id": "The request.",
    "requested_schema": "What the server wants to know.",
    "level": "The level.",
    "id": "Its id.",
    "type": "Its kind.",
    "status": "How it stands.",
    "description": "What it is, in words.",
    "schedule": "When it runs.",
    "recurring": "Whether it runs again and again.",
    ("SessionStart", "source"): "How the session began.",
    ("UserPromptSubmit", "source"): "Who submitted it.",
    ("ConfigChange", "source"): "Which settings changed.",
    ("DirectoryAdded", "source"): "How it was added.",
    ("PreModelSwitch", "source"): "Who asks for the switch.",
    ("PostModelSwitch", "source"): "What caused the switch.",
    (
        "McpServer",
        "source",
    ): "Where the server is configured, such as ``user``, ``project`` or ``plugin``; an open set.",
    ("McpServer", "name"): "The server.",
    ("PreSkillShellCommand", "tool_name"): "The shell: ``Bash``.",
    ("PreSkillShellCommand", "tool_input"): "What it is to run, under ``command``, with the arguments filled in.",
    ("PreSkillShellCommand", "tool_use_id"): "The command's own id.",
    ("PreSkillShellCommand", "command_name"): "The skill or command, without a slash.",
    ("PreSkillShellCommand", "command_source"): "Where it is defined.",
    "invoked_by": "Who began it.",
    ("Setup", "trigger"): "Which setup runs.",
    ("PreCompact", "trigger"): "Who asked for it.",
    ("PostCompact", "trigger"): "Who asked for it.",
    ("PermissionDenied", "reason"): "Why the call was denied.",
    ("SessionEnd", "reason"): "Why the session ends.",
    ("PostToolUseFailure", "error"): "The error's text.",
    ("StopFailure", "error"): "The kind of error.",
    ("FileChanged", "event"): "What happened to the file.",
    ("WorktreeCreate", "name"): "The name of the worktree.",
    ("Elicitation", "mode"): "How the user is asked.",
    ("ElicitationResult", "mode"): "How the user was asked.",
    ("ElicitationResult", "action"): "What the user did.",
    ("ElicitationResult", "content"): "The values of the form.",
    ("BackgroundTask", "name"): "Its name.",
    ("BackgroundTask", "command"): "The shell command that it runs.",
    ("BackgroundTask", "server"): "The MCP server of the tool that it runs.",
    ("BackgroundTask", "tool"): "The tool that it runs.",
}
"""Field, or class and field -> what it holds; the contract has names and types only."""

TOLD = ("enum", "string", "uuid", "per tool", "see carries_permission_mode")
"""Notes of the contract that say nothing more to a reader of the classes."""


def closing(text: str, opening: str, close: str) -> int:
    """Return the index of the bracket that closes the one at the start of ``text``."""
    depth = 0
    for index, char in enumerate(text):
        depth += (char == opening) - (char == close)
        if depth == 0:
            return index
    raise ValueError(f"unbalanced {opening}{close} in {text!r}")


def split_fields(text: str) -> list[str]:
    """Split ``a: x, b?: {c: y, d: z}`` at its outer commas."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char in "{<(") - (char in "}>)")
        if char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]


def parse_kind(text: str, wire: str, records: dict[str, list[Field]], values: tuple[str, ...] = ()) -> Kind:
    """Read one type text of the contract; the records it describes are added to ``records``."""
    text = text.strip()
    if text.startswith("array<"):
        end = closing(text[5:], "<", ">") + 5
        inner = parse_kind(text[6:end], wire, records)
        return Kind(f"array<{inner.name}>", inner.record, note=note_of(text[end + 1 :]))
    if text.startswith("{"):
        end = closing(text, "{", "}")
        name = re.sub(r"s$", "", pascal(wire))
        fields = []
        for part in split_fields(text[1:end]):
            key, _, kind = part.partition(":")
            fields.append(make_field(key.strip(), kind, records))
        if records.setdefault(name, fields) != fields:
            raise ValueError(f"two shapes for {name}")
        return Kind("record", name)
    if text.startswith("'"):
        rest = re.sub(r"^'[^']*'(\|'[^']*')*", "", text)
        found = tuple(re.findall(r"'([^']*)'", text.removesuffix(rest)))
        return Kind("string", values=found, note=note_of(rest))
    rest = re.sub(r"^[A-Za-z|-]+", "", text)
    word = text.removesuffix(rest)
    names = {"enum": "string", "PermissionUpdate": "object", "string|content-blocks": "any"}
    note = note_of(rest)
    return Kind(names.get(word, word), values=values, note=note)


def note_of(text: str) -> str:
    """Return what the contract says beside a type, without the brackets around it."""
    text = text.strip()
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def make_field(key: str, text: str, records: dict[str, list[Field]], values: tuple[str, ...] = ()) -> Field:
    """Read ``key`` (with ``?`` when optional) and its type text."""
    wire = key.removesuffix("?")
    return Field(wire, parse_kind(text, wire, records, values), not key.endswith("?"))


@attrs.frozen
class Event:
    """One event of the contract."""

    name: str
    entry: dict[str, Any]
    fields: tuple[Field, ...]

    @property
    def kebab(self) -> str:
        """The name on hookrouter's command line."""
        kebab: str = self.entry["kebab"]
        return kebab

    @property
    def hook(self) -> str:
        """The name of its hook."""
        return snake(self.name)

    @property
    def reply(self) -> type[Reply]:
        """The class of its replies."""
        return REPLIES.get(self.name, Reply)


@attrs.frozen
class Contract:
    """The contract, read."""

    version: str
    common: tuple[Field, ...]
    events: tuple[Event, ...]
    nested: dict[str, list[Field]]
    tools: dict[str, Tool]
    """The end of the tool's hooks' names -> the tool."""
    aliases: dict[str, str]

    @property
    def form(self) -> Tool:
        """The tool whose input is checked before any hook sees it."""
        return self.tools[snake(CHECKED_TOOL)]


EVENT_KEYS: dict[str, tuple[tuple[type, ...], str]] = {
    "kebab": ((str,), "its name on hookrouter's command line"),
    "when": ((str,), "when it fires"),
    "input": ((dict,), "its own fields: name, with ? if it may be missing -> type, as other events have them"),
    "output": ((dict,), "the fields that a hook's JSON may have: name -> what it is for"),
    "plain_stdout": ((str,), "what text on stdout that is no JSON does"),
    "carries_permission_mode": ((bool,), "whether the permission mode is sent with it"),
    "types": ((list,), "the types of hooks that it takes, such as command"),
    "matcher_field": ((str, type(None)), "the field that matchers look at; null: it has none"),
    "matcher_values": ((list, type(None)), "that field's values; null: any"),
    "blockable": ((bool,), "whether a hook can stop what is going on"),
    "exit2": ((str,), "what exit code 2 does"),
    "default_timeout_s": ((int, float), "the seconds that a hook has"),
    "discarded_universal_fields": ((list,), "which of continue, systemMessage and so on Claude Code ignores"),
    "since": ((str, type(None)), "the first version that has it"),
}
"""Key of an event in the contract -> what JSON it holds, and what that says. Others are kept for people to read."""


def faults(document: dict[str, Any]) -> list[str]:
    """Return what the events of a contract lack before anything can be generated, each with its place in the file."""
    found = []
    for name, entry in document["events"].items():
        for key, (kinds, said) in EVENT_KEYS.items():
            if key not in entry:
                found.append(f"events.{name}.{key}: missing; it says {said}")
            elif not isinstance(entry[key], kinds):
                allowed = " or ".join(json_type(kind()) for kind in kinds)
                found.append(f"events.{name}.{key}: found {json_type(entry[key])}, allowed {allowed}; it says {said}")
        kebab = snake(name).replace("_", "-")
        if entry.get("kebab", kebab) != kebab:
            found.append(f"events.{name}.kebab: found {entry['kebab']!r}, allowed {kebab!r}")
    return found


def words_missing(contract: Contract) -> list[str]:
    """Return the fields and objects of events of which nothing is said, each with its place in the contract."""
    where = "scripts/generate/reading.py"
    owners = {"common_input": ("Event", contract.common)}
    owners |= {f"events.{event.name}.input": (event.name, event.fields) for event in contract.events}
    owners |= {f"objects {name}": (name, tuple(fields)) for name, fields in contract.nested.items()}
    found = [
        f"{place}.{field.wire}: nothing says what it holds; add {field.wire!r} to FIELD_DOCS in {where}"
        for place, (owner, fields) in owners.items()
        for field in fields
        if not (FIELD_DOCS.get((owner, field.wire)) or FIELD_DOCS.get(field.wire))
    ]
    return found + [
        f"objects {name}: nothing says what it is; add {name!r} to NESTED_DOCS in {where}"
        for name in contract.nested
        if name not in NESTED_DOCS
    ]


def read_contract(document: dict[str, Any] | None = None) -> Contract:
    """Read the contract that hookrouter is made for. Raises ValueError, which names every place to mend."""
    document = contract() if document is None else document
    _refuse(faults(document))
    nested: dict[str, list[Field]] = {}
    common = tuple(make_field(key, text, nested) for key, text in document["common_input"].items())
    known = {field.wire: field for field in common}
    events = []
    for name, entry in document["events"].items():
        values = tuple(entry["matcher_values"] or ())
        if not all(re.fullmatch("[a-z_]+", value) for value in values):
            # Described, not listed: "any tool name".
            values = ()
        own = [
            make_field(key, text, nested, values if entry["matcher_field"] == key else ())
            for key, text in entry["input"].items()
        ]
        fields = tuple(field for field in own if field.wire not in known or field.required)
        events.append(Event(name, entry, fields))
    tools = {snake(tool): _tool(tool, entry) for tool, entry in document["tools"].items() if tool != MCP_PATTERN}
    aliases = document["matcher_rules"]["legacy_aliases"]
    read = Contract(document["claude_code_version"], common, tuple(events), nested, tools, aliases)
    check_names(read)
    _refuse(words_missing(read))
    return read


def _refuse(found: list[str]) -> None:
    if found:
        raise ValueError("\n".join([f"{os.path.basename(CONTRACT_FILE)}:", *(f"  {one}" for one in found)]))


def _tool(name: str, entry: dict[str, Any]) -> Tool:
    try:
        return read_form(entry) if name == CHECKED_TOOL else read_tool(name, entry)
    except KeyError as error:
        place = f"{os.path.basename(CONTRACT_FILE)}: tools.{name}"
        raise ValueError(
            f"{place}: {error} is missing there, or in the tables of scripts/generate/shapes.py"
        ) from error


def check_names(contract: Contract) -> None:
    """Raise ValueError if two hooks or records would share a name, or a field would hide a member of a record."""
    hooks = [event.hook for event in contract.events] + ["raw_event"]
    for event in contract.events:
        if event.name in TOOL_EVENTS:
            hooks += [f"{event.hook}_{suffix}" for suffix in (*contract.tools, "mcp")]
    twice = {hook for hook in hooks if hooks.count(hook) > 1}
    fields = [*contract.common, *(field for event in contract.events for field in event.fields)]
    records = [event.name for event in contract.events] + list(contract.nested) + ["Event", "UnknownEvent"]
    records += [record for tool in contract.tools.values() for record in tool.records]
    twice |= {record for record in records if records.count(record) > 1}
    fields += [field for record in contract.nested.values() for field in record]
    fields += [field for tool in contract.tools.values() for record in tool.records.values() for field in record]
    hidden = {field.attribute for field in fields} & set(dir(Record))
    # A hook finds a tool's records by their names.
    strange = {tool.name for tool in contract.tools.values() if tool.input != f"{pascal(tool.name)}Input"}
    if twice or hidden or strange:
        raise ValueError(f"name clash: {sorted(twice | hidden | strange)}")


def field_doc(owner: str, field: Field) -> str:
    """Return the docstring of one attribute, for which :func:`words_missing` has found words."""
    doc = FIELD_DOCS.get((owner, field.wire)) or FIELD_DOCS[field.wire]
    if field.kind.note and field.kind.note not in TOLD:
        doc = f"{doc.removesuffix('.')} ({escaped(field.kind.note)})."
    if field.kind.values:
        doc += " " + ", ".join(f"``{value}``" for value in field.kind.values) + ", or what newer clients add."
    return doc
