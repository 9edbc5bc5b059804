"""The keys of Claude Code's user settings that install the mod: no command of the client's has to be run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._installation.json_edit import Object, Scalar
from hookrouter._installation.settings_document import opened, remove_member, root, set_member, with_mark

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
    document = opened(text)
    document = set_member(document, _KNOWN, MARKETPLACE, {"source": {"source": "directory", "path": folder}})
    return with_mark(text, set_member(document, _ENABLED, _NAME, True))


def without_mod(text: str) -> str:
    """Return a settings text without the mod's keys, and without the objects that they leave empty.

    Raises SettingsError.
    """
    document = opened(text)
    before = document
    for key, name in ((_ENABLED, _NAME), (_KNOWN, MARKETPLACE)):
        document = remove_member(document, key, name)
    return text if document is before else with_mark(text, document)


def enabled_folder(text: str) -> str | None:
    """Return the folder from which a settings text installs the mod; None if it does not. Raises SettingsError."""
    settings = root(opened(text))
    enabled = _member(settings.get(_ENABLED), _NAME)
    path = _member(_member(_member(settings.get(_KNOWN), MARKETPLACE), "source"), "path")
    is_on = isinstance(enabled, Scalar) and enabled.value is True
    return path.value if is_on and isinstance(path, Scalar) and isinstance(path.value, str) else None


def _member(node: Node | None, key: str) -> Node | None:
    return node.get(key) if isinstance(node, Object) else None
