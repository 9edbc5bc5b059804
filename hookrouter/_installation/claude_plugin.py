"""hookrouter as a plugin of Claude Code: what it registers, and where settings enable it.

Its files, ``claude-plugin/`` in the source tree, register hookrouter for the events and tools that its first-party
plugins listen to, and nothing else: ``hookrouter install`` does that for the plugins that are really installed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from attrs import evolve

from hookrouter._installation.registrations import Registration, registration_sources, registrations
from hookrouter._plugins.discovery import load_index
from hookrouter._plugins.registry import Plugins
from hookrouter.config import Config
from hookrouter.util.program import PROGRAM

if TYPE_CHECKING:
    from hookrouter.context import Services

__all__ = ["enabled_names", "first_party_registrations"]


def first_party_registrations(app: Services) -> list[Registration]:
    """Return what the first-party plugins need under the default configuration, with the plugin's own program.

    Only the plugins that are installed are taken from ``app``, not its configuration.
    """
    config = Config()
    index = [plugin for plugin in load_index(app.home, app.environ) if plugin.distribution == PROGRAM]
    plugins = Plugins(index, config, _say_nothing)
    wanted = registrations(registration_sources(plugins.listing(), config), ["hook"], None)
    words = {want: want.command.rpartition(" ")[2] for want in wanted}
    return [evolve(want, command=f'"${{CLAUDE_PLUGIN_ROOT}}"/hooks/run {word}') for want, word in words.items()]


def _say_nothing(_plugin: str, _problem: str) -> None:
    """Plugins are listed here and never called."""


def enabled_names(text: str) -> list[str]:
    """Return the names under which a settings file enables hookrouter's own plugin of Claude Code, if it does."""
    try:
        enabled = json.loads(text, parse_int=float).get("enabledPlugins")
    except (ValueError, AttributeError, RecursionError):
        return []
    if not isinstance(enabled, dict):
        return []
    return [name for name, value in enabled.items() if name.partition("@")[0] == PROGRAM and value is True]
