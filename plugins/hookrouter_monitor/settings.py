"""The table ``[monitor]`` of config.toml: where the monitor listens, and what it asks for."""

from __future__ import annotations

import attrs

from hookrouter.messaging.fields import ADDRESS, HOME_PATH, OWN_HOSTS, HomePath, HostPort, VariableName, refuse_key

__all__ = ["MonitorSettings"]


@attrs.frozen
class MonitorSettings:
    """Where the resident router tells programs its state: `/metrics` for Prometheus, `/healthz` and `/readyz` for
    probes. Needs the extra `hookrouter[serve]`."""

    address: HostPort = attrs.field(
        default="",
        metadata={
            "allowed": ADDRESS,
            "example": '"127.0.0.1:9464"',
            "help": "Where it is told. Without it: nowhere. Another host than this one needs `token_env` or "
            "`token_file`.",
        },
    )
    token_env: VariableName = attrs.field(
        default="",
        metadata={
            "allowed": "the name of an environment variable",
            "example": '"HOOKROUTER_METRICS_TOKEN"',
            "help": "The environment variable that holds the token with which `/metrics` is asked. Probes need none.",
        },
    )
    token_file: HomePath = attrs.field(
        default="",
        metadata={
            "allowed": HOME_PATH,
            "example": '"~/.config/hookrouter/metrics-token"',
            "help": "The file that holds it, in place of `token_env`.",
        },
    )
    traces: bool = attrs.field(
        default=False,
        metadata={
            "example": "true",
            "help": "`true`: messages hand a W3C trace context on, as the header `traceparent` and the variable "
            "`TRACEPARENT`.",
        },
    )

    def __attrs_post_init__(self) -> None:
        """Refuse what is wrong beside the other keys."""
        if self.token_env and self.token_file:
            refuse_key("token_env", "token_env and token_file", "one of them")
        if self.address.rpartition(":")[0] not in ("", *OWN_HOSTS) and not self.asks_for_token:
            allowed = f"{', '.join(OWN_HOSTS)}; others only with token_env or token_file"
            refuse_key("address", repr(self.address), allowed)

    @property
    def asks_for_token(self) -> bool:
        """Whether ``/metrics`` is for those alone who have the token."""
        return bool(self.token_env or self.token_file)
