"""The settings of this plugin, ``[plugins.blocked.settings]``."""

from __future__ import annotations

import attrs

__all__ = ["BlockedSettings"]


@attrs.frozen
class BlockedSettings:
    """What a user may set."""

    after: float = attrs.field(
        default=30.0,
        metadata={
            "help": "seconds for which the same dialog is on the screen before the agent is woken: a person who has "
            "opened it needs time"
        },
    )
