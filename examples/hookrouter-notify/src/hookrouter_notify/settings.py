"""What ``[plugins.notify.settings]`` may hold."""

from __future__ import annotations

import attrs


@attrs.frozen
class Settings:
    """Whom to tell, and what about."""

    command: tuple[str, ...] = attrs.field(
        default=("notify-send", "--app-name=Claude Code", "--", "{title}", "{text}"),
        metadata={"help": "the notifier's words, with {title} and {text}; an empty list for none"},
    )
    gateway: str = attrs.field(default="", metadata={"help": "a table [gateways.NAME] that gets the text too"})
    kinds: tuple[str, ...] = attrs.field(
        default=("permission_prompt", "idle_prompt", "elicitation_dialog", "agent_needs_input", "stop"),
        metadata={"help": "notification types; stop: Claude has finished"},
    )
    length: int = attrs.field(
        default=300, validator=attrs.validators.ge(1), metadata={"help": "characters of the text at most"}
    )
