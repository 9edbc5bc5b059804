"""The hook specifications: what plugins may implement.

One class per family. Each is also a base class for plugins: pluggy registers only the methods that a subclass overrides
and marks with ``@hookimpl``, and a type checker compares their signatures with the specs. Importing a class loads its
module alone.
"""

from __future__ import annotations

from hookrouter.util.lazy import lazy_names

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from hookrouter.hookspecs.answering import *
    from hookrouter.hookspecs.commands import CommandSpecs as CommandSpecs
    from hookrouter.hookspecs.events import *
    from hookrouter.hookspecs.pages import *
    from hookrouter.hookspecs.permission_denied import *
    from hookrouter.hookspecs.permission_request import *
    from hookrouter.hookspecs.post_tool_use import *
    from hookrouter.hookspecs.post_tool_use_failure import *
    from hookrouter.hookspecs.pre_tool_use import *
    from hookrouter.hookspecs.prompting import *
    from hookrouter.hookspecs.residing import *
    from hookrouter.hookspecs.settings import *
    from hookrouter.hookspecs.storage import *
    from hookrouter.hookspecs.watching import *

_SPECS = {
    "hookrouter.hookspecs.events": "EventSpecs",
    "hookrouter.hookspecs.pre_tool_use": "PreToolUseSpecs",
    "hookrouter.hookspecs.permission_request": "PermissionRequestSpecs",
    "hookrouter.hookspecs.permission_denied": "PermissionDeniedSpecs",
    "hookrouter.hookspecs.post_tool_use": "PostToolUseSpecs",
    "hookrouter.hookspecs.post_tool_use_failure": "PostToolUseFailureSpecs",
    "hookrouter.hookspecs.answering": "AnswerSpecs",
    "hookrouter.hookspecs.commands": "CommandSpecs",
    "hookrouter.hookspecs.pages": "PageSpecs",
    "hookrouter.hookspecs.prompting": "PromptSpecs",
    "hookrouter.hookspecs.residing": "ResidentSpecs",
    "hookrouter.hookspecs.settings": "SettingsSpecs",
    "hookrouter.hookspecs.storage": "StorageSpecs",
    "hookrouter.hookspecs.watching": "WatchSpecs",
}

_find = lazy_names(__name__, _SPECS)

if not TYPE_CHECKING:
    __getattr__ = _find


def all_spec_classes() -> list[type]:
    """Return every spec class. Imports all of their modules, so not for ``hookrouter run``."""
    found: list[Any] = [_find(name) for name in _SPECS.values()]
    return found
