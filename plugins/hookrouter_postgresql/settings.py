"""The keys of ``[storage]`` with ``engine = "postgresql"``, and what they allow."""

from __future__ import annotations

from typing import Annotated

import attrs

from hookrouter.messaging.fields import FilePath, Matching, VariableName, Within
from hookrouter.messaging.secrets import secret_faults

__all__ = ["PostgresqlSettings"]

_SCHEMA = Matching(r"[a-z_][a-z0-9_]{0,62}", "small letters, digits and _, up to 63, a digit not first")


@attrs.frozen
class PostgresqlSettings:
    """The keys of ``[storage]`` besides ``engine`` and ``machine``. Raises ValueError unless one names the database."""

    dsn_env: VariableName = attrs.field(
        default="",
        metadata={
            "help": "the environment variable that holds where the database is: a URL or `key=value` words of libpq",
            "example": '"HOOKROUTER_DATABASE"',
        },
    )
    dsn_file: FilePath = attrs.field(
        default="",
        metadata={"help": "the file (0600) that holds it", "example": '"~/.config/hookrouter/database"'},
    )
    schema: Annotated[str, _SCHEMA] = attrs.field(
        default="hookrouter", metadata={"help": "the schema of all tables", "example": '"hookrouter_night"'}
    )
    connect_timeout: Annotated[int, Within(1, 60, "whole seconds")] = attrs.field(
        default=2, metadata={"help": "whole seconds from 2 that a connection may take", "example": "5"}
    )
    statement_timeout: Annotated[float, Within(0, 600, "seconds")] = attrs.field(
        default=5.0, metadata={"help": "seconds that one reading or writing may take", "example": "10"}
    )
    pool: Annotated[int, Within(1, 100, "numbers of connections")] = attrs.field(
        default=5, metadata={"help": "the most connections of one process, at least 2", "example": "20"}
    )
    keep_days: Annotated[int, Within(0, 36500, "whole days")] = attrs.field(
        default=90, metadata={"help": "whole days for which the history of all machines is kept", "example": "365"}
    )

    def __attrs_post_init__(self) -> None:
        """Refuse both, or neither, of the keys that name the database."""
        for fault in secret_faults(self, "dsn", "where the database is"):
            raise ValueError(fault)
