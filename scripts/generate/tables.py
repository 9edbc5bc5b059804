"""Writes the tables that every hook run reads."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from hookrouter._contract.document import TOOL_EVENTS
from scripts.generate.python_text import KEEP, WIDTH, literal, long_header, table
from scripts.generate.reading import CHECKED_TOOL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scripts.generate.python_text import Field
    from scripts.generate.reading import Contract, Event

__all__ = ["write_tables"]

DEFAULT_TIMEOUT = 600
"""Seconds; the default of ``EventFacts.timeout``."""


def field_words(fields: Iterable[Field]) -> str:
    """Return fields as words that are quickly split: ``wire:kind``, ``wire?:kind`` if it is optional.

    The kind of a nested object is its class's name.
    """
    return " ".join(
        f"{field.wire}{'' if field.required else '?'}:"
        f"{field.kind.record if field.kind.name == 'record' else field.kind.name}"
        for field in fields
    )


def plain_objects(contract: Contract) -> dict[str, list[Field]]:
    """Return the objects that stand in payloads as they are, not in arrays."""
    fields = [*contract.common, *(field for event in contract.events for field in event.fields)]
    used = {field.kind.record for field in fields if field.kind.name == "record"}
    return {name: fields for name, fields in contract.nested.items() if name in used}


def string_lines(text: str) -> list[str]:
    """Return a text of words as string literals in lines of their own, to be joined by the compiler."""
    return [literal(line) for line in wrap(text, WIDTH - 15, drop_whitespace=False, **KEEP)]


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
            ("fields", field_words(event.fields), ""),
        )
        if value != default
    ]
    start = f'"{event.kebab}": EventFacts('
    inside = ", ".join(arguments)
    if len(f"    {start}{inside}),") <= WIDTH:
        return f"{start}{inside}),"
    if len(f"        {inside}") <= WIDTH:
        return f"{start}\n    {inside}\n),"
    lines: list[str] = []
    for argument in arguments:
        if len(f"        {argument},") <= WIDTH:
            lines.append(f"    {argument},")
        else:
            name, _, text = argument.partition("=")
            lines += [f"    {name}=(", *(f"        {line}" for line in string_lines(text.strip('"'))), "    ),"]
    return "\n".join([start, *lines, "),"])


FIELD_WORDS = """\
The fields of every payload as words: ``wire:kind``, or ``wire?:kind`` if it may be missing. The kind of an object
whose fields are known is its name in OBJECT_FIELDS."""

EVENT_RECORD = '''
__all__ = [
    "CHECKED_TOOLS",
    "CLAUDE_CODE_VERSION",
    "COMMON_FIELDS",
    "EVENTS",
    "EVENT_NAMES",
    "OBJECT_FIELDS",
    "TOOLS",
    "TOOL_ALIASES",
    "EventFacts",
]


class EventFacts:
    """What the router must know of one event."""

    __slots__ = ("can_block", "discarded", "fields", "hook", "is_tool", "matcher", "name", "timeout")

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
        fields: str = "",
    ) -> None:
        """Describe the event ``name``, whose hookspec is ``hook``.

        ``is_tool``: it is about one tool call. ``can_block``: exit 2 or a block stops something. ``matcher``: the
        payload field that matchers look at. ``timeout``: the seconds that Claude Code gives a command hook by default.
        ``discarded``: the fields of a reply that Claude Code ignores on this event, by their wire names. ``fields``:
        those of its payload beside COMMON_FIELDS, in the form of these.
        """
        self.name = name
        self.hook = hook
        self.is_tool = is_tool
        self.can_block = can_block
        self.matcher = matcher
        self.timeout = timeout
        self.discarded = discarded
        self.fields = fields


'''


def write_tables(contract: Contract) -> str:
    """Return tables.py."""
    return "".join(
        [
            long_header(
                "What the contract says, as plain tables for the way of ``hookrouter run``.",
                contract.version,
                "This module imports nothing: it is read on every hook run.",
            ).rstrip("\n")
            + "\n",
            EVENT_RECORD,
            f'CLAUDE_CODE_VERSION = "{contract.version}"\n',
            '"""The version of Claude Code that the tables describe."""\n\n',
            "COMMON_FIELDS = (\n",
            *(f"    {line}\n" for line in string_lines(field_words(contract.common))),
            f')\n"""{FIELD_WORDS}"""\n\n',
            table(
                "OBJECT_FIELDS",
                "str, str",
                [f'"{name}": {literal(field_words(fields))},' for name, fields in plain_objects(contract).items()],
                "The objects in payloads -> their fields, in the form of COMMON_FIELDS.",
            ),
            table(
                "EVENTS",
                "str, EventFacts",
                [event_item(event) for event in contract.events],
                "Event name on the command line -> its record.",
            ),
            "EVENT_NAMES: dict[str, str] = {record.name: kebab for kebab, record in EVENTS.items()}\n",
            '"""Claude Code\'s event name -> its name on the command line."""\n\n',
            table(
                "TOOLS",
                "str, str",
                [f'"{tool.name}": "{suffix}",' for suffix, tool in contract.tools.items()],
                "Tool name -> the end of its hooks' names, and the module of its classes.",
            ),
            table(
                "TOOL_ALIASES",
                "str, str",
                [f'"{old}": "{new}",' for old, new in contract.aliases.items()],
                "Former tool name -> today's.",
            ),
            f'CHECKED_TOOLS = ("{CHECKED_TOOL}",)\n',
            '"""The tools whose input must fit the contract before any hook is called."""\n',
        ]
    )
