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
    unseen_wait: float = attrs.field(
        default=20.0,
        metadata={
            "help": "seconds for which a subagent's call, or a form that a rule leaves to a person, waits for a "
            "decision before Claude Code draws its dialog; after that keys can decide in it, or a person there"
        },
    )
