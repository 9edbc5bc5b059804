"""What ``[plugins.git-state.settings]`` may hold."""

from __future__ import annotations

import attrs


@attrs.frozen
class Settings:
    """How much of a repository is shown."""

    commits: int = attrs.field(
        default=5, validator=attrs.validators.ge(0), metadata={"help": "of the last commits, so many are shown"}
    )
    files: int = attrs.field(
        default=30, validator=attrs.validators.ge(1), metadata={"help": "of the changed files, so many are shown"}
    )
