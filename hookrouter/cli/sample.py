"""``hookrouter sample``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookrouter.cli.completion import event_words, plain
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.samples import find
from hookrouter.util.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["sample"]


def _tool_words(ctx: typer.Context) -> list[str]:
    """Return what may follow the event that stands on the command line."""
    from hookrouter._contract.document import contract
    from hookrouter._contract.hook_names import event_facts
    from hookrouter._contract.tables import TOOLS

    record = event_facts(str(ctx.params.get("event") or ""))
    if record is None:
        return []
    return plain(TOOLS if record.is_tool else contract()["events"][record.name]["matcher_values"])


def _list_words(ctx: typer.Context) -> list[str]:
    """Return the lists of the payload that stands on the command line."""
    event, tool = ctx.params.get("event"), ctx.params.get("tool")
    if not event:
        # An option without its value, as on a line that is being completed, leaves the words before it unread.
        event, tool, *_ = [*ctx.args, "", ""]
    try:
        found = find(str(event), tool or None)
    except ValueError:
        return []
    return plain(_lists(found.payload))


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
            autocompletion=_tool_words,
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change a field; a dot leads into it, a number to an item of a list. The value is JSON, or else a "
            "text. May be repeated.",
        ),
    ] = None,
    first: Annotated[
        list[str] | None,
        typer.Option(
            "--first",
            metavar="KEY",
            help="Keep the first item of a list alone: tool_input.questions makes a form of one question. May be "
            "repeated; comes before --set.",
            autocompletion=_list_words,
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Print a payload of an event as Claude Code sends it, to try plugins with.

    If a client's payload of this event and tool was recorded, it is that one; else it is built from the contract,
    which stderr says. In tests, hookrouter.testing.sample() returns the same.

    \b
    With --json: {"payload": {...}, "recorded": true|false, "origin": "where it comes from"}.

    \b
    Examples:
      hookrouter sample PreToolUse Bash | hookrouter run pre-tool-use
      hookrouter sample PreToolUse Bash --set tool_input.command='rm -rf /' | hookrouter explain PreToolUse --payload -
      hookrouter sample SessionStart compact
      hookrouter sample PreToolUse AskUserQuestion --first tool_input.questions

    Exit codes: 0 printed; 2 there is no such event, tool, field or list.
    """
    try:
        found = find(event, tool)
    except ValueError as error:
        raise CommandError(str(error)) from None
    for path in first or ():
        _keep_first(found.payload, path)
    for change in changes or ():
        _change(found.payload, change)
    if as_json:
        echo_json({**found._asdict(), "recorded": found.recorded and not changes and not first})
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
        place = _item(place, table)
        if not isinstance(place, (dict, list)):
            hint = did_you_mean(".".join(tables), sorted(_tables(payload)))
            raise CommandError(f"--set {change!r}: the payload has no table {table!r}{hint and f'; {hint}'}")
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if isinstance(place, dict):
        place[key] = value
    elif _item(place, key) is not None:
        place[int(key)] = value
    else:
        raise CommandError(f"--set {change!r}: {'.'.join(tables)} is a list of {len(place)}, with no item {key!r}")


def _keep_first(payload: dict[str, Any], path: str) -> None:
    place: Any = payload
    for key in path.split("."):
        place = _item(place, key)
    if not isinstance(place, list) or not place:
        known = sorted(_lists(payload))
        hint = did_you_mean(path, known, f"its lists are: {', '.join(known) or 'none'}")
        raise CommandError(f"--first {path!r}: the payload has no list of this name with an item in it; {hint}")
    del place[1:]


def _item(place: Any, key: str) -> Any:
    """Return what stands under a key of a table, or at a number of a list; None if nothing does."""
    if isinstance(place, dict):
        return place.get(key)
    if isinstance(place, list) and key.isascii() and key.isdigit() and int(key) < len(place):
        return place[int(key)]
    return None


def _lists(value: object, path: str = "") -> Iterator[str]:
    """Return the paths of the lists with an item, as ``--first`` takes them."""
    if isinstance(value, list) and value:
        yield path
    for key, inner in _inner(value):
        yield from _lists(inner, f"{path}.{key}" if path else key)


def _tables(value: object, path: str = "") -> Iterator[str]:
    """Return the paths of what ``--set`` may lead into."""
    if path and isinstance(value, (dict, list)):
        yield path
    for key, inner in _inner(value):
        yield from _tables(inner, f"{path}.{key}" if path else key)


def _inner(value: object) -> list[tuple[str, object]]:
    if isinstance(value, dict):
        return [(str(key), inner) for key, inner in value.items()]
    return [(str(at), inner) for at, inner in enumerate(value)] if isinstance(value, list) else []
