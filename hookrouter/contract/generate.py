"""Write the modules that follow from the contract: ``python -m hookrouter.contract.generate [--check]``.

Source: ``claude-code-2.1.330.json`` beside this file, the hook contract as measured on Claude Code 2.1.330. Written are
the hot-path tables, the classes of events and tools, and the hookspecs of both. ``--check`` writes nothing and exits 1
when a committed file differs from what would be written.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from textwrap import fill, indent
from typing import Any

import attrs

from hookrouter.contract.model import (
    KEEP,
    RAW,
    WIDTH,
    Field,
    Kind,
    docstring,
    escaped,
    field_lines,
    from_import,
    header,
    literal,
    lowered,
    record_item,
    sentence,
    snake,
    sorted_all,
    table,
)
from hookrouter.contract.shapes import Tool, pascal, read_form, read_tool
from hookrouter.contract.tool_modules import ENTRY, write_package, write_tool, write_tool_fields
from hookrouter.replies import REPLIES, Reply, expected_reply

__all__ = ["generate", "main"]

CONTRACT = "claude-code-2.1.330.json"

PACKAGE = Path(__file__).resolve().parent.parent

DEFAULT_TIMEOUT = 600
"""Seconds; the default of ``EventRecord.timeout``."""

CHECKED_TOOL = "AskUserQuestion"
"""The tool whose input must fit the contract: the first-party plugins answer it."""

MCP_PATTERN = "mcp__<server>__<tool>"
"""The contract's entry for the tools of MCP servers: a pattern, not a tool."""

TOOL_EVENTS = ("PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUse", "PostToolUseFailure")
"""The events about one tool call, in the order in which a call meets them."""

NESTED = {
    "effort": "Effort",
    "mcp_server": "McpServer",
    "tool_calls": "ToolCall",
    "background_tasks": "BackgroundTask",
    "session_crons": "SessionCron",
}
"""Field name -> class name of the record that the field holds."""

NESTED_DOCS = {
    "Effort": "How hard the model was asked to think.",
    "McpServer": "The MCP server behind an ``mcp__*`` tool.",
    "ToolCall": "One call of a parallel batch.",
    "BackgroundTask": "A task that is still known when Claude stops.",
    "SessionCron": "A scheduled prompt of the session.",
}

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
    "stop_hook_active": "Whether Claude goes on because a hook blocked its stop before.",
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
        name = NESTED[wire]
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


def read_contract() -> Contract:
    """Read the contract that is shipped beside this file."""
    document = json.loads(Path(__file__).with_name(CONTRACT).read_text(encoding="utf-8"))
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
    tools = {
        snake(tool): read_form(entry) if tool == CHECKED_TOOL else read_tool(tool, entry)
        for tool, entry in document["tools"].items()
        if tool != MCP_PATTERN
    }
    aliases = document["matcher_rules"]["legacy_aliases"]
    contract = Contract(document["claude_code_version"], common, tuple(events), nested, tools, aliases)
    check_names(contract)
    return contract


def check_names(contract: Contract) -> None:
    """Raise ValueError where two hooks or records would share a name, or a field would hide a member of a view."""
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
    hidden = {field.attribute for field in fields} & {"raw", "structured"}
    # A view finds a tool's records by their names.
    strange = {tool.name for tool in contract.tools.values() if tool.input != f"{pascal(tool.name)}Input"}
    if twice or hidden or strange:
        raise ValueError(f"name clash: {sorted(twice | hidden | strange)}")


def event_item(event: Event) -> str:
    """Return one record of ``tables.EVENTS``, broken into lines as the formatter does."""
    entry = event.entry
    arguments = [literal(event.name), literal(event.hook)]
    arguments += [
        f"{name}={literal(value)}"
        for name, value, default in (
            ("is_tool", event.name in TOOL_EVENTS, False),
            ("can_block", entry["blockable"], False),
            ("matcher", entry["matcher_field"], None),
            ("timeout", entry["default_timeout_s"], DEFAULT_TIMEOUT),
            ("discarded", tuple(entry["discarded_universal_fields"]), ()),
        )
        if value != default
    ]
    start = f'"{event.kebab}": EventRecord('
    inside = ", ".join(arguments)
    if len(f"    {start}{inside}),") <= WIDTH:
        return f"{start}{inside}),"
    if len(f"        {inside}") <= WIDTH:
        return f"{start}\n    {inside}\n),"
    return start + "\n" + "".join(f"    {argument},\n" for argument in arguments) + "),"


EVENT_RECORD = '''
__all__ = [
    "CLAUDE_CODE_VERSION",
    "EVENTS",
    "EVENT_NAMES",
    "FIELDS",
    "TOOLS",
    "TOOL_ALIASES",
    "TOOL_INPUTS",
    "EventRecord",
]


class EventRecord:
    """What the router must know of one event."""

    __slots__ = ("can_block", "discarded", "hook", "is_tool", "matcher", "name", "timeout")

    def __init__(
        self,
        name: str,
        hook: str,
        *,
        is_tool: bool = False,
        can_block: bool = False,
        matcher: str | None = None,
        timeout: float = 600,
        discarded: tuple[str, ...] = (),
    ) -> None:
        """Describe the event ``name``, whose hookspec is ``hook``.

        ``is_tool``: it is about one tool call. ``can_block``: exit 2 or a block stops something. ``matcher``: the
        payload field that matchers look at. ``timeout``: the seconds that Claude Code gives a command hook by default.
        ``discarded``: the fields of a reply that Claude Code ignores on this event, by their wire names.
        """
        self.name = name
        self.hook = hook
        self.is_tool = is_tool
        self.can_block = can_block
        self.matcher = matcher
        self.timeout = timeout
        self.discarded = discarded


'''

FIELDS_DOC = """Record -> attribute -> (wire name, kind, required, record of the nested objects, default).

Kinds: ``string``, ``string|null``, ``number``, ``integer``, ``boolean``, ``object``, ``any``, ``array<string>``,
``array<object>``, ``record``, ``array<record>`` and ``map<record>`` (an object whose values are records).
"""


def write_tables(contract: Contract) -> str:
    """Return tables.py."""
    records = [record_item(event.name, ["**_COMMON,", *field_lines(event.fields)]) for event in contract.events]
    records.append('"UnknownEvent": _COMMON,')
    nested = {**contract.nested, **contract.form.records}
    records += [record_item(name, field_lines(fields)) for name, fields in nested.items()]
    return "".join(
        [
            header(
                "What the contract says, as plain tables for the way of ``hookrouter run``.",
                contract.version,
                "This module imports nothing: it is read on every hook run.",
            ).rstrip("\n")
            + "\n",
            EVENT_RECORD,
            f'CLAUDE_CODE_VERSION = "{contract.version}"\n',
            '"""The version of Claude Code that the tables describe."""\n\n',
            table(
                "EVENTS",
                "str, EventRecord",
                [event_item(event) for event in contract.events],
                "Event name on the command line -> its record.",
            ),
            table(
                "EVENT_NAMES",
                "str, str",
                [f'"{event.name}": "{event.kebab}",' for event in contract.events],
                "Claude Code's event name -> its name on the command line.",
            ),
            table(
                "TOOLS",
                "str, str",
                [f'"{tool.name}": "{suffix}",' for suffix, tool in contract.tools.items()],
                "Tool name -> the end of its hooks' names.",
            ),
            table(
                "TOOL_ALIASES",
                "str, str",
                [f'"{old}": "{new}",' for old, new in contract.aliases.items()],
                "Former tool name -> today's.",
            ),
            table(
                "TOOL_INPUTS",
                "str, str",
                [f'"{CHECKED_TOOL}": "{contract.form.input}",'],
                "Tool name -> the record of its input, for the tools whose input must fit before any hook is called.",
            ),
            table("_COMMON", f"str, {ENTRY}", field_lines(contract.common)),
            table("FIELDS", f"str, dict[str, {ENTRY}]", records, FIELDS_DOC).rstrip("\n") + "\n",
        ]
    )


def field_doc(owner: str, field: Field) -> str:
    """Return the docstring of one attribute. Raises KeyError where FIELD_DOCS has nothing to say."""
    doc = FIELD_DOCS.get((owner, field.wire)) or FIELD_DOCS[field.wire]
    if field.kind.note and field.kind.note not in TOLD:
        doc = f"{doc.removesuffix('.')} ({escaped(field.kind.note)})."
    if field.kind.values:
        doc += " " + ", ".join(f"``{value}``" for value in field.kind.values) + ", or what newer clients add."
    return doc


def class_body(owner: str, fields: list[Field] | tuple[Field, ...]) -> str:
    """Return the attributes of the class ``owner`` with their docstrings."""
    lines = []
    for field in fields:
        default = "" if field.required else f" = {literal(field.default)}"
        lines.append(f"    {field.attribute}: {field.annotation}{default}\n")
        lines.append(docstring(field_doc(owner, field)))
    return "".join(lines)


def event_doc(event: Event) -> str:
    """Return the docstring of an event class."""
    entry = event.entry
    since = entry["since"] or ""
    facts = [f"Hook: ``{event.hook}``, ``hookrouter run {event.kebab}``."]
    if re.fullmatch(r"[\d.]+", since):
        facts.append(f"Since Claude Code {since}.")
    facts.append(f"Exit 2: {sentence(entry['exit2'])}")
    notes = " ".join(sentence(note) for note in entry.get("notes", ()))
    return "\n\n".join(filter(None, [sentence(entry["when"]), " ".join(facts), notes]))


def write_events(contract: Contract) -> str:
    """Return events.py."""
    names = ["Event", "UnknownEvent", *(event.name for event in contract.events), *contract.nested]
    out = [
        header(
            f"The {len(contract.events)} events of Claude Code as frozen attrs classes.",
            contract.version,
            "Hooks receive views that read like these classes (:mod:`hookrouter.views`). Importing this module loads\n"
            "attrs, so a plugin that only annotates with it should import it under ``TYPE_CHECKING``. The sets of\n"
            "values named below are open: a newer client may send others.",
        ),
        # Not postponed: the annotations are read when payloads are structured.
        "from collections.abc import Mapping\nfrom typing import Any\n\nimport attrs\n\n",
        "__all__ = [\n" + "".join(f'    "{name}",\n' for name in sorted_all([*names, "EVENT_CLASSES"])) + "]\n",
    ]
    for name, fields in contract.nested.items():
        out.append(f"\n\n@attrs.frozen(kw_only=True)\nclass {name}:\n{docstring(NESTED_DOCS[name])}\n")
        out.append(class_body(name, fields) + RAW.lstrip("\n"))
    out.append("\n\n@attrs.frozen(kw_only=True)\nclass Event:\n")
    out.append(
        docstring("What every event carries; optional fields are missing where Claude Code does not send them.") + "\n"
    )
    out.append(class_body("Event", contract.common) + RAW.lstrip("\n"))
    out.append("\n\n@attrs.frozen(kw_only=True)\nclass UnknownEvent(Event):\n")
    out.append(docstring("An event of a newer Claude Code; its own fields are in ``raw``."))
    for event in contract.events:
        out.append(f"\n\n@attrs.frozen(kw_only=True)\nclass {event.name}(Event):\n{docstring(event_doc(event))}")
        if event.fields:
            out.append("\n" + class_body(event.name, event.fields))
    out.append("\n\nEVENT_CLASSES: dict[str, type[Event]] = {\n")
    out += [f'    "{event.name}": {event.name},\n' for event in contract.events]
    out.append('}\n"""Claude Code\'s event name -> its class."""\n')
    return "".join(out)


SPEC_CLASSES = {name: f"{name}Specs" for name in TOOL_EVENTS}

GRAVEST_FIRST = ("cancel", "deny", "block", "decline", "defer", "ask", "accept", "allow")
"""The constructors of replies that decide something, in the order in which they win."""


SHARED = {
    "message": "shows the user a message",
    "halt": "ends Claude's turn",
    "terminal": "writes to the user's terminal",
}
"""The constructors that replies have in common."""


def constructors(event: Event) -> tuple[dict[str, str], list[str]]:
    """Return the constructors of the event's own reply with what they say, and the shared ones that work on it."""
    kind = expected_reply(event.name)
    own, shared = {}, []
    for base in kind.__mro__:
        for name, value in vars(base).items():
            if name.startswith("_") or not isinstance(value, classmethod) or not hasattr(kind, name):
                continue
            if base is Reply:
                shared.append(name)
            elif name not in own:
                paragraphs = (inspect.getdoc(getattr(kind, name)) or "").split("\n\n")
                own[name] = " ".join(paragraphs[0].split())
    return own, shared


def returns_doc(event: Event) -> str:
    """Return the part that says what results mean."""
    own, shared = constructors(event)
    name = event.reply.__name__
    items = ["None: No opinion."]
    for one, said in own.items():
        effect = (
            f" Works as exit code 2: {lowered(event.entry['exit2'])}." if said.startswith("Block, and say why") else ""
        )
        items.append(f"{name}.{one}: {said}{effect}")
    if shared:
        said = ", ".join(f"``{one}`` {SHARED[one]}" for one in shared)
        items.append(f"{', '.join(f'{name}.{one}' for one in shared)}: Decide nothing; {said}.")
    lines = (fill(item, WIDTH - 12, initial_indent="    ", subsequent_indent=" " * 8, **KEEP) for item in items)
    return "Returns:\n" + "\n".join(lines)


def combined_doc(event: Event) -> str:
    """Return the part that says how the results of several plugins combine."""
    own, _shared = constructors(event)
    verdicts = [one for one in GRAVEST_FIRST if one in own]
    parts = []
    if len(verdicts) > 1:
        parts.append(
            f"The gravest wins, whoever said it: {', '.join(verdicts)}; the reasons of all who said it are joined."
        )
    elif verdicts:
        parts.append(f"One ``{verdicts[0]}`` is enough; the reasons of all who said it are joined.")
    parts.append("What plugins say to Claude and to the user is joined in plugin order.")
    parts.append("Of what can be only one, the last is taken.")
    if event.name in ("PreToolUse", "PermissionRequest"):
        parts.append("An updated input is what the plugins that come after see, and they may update it again.")
    return " ".join(parts)


EXAMPLES = {
    "PreToolUse": [
        'if event.permission_mode == "plan":',
        '    return PreToolUseReply.deny("Not while planning.")',
        "return None",
    ],
    "PermissionRequest": [
        'if event.agent_type == "Explore":',
        '    return PermissionRequestReply.deny("Explorers only read.")',
        "return None",
    ],
    "PermissionDenied": [
        'if "timed out" in event.reason:',
        "    return PermissionDeniedReply.retry()",
        "return None",
    ],
    "PostToolUse": [
        "if (event.duration_ms or 0) > 60_000:",
        '    return PostToolUseReply.context("That took over a minute.")',
        "return None",
    ],
    "PostToolUseFailure": [
        'if "No space left" in event.error:',
        '    return PostToolUseFailureReply.context("The disk is full.")',
        "return None",
    ],
}

EVENT_EXAMPLES = {
    **EXAMPLES,
    "SessionStart": [
        'if event.source == "startup":',
        '    return SessionStartReply.context("Run the tests with .ci/run.")',
        "return None",
    ],
    "UserPromptSubmit": [
        'if "password" in event.prompt:',
        '    return UserPromptSubmitReply.block("No passwords, please.")',
        "return None",
    ],
    "Stop": [
        "if not event.stop_hook_active:",
        '    return StopReply.block("Run the linters before you stop.")',
        "return None",
    ],
    "SubagentStop": [
        "if not event.stop_hook_active:",
        '    return SubagentStopReply.block("Name the files that you read.")',
        "return None",
    ],
}


def note_example(event: Event) -> list[str]:
    """Return a body that keeps something of the payload in the journal."""
    kept = next((field for field in event.fields if field.kind.record is None), None)
    name = kept.attribute if kept is not None else "cwd"
    return [f'context.note("{name}", event.{name})', "return None"]


def example(hook: str, parameters: str, body: list[str]) -> str:
    """Return the last part of a docstring."""
    lines = ["@hookimpl", f"def {hook}({parameters}):", *(f"    {line}" for line in body)]
    return "Example::\n\n" + indent("\n".join(lines), "    ")


def spec_doc(when: str, returns: str, combined: str, parameters: dict[str, str], code: str) -> str:
    """Return a docstring in the five parts that every spec has."""
    described = "\n".join(
        fill(f"{name}: {text}", WIDTH - 12, initial_indent="    ", subsequent_indent=" " * 8, **KEEP)
        for name, text in parameters.items()
    )
    parts = [
        docstring(f"When: {when}\n\n{returns}\n\nCombined: {combined}", " " * 8)[: -len('\n        """\n')],
        indent(f"Args:\n{described}", " " * 8),
        indent(code, " " * 8),
    ]
    return "\n\n".join(parts) + '\n        """\n'


def spec(hook: str, parameters: dict[str, str], reply: str, doc: str) -> str:
    """Return one method of a spec class."""
    listed = ", ".join(f"{name}: {annotation}" for name, annotation in parameters.items())
    line = f"    def {hook}(self, {listed}) -> {reply} | None:"
    if len(line) > WIDTH:
        line = f"    def {hook}(\n        self, {listed}\n    ) -> {reply} | None:"
    if max(map(len, line.splitlines())) > WIDTH:
        listed = "".join(f"        {name}: {annotation},\n" for name, annotation in parameters.items())
        line = f"    def {hook}(\n        self,\n{listed}    ) -> {reply} | None:"
    return f"\n    @hookspec\n{line}\n{doc}"


CONTEXT_DOC = "The run: config, store, journal and outbox."


def event_article(event: Event) -> str:
    """Return how the docs call the payload."""
    return f"The payload, as :class:`~hookrouter.events.{event.name}`."


def spec_module(doc: str, contract: Contract, imports: list[str]) -> str:
    """Return the head of a spec module."""
    return (
        header(doc, contract.version)
        + "from __future__ import annotations\n\nfrom typing import TYPE_CHECKING, Any\n\n".replace(
            ", Any", ", Any" if any("Mapping" in line for line in imports) else ""
        )
        + "from hookrouter.markers import hookspec\n\nif TYPE_CHECKING:\n"
        + "".join(f"    {line}\n" if line else "\n" for line in imports)
    )


def write_event_specs(contract: Contract) -> str:
    """Return hookspecs/events.py."""
    names = sorted(event.name for event in contract.events)
    replies = sorted({event.reply.__name__ for event in contract.events} | {"Reply"})
    imports = [
        "from collections.abc import Mapping",
        "",
        "from hookrouter.context import Context",
        *from_import("hookrouter.events", names),
        *from_import("hookrouter.replies", replies),
    ]
    out = [spec_module("The hooks of the events, one each, and the hook that sees every payload.", contract, imports)]
    out.append('\n__all__ = ["EventSpecs"]\n\n\nclass EventSpecs:\n')
    out.append(docstring("One hook for each event. Also a base class: override what the plugin implements."))
    for event in contract.events:
        when = f"{sentence(event.entry['when'])} Event ``{event.name}``."
        if event.name in TOOL_EVENTS:
            when += f" Called after the hook of the tool, ``{event.hook}_<tool>``."
        body = EVENT_EXAMPLES.get(event.name) or note_example(event)
        doc = spec_doc(
            when,
            returns_doc(event),
            combined_doc(event),
            {"event": event_article(event), "context": CONTEXT_DOC},
            example(event.hook, "event, context", body),
        )
        out.append(spec(event.hook, {"event": event.name, "context": "Context"}, event.reply.__name__, doc))
    doc = spec_doc(
        "After all other hooks, for every well-formed payload, also of events that this version does not know.",
        "Returns:\n    None: No opinion.\n"
        "    The reply of the event's own hook, such as StopReply for ``Stop``: As there.\n"
        "    Reply: For an event that this version does not know.",
        "Like the replies of the event's own hook, after them.",
        {
            "event_name": "The event's name, such as ``PreToolUse``.",
            "payload": "The payload as parsed from JSON, with all its fields.",
            "context": CONTEXT_DOC,
        },
        example(
            "raw_event", "event_name, payload, context", ['context.note("fields", sorted(payload))', "return None"]
        ),
    )
    parameters = {"event_name": "str", "payload": "Mapping[str, Any]", "context": "Context"}
    out.append(spec("raw_event", parameters, "Reply", doc))
    return "".join(out)


def shape_doc(what: str, tool: Tool, record: str) -> str:
    """Return what the docs say of a tool's input or response."""
    fields = tool.records[record]
    listed = ", ".join(f"``{field.attribute}{'' if field.required else '?'}``" for field in fields)
    names = f": {listed}" if listed else f". {tool.notes.get(record, 'It has no fields.')}"
    return f"{what}, as :class:`~hookrouter.tools.{record}`{names}".rstrip(".") + "."


TOOL_EXAMPLES = {
    ("PreToolUse", "Bash"): [
        'if "push --force" in tool_input.command:',
        '    return PreToolUseReply.deny("Force pushes are made by people.")',
        "return None",
    ],
    ("PreToolUse", "Write"): [
        'if tool_input.file_path.endswith(".lock"):',
        '    return PreToolUseReply.ask("This file is written by a program.")',
        "return None",
    ],
    ("PreToolUse", "WebFetch"): [
        'if tool_input.url.startswith("http:"):',
        '    return PreToolUseReply.update_input({**tool_input.raw, "url": f"https:{tool_input.url[5:]}"})',
        "return None",
    ],
    ("PostToolUse", "Bash"): [
        'if "deprecated" in tool_response.stderr:',
        '    return PostToolUseReply.context("Mind the deprecation warnings.")',
        "return None",
    ],
    ("PostToolUse", "Edit"): [
        'context.note("changed", [tool_input.file_path, len(tool_response.structured_patch)])',
        "return None",
    ],
}
"""Event and tool -> the body of an example that reads the tool's own fields."""


def write_tool_specs(contract: Contract, event: Event) -> str:
    """Return the spec module of one tool event."""
    responds = any(field.wire == "tool_response" for field in event.fields)
    tools = contract.tools.values()
    classes = [tool.input for tool in tools] + [tool.output for tool in tools if responds]
    imports = [
        "from collections.abc import Mapping",
        "",
        "from hookrouter.context import Context",
        f"from hookrouter.events import {event.name}",
        f"from hookrouter.replies import {event.reply.__name__}",
        *from_import("hookrouter.tools", sorted(classes, key=str.lower)),
    ]
    specs = SPEC_CLASSES[event.name]
    out = [
        spec_module(
            f"The hooks of ``{event.name}``, one for each tool, and one for all tools of MCP servers.",
            contract,
            imports,
        )
    ]
    out.append(f'\n__all__ = ["{specs}"]\n\n\nclass {specs}:\n')
    out.append(
        docstring(f"One ``{event.hook}`` hook for each tool. Also a base class: override what the plugin implements.")
    )
    combined = f"{combined_doc(event)} Replies of ``{event.hook}`` come after those of this hook."
    for suffix, tool in contract.tools.items():
        out.append(tool_spec(event, suffix, tool, combined, responds))
    hook = f"{event.hook}_mcp"
    parameters = {
        "event": (event.name, event_article(event)),
        "server": ("str", "The server's part of the name ``mcp__<server>__<tool>``."),
        "tool": ("str", "The tool's part of the name."),
        "tool_input": ("Mapping[str, Any]", "The tool's input as parsed from JSON."),
    }
    if responds:
        what = "What the tool returned, as parsed from JSON; :func:`~hookrouter.tools.mcp_text` is its text."
        parameters["tool_response"] = ("Any", what)
    parameters["context"] = ("Context", CONTEXT_DOC)
    doc = spec_doc(
        f"{sentence(event.entry['when'])} Event ``{event.name}`` of a tool of any MCP server.",
        returns_doc(event),
        combined,
        {name: described for name, (_, described) in parameters.items()},
        example(hook, ", ".join(parameters), EXAMPLES[event.name]),
    )
    out.append(spec(hook, {name: typed for name, (typed, _) in parameters.items()}, event.reply.__name__, doc))
    return "".join(out)


def tool_spec(event: Event, suffix: str, tool: Tool, combined: str, responds: bool) -> str:
    """Return the spec of one event and tool."""
    hook = f"{event.hook}_{suffix}"
    parameters = {
        "event": (event.name, event_article(event)),
        "tool_input": (tool.input, shape_doc("The tool's input", tool, tool.input)),
    }
    if responds:
        described = shape_doc("What the tool returned", tool, tool.output)
        parameters["tool_response"] = (tool.output, described)
    parameters["context"] = ("Context", CONTEXT_DOC)
    doc = spec_doc(
        f"{sentence(event.entry['when'])} Event ``{event.name}`` of the tool ``{tool.name}``.",
        returns_doc(event),
        combined,
        {name: described for name, (_, described) in parameters.items()},
        example(hook, ", ".join(parameters), TOOL_EXAMPLES.get((event.name, tool.name)) or EXAMPLES[event.name]),
    )
    return spec(hook, {name: typed for name, (typed, _) in parameters.items()}, event.reply.__name__, doc)


def generate() -> dict[str, str]:
    """Return path inside the package -> text, for every generated module."""
    contract = read_contract()
    files = {
        "tables.py": write_tables(contract),
        "tool_fields.py": write_tool_fields(
            [tool for tool in contract.tools.values() if tool is not contract.form], contract.version
        ),
        "events.py": write_events(contract),
        "hookspecs/events.py": write_event_specs(contract),
        "tools/__init__.py": write_package(list(contract.tools.items()), contract.version),
    }
    for suffix, tool in contract.tools.items():
        files[f"tools/{suffix}.py"] = write_tool(tool, contract.version)
    for event in contract.events:
        if event.name in TOOL_EVENTS:
            files[f"hookspecs/{event.hook}.py"] = write_tool_specs(contract, event)
    return files


def main(arguments: list[str] | None = None) -> int:
    """Write the modules, or with ``--check`` say which differ; return the exit code."""
    check = (sys.argv[1:] if arguments is None else arguments) == ["--check"]
    files = generate()
    stale = []
    for name, text in files.items():
        path = PACKAGE / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(f"{name} {'is out of date' if check else 'written'}")
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in sorted((PACKAGE / "tools").glob("*.py")):
        if f"tools/{path.name}" not in files:
            stale.append(f"tools/{path.name} {'belongs to no tool' if check else 'removed'}")
            if not check:
                path.unlink()
    sys.stdout.writelines(f"{line}\n" for line in stale)
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
