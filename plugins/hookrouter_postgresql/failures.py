"""What PostgreSQL's and libpq's errors mean, in plain words with what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from hookrouter.storage.interface import StoreError

if TYPE_CHECKING:
    from hookrouter_postgresql.dsn import Target

__all__ = ["OutcomeUnknown", "RowsRefused", "TimedOut", "explain"]


class TimedOut(psycopg.OperationalError):
    """The server has not answered in time; its connection must not be used again."""


class RowsRefused(StoreError):
    """Row-level security does not let the user write the rows of this machine."""


class OutcomeUnknown(StoreError):
    """A statement was sent, and nobody knows whether the server has done it."""


_REFUSED = "the login was refused; check user and password in the DSN and the server's pg_hba.conf"
_SCHEMA = "its tables are missing or of another version; run: hookrouter storage init"
_FULL = "the server is full"
_AWAY = "it is not reachable; check that it runs and that the network lets this machine through"
_RIGHTS = "the user of the DSN may not do that; give it the rights that the manual names"

_ROWS = (
    "its row-level security does not give this machine's rows to the user of the DSN: [storage] machine must be the "
    "name that its role has in the table machine_role; see: hookrouter storage check"
)
_CHECKS_ROWS = "ExecWithCheckOptions"
"""The function of the server that refuses a row by row-level security; its text may be in any language."""
_WRONG_DSN = "the DSN is wrong; correct it"

_BY_STATE = {
    "28000": _REFUSED,
    "28P01": _REFUSED,
    "3D000": "there is no such database; create it, or correct the DSN",
    "3F000": _SCHEMA,
    "42P01": _SCHEMA,
    "42703": _SCHEMA,
    "42501": _RIGHTS,
    "25006": "it can only be read, as a standby; name the primary server in the DSN",
    "25P03": "a transaction did nothing for too long, and nothing of it was saved",
    "40P01": "two writers waited for each other; try again",
    "53100": f"{_FULL}: free some space on its disk",
    "53200": f"{_FULL}: it is out of memory",
    "53300": f"{_FULL}: it has no connection left; raise max_connections, or use a pooler",
    "55P03": "it timed out: another transaction holds the row",
    "57014": "it timed out; raise statement_timeout in [storage], or see what the server is busy with",
    "57P01": f"{_AWAY} (it is being stopped)",
    "57P02": f"{_AWAY} (it has crashed)",
    "57P03": f"{_AWAY} (it is starting or stopping)",
}
"""By SQLSTATE; https://www.postgresql.org/docs/15/errcodes-appendix.html."""

_BY_CLASS = {"08": _AWAY, "53": _FULL, "57": _AWAY, "58": "the server's disk or files fail; see its log"}
"""By the first two characters."""

_AT_LOGIN = {
    "authentication failed": _REFUSED,
    "no password supplied": _REFUSED,
    "password is empty": _REFUSED,
    "no pg_hba.conf entry": _REFUSED,
    "pg_hba.conf rejects": _REFUSED,
    "is not permitted to log in": _REFUSED,
    "permission denied for database": _REFUSED,
    "no such user": _REFUSED,
    "too many": _BY_STATE["53300"],
    "connection slots": _BY_STATE["53300"],
    "no more connections": _BY_STATE["53300"],
    "query_wait_timeout": _BY_STATE["53300"],
    "no such database": _BY_STATE["3D000"],
    "invalid integer value": _WRONG_DSN,
    "connection is bad: invalid ": _WRONG_DSN,
    "could not parse network address": _WRONG_DSN,
    "could not match": _WRONG_DSN,
    "invalid value for parameter": _WRONG_DSN,
    "unrecognized configuration parameter": _WRONG_DSN,
    "timeout": f"it timed out: no answer when connecting; {_AWAY}",
}
"""By words of the server's or the pooler's text: an error at the login comes without a SQLSTATE."""

_POOLERS = "08P01"
"""The SQLSTATE of all that a pooler refuses."""


def explain(error: psycopg.Error, target: Target, *, is_sent: bool = False) -> StoreError:
    """Return an error of psycopg as hookrouter's own, which tells the kinds apart and never shows the password.

    ``is_sent`` says whether a statement may have reached the server.
    """
    is_lost = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and (
        error.sqlstate is None or error.sqlstate.startswith("57P")
    )
    kind = OutcomeUnknown if is_sent and is_lost else RowsRefused if _refuses_rows(error) else StoreError
    return kind(f"PostgreSQL, {target.place}: {_meaning(error)}{_said(error, target)}")


def _refuses_rows(error: psycopg.Error) -> bool:
    return error.sqlstate == "42501" and error.diag.source_function == _CHECKS_ROWS


def _meaning(error: psycopg.Error) -> str:
    if isinstance(error, TimedOut):
        return _BY_STATE["57014"]
    if _refuses_rows(error):
        return _ROWS
    state = error.sqlstate or ""
    if state and state != _POOLERS:
        return _BY_STATE.get(state) or _BY_CLASS.get(state[:2]) or f"it refuses (SQLSTATE {state})"
    text = str(error)
    if 'role "' in text and "does not exist" in text:
        return _REFUSED
    if 'database "' in text and "does not exist" in text:
        return _BY_STATE["3D000"]
    otherwise = _AWAY if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) else "it refuses"
    return next((meaning for words, meaning in _AT_LOGIN.items() if words in text), otherwise)


def _said(error: psycopg.Error, target: Target) -> str:
    """Return the first line of what was said, in brackets."""
    line = (error.diag.message_primary or str(error)).strip().partition("\n")[0]
    return f" ({target.hide(line)[:300]})" if line else ""
