"""Where the database is: a secret, because it may hold a password."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import attrs

from hookrouter.messaging.secrets import SecretError, read_secret
from hookrouter.storage.interface import StoreError
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter_postgresql.settings import PostgresqlSettings

__all__ = ["Target", "read_target"]

_NAME = "hookrouter"
"""What the server shows as the application of a connection."""


@attrs.frozen
class Target:
    """What a connection is made with."""

    parameters: dict[str, str | int | None] = attrs.field(repr=False)
    """libpq's parameters; the password may be among them."""
    place: str
    """The database in words for a person, without a secret."""

    def hide(self, text: str) -> str:
        """Return a text for a terminal, without the password if it holds it."""
        password = str(self.parameters.get("password") or "")
        return printable(text.replace(password, "***") if password else text)


def read_target(settings: PostgresqlSettings) -> Target:
    """Return what the settings name, read now. Raises StoreError, which shows nothing of the value."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    key = "dsn_env" if settings.dsn_env else "dsn_file"
    try:
        text = read_secret(settings, "dsn", os.environ)
        if settings.dsn_file:
            _refuse_open(settings.dsn_file)
    except SecretError as error:
        raise StoreError(f"[storage] {error}") from None
    try:
        given = conninfo_to_dict(text)
    except (ProgrammingError, UnicodeDecodeError):
        # What is said of it repeats parts of it.
        raise StoreError(
            f"[storage] {key}: what {settings.dsn_env or settings.dsn_file} holds is not where a database is; "
            "allowed: a URL as postgresql://user@host/database, or words as host=... dbname=... user=..."
        ) from None
    _refuse_half_a_password(f"[storage] {key}: what {settings.dsn_env or settings.dsn_file} holds", text, given)
    place = " ".join(
        f"{word} {given[parameter]}"
        for word, parameter in (("database", "dbname"), ("at", "host"), ("port", "port"))
        if given.get(parameter)
    )
    parameters = {"application_name": _NAME, **given, "connect_timeout": settings.connect_timeout}
    return Target(parameters, printable(place or f"the database of {key}"))


def _refuse_half_a_password(what: str, text: str, given: Mapping[str, object]) -> None:
    """Raise StoreError for what is no host, port or database, without showing it.

    With @ or / in its password, a URL has a part of that there.
    """
    ports = [port for port in str(given.get("port") or "").split(",") if port]
    hosts = [host for host in str(given.get("host") or "").split(",") if not host.startswith(("/", "@"))]
    is_url = text.startswith(("postgresql://", "postgres://"))
    faults = {
        "a port that is not a number from 1 to 65535": not all(map(_is_port, ports)),
        "a host with @": any("@" in host for host in hosts),
        "a database with @": is_url and "@" in str(given.get("dbname") or ""),
    }
    wrong = [fault for fault, is_there in faults.items() if is_there]
    if wrong:
        raise StoreError(
            f"{what} has {' and '.join(wrong)}; correct it: in a URL, a password has @, : and / as %40, %3A and %2F"
        )


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 5 and 0 < int(text) < 65536


def _refuse_open(path: str) -> None:
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise SecretError(f"dsn_file: {path} cannot be read: {error.strerror or error}") from None
    if mode & 0o077:
        raise SecretError(
            f"dsn_file: {path} is open to others (found mode {mode & 0o777:04o}; allowed: 0600); run: chmod 600 {path}"
        )
