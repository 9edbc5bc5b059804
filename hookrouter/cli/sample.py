"""``hookrouter sample``."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from hookrouter.cli.completion import event_words
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.samples import find

__all__ = ["sample"]


def sample(
    event: Annotated[
        str,
        typer.Argument(metavar="EVENT", help="The event: PreToolUse, or pre-tool-use.", autocompletion=event_words),
    ],
    tool: Annotated[
        str | None,
        typer.Argument(
            metavar="[TOOL]",
            help="The tool of an event about a tool call (default: Bash), or mcp__<server>__<tool>; for other events "
            "a value of what their matchers look at, for example compact for SessionStart.",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change a field; a dot leads into it. The value is JSON, or else a text. May be repeated.",
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Print a payload of an event as Claude Code sends it, to try plugins with.

    If a client's payload of this event and tool was recorded, it is that one; else it is built from the contract,
    which is said on stderr. In tests, hookrouter.testing.sample() returns the same.

    \b
    With --json: {"payload": {...}, "recorded": true|false, "origin": "where it comes from"}.

    \b
    Examples:
      hookrouter sample PreToolUse Bash | hookrouter run pre-tool-use
      hookrouter sample PreToolUse Bash --set tool_input.command='rm -rf /' | hookrouter explain PreToolUse --payload -
      hookrouter sample SessionStart compact

    Exit codes: 0 printed; 2 there is no such event, tool or field.
    """
    try:
        found = find(event, tool)
    except ValueError as error:
        raise CommandError(str(error)) from None
    for change in changes or ():
        _change(found.payload, change)
    if as_json:
        echo_json({**found._asdict(), "recorded": found.recorded and not changes})
        return 0
    if not found.recorded:
        typer.echo(f"hookrouter sample: {found.origin}", err=True)
    echo_json(found.payload)
    return 0


def _change(payload: dict[str, Any], change: str) -> None:
    path, found, text = change.partition("=")
    *tables, key = path.split(".")
    if not found or not key:
        raise CommandError(f"--set {change!r}: allowed is KEY=VALUE, for example tool_input.command=ls")
    place: Any = payload
    for table in tables:
        place = place.get(table) if isinstance(place, dict) else None
        if not isinstance(place, dict):
            raise CommandError(f"--set {change!r}: the payload has no table {table!r}")
    try:
        place[key] = json.loads(text)
    except ValueError:
        place[key] = text
