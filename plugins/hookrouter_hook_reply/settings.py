"""The settings of this plugin, ``[plugins.hook-reply.settings]``."""

from __future__ import annotations

import attrs

__all__ = ["HookReplySettings"]


@attrs.frozen
class HookReplySettings:
    """What a user may set."""

    headless: bool = attrs.field(
        default=False,
        metadata={"help": "in sessions without a dialog (claude -p, an SDK), PreToolUse waits for the answer instead"},
    )
