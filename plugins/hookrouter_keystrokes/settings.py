"""The settings of this plugin, ``[plugins.keystrokes.settings]``."""

from __future__ import annotations

from typing import Literal

import attrs

__all__ = ["KeystrokesSettings"]


@attrs.frozen
class KeystrokesSettings:
    """What a user may set."""

    drafts: Literal["wait", "stash"] = attrs.field(
        default="wait",
        metadata={
            "help": "what becomes of a text that somebody has left in the prompt box when an item of the queue is to "
            "be typed: `wait` until it is gone, or `stash` it with Ctrl+S once nobody has typed for a while; the "
            "client puts it back by itself after the item"
        },
    )
