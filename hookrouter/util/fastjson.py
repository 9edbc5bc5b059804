"""JSON for the hook process, without the import of :mod:`json`.

``import json`` loads the ``re`` package, which alone costs half an interpreter start; CPython's own C scanner and
encoder do not need it. If they are missing (another Python, a debug build), and for every document that they
refuse, the standard module serves.
"""

from __future__ import annotations

import sys

__all__ = ["dumps", "json_type", "loads"]

_WHITESPACE = " \t\n\r"


def loads(document: bytes | str) -> object:
    """Parse one strict JSON document (UTF-8 if bytes).

    Raises ValueError for anything else: broken UTF-8, no or several documents, NaN and Infinity, nesting too deep.
    """
    text = document.decode("utf-8") if isinstance(document, bytes) else document
    start, length = 0, len(text)
    while start < length and text[start] in _WHITESPACE:
        start += 1
    if start == length:
        raise ValueError("the document is empty")
    try:
        value, end = _scan(text, start)
    except (SystemError, StopIteration, RecursionError, ValueError):
        # The scanner takes its error class from json.decoder, which is not loaded here: let that module say it.
        return _loads_slowly(text)
    while end < length and text[end] in _WHITESPACE:
        end += 1
    if end != length:
        raise ValueError(f"extra data after the JSON document at character {end}")
    return value


def dumps(value: object) -> str:
    """Write one value as compact JSON in ASCII, so that any string, lone surrogates included, can be stored.

    Raises TypeError for a value that JSON does not have and ValueError for NaN, Infinity and circular values.
    """
    return "".join(_encode(value))


def json_type(value: object) -> str:
    """Return the JSON name of the type of a parsed value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list | tuple):
        return "array"
    if isinstance(value, dict):
        return "object"
    return type(value).__name__


def _constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _loads_slowly(text: str) -> object:
    import json

    try:
        return json.loads(text, parse_constant=_constant)
    except RecursionError:
        raise ValueError("the document is nested too deeply") from None


class _ScannerSettings:
    """What the C scanner reads its settings from."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_constant)


try:
    if hasattr(sys, "gettotalrefcount"):
        raise ImportError("a debug build aborts on the scanner's missing error class")
    from _json import encode_basestring_ascii, make_encoder, make_scanner
except ImportError:

    def _scan(string: str, index: int) -> tuple[object, int]:  # noqa: ARG001 - the scanner's arguments
        return _loads_slowly(string), len(string)

    def _encode(value: object) -> tuple[str, ...]:
        import json

        return (json.dumps(value, separators=(",", ":"), allow_nan=False),)

else:
    # The settings are read as attributes, whatever the class; typeshed asks for a scanner here.
    _scan = make_scanner(_ScannerSettings)  # type: ignore[arg-type]

    def _encode(value: object) -> tuple[str, ...]:
        encoder = make_encoder({}, _refuse, encode_basestring_ascii, None, ":", ",", False, False, False)
        chunks: tuple[str, ...] = encoder(value, 0)
        return chunks
