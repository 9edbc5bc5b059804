"""Options that several commands have, and how a result is written for a program."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from hookrouter.cli.errors import CommandError
from hookrouter.util.clock import moment

__all__ = [
    "DryRun",
    "Json",
    "Since",
    "earliest",
    "echo_json",
]

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the change as a diff and make none.")]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="WHEN",
        help="Only since then: 45s, 30m, 2h, 3d, 1w, or an ISO 8601 date or time (local unless it says otherwise).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write one JSON document for programs.")]


def earliest(since: str | None) -> float | None:
    """Return what --since means, in seconds since 1970; None if it was not given. Raises CommandError."""
    try:
        return None if since is None else moment(since)
    except ValueError as error:
        raise CommandError(f"--since: {error}") from None


def echo_json(document: object) -> None:
    """Write a result for a program: one JSON document, indented."""
    typer.echo(json.dumps(document, indent=2))
