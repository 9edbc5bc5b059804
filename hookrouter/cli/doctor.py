"""``hookrouter doctor``."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated

import typer

from hookrouter._diagnostics.checks.check import ERROR, OK, WARNING
from hookrouter._diagnostics.checks.system import working_folder
from hookrouter._diagnostics.doctor import examine
from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.cli.settings_options import ScopeOption, SettingsOption, chosen_settings
from hookrouter.cli.terminal import GREEN, RED, YELLOW, Style, Waiting
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter._diagnostics.checks.check import Finding

__all__ = ["doctor", "has_errors", "tell"]

_COLOURS = {OK: GREEN, WARNING: YELLOW, ERROR: RED}


def doctor(
    settings: SettingsOption = None,
    scope: ScopeOption = None,
    client: Annotated[
        str | None,
        typer.Option(
            "--client",
            metavar="PATH",
            help="Try this Claude Code client instead: a scripted form is asked and answered on it, in a terminal and "
            "a home of its own.",
        ),
    ] = None,
    terminal: Annotated[
        str | None,
        typer.Option(
            "--terminal",
            metavar="NAME",
            help="With --client: run it in this terminal, by the name of its backend. Default: tmux.",
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Check the installation: programs, settings, config, agents, gateways, plugins, home, undelivered messages.

    Each finding says how to fix it; nothing is changed. Without --settings and --scope, the file that
    registers hookrouter is looked for. With --client, only that client is checked, and nothing of yours is changed: is
    PreToolUse called, is the dialog read and answered by the configured planner, and does PostToolUse record what was
    meant?

    With --json: {"ok": true|false, "findings": [...]}, each with level (ok, warning, error), check, message and fix.

    \b
    Examples:
      hookrouter doctor
      hookrouter doctor --json | jq -r '.findings[] | select(.level == "error") | .fix'
      hookrouter doctor --client ~/claude-next/bin/claude
      hookrouter doctor --client ~/claude-next/bin/claude --terminal zellij

    \b
    Exit codes:
      0    nothing is wrong, or there are warnings only
      1    there is an error
      2    wrong arguments
      130  stopped by Ctrl-C
    """
    if client is not None:
        if settings is not None or scope is not None:
            raise CommandError("--client checks a client alone; leave out --settings and --scope")
        return _client(client, terminal, as_json=as_json)
    if terminal is not None:
        raise CommandError("--terminal is for a trial of a client; name one with --client")
    path = chosen_settings(settings, scope)
    # Plugins are imported for this, and one may print.
    with redirect_stdout(sys.stderr), Waiting("hookrouter doctor: checking") as waiting:
        findings = examine(
            Application.from_environ(scan=True, share=False, project=working_folder()),
            path,
            tell=lambda check: waiting.now(f"hookrouter doctor: checking {check}"),
        )
    if as_json:
        echo_json({"ok": not has_errors(findings), "findings": [finding._asdict() for finding in findings]})
    else:
        tell(findings)
    return 1 if has_errors(findings) else 0


def _client(program: str, terminal: str | None, *, as_json: bool) -> int:
    from hookrouter._diagnostics.client_check import TMUX, try_client
    from hookrouter._sandbox.processes import ending_on_signals

    try:
        with ending_on_signals(), Waiting(f"hookrouter doctor: trying {printable(program)}"):
            report = try_client(program, Application.from_environ(share=False), terminal or TMUX)
    except KeyboardInterrupt:
        typer.echo("hookrouter doctor: stopped; nothing was left behind", err=True)
        return 130
    errors = has_errors(report.findings)
    if as_json:
        findings = [finding._asdict() for finding in report.findings]
        echo_json({"ok": not errors, "findings": findings, "screen": report.screen})
        return 1 if errors else 0
    tell(report.findings)
    if report.screen:
        typer.echo("\nThe client's screen at the end:")
        for row in report.screen.rstrip().split("\n"):
            typer.echo(f"| {printable(row)}")
    return 1 if errors else 0


def has_errors(findings: Sequence[Finding]) -> bool:
    """Whether one of the findings is an error."""
    return any(finding.level == ERROR for finding in findings)


def tell(findings: Sequence[Finding]) -> None:
    """Write findings for a person, with what mends them."""
    style = Style(sys.stdout, os.environ)
    for finding in findings:
        level = style(f"{finding.level:<8}", _COLOURS[finding.level])
        typer.echo(f"{level}{finding.check}: {printable(finding.message)}")
        if finding.fix:
            typer.echo(f"        fix: {printable(finding.fix)}")
