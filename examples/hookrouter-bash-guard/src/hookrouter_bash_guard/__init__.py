"""A hookrouter plugin that refuses shell commands by rules from config.toml."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hookrouter import hookimpl
from hookrouter.hookspecs import PreToolUseSpecs
from hookrouter.replies import PreToolUseReply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter import Context
    from hookrouter.events import PreToolUse

NAME = "bash-guard"
DEFAULT_DENY = (r"\brm\s+-(rf?|fr?)\s+/(\s|\*|$)",)


class BashGuard(PreToolUseSpecs):
    """Denies a command that a ``deny`` rule finds something in, and asks the person for an ``ask`` rule."""

    @hookimpl
    def pre_tool_use_bash(
        self, event: PreToolUse, tool_input: Mapping[str, Any], context: Context
    ) -> PreToolUseReply | None:
        command = tool_input.get("command")
        if not isinstance(command, str):
            raise TypeError(f"tool_input.command is {type(command).__name__}, not a string")
        settings = context.settings(NAME)
        for rule in _rules(settings, "deny", DEFAULT_DENY):
            if re.search(rule, command):
                return PreToolUseReply.deny(f"bash-guard: the command matches the rule {rule}")
        for rule in _rules(settings, "ask", ()):
            if re.search(rule, command):
                return PreToolUseReply.ask(f"bash-guard: the command matches the rule {rule}")
        return None


def _rules(settings: Mapping[str, object], key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    found = settings.get(key, list(default))
    if not isinstance(found, list) or not all(isinstance(rule, str) for rule in found):
        raise TypeError(f"plugins.{NAME}.settings.{key} must be a list of regular expressions, found {found!r}")
    return tuple(found)
