"""What ``[plugins.formatter.settings]`` may hold."""

from __future__ import annotations

import attrs


def _commands(
    _settings: object, _attribute: attrs.Attribute[dict[str, list[str]]], commands: dict[str, list[str]]
) -> None:
    for suffix, argv in commands.items():
        if not suffix.startswith("."):
            raise ValueError(f"formatters: {suffix!r} is no suffix; allowed: one with its dot, such as '.py'")
        if not argv or "{file}" not in argv:
            raise ValueError(f"formatters: the command of {suffix!r} has no word {{file}}, where the path goes")


@attrs.frozen
class Settings:
    """The formatter of each suffix, as the words of a command; ``{file}`` stands for the path."""

    formatters: dict[str, list[str]] = attrs.field(
        factory=lambda: {".py": ["ruff", "format", "--quiet", "{file}"]},
        validator=_commands,
        metadata={"help": "suffix -> the formatter's words"},
    )
    timeout: float = attrs.field(
        default=4.0, validator=attrs.validators.gt(0), metadata={"help": "seconds for a formatter"}
    )
