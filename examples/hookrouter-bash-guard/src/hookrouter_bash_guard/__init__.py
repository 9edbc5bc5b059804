"""A hookrouter plugin that refuses shell commands by rules from config.toml."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrouter import hookimpl, override
from hookrouter.hookspecs import PreToolUseSpecs, SettingsSpecs
from hookrouter.replies import PreToolUseReply

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrouter import Context
    from hookrouter.events import PreToolUse
    from hookrouter.shell.commands import SimpleCommand
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
        if not tool_input.command:  # missing, or not a string: refuse what you cannot read
            return PreToolUseReply.deny("there is no command that can be read")
        reading = tool_input.commands()
        texts = [reading.text, *(_text(command) for command in reading.commands if command.words)]
        if rule := _first(settings.deny, texts):
            return PreToolUseReply.deny(f"{rule!r} is not allowed here")
        if rule := _first(settings.ask, texts):
            return PreToolUseReply.ask(f"the command matches {rule!r}")
        if not reading.certain:
            return PreToolUseReply.ask(f"it is not certain what this command runs: {reading.doubts[0].why}")
        return None


def _text(command: SimpleCommand) -> str:
    """Return the words of a command without their quotes, the program's name without its folder."""
    name, *words = [word.text if word.value is None else word.value for word in command.words]
    return " ".join([name.rpartition("/")[2], *words])


def _first(rules: Iterable[str], texts: list[str]) -> str | None:
    return next((rule for rule in rules if any(re.search(rule, text) for text in texts)), None)
