"""Can agents be woken?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._diagnostics.checks.check import OK, WARNING, Finding
from hookrouter.messaging.gateway import gateways
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from hookrouter._diagnostics.checks.check import Place
    from hookrouter.messaging.gateway import Gateway

__all__ = ["GatewaysCheck"]


class GatewaysCheck:
    """The gateways of config.toml: are their tables right, and does the other side answer?"""

    name = "gateways"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found; gateways that can tell are asked whether the other side is there."""
        yield from place.problems(self.name, "gateways")
        config, offered = place.app.config, gateways(place.app.plugins)
        wrong = [located.problem.key for located in place.config_problems if located.level == "error"]
        for name in config.gateways:
            kind, own = config.gateway(name) or ("", {})
            key = f"gateways.{name}"
            if kind in offered and not any(each == key or each.startswith(f"{key}.") for each in wrong):
                settings = place.app.plugins.read_gateway_settings(offered[kind], name, own)[0]
                yield _reached(name, kind, offered[kind], settings)


def _reached(name: str, kind: str, gateway: Gateway, settings: Any) -> Finding:
    try:
        probe = gateway.probe(settings)
        if probe is None:
            return Finding(OK, "gateways", f"{name} ({kind})")
        usable, message, fix = probe
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a finding about that plugin
        usable, message, fix = False, f"the plugin's probe failed: {describe_error(error)}", ""
    if usable:
        return Finding(OK, "gateways", f"{name} ({kind}): {message}")
    return Finding(WARNING, "gateways", f"{name} ({kind}): {message}", fix or "fix that; messages wait until then")
