"""``hookrouter plugins new``."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.util.text import printable

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
            help="What the plugin listens to: an event (PreToolUse, stop), or a hook of one tool (post_tool_use_edit); "
            "may be repeated. Or the part that it provides: gateway, terminal_backend, keystroke_planner, "
            "answer_channel, dialog_kinds, prompt_channel, storage_engine, cli_commands, statistics_section, "
            "web_pages, resident_process. Default: pre_tool_use_bash, with a guard.",
        ),
    ] = None,
    fail_closed: Annotated[
        bool,
        typer.Option(
            "--fail-closed",
            help="Make the hook before a tool, such as pre_tool_use_write, a guard: it refuses what it cannot read, "
            "and its tests and README set it to fail closed.",
        ),
    ] = False,
    http: Annotated[
        bool,
        typer.Option(
            "--http",
            help="With --event gateway: one that posts messages over HTTP, with a token, and whose tests run against a "
            "server that also answers as no service should.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Write the package of a new plugin: code, settings, types, tests, README, and a CI file that runs them.

    It passes its own tests, ruff, mypy and pyright as it is. Nothing is overwritten: the package's folder must be new,
    or empty.

    \b
    With --json: {"plugin", "distribution", "module", "class", "hooks": [...], "folder", "files": [...],
    "work": [...]}; "work" are the commands to begin with, in the folder.

    \b
    Examples:
      hookrouter plugins new git-guard
      hookrouter plugins new diary --event stop --event SessionEnd --dir ~/src
      hookrouter plugins new path-guard --event pre_tool_use_write --fail-closed
      hookrouter plugins new pager --event gateway
      hookrouter plugins new my-chat --event gateway --http

    \b
    Exit codes:
      0  the package was written
      2  the name cannot be used, there is no such event or part, or the folder cannot be written
    """
    from hookrouter.cli.scaffold.errors import ScaffoldError
    from hookrouter.cli.scaffold.package import plan, write

    try:
        package = plan(name, events or (), fail_closed=fail_closed, http=http)
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
    typer.echo("next, in the environment in which hookrouter is:")
    for command in (f"cd {shlex.quote(folder)}", *package.work):
        typer.echo(f"  {printable(command)}")
