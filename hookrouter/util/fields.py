"""Fields of JSON objects that others have written: each is read as what its reader expects, or as nothing.

For documents and journal records, which another version may have written, or a person changed. Raises nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    _R = TypeVar("_R")

__all__ = ["flag", "items", "number", "record", "table", "tables", "text", "texts"]


def text(document: Mapping[str, object], key: str) -> str:
    """Return a text; empty if there is none."""
    value = document.get(key)
    return value if isinstance(value, str) else ""


def flag(document: Mapping[str, object], key: str) -> bool:
    """Whether it is true."""
    return document.get(key) is True


def number(document: Mapping[str, object], key: str) -> int:
    """Return a whole number; 0 if there is none, or one below it."""
    value = document.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def table(document: Mapping[str, object], key: str) -> Mapping[str, Any] | None:
    """Return an object; None if there is none."""
    value = document.get(key)
    return value if isinstance(value, dict) else None


def items(document: Mapping[str, object], key: str) -> list[object]:
    """Return a list; empty if there is none."""
    value = document.get(key)
    return value if isinstance(value, list) else []


def texts(document: Mapping[str, object], key: str) -> tuple[str, ...]:
    """Return the texts of a list, without what is none."""
    return tuple(one for one in items(document, key) if isinstance(one, str))


def tables(document: Mapping[str, object], key: str) -> list[Mapping[str, Any]]:
    """Return the objects of a list, without what is none."""
    return [one for one in items(document, key) if isinstance(one, dict)]


_BY_DEFAULT = {str: text, bool: flag, int: number, tuple: texts, dict: table, type(None): table}


def record(kind: Callable[..., _R], document: Mapping[str, object], **given: object) -> _R:
    """Return a named tuple of what a document says; ``given`` has the fields that are not read from it.

    A field's default says what it is: a text, true or false, a whole number, texts, or an object (for None as well);
    one without a default is a text. What a document does not say, or says otherwise, is as the default.
    """
    named: Any = kind
    defaults = named._field_defaults
    values = dict(given)
    for name in named._fields:
        if name not in given:
            default = defaults.get(name, "")
            values[name] = _BY_DEFAULT[type(default)](document, name) or default
    return kind(**values)
