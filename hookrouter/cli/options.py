"""Options that several commands have, and how a result is written for a program."""

from __future__ import annotations

import functools
import inspect
import json
from typing import TYPE_CHECKING, Annotated, ParamSpec, TypeVar

import typer

from hookrouter.cli.errors import CommandError
from hookrouter.util.clock import moment

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "DryRun",
    "Json",
    "Machine",
    "Since",
    "earliest",
    "echo_json",
    "on_any_machine",
]

P = ParamSpec("P")
R = TypeVar("R")


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


Machine = Annotated[
    str | None,
    typer.Option(
        "--machine",
        metavar="NAME",
        help="Run on this machine of the fleet ([storage] in config.toml).",
    ),
]


def on_any_machine(command: Callable[P, R]) -> Callable[P, R]:
    """Declare ``--machine`` for a command about sessions, so that its help and completion know it.

    The option is taken out of the command line before (:mod:`hookrouter.cli.fleet.option`), so the command never gets
    it.
    """

    @functools.wraps(command)
    def with_option(*arguments: P.args, **options: P.kwargs) -> R:
        options.pop("machine", None)
        return command(*arguments, **options)

    signature = inspect.signature(command, eval_str=True)
    option = inspect.Parameter("machine", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Machine)
    with_option.__signature__ = signature.replace(  # type: ignore[attr-defined] # what typer reads
        parameters=[*signature.parameters.values(), option]
    )
    with_option.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
    with_option.__annotations__["machine"] = Machine
    return with_option


def earliest(since: str | None) -> float | None:
    """Return what --since means, in seconds since 1970; None if it was not given. Raises CommandError."""
    try:
        return None if since is None else moment(since)
    except ValueError as error:
        raise CommandError(f"--since: {error}") from None


def echo_json(document: object) -> None:
    """Write a result for a program: one JSON document, indented."""
    typer.echo(json.dumps(document, indent=2))
