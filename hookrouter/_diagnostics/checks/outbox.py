"""Does anything wait that should be gone?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._diagnostics.checks.check import ERROR, OK, WARNING, Finding
from hookrouter.messaging.delivery.attempt import PLUGIN_FAULT
from hookrouter.util.clock import local

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._diagnostics.checks.check import Place


__all__ = ["OutboxCheck"]


class OutboxCheck:
    """Messages that were not delivered, and documents that could not be read."""

    name = "outbox"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found."""
        app = place.app
        messages = [message for message in app.outbox.pending() if not message.is_for_later]
        for message in messages:
            if app.outbox.locks.is_running(message):
                since = local(message.last_attempt_at or "")
                delivered = f"message {message.id} to agent {message.agent!r} is being delivered since {since}"
                yield Finding(OK, "outbox", delivered)
                continue
            given_up = message.given_up is not None
            reason = message.last_error or "not tried yet"
            if reason.startswith(PLUGIN_FAULT):
                fix = (
                    "update the plugin that provides this gateway type, or report it to its authors; then: "
                    f"hookrouter outbox retry {message.id}"
                )
            elif given_up:
                fix = (
                    f"correct [gateways.{message.gateway}] in {app.home.config_file}, or what it names; then "
                    f"run: hookrouter outbox retry {message.id}"
                )
            elif message.failures:
                when = f"at {local(message.next_attempt_at)}" if message.next_attempt_at else "soon"
                fix = (
                    f"fix what [gateways.{message.gateway}] in {app.home.config_file} names: it fails for the reason "
                    f"above; it is tried again {when}, or at once with: hookrouter outbox retry {message.id}"
                )
            else:
                fix = "hookrouter deliver"
            yield Finding(
                ERROR if given_up else WARNING,
                "outbox",
                f"message {message.id} to agent {message.agent!r} ({message.subject}) "
                f"{'was given up' if given_up else 'waits'}; gateway {message.gateway!r}: {reason}",
                fix,
            )
        if not messages:
            yield Finding(OK, "outbox", "no message waits for delivery")
        for quarantine, names in (app.store.put_aside(), app.outbox.put_aside()):
            if names:
                yield Finding(
                    WARNING,
                    "documents",
                    f"{quarantine} holds {len(names)} documents that could not be read, the latest is {names[-1]}",
                    "look into them, then delete them",
                )
