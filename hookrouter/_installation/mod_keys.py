"""The keys of Claude Code's user settings that install the mod: no command of the client's has to be run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookrouter._installation.json_edit import Document, JsonTextError, Object, Scalar
from hookrouter._installation.settings_edit import SettingsError

if TYPE_CHECKING:
    from hookrouter._installation.json_edit import Node

__all__ = ["MARKETPLACE", "PLUGIN", "enabled_folder", "with_mod", "without_mod"]

MARKETPLACE = "hookrouter-local"
PLUGIN = "hookrouter-mod"

_KNOWN = "extraKnownMarketplaces"
_ENABLED = "enabledPlugins"
_NAME = f"{PLUGIN}@{MARKETPLACE}"


def with_mod(text: str, folder: str) -> str:
    """Return a settings text that installs the mod in ``folder``, an absolute path. Raises SettingsError.

    What else is in the text stays as it was written.
    """
    document = _document(text)
    document = _set(document, _KNOWN, MARKETPLACE, {"source": {"source": "directory", "path": folder}})
    return _bom(text) + _set(document, _ENABLED, _NAME, True).text


def without_mod(text: str) -> str:
    """Return a settings text without the mod's keys, and without the objects that they leave empty.

    Raises SettingsError.
    """
    document = _document(text)
    before = document
    for key, name in ((_ENABLED, _NAME), (_KNOWN, MARKETPLACE)):
        table = _root(document).get(key)
        if not isinstance(table, Object) or table.get(name) is None:
            continue
        document = document.remove(table, table.index(name))
        rest = _root(document).get(key)
        if isinstance(rest, Object) and not rest.elements:
            document = document.remove(_root(document), _root(document).index(key))
    return text if document is before else _bom(text) + document.text


def enabled_folder(text: str) -> str | None:
    """Return the folder from which a settings text installs the mod; None if it does not. Raises SettingsError."""
    root = _root(_document(text))
    enabled = _member(root.get(_ENABLED), _NAME)
    path = _member(_member(_member(root.get(_KNOWN), MARKETPLACE), "source"), "path")
    is_on = isinstance(enabled, Scalar) and enabled.value is True
    return path.value if is_on and isinstance(path, Scalar) and isinstance(path.value, str) else None


def _document(text: str) -> Document:
    body = text.removeprefix("\ufeff")
    try:
        document = Document(body if body.strip() else "{}\n")
    except JsonTextError as error:
        raise SettingsError(f"cannot be read: {error}") from None
    if not isinstance(document.root, Object):
        raise SettingsError("the file must be an object")
    return document


def _set(document: Document, key: str, name: str, value: object) -> Document:
    """Set one member of one of the root's objects, which is made if it is missing."""
    table = _root(document).get(key)
    if table is None or (isinstance(table, Scalar) and table.value is None and not table.is_string):
        if table is not None:
            document = document.remove(_root(document), _root(document).index(key))
        return document.append(_root(document), {name: value}, key)
    if not isinstance(table, Object):
        raise SettingsError(f'"{key}" must be an object, found {document.raw(table)[:40]}')
    current = table.get(name)
    if current is None:
        return document.append(table, value, name)
    if json.loads(document.raw(current)) == value:
        return document
    return document.replace(current, json.dumps(value, ensure_ascii=False))


def _root(document: Document) -> Object:
    assert isinstance(document.root, Object)  # noqa: S101 - checked by _document
    return document.root


def _member(node: Node | None, key: str) -> Node | None:
    return node.get(key) if isinstance(node, Object) else None


def _bom(text: str) -> str:
    return "\ufeff" if text.startswith("\ufeff") else ""
