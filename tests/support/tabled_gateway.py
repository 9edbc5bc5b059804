"""A gateway behind its table, as the deliverer and ``config check`` use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter._config.validation import FAULTS, problems_of
from hookrouter._plugins.gateway_settings import read_gateway_settings
from hookrouter._plugins.settings_schema import structure
from hookrouter.messaging.gateway import SendResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.messaging.gateway import Gateway, Message, Probe, Sent

__all__ = ["TabledGateway"]


class TabledGateway:
    """Takes tables of ``config.toml`` where the gateway takes its settings."""

    def __init__(self, gateway: Gateway) -> None:
        """Wrap a gateway."""
        self.gateway = gateway
        self.type = gateway.type

    def check(self, table: Mapping[str, object]) -> list[str]:
        """Return what is wrong with a table, one line each, beginning with the key."""
        problems = read_gateway_settings(self.gateway, "g", table)[1]
        return [problem.line.removeprefix("gateways.g.") for problem in problems]

    def deliver(self, message: Message, table: Mapping[str, object]) -> SendResult:
        """Deliver with the settings of a table, without the gateway's own check: what it finds may be mended later."""
        settings = self._settings(table)
        if isinstance(settings, list):
            return SendResult(delivered=False, reason="; ".join(settings), retry=False)
        return self.gateway.deliver(message, settings)

    def close(self, message: Message, sent: Sent, table: Mapping[str, object]) -> SendResult:
        """Close with the settings of a table."""
        return self.gateway.close(message, sent, self._settings(table))

    def probe(self, table: Mapping[str, object]) -> Probe | None:
        """Probe with the settings of a table."""
        return self.gateway.probe(self._settings(table))

    def _settings(self, table: Mapping[str, object]) -> Any:
        """Return what the gateway takes, or the faults of the table's types."""
        try:
            return structure(self.gateway.settings, table)
        except FAULTS as error:
            return [problem.line for problem in problems_of(error)]
