"""What stands for a document in the tables, in notifications, and beside the documents of this machine."""

from __future__ import annotations

import hashlib
import re

__all__ = [
    "bytes_of",
    "channel_of",
    "checked",
    "digest_of",
    "document_id",
    "ids_told",
    "is_id",
    "kind_id",
    "text_of",
]

_ID = re.compile(r"[0-9a-f]{32}")
_TOLD = re.compile(rb"([0-9a-f]{32}) ([0-9a-f]{32}) [0-9]{1,19}")
"""A notification: the ids of kind and document, and its version, a bigint."""


def checked(kind: str) -> str:
    """Return a kind of document. Raises ValueError for what is none."""
    if not kind or not kind.isascii() or not kind.replace("-", "").isalnum():
        raise ValueError(f"{kind!r} is not a kind of document: letters, digits and dashes")
    return kind


def bytes_of(name: str) -> bytes:
    """Return a name as it is kept: lone surrogates too."""
    return name.encode("utf-8", "surrogatepass")


def text_of(name: bytes) -> str:
    """Return the name that :func:`bytes_of` made this of."""
    return name.decode("utf-8", "surrogatepass")


def digest_of(name: str) -> bytes:
    """Return what stands for a name in an index."""
    return hashlib.sha256(bytes_of(name)).digest()


def kind_id(machine: str, area: str, kind: str) -> str:
    """Return 32 hexadecimal digits for all documents of a kind."""
    return hashlib.sha256("\0".join((machine, area, kind)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def document_id(kind: str, digest: bytes) -> str:
    """Return 32 hexadecimal digits for one document, of its :func:`kind_id` and the digest of its name."""
    return hashlib.sha256(kind.encode("ascii") + digest).hexdigest()[:32]


def is_id(text: str) -> bool:
    """Whether this is what :func:`kind_id` or :func:`document_id` returns."""
    return _ID.fullmatch(text) is not None


def ids_told(payload: bytes) -> tuple[str, str] | None:
    """Return the ids of kind and document that a notification is about; None for what hookrouter does not send.

    Whoever may connect to the database may send any, so it says that a look is worth it, and no more.
    """
    found = _TOLD.fullmatch(payload)
    return None if found is None else (found[1].decode("ascii"), found[2].decode("ascii"))


def channel_of(schema: str, machine: str) -> str:
    """Return the channel of the notifications about a machine's documents."""
    return f"hookrouter_{hashlib.sha256(f'{schema}{chr(0)}{machine}'.encode()).hexdigest()[:32]}"
