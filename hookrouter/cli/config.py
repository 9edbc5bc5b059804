"""``hookrouter config``: check and show."""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated

import typer

from hookrouter._config.validation import Problem
from hookrouter._diagnostics.checks.check import ERROR, Place
from hookrouter._diagnostics.checks.settings import SettingsCheck
from hookrouter._diagnostics.checks.system import working_folder
from hookrouter._diagnostics.configuration import (
    BUILT_IN,
    FROM_FILE,
    PLUGIN,
    ConfigError,
    Located,
    home_source,
    line_of,
    read_lines,
    storage_problems,
)
from hookrouter._diagnostics.configuration import check as examine
from hookrouter._diagnostics.configuration import settings as all_settings
from hookrouter._plugins.files import has_own_plugins
from hookrouter._plugins.project_tree import TreeError
from hookrouter._plugins.project_trust import look_at
from hookrouter._serving.kept_processes import faults
from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._diagnostics.configuration import Setting

__all__ = ["app", "check", "show"]

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Check config.toml; show the values in effect and where each comes from.",
)


@app.command("check")
def check(as_json: Json = False) -> None:
    """Report everything that is wrong with config.toml.

    Looks at keys, values, gateways, the settings of enabled plugins, the secret of the page, and names that nothing
    has. Each line names the place, the key, what was found and what is allowed; every mistake is named in one go. While
    config.toml itself has problems, nothing of it is used but what makes a plugin stricter. Where there are rules, it
    also says whether Claude Code's settings enforce them. Plugins are imported for it; nothing is sent anywhere.

    With --json: ok, file, and problems: level (error or warning), line (null if it is not known), key, message,
    found, allowed, suggestion.

    \b
    Examples:
      hookrouter config check
      hookrouter config check --json | jq -r '.problems[].key'

    \b
    Exit codes:
      0  nothing is wrong, or there are only warnings
      1  there is an error
      2  config.toml is there and cannot be read
    """
    # Plugins are imported for this, and one may print.
    with redirect_stdout(sys.stderr):
        services = Application.from_environ(share=False)
        try:
            found = [*examine(services), *_of_processes(services), *_unheld(services), *_of_project(services)]
        except ConfigError as error:
            raise CommandError(str(error)) from None
    path = services.home.config_file
    errors = any(located.level == "error" for located in found)
    if as_json:
        echo_json({"ok": not errors, "file": path, "problems": [_as_json(located) for located in found]})
    else:
        for located in found:
            place = path if located.line is None else f"{path}:{located.line}"
            typer.echo(printable(f"{place}: {located.level}: {located.problem.line}"))
        if not found:
            typer.echo(f"{path}: nothing is wrong" if os.path.exists(path) else f"no {path}: the defaults hold")
    if errors:
        raise typer.Exit(1)


def _of_processes(services: Application) -> Iterator[Located]:
    """Say what of the file keeps resident processes from their work."""
    if services.config.problems:
        return
    _, lines = read_lines(services.home.config_file)
    for key, text in faults(services):
        if key:
            yield Located("warning", line_of(key, lines), Problem(key, text))


def _unheld(services: Application) -> Iterator[Located]:
    """Say why Claude Code's settings do not have every rule asked."""
    if services.config.problems or not services.config.approvals.rules:
        return
    _, lines = read_lines(services.home.config_file)
    for finding in SettingsCheck().examine(Place(services, None, working_folder())):
        if finding.level == ERROR:
            text = f"not every rule holds: {finding.message}; run: {finding.fix}"
            yield Located("warning", line_of("approvals.rules[0]", lines), Problem("approvals.rules", text))


def _of_project(services: Application) -> Iterator[Located]:
    """Say why the project of this folder cannot be trusted, if it has plugins of its own."""
    folder = working_folder()
    if folder is None or not has_own_plugins(folder):
        return
    try:
        candidate = look_at(os.path.realpath(folder), {plugin.name for plugin in services.plugins.index})
        problems = candidate.problems if candidate is not None else ()
    except TreeError as error:
        problems = (str(error),)
    for problem in problems:
        yield Located("warning", None, Problem("", f"the project {folder} cannot be trusted: {problem}"))


def _as_json(located: Located) -> dict[str, object]:
    problem = located.problem
    return {
        "level": located.level,
        "line": located.line,
        "key": problem.key,
        "message": problem.text,
        "found": problem.found,
        "allowed": problem.allowed,
        "suggestion": problem.suggestion,
    }


@app.command("show")
def show(
    every: Annotated[bool, typer.Option("--all", help="Include defaults, the core's and the plugins'.")] = False,
    as_json: Json = False,
) -> None:
    """Show the values in effect, and where each comes from.

    Each value comes from a line of config.toml, or is a default. Without --all, only what config.toml sets. Secrets are
    not shown: config.toml names where they are. A value under a key like token or password is hidden, and under one
    like token_env what does not look like the name of a variable.

    With --json: file, exists, home (HOOKROUTER_HOME, or platform: what says where the file is), problems, and values:
    key, value, source (config.toml, default, plugin default, last good file), line.

    \b
    Examples:
      hookrouter config show
      hookrouter config show --all
      hookrouter config show --all --json | jq '.values[] | select(.key == "answer.wait")'

    \b
    Exit codes:
      0  shown
      1  shown, and config.toml has problems, so that it, or [storage] in it, does not hold
      2  config.toml is there and cannot be read
    """
    # Plugins are imported for this, and one may print.
    with redirect_stdout(sys.stderr):
        services = Application.from_environ(share=False)
        path = services.home.config_file
        try:
            found = [one for one in all_settings(services) if every or one.source not in (BUILT_IN, PLUGIN)]
        except ConfigError as error:
            raise CommandError(str(error)) from None
        name = os.path.basename(path)
        wrong = services.config.problems or [f"{name}: {problem.line}" for problem in storage_problems(services)]
        problems = [printable(problem) for problem in wrong]
    if as_json:
        echo_json(
            {
                "file": path,
                "exists": os.path.exists(path),
                "home": home_source(services.environ),
                "problems": problems,
                "values": [one._asdict() for one in found],
            }
        )
    else:
        where = home_source(services.environ)
        typer.echo(f"# {printable(path)} ({where}){'' if os.path.exists(path) else ': there is no such file'}")
        for problem in problems:
            typer.echo(f"# not used: {problem}")
        texts = [printable(f"{one.key} = {json.dumps(one.value, ensure_ascii=False)}") for one in found]
        width = min(max(map(len, texts), default=0), 60)
        for one, text in zip(found, texts, strict=True):
            typer.echo(f"{text:<{width}}  # {_origin(one)}")
    if problems:
        raise typer.Exit(1)


def _origin(setting: Setting) -> str:
    return f"{FROM_FILE}:{setting.line}" if setting.line is not None else setting.source
