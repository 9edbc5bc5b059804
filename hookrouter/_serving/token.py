"""The token of http hooks: whoever sends it is this user, because only this user can read the file it is in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrouter.storage.secret_file import made_secret, read_secret

if TYPE_CHECKING:
    from hookrouter.storage.home import Home

__all__ = ["TOKEN_VARIABLE", "made_token", "read_token", "token_file"]

TOKEN_VARIABLE = "HOOKROUTER_TOKEN"  # noqa: S105 - the variable's name
"""The variable of Claude Code's environment that holds it."""


def token_file(home: Home) -> str:
    """Return the path of the file, in the state folder."""
    return os.path.join(home.state, "http-token")


def read_token(home: Home) -> str:
    """Return a home's token; empty if none was made yet.

    Raises OSError if the file cannot be read, and PermissionError if others may read or have written it.
    """
    return read_secret(token_file(home))


def made_token(home: Home) -> str:
    """Return a home's token; it is made the first time. Raises OSError."""
    return made_secret(token_file(home))
