"""A settings text as a document whose members can be set: what is not touched stays as it was written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookrouter._installation.json_edit import Document, JsonTextError, Object, Scalar
from hookrouter._installation.settings_edit import SettingsError

if TYPE_CHECKING:
    from hookrouter._installation.json_edit import Node

__all__ = ["opened", "root", "set_member", "with_mark"]


def opened(text: str) -> Document:
    """Return a settings text as a document whose root is an object. Raises SettingsError."""
    body = text.removeprefix("\ufeff")
    try:
        document = Document(body if body.strip() else "{}\n")
    except JsonTextError as error:
        raise SettingsError(f"cannot be read: {error}") from None
    if not isinstance(document.root, Object):
        raise SettingsError("the file must be an object")
    return document


def root(document: Document) -> Object:
    """Return the object that a settings file is."""
    assert isinstance(document.root, Object)  # noqa: S101 - checked by opened()
    return document.root


def set_member(document: Document, key: str, name: str, value: object) -> Document:
    """Set one member of one of the root's objects, which is made if it is missing. Raises SettingsError."""
    table: Node | None = root(document).get(key)
    if table is None or (isinstance(table, Scalar) and table.value is None and not table.is_string):
        if table is not None:
            document = document.remove(root(document), root(document).index(key))
        return document.append(root(document), {name: value}, key)
    if not isinstance(table, Object):
        raise SettingsError(f'"{key}" must be an object, found {document.raw(table)[:40]}')
    current = table.get(name)
    if current is None:
        return document.append(table, value, name)
    if json.loads(document.raw(current)) == value:
        return document
    return document.replace(current, json.dumps(value, ensure_ascii=False))


def with_mark(text: str, document: Document) -> str:
    """Return a document's text, with the byte order mark that ``text`` has."""
    return ("\ufeff" if text.startswith("\ufeff") else "") + document.text
