"""What ``[plugins.mcp-guard.settings]`` may hold."""

from __future__ import annotations

from typing import Literal

import attrs


@attrs.frozen
class Settings:
    """Globs on ``server/tool``, in which ``*`` stands for any characters."""

    deny: tuple[str, ...] = attrs.field(default=(), metadata={"help": "tools that are refused"})
    ask: tuple[str, ...] = attrs.field(default=(), metadata={"help": "tools that the person is asked about"})
    allow: tuple[str, ...] = attrs.field(default=(), metadata={"help": "tools that run without a question"})
    otherwise: Literal["deny", "ask", "allow", "none"] = attrs.field(
        default="none", metadata={"help": "what becomes of the rest; none leaves it to Claude Code"}
    )
