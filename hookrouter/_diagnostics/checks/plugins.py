"""Do the plugins run?"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from hookrouter._commands import cli_commands, contributed
from hookrouter._diagnostics.checks.check import ERROR, OK, WARNING, Finding
from hookrouter._isolation import circuit_breaker
from hookrouter._plugins.files import misnamed
from hookrouter._plugins.registry import ALONE, PluginStatus, remedy
from hookrouter.config import GUARDS_ALONE
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from hookrouter._diagnostics.checks.check import Place
    from hookrouter._isolation.circuit_breaker import Health
    from hookrouter._plugins.registry import PluginInfo
    from hookrouter.config import Config


__all__ = ["PluginsCheck"]


class PluginsCheck:
    """The installed plugins, their settings and their commands."""

    name = "plugins"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found."""
        app = place.app
        listing = app.plugins.listing()
        for info in listing:
            closed = app.config.plugin(info.name).on_error == "closed"
            if info.status == PluginStatus.BROKEN:
                refuses = "; it is set to fail closed, so all that it guards is refused" if closed else ""
                yield Finding(
                    ERROR, "plugins", f"{_described(info)} is broken: {info.reason}{refuses}", remedy(info, app.home)
                )
            elif info.status == PluginStatus.DISABLED and closed:
                yield Finding(
                    WARNING,
                    "plugins",
                    f"{_described(info)} is set to fail closed, but disabled, so it guards nothing",
                    f"hookrouter plugins enable {info.name}, or remove on_error from [plugins.{info.name}] in "
                    f"{app.home.config_file}",
                )
            if info.status == PluginStatus.ACTIVE:
                yield from (Finding(OK, self.name, f"{_described(info)}: {hint}") for hint in info.hints)
        for path in misnamed(app.home.plugins):
            message = f"{printable(path)} is no plugin by its name; allowed: letters, digits, - and _"
            yield Finding(WARNING, self.name, message, "rename it, or begin its name with _ if plugins import it")
        if off := [info.name for info in listing if info.reason == ALONE]:
            message = f"guards alone: {', '.join(off)} are off (plugins.{GUARDS_ALONE} in {app.home.config_file})"
            yield Finding(OK, self.name, message)
        known = circuit_breaker.read(app.home)
        for name, health in circuit_breaker.open_circuits(known, app.config).items():
            reset = f"fix it, then: hookrouter plugins enable {circuit_breaker.bare(name)}"
            yield Finding(WARNING, "plugins", health.describe(name), reset)
        yield from _in_trouble(known, app.config)
        # What is wrong with a plugin, or its own settings, is told with what follows from it: broken, or its defaults.
        told = {f"plugins.{info.name}" for info in app.plugins.broken()}
        yield from (found for found in place.problems(self.name, "plugins") if not _is_told(found, told))
        for info, text in app.plugins.with_invalid_settings():
            yield Finding(
                WARNING,
                self.name,
                f"{_described(info)}: its settings are wrong, and none of them is used: {text}",
                f"correct [{info.settings_key}] in {app.home.config_file}",
            )
        for problem in contributed(cli_commands(app.plugins))[1]:
            yield Finding(
                WARNING, "plugins", problem, "disable one of the plugins, or ask its authors to rename the command"
            )
        active = sum(info.status == PluginStatus.ACTIVE for info in listing)
        yield Finding(OK if active else WARNING, "plugins", f"{active} active", "" if active else "install a plugin")


def _in_trouble(known: Mapping[str, Health], config: Config) -> Iterator[Finding]:
    """Tell of plugins that are called, and fail, did so within the last hour, or are called in a slower way for it."""
    now = time.time()
    for name, health in sorted(known.items()):
        closed = config.plugin(name).on_error == "closed"
        bare = circuit_breaker.bare(name)
        fix = f"hookrouter plugins info {bare} and hookrouter logs show more; fix it"
        if health.isolated and not closed:
            yield Finding(
                WARNING,
                "plugins",
                f"a hook process ended in a call of plugin {name}, or could not interrupt it "
                f"({health.isolated_by or health.error}), so it is called in a process of its own, which takes longer",
                f"fix it, then: hookrouter plugins enable {bare}",
            )
        elif health.is_failing and closed:
            text = f"plugin {name} fails, so all that it guards is refused: {health.trouble()[0]}"
            yield Finding(ERROR, "plugins", text, fix)
        elif (health.is_failing and not health.is_open) or health.has_just_recovered(now):
            yield Finding(WARNING, "plugins", f"plugin {name} has failed: {health.trouble()[0]}", fix)


def _is_told(finding: Finding, told: Container[str]) -> bool:
    key = finding.message.partition(":")[0]
    return key in told or re.match(r"plugins\..+\.settings\b", key) is not None


def _described(plugin: PluginInfo) -> str:
    installed = f"{plugin.distribution} {plugin.version}".strip()
    return f"{plugin.name} ({installed})" if installed else plugin.name
