"""What ``[plugins.bash-guard.settings]`` may hold."""

from __future__ import annotations

import re

import attrs

RM_ROOT = r"\brm\s+(-\S+\s+)*-\S*r\S*\s+(-\S+\s+)*/(\s|\*|$)"


def _expressions(_settings: object, attribute: attrs.Attribute[tuple[str, ...]], rules: tuple[str, ...]) -> None:
    for rule in rules:
        try:
            re.compile(rule)
        except re.error as error:
            raise ValueError(f"{attribute.name}: {rule!r} is no regular expression: {error}") from None


@attrs.frozen
class Settings:
    """The rules: regular expressions, searched in the whole command line and in each command of it."""

    deny: tuple[str, ...] = attrs.field(
        default=(RM_ROOT,), validator=_expressions, metadata={"help": "commands that are refused"}
    )
    ask: tuple[str, ...] = attrs.field(
        default=(), validator=_expressions, metadata={"help": "commands that the person is asked about"}
    )
