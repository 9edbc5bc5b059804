"""What ``[plugins.audit-log.settings]`` may hold."""

from __future__ import annotations

import attrs


@attrs.frozen
class Settings:
    """Where the lines go, and which."""

    file: str = attrs.field(default="", metadata={"help": "the file; empty: audit/events.jsonl in hookrouter's logs"})
    max_megabytes: float = attrs.field(
        default=50.0, validator=attrs.validators.gt(0), metadata={"help": "size at which a new file is begun"}
    )
    backups: int = attrs.field(
        default=5, validator=attrs.validators.ge(0), metadata={"help": "how many older files are kept"}
    )
    events: tuple[str, ...] = attrs.field(default=(), metadata={"help": "only these events; empty: all"})
    leave_out: tuple[str, ...] = attrs.field(
        default=(), metadata={"help": "payload fields that are not kept, such as tool_response"}
    )
