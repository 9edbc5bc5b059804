"""Names from outside (sessions, ids, plugins) as parts of file names."""

from __future__ import annotations

__all__ = ["decode_name", "digest", "encode_name", "is_cut"]

MAX_ENCODED = 138
"""The longest encoded name: with the longest kind, ``.json`` and a temporary suffix it stays below the 255 bytes that
file systems allow."""

_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_PLAIN = bytes(_SAFE) + b":"
_EMPTY = "%"
_CUT = "%~"
_CUT_KEEPS = 120


def encode_name(name: str) -> str:
    """Return a file-name part that stands for ``name`` alone: no slash, no leading dot, no control, ASCII, not empty.

    Reversible by :func:`decode_name`, except for a name too long for a file, which is cut and marked with a digest.
    """
    data = name.encode("utf-8", "surrogatepass")
    encoded = "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in data) or _EMPTY
    if encoded[0] == ".":
        encoded = "%2E" + encoded[1:]
    if len(encoded) <= MAX_ENCODED:
        return encoded
    from hashlib import sha256

    return encoded[:_CUT_KEEPS] + _CUT + sha256(data).hexdigest()[:16]


def decode_name(encoded: str) -> str | None:
    """Return the name that :func:`encode_name` made this of, or None if it was cut or is nothing it ever makes."""
    if encoded == _EMPTY:
        return ""
    # Most names need no more than this, which counts where a folder holds hundreds of them.
    plain = encoded.replace("%3A", ":")
    if encoded and ":" not in encoded and encoded[0] != "." and len(encoded) <= MAX_ENCODED and _is_plain(plain):
        return plain
    head, *rest = encoded.split("%")
    try:
        data = head.encode("ascii") + b"".join(bytes((int(part[:2], 16),)) + part[2:].encode("ascii") for part in rest)
        name = data.decode("utf-8", "surrogatepass")
    except ValueError:
        return None
    return name if encode_name(name) == encoded else None


def is_cut(encoded: str) -> bool:
    """Whether :func:`encode_name` has cut the name that it made this of."""
    return _CUT in encoded


def _is_plain(text: str) -> bool:
    """Whether a text has no characters but those that stand for themselves, and colons."""
    return text.isascii() and not text.encode("ascii").translate(None, _PLAIN)


def digest(text: str) -> str:
    """Return 16 hexadecimal digits that tell a handful of texts apart; no protection against anybody who tries.

    FNV-1a, because hashlib takes longer to import than most of a hook run; but for a text for which that takes longer.
    """
    if len(text) > _LONG:
        from hashlib import blake2b

        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    known = _digests.get(text)
    if known is not None:
        return known
    value = 0xCBF29CE484222325
    for byte in text.encode("utf-8", "surrogatepass"):
        value = (value ^ byte) * 0x100000001B3 % 2**64
    found = f"{value:016x}"
    if len(_digests) < _KEPT:
        _digests[text] = found
    return found


_LONG = 50_000
"""Characters of a text that takes FNV some 10 ms."""

_KEPT = 64
_digests: dict[str, str] = {}
"""What was asked for, for processes that are asked for the same few paths again and again."""
