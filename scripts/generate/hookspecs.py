"""Writes the hookspecs: those of the events in full, those of the tools in short."""

from __future__ import annotations

import inspect
from textwrap import fill, indent
from typing import TYPE_CHECKING

from hookrouter._contract.document import TOOL_EVENTS
from hookrouter.replies import Reply, expected_reply
from scripts.generate.python_text import KEEP, WIDTH, docstring, from_import, header, lowered, sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scripts.generate.reading import Contract, Event

__all__ = [
    "TOOL_EXAMPLES",
    "combined_doc",
    "event_example",
    "example",
    "mcp_parameters",
    "returns_items",
    "tool_parameters",
    "write_event_specs",
    "write_tool_specs",
]

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


def returns_items(event: Event) -> list[tuple[list[str], str]]:
    """Return what a hook may return, and what each means."""
    own, shared = constructors(event)
    name = event.reply.__name__
    items = [(["None"], "No opinion.")]
    for one, said in own.items():
        effect = (
            f" Works as exit code 2: {lowered(event.entry['exit2'])}." if said.startswith("Block, and say why") else ""
        )
        items.append(([f"{name}.{one}"], f"{said}{effect}"))
    if shared:
        said = ", ".join(f"``{one}`` {SHARED[one]}" for one in shared)
        items.append(([f"{name}.{one}" for one in shared], f"Decide nothing; {said}."))
    return items


def returns_doc(event: Event) -> str:
    """Return the part that says what results mean."""
    items = (f"{', '.join(names)}: {said}" for names, said in returns_items(event))
    lines = (fill(item, WIDTH - 12, initial_indent="    ", subsequent_indent=" " * 8, **KEEP) for item in items)
    return "Returns:\n" + "\n".join(lines)


def combined_doc(event: Event) -> str:
    """Return the part that says how the results of several plugins combine."""
    own, _shared = constructors(event)
    verdicts = [one for one in GRAVEST_FIRST if one in own]
    parts = []
    if len(verdicts) > 1:
        parts.append(
            f"The strictest wins, from any plugin: {', '.join(verdicts)}; the reasons of all who said it are joined."
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


def event_example(event: Event) -> str:
    """Return the last part of the docstring of an event's hook."""
    return example(event.hook, "event, context", EVENT_EXAMPLES.get(event.name) or note_example(event))


def note_example(event: Event) -> list[str]:
    """Return a body that keeps something of the payload in the journal."""
    kept = next((field for field in event.fields if field.kind.record is None), None)
    name = kept.attribute if kept is not None else "cwd"
    return [f'context.note("{name}", event.{name})', "return None"]


def example(hook: str, parameters: str, body: list[str]) -> str:
    """Return the last part of a docstring."""
    lines = ["@hookimpl", f"def {hook}({parameters}):", *(f"    {line}" for line in body)]
    return "Example::\n\n" + indent("\n".join(lines), "    ")


def spec_doc(when: str, returns: str, combined: str, code: str, parameters: Mapping[str, str] | None = None) -> str:
    """Return the docstring of a spec; ``parameters`` are those that the class does not describe."""
    parts = [docstring(f"When: {when}\n\n{returns}\n\nCombined: {combined}", " " * 8)[: -len('\n        """\n')]]
    if parameters is not None:
        described = (
            fill(f"{name}: {text}", WIDTH - 12, initial_indent="    ", subsequent_indent=" " * 8, **KEEP)
            for name, text in parameters.items()
        )
        parts.append(indent("\n".join(["Args:", *described]), " " * 8))
    return "\n\n".join([*parts, indent(code, " " * 8)]) + '\n        """\n'


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


def spec_module(doc: str, imports: list[str]) -> str:
    """Return the head of a spec module."""
    return (
        header(doc)
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
    out = [spec_module("The hooks of the events, and the hook of every payload.", imports)]
    out.append('\n__all__ = ["EventSpecs"]\n\n\nclass EventSpecs:\n')
    out.append(
        docstring(
            "One hook for each event. Also a base class: override what the plugin implements.\n\n"
            "``event`` is the payload, as an object of the event's class; ``context`` is the run: config, store, "
            "journal and outbox."
        )
    )
    for event in contract.events:
        when = f"{sentence(event.entry['when'])} Event ``{event.name}``."
        if event.name in TOOL_EVENTS:
            when += f" Called after the hook of the tool, ``{event.hook}_<tool>``."
        doc = spec_doc(when, returns_doc(event), combined_doc(event), event_example(event))
        out.append(spec(event.hook, {"event": event.name, "context": "Context"}, event.reply.__name__, doc))
    doc = spec_doc(
        "After all other hooks, for every well-formed payload, also of events that this version does not know. Of all "
        "events it gets WorktreeCreate alone only if a plugin implements ``worktree_create``: a hook of it takes the "
        "place of what Claude Code does itself, so nobody who only watches is registered there.",
        "Returns:\n    None: No opinion.\n"
        "    The reply of the event's own hook, such as StopReply for ``Stop``: As there.\n"
        "    Reply: For an event that this version does not know.",
        "Like the replies of the event's own hook, after them.",
        example(
            "raw_event", "event_name, payload, context", ['context.note("fields", sorted(payload))', "return None"]
        ),
        {
            "event_name": "The event's name, such as ``PreToolUse``.",
            "payload": "The payload as parsed from JSON, with all its fields.",
            "context": "The run: config, store, journal and outbox.",
        },
    )
    parameters = {"event_name": "str", "payload": "Mapping[str, Any]", "context": "Context"}
    out.append(spec("raw_event", parameters, "Reply", doc))
    return "".join(out)


TOOL_EXAMPLES = {
    ("PreToolUse", "Bash"): [
        "reading = tool_input.commands()",
        'if not reading.certain or any(one.may_match("git push --force*") for one in reading.commands):',
        '    return PreToolUseReply.deny("Force pushes are made by people.")',
        "return None",
    ],
    ("PreToolUse", "Write"): [
        "paths = tool_input.writes(context.cwd)",
        'if paths is None or any(path.endswith(".lock") for path in paths):',
        '    return PreToolUseReply.ask("This file is written by a program.")',
        "return None",
    ],
    ("PreToolUse", "WebFetch"): [
        'url = tool_input.url or ""',
        'if url.startswith("http:"):',
        '    return PreToolUseReply.update_input(tool_input.changed(url=f"https:{url[5:]}"))',
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
    responds = responds_to(event)
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
            f"The hooks of ``{event.name}``, one for each tool.",
            imports,
        ),
        f'\n__all__ = ["{specs}"]\n\n\nclass {specs}:\n',
        docstring(
            f"One ``{event.hook}`` hook for each tool, and one for all tools of MCP servers. Also a base class: "
            "override what the plugin implements.\n\n"
            f"What they return, and how the replies of several plugins are merged: as :meth:`EventSpecs.{event.hook} "
            f"<hookrouter.hookspecs.events.EventSpecs.{event.hook}>`, whose replies come after theirs."
        ),
    ]
    for suffix, tool in contract.tools.items():
        parameters = tool_parameters(event, tool.input, tool.output)
        out.append(short_spec(f"{event.hook}_{suffix}", parameters, event, f"``{tool.name}``"))
    out.append(short_spec(f"{event.hook}_mcp", mcp_parameters(event), event, "a tool of any MCP server"))
    return "".join(out)


def responds_to(event: Event) -> bool:
    """Say whether the tool has returned when the event comes."""
    return any(field.wire == "tool_response" for field in event.fields)


def tool_parameters(event: Event, taken: str, given: str) -> dict[str, str]:
    """Return name -> type of the arguments of a tool's hook."""
    response = {"tool_response": given} if responds_to(event) else {}
    return {"event": event.name, "tool_input": taken, **response, "context": "Context"}


def mcp_parameters(event: Event) -> dict[str, str]:
    """Return name -> type of the arguments of the hook for tools of MCP servers."""
    event_type, *rest = tool_parameters(event, "Mapping[str, Any]", "Any").items()
    return dict([event_type, ("server", "str"), ("tool", "str"), *rest])


def short_spec(hook: str, parameters: dict[str, str], event: Event, tool: str) -> str:
    """Return the spec of a tool's hook; what all hooks of the event share is said once, at the event's own."""
    doc = docstring(f"``{event.name}`` of {tool}. Returns, merging: see ``EventSpecs.{event.hook}``.", " " * 8)
    return spec(hook, parameters, event.reply.__name__, doc)
