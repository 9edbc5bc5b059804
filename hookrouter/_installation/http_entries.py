"""The entries of http hooks: what of hookrouter's registrations Claude Code can bring to the router's TCP address.

Facts about Claude Code: measured on 2.1.330.
"""

from __future__ import annotations

from typing import Any

from hookrouter._contract.hook_names import command_word
from hookrouter._serving.gate.sent_headers import HEADERS
from hookrouter._serving.token import TOKEN_VARIABLE

__all__ = ["COMMAND_EVENTS", "allowed_variables", "can_be_http", "http_keys", "http_url", "is_ours"]

COMMAND_EVENTS = (
    "SessionStart",
    "Setup",
    "WorktreeCreate",
    "WorktreeRemove",
    "TaskCompleted",
    "TeammateIdle",
    "PreCompact",
    "PostCompact",
)
"""Events that stay with a command: Claude Code sends no http hook for the first two, and of the others a hook says by
its exit code or as plain text what no JSON says."""


def can_be_http(event: str, *, blocks_on_failure: bool, stays: bool = False) -> bool:
    """Whether a hook can be an http hook without a loss: guards that fail closed stay commands.

    So do those that wake, and scripts (``stays``).
    """
    return event not in COMMAND_EVENTS and not blocks_on_failure and not stays


def http_url(address: str, event: str) -> str:
    """Return the URL of an event by its name, at the address of ``[serve] http``."""
    return f"http://{address}/hook/{command_word(event)}"


def allowed_variables() -> list[str]:
    """Return the variables that Claude Code may put in the headers."""
    return [TOKEN_VARIABLE, *HEADERS.values()]


def http_keys(event: str, address: str) -> dict[str, Any]:
    """Return the handler of an event as JSON has it, but for its timeout."""
    headers = {_spelled(header): f"${{{variable}}}" for header, variable in HEADERS.items()}
    return {
        "type": "http",
        "url": http_url(address, event),
        "headers": {"Authorization": f"Bearer ${{{TOKEN_VARIABLE}}}", **headers},
        "allowedEnvVars": allowed_variables(),
    }


def is_ours(handler: object, address: str = "") -> bool:
    """Whether a handler is an http hook of ours, at this address, or at any."""
    if not isinstance(handler, dict) or handler.get("type") != "http":
        return False
    headers, url = handler.get("headers"), handler.get("url")
    if not isinstance(headers, dict) or not isinstance(url, str):
        return False
    place = url.removeprefix("http://").partition("/")
    return (
        TOKEN_VARIABLE in str(headers.get("Authorization"))
        and place[2].startswith("hook/")
        and (not address or place[0] == address)
    )


def _spelled(header: str) -> str:
    return "-".join(part.capitalize() for part in header.split("-"))
