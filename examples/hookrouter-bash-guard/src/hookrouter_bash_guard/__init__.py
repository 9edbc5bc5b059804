"""A hookrouter plugin that refuses shell commands by rules from config.toml."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrouter import hookimpl, override
from hookrouter.hookspecs import PreToolUseSpecs, SettingsSpecs
from hookrouter.replies import PreToolUseReply

from hookrouter_bash_guard.commands import UnreadableError, simple_commands

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrouter import Context
    from hookrouter.events import PreToolUse
    from hookrouter.tools import BashInput

    from hookrouter_bash_guard.settings import Settings


class BashGuard(PreToolUseSpecs, SettingsSpecs):
    """Denies a command in which a ``deny`` rule is found, and asks the person about one that an ``ask`` rule finds."""

    @hookimpl
    @override
    def plugin_settings(self) -> type[Settings]:
        from hookrouter_bash_guard.settings import Settings

        return Settings

    @hookimpl
    @override
    def pre_tool_use_bash(self, event: PreToolUse, tool_input: BashInput, context: Context) -> PreToolUseReply | None:
        from hookrouter_bash_guard.settings import Settings

        settings = context.settings(Settings)
        command = tool_input.command
        if not command:  # missing or no text, which reads as None: never take that for harmless
            return PreToolUseReply.deny("there is no command that can be read")
        try:
            texts = [command, *simple_commands(command)]
        except UnreadableError as error:
            return PreToolUseReply.ask(f"this command cannot be read: {error}")
        if rule := _first(settings.deny, texts):
            return PreToolUseReply.deny(f"{rule!r} is not allowed here")
        if rule := _first(settings.ask, texts):
            return PreToolUseReply.ask(f"the command matches {rule!r}")
        return None


def _first(rules: Iterable[str], texts: list[str]) -> str | None:
    return next((rule for rule in rules if any(re.search(rule, text) for text in texts)), None)
