"""``hookrouter contract diff``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import attrs
import typer

from hookrouter._contract.compare import ContractError, compare, read_contract_file
from hookrouter._contract.document import CONTRACT_FILE
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from hookrouter._contract.compare import Contract, Difference

__all__ = ["app", "diff"]

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Compare the hook contract of this hookrouter with that of another Claude Code.",
)

_SIGNS = {"added": "+", "removed": "-", "changed": "~"}

_HEADINGS = {"event": "events", "tool": "tools", "alias": "former names of tools"}


@app.callback()
def contract() -> None:
    """Compare the hook contract of this hookrouter with that of another Claude Code."""


@app.command("diff")
def diff(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="The contract of the other client version: a file as hookrouter/_contract/claude-code-VERSION.json.",
        ),
    ],
    as_json: Json = False,
) -> int:
    """Show what a new version of Claude Code changes for plugins.

    Compared are the events, the tools, their fields and the values that these may have. Each difference comes with what
    it means: new hooks and hooks that are not called any more, fields that may be missing from now on or never
    are, values to expect.

    \b
    With --json: {"from": VERSION, "to": VERSION, "differences": [{"kind": "event|tool|field|value|alias",
    "change": "added|removed|changed", "where": ..., "before": ..., "after": ..., "effect": ...}]}.

    \b
    Examples:
      hookrouter contract diff claude-code-2.1.340.json
      hookrouter contract diff claude-code-2.1.340.json --json | jq -r '.differences[] | .where + ": " + .effect'

    \b
    Exit codes:
      0  no difference
      1  there are differences
      2  the file cannot be read, or is not a contract
    """
    old = read_contract_file(CONTRACT_FILE)
    try:
        new = read_contract_file(file)
        differences = compare(old, new)
    except ContractError as error:
        raise CommandError(f"{file}: {error}") from None
    except RecursionError:
        raise CommandError(f"{file}: nested too deeply") from None
    if as_json:
        found = [attrs.asdict(difference) for difference in differences]
        echo_json({"from": old.version, "to": new.version, "differences": found})
    else:
        _tell(old, new, differences)
    return 1 if differences else 0


def _tell(old: Contract, new: Contract, differences: list[Difference]) -> None:
    typer.echo(printable(f"Claude Code {old.version} -> {new.version}"))
    heading = None
    for difference in differences:
        # Fields and values stand with the event or the tool that they belong to.
        above = _HEADINGS.get(difference.kind) or _HEADINGS[_owner(difference, old, new)]
        if above != heading:
            typer.echo(f"\n{above}")
            heading = above
        typer.echo(printable(f"  {_SIGNS[difference.change]} {difference.where}{_values(difference)}"))
        typer.echo(printable(f"      {difference.effect}"))
    number = len(differences)
    typer.echo("no difference" if not number else f"\n{number} difference{'s' if number > 1 else ''}")


def _owner(difference: Difference, old: Contract, new: Contract) -> str:
    name = difference.where.partition(".")[0]
    return "event" if name in old.events or name in new.events else "tool"


def _values(difference: Difference) -> str:
    if difference.before is not None and difference.after is not None:
        return f": {difference.before} -> {difference.after}"
    said = difference.after if difference.before is None else difference.before
    return "" if said is None else f": {said}"
