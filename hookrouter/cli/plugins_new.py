"""``hookrouter plugins new``."""

from __future__ import annotations

from typing import Annotated

import typer

from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.names import printable

__all__ = ["new"]


def new(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The plugin's name, for example git-guard; the package is hookrouter-NAME."
        ),
    ],
    directory: Annotated[
        str, typer.Option("--dir", metavar="D", help="The folder in which the package's own folder is made.")
    ] = ".",
    events: Annotated[
        list[str] | None,
        typer.Option(
            "--event",
            metavar="E",
            help="What the plugin listens to: an event (PreToolUse, stop), or a hook of one tool (post_tool_use_edit). "
            "May be repeated. Default: pre_tool_use_bash, with a guard as the example.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the package of a new plugin: code, settings, types, tests, README, and a CI file that runs them.

    It passes its own tests, ruff, mypy and pyright as it is. Nothing is overwritten: the package's folder must be new,
    or empty.

    \b
    With --json: {"plugin", "distribution", "module", "class", "hooks": [...], "folder", "files": [...]}.

    \b
    Examples:
      hookrouter plugins new git-guard
      hookrouter plugins new diary --event stop --event SessionEnd --dir ~/src

    \b
    Exit codes:
      0  the package was written
      2  the name cannot be used, there is no such event, or the folder cannot be written
    """
    from hookrouter.scaffold import ScaffoldError, plan, write

    try:
        package = plan(name, events or ())
        folder = write(package, directory)
    except ScaffoldError as error:
        raise CommandError(str(error)) from None
    if as_json:
        document = {**package._asdict(), "class": package.class_name, "folder": folder, "files": list(package.files)}
        del document["class_name"]
        echo_json(document)
        return
    typer.echo(f"{package.distribution}: the plugin {package.plugin}, in {printable(folder)}")
    for path in package.files:
        typer.echo(f"  {path}")
    typer.echo("next: python -m venv .venv, then .venv/bin/pip install -e '.[dev]' and .venv/bin/pytest in that folder")
