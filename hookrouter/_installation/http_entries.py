"""The entries of http hooks: what of hookrouter's registrations Claude Code can bring to the router's TCP address.

Facts about Claude Code: measured on 2.1.330.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter._contract.hook_names import command_word
from hookrouter._serving.gate.sent_headers import HEADERS
from hookrouter._serving.token import TOKEN_VARIABLE

if TYPE_CHECKING:
    from hookrouter._installation.registrations import Registration

__all__ = ["COMMAND_EVENTS", "allowed_variables", "can_be_http", "http_group", "http_handler", "http_url", "is_ours"]

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


def can_be_http(want: Registration) -> bool:
    """Whether a registration can be an http hook without a loss: guards that fail closed stay commands too."""
    return want.event not in COMMAND_EVENTS and not want.block_on_failure


def http_url(address: str, event: str) -> str:
    """Return the URL of an event by its name, at the address of ``[serve] http``."""
    return f"http://{address}/hook/{command_word(event)}"


def allowed_variables() -> list[str]:
    """Return the variables that Claude Code may put in the headers."""
    return [TOKEN_VARIABLE, *HEADERS.values()]


def http_handler(want: Registration, address: str) -> dict[str, Any]:
    """Return the handler as JSON has it. Raises ValueError for a registration that must stay a command."""
    if not can_be_http(want):
        raise ValueError(f"{want.event}: this entry must be a command")
    headers = {_spelled(header): f"${{{variable}}}" for header, variable in HEADERS.items()}
    return {
        "type": "http",
        "url": http_url(address, want.event),
        "headers": {"Authorization": f"Bearer ${{{TOKEN_VARIABLE}}}", **headers},
        "allowedEnvVars": allowed_variables(),
        "timeout": want.handler()["timeout"],
    }


def http_group(want: Registration, address: str) -> dict[str, Any]:
    """Return the matcher group as JSON has it. Raises ValueError as :func:`http_handler` does."""
    return {**want.group(), "hooks": [http_handler(want, address)]}


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
