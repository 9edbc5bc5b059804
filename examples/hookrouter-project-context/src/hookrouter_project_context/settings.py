"""What ``[plugins.project-context.settings]`` may hold."""

from __future__ import annotations

import attrs


@attrs.frozen
class Settings:
    """What Claude is told, and when."""

    git: bool = attrs.field(default=True, metadata={"help": "branch and changed files, as a session starts"})
    git_with_prompts: bool = attrs.field(default=False, metadata={"help": "the same with each prompt"})
    files: tuple[str, ...] = attrs.field(
        default=(), metadata={"help": "files whose text is told as a session starts; relative to the session's folder"}
    )
    length: int = attrs.field(
        default=4000, validator=attrs.validators.ge(1), metadata={"help": "characters of a file at most"}
    )
