"""The options that name one of Claude Code's settings files."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer

from hookrouter._installation.settings_edit import SettingsError
from hookrouter._installation.settings_file import settings_path
from hookrouter.cli.errors import CommandError

__all__ = ["Scope", "ScopeOption", "SettingsOption", "chosen_settings"]


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
