"""The settings of this plugin, ``[plugins.approvals.settings]``."""

from __future__ import annotations

import attrs

__all__ = ["ApprovalsSettings"]


@attrs.frozen
class ApprovalsSettings:
    """What a user may set."""

    elicitation_wait: float = attrs.field(
        default=120.0,
        metadata={
            "help": "seconds for which the form of an MCP server waits for the agent; its dialog opens only after "
            "that, so nobody can answer by hand meanwhile"
        },
    )
