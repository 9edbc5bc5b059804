"""``hookrouter doctor``."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

import typer

from hookrouter.application import Application
from hookrouter.cli.options import Json, ScopeOption, SettingsOption, chosen_settings, echo_json
from hookrouter.doctor import ERROR, examine
from hookrouter.names import printable

__all__ = ["doctor"]


def doctor(settings: SettingsOption = None, scope: ScopeOption = None, as_json: Json = False) -> int:
    """Check the installation: programs, settings, config, agents, gateways, plugins, home, undelivered messages.

    Each finding says how to mend it. The exit code is 1 where there is an error, 0 with warnings only. Nothing is
    mended by itself. Without --settings and --scope, the file that registers hookrouter is looked for.
    """
    path = chosen_settings(settings, scope)
    # Plugins are imported for this, and one may print.
    with redirect_stdout(sys.stderr):
        findings = examine(Application.from_environ(), path)
    errors = sum(finding.level == ERROR for finding in findings)
    if as_json:
        echo_json({"ok": not errors, "findings": [finding._asdict() for finding in findings]})
    else:
        for finding in findings:
            typer.echo(f"{finding.level:<8}{finding.check}: {printable(finding.message)}")
            if finding.fix:
                typer.echo(f"        fix: {printable(finding.fix)}")
    return 1 if errors else 0
