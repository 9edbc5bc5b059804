"""Which host an address leads to, read as a browser reads it (the WHATWG URL Standard), since Claude Code does so."""

from __future__ import annotations

import re

__all__ = ["host_of", "is_plain"]

_SPECIAL = ("http", "https", "ws", "wss", "ftp")
_PLAIN = re.compile(r"(?:https?|wss?|ftp)://(?:[a-z0-9_-]+\.)*[a-z][a-z0-9_-]*(?::\d+)?(?:[/?#][!-\[\]-~]*)?")
_ADDRESS = re.compile(r"(?:[0-9]|0[xX][0-9a-fA-F]*)(?:[0-9a-fA-FxX.]*)")


def is_plain(address: str) -> bool:
    """Whether every program reads the same host in an address: a name in small letters, no user, nothing encoded."""
    return _PLAIN.fullmatch(address) is not None


def host_of(address: str) -> str | None:
    """Return the host that a browser asks for, in its ASCII form and without a dot at its end; None if it asks none.

    Control characters and blanks around, tabs and line ends within are dropped; any number of slashes, and backslashes,
    may follow the scheme; escapes in the host are decoded and Unicode is mapped (UTS 46); a number is an IPv4 address.
    """
    text = re.sub(r"[\t\n\r]", "", address.strip("".join(map(chr, range(33)))))
    scheme, colon, rest = text.partition(":")
    if not colon or scheme.lower() not in _SPECIAL:
        return None
    authority = re.split(r"[/\\?#]", rest.lstrip("/\\"), maxsplit=1)[0]
    host = authority.rpartition("@")[2]
    if host.startswith("["):
        return host.partition("]")[0][1:].lower() or None
    return _ascii(host.partition(":")[0])


def _ascii(host: str) -> str | None:
    from urllib.parse import unquote_to_bytes

    try:
        decoded = unquote_to_bytes(host).decode()
    except UnicodeError:
        return None
    if not re.fullmatch(r"[A-Za-z0-9._-]+", decoded):
        import idna

        try:
            decoded = idna.encode(idna.uts46_remap(decoded, std3_rules=False)).decode("ascii")
        except (idna.IDNAError, UnicodeError):
            return None
    name = decoded.lower().removesuffix(".")
    return (_number(name) if _ADDRESS.fullmatch(name) else name) or None


def _number(name: str) -> str | None:
    """Return an IPv4 address of any spelling (``0x7f.1``, ``2130706433``) in its usual one; None for what is none."""
    import socket

    try:
        return socket.inet_ntoa(socket.inet_aton(name))
    except OSError:
        return None
