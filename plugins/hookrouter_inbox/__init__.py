"""The gateway ``inbox``: no server and no program; messages wait in the state folder for whoever looks.

``[gateways.NAME] type = "inbox"`` has no further keys, and a gateway of this name exists without any configuration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import hookimpl, stateless

if TYPE_CHECKING:
    from hookrouter.messaging.gateway import Gateway


@hookimpl
@stateless
def gateway() -> Gateway:
    """Contribute the gateway."""
    from hookrouter_inbox.keeper import InboxGateway

    return InboxGateway()
