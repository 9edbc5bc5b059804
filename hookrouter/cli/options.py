"""What several commands share: how a settings file is named, and how results are written."""

from __future__ import annotations

import functools
import inspect
import json
import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ParamSpec, TypeVar

import typer

from hookrouter._installation.settings_edit import SettingsError
from hookrouter._installation.settings_file import settings_path
from hookrouter.cli.errors import CommandError
from hookrouter.util.clock import moment

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "DryRun",
    "Json",
    "Machine",
    "Scope",
    "ScopeOption",
    "SettingsOption",
    "Since",
    "chosen_settings",
    "earliest",
    "echo_json",
    "on_any_machine",
]

P = ParamSpec("P")
R = TypeVar("R")


class Scope(StrEnum):
    """Which of Claude Code's settings files."""

    USER = "user"
    PROJECT = "project"
    LOCAL = "local"


SettingsOption = Annotated[
    str | None, typer.Option("--settings", metavar="FILE", help="The settings file itself, instead of a scope.")
]
ScopeOption = Annotated[
    Scope | None,
    typer.Option(
        "--scope",
        help="user: ~/.claude/settings.json (or below $CLAUDE_CONFIG_DIR); project: .claude/settings.json here; "
        "local: .claude/settings.local.json here. Default: user.",
    ),
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


def chosen_settings(settings: str | None, scope: Scope | None) -> str | None:
    """Return the absolute path that the options name; None if neither was given. Raises CommandError if both
    were, and for an empty name.

    Only a path that depends on the working folder needs one.
    """
    if settings is not None and scope is not None:
        raise CommandError("--settings and --scope name two files; give one of them")
    if settings == "":
        raise CommandError("--settings is empty; name a file, or leave it out for the user's settings")
    try:
        if settings is not None:
            return os.path.abspath(os.path.expanduser(settings))
        if scope is None:
            return None
        return settings_path(scope.value, os.environ, "" if scope is Scope.USER else os.getcwd())
    except SettingsError as error:
        raise CommandError(str(error)) from None
    except FileNotFoundError:
        raise CommandError("the working folder does not exist any more; change to one that does") from None


def earliest(since: str | None) -> float | None:
    """Return what --since means, in seconds since 1970; None if it was not given. Raises CommandError."""
    try:
        return None if since is None else moment(since)
    except ValueError as error:
        raise CommandError(f"--since: {error}") from None


def echo_json(document: object) -> None:
    """Write a result for a program: one JSON document, indented."""
    typer.echo(json.dumps(document, indent=2))
