"""Checks an installation of hookrouter, and says for each finding what mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._diagnostics.checks.agents import AgentsCheck
from hookrouter._diagnostics.checks.answering import AnsweringCheck
from hookrouter._diagnostics.checks.check import ERROR, Finding, Place
from hookrouter._diagnostics.checks.client import ClientCheck
from hookrouter._diagnostics.checks.config import ConfigCheck
from hookrouter._diagnostics.checks.gateways import GatewaysCheck
from hookrouter._diagnostics.checks.home import HomeCheck
from hookrouter._diagnostics.checks.http_hooks import HttpHooksCheck
from hookrouter._diagnostics.checks.mod import ModCheck
from hookrouter._diagnostics.checks.outbox import OutboxCheck
from hookrouter._diagnostics.checks.pauses import PausesCheck
from hookrouter._diagnostics.checks.plugins import PluginsCheck
from hookrouter._diagnostics.checks.projects import ProjectsCheck
from hookrouter._diagnostics.checks.router import RouterCheck
from hookrouter._diagnostics.checks.settings import SettingsCheck
from hookrouter._diagnostics.checks.slow_plugins import SlowPluginsCheck
from hookrouter._diagnostics.checks.speed import SpeedCheck
from hookrouter._diagnostics.checks.storage import StorageCheck
from hookrouter._diagnostics.checks.system import working_folder
from hookrouter._diagnostics.checks.terminal import TerminalCheck
from hookrouter.storage.interface import StoreError
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter._diagnostics.checks.check import Check
    from hookrouter.context import Services

__all__ = ["CHECKS", "examine"]

CHECKS: tuple[Check, ...] = (
    TerminalCheck(),
    ClientCheck(),
    SettingsCheck(),
    HttpHooksCheck(),
    ModCheck(),
    ConfigCheck(),
    AgentsCheck(),
    AnsweringCheck(),
    GatewaysCheck(),
    PluginsCheck(),
    ProjectsCheck(),
    HomeCheck(),
    StorageCheck(),
    PausesCheck(),
    OutboxCheck(),
    RouterCheck(),
    SpeedCheck(),
    SlowPluginsCheck(),
)
"""In the order in which they run and are told."""


def examine(
    app: Services,
    settings_file: str | None = None,
    folder: str | None = None,
    *,
    tell: Callable[[str], None] | None = None,
) -> list[Finding]:
    """Run every check and return the findings, in a fixed order of checks.

    ``settings_file`` is the settings file that should register hookrouter; None for whichever of the user's, the
    project's and the local one of ``folder`` (the current one by default) does. ``tell`` is called with the name of
    each check as it begins. Starts the terminal's program and Claude Code to ask for their versions. Mends nothing; as
    anywhere, an unreadable document that it comes across is set aside.
    """
    place = Place(app, settings_file, working_folder() if folder is None else folder)
    findings: list[Finding] = []
    for check in CHECKS:
        if tell is not None:
            tell(check.name)
        try:
            findings.extend(check.examine(place))
        except StoreError as error:
            findings.append(Finding(ERROR, check.name, str(error), "fix that, and run doctor again"))
        except Exception as error:  # noqa: BLE001 - a check that fails is a finding, and the others still count
            fault = f"the check failed: {describe_error(error)}"
            findings.append(Finding(ERROR, check.name, fault, "report this as a bug of hookrouter"))
    return findings
