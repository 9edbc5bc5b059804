"""The engine ``postgresql``: keeps the documents of many machines in one PostgreSQL database.

``[storage]``, with ``engine = "postgresql"`` and the extra ``hookrouter[postgres]``:

- ``dsn_env`` or ``dsn_file``: the environment variable, or the file (0600), that holds where the database is, as a URL
  or as words of libpq;
- ``schema``: the schema of all tables, default ``hookrouter``;
- ``connect_timeout`` and ``statement_timeout``: whole seconds for a connection, default 2, and seconds for one reading
  or writing, default 5;
- ``pool``: the most connections of one process, default 5;
- ``keep_days``: whole days for which the history is kept, default 90.

It works behind a pooler that gives a connection for each transaction, as pgbouncer does. Notifications do not come
through one; changes by other machines are then noticed every two seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import hookimpl, stateless

if TYPE_CHECKING:
    from hookrouter_postgresql.engine import PostgresqlEngine


@hookimpl
@stateless
def storage_engine() -> PostgresqlEngine:
    """Contribute the engine."""
    from hookrouter_postgresql.engine import PostgresqlEngine

    return PostgresqlEngine()
