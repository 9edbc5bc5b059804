"""A settings text as a document whose members can be set: what is not touched stays as it was written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from hookrouter._installation.json_edit import Array, Document, JsonTextError, Object, Scalar
from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from hookrouter._installation.json_edit import Node

__all__ = [
    "Entry",
    "SettingsError",
    "opened",
    "remove_member",
    "root",
    "set_member",
    "shape_error",
    "string_of",
    "with_mark",
]


class SettingsError(HookrouterError):
    """The settings file cannot be used as it is, or not be written. Nothing was changed; the message says why."""


class Entry(NamedTuple):
    """One handler that stands in a settings file and runs hookrouter."""

    event: str
    matcher: str | None
    """None for every call; the empty string stands for a matcher that is not a text."""
    command: str
    group: int
    position: int
    handler: Object

    @property
    def is_http(self) -> bool:
        """Whether it is an http hook, whose ``command`` is its URL."""
        return string_of(self.handler.get("type")) == "http"

    @property
    def wakes(self) -> bool:
        """Whether its exit code may begin a turn of Claude's (``asyncRewake``)."""
        switch = self.handler.get("asyncRewake")
        return isinstance(switch, Scalar) and switch.value is True


def opened(text: str) -> Document:
    """Return a settings text as a document whose root is an object. Raises SettingsError."""
    body = text.removeprefix("\ufeff")
    try:
        document = Document(body if body.strip() else "{}\n")
    except JsonTextError as error:
        raise SettingsError(f"cannot be read: {error}") from None
    if not isinstance(document.root, Object):
        raise shape_error(document, document.root, "the file", "an object")
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
        raise shape_error(document, table, f'"{key}"', "an object")
    current = table.get(name)
    if current is None:
        return document.append(table, value, name)
    if json.loads(document.raw(current), parse_int=float) == value:
        return document
    return document.replace(current, json.dumps(value, ensure_ascii=False))


def remove_member(document: Document, key: str, name: str) -> Document:
    """Take one member out of one of the root's objects, and that object too if nothing is left in it."""
    table = root(document).get(key)
    if not isinstance(table, Object) or table.get(name) is None:
        return document
    document = document.remove(table, table.index(name))
    rest = root(document).get(key)
    if isinstance(rest, Object) and not rest.elements:
        document = document.remove(root(document), root(document).index(key))
    return document


def shape_error(document: Document, node: Node, what: str, wanted: str) -> SettingsError:
    """Return the error that a node of a settings file is of another kind than it must be."""
    if isinstance(node, Object):
        found = "an object"
    elif isinstance(node, Array):
        found = "an array"
    else:
        found = document.raw(node)
    return SettingsError(f"{what} must be {wanted}, found {found} at {document.position(node.start)}")


def with_mark(text: str, document: Document) -> str:
    """Return a document's text, with the byte order mark that ``text`` has."""
    return ("\ufeff" if text.startswith("\ufeff") else "") + document.text


def string_of(node: Node | None) -> str | None:
    """Return the text that a value of a document is; None for any other, and for none."""
    return node.value if isinstance(node, Scalar) and node.is_string and isinstance(node.value, str) else None
