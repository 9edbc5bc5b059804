"""Plugins that are single files: what lies in the folder ``plugins`` of the home, each a plugin named by its file.

A module of there is imported as ``hookrouter_files.NAME``, so that a file may be called as any module is, and files may
import each other (``from . import _helper``: a file whose name begins with ``_`` is no plugin). Everybody who may
write there runs code in each hook of this user: what another user may write to is not imported.
"""

from __future__ import annotations

import os
import stat
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter.storage.home import Home

__all__ = [
    "FOLDER",
    "PACKAGE",
    "copy_folder",
    "has_own_plugins",
    "import_file",
    "is_file",
    "may_be_named",
    "misnamed",
    "plugin_files",
    "sources",
    "why_unsafe",
]

FOLDER = ".claude/hookrouter"
"""The folder of a project that holds its own plugins."""

PACKAGE = "hookrouter_files"
"""The package that the modules of the folder are imported into."""

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")

_CACHE = "__pycache__"
_DIGEST = 64
"""Characters of the name of a copy."""


def is_file(value: str) -> bool:
    """Whether a plugin's ``value`` is the path of a file, and not what an entry point refers to."""
    return value.startswith("/")


def may_be_named(name: str) -> bool:
    """Whether a file of this name, without its ending, is a plugin."""
    return name[:1] not in ("", "_") and _LETTERS.issuperset(name)


def plugin_files(folder: str) -> list[tuple[str, str]]:
    """Return the plugins that lie in a folder, files and packages, each with its name and path, in order.

    A file and a package may have one name. Looks at names alone, and opens nothing. Raises OSError if the folder is
    there and cannot be listed.
    """
    return [(name, path) for name, path in _sources_in(folder) if may_be_named(name)]


def misnamed(folder: str) -> list[str]:
    """Return the paths of what would be plugins of a folder but for their names. Raises as :func:`plugin_files`."""
    return [path for name, path in _sources_in(folder) if name[0] not in "._" and not may_be_named(name)]


def _sources_in(folder: str) -> Iterator[tuple[str, str]]:
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith(".py") and name != ".py":
            yield name.removesuffix(".py"), path
        elif os.path.exists(os.path.join(path, "__init__.py")):
            yield name, path


def has_own_plugins(project: str) -> bool:
    """Whether a project has a folder of plugins of its own, whatever it holds."""
    return project.startswith("/") and os.path.isdir(os.path.join(project, FOLDER))


def copy_folder(home: Home, tree: str) -> str:
    """Return the folder with the copy of a project's own plugins whose digest is ``tree``."""
    return os.path.join(home.trusted, "trees", tree)


def sources(path: str) -> list[str]:
    """Return what may run with a plugin that is a file or package: its own files and folders, and the folder's helpers.

    What Python makes of them is not among it. Raises OSError if a folder cannot be listed.
    """
    folder, found = os.path.dirname(path), []
    helpers = [name for name in sorted(os.listdir(folder)) if name[0] == "_" and name != _CACHE]
    waiting = [path, *(os.path.join(folder, name) for name in helpers)]
    while waiting:
        one = waiting.pop(0)
        if os.path.isdir(one):
            # No link is followed any further: it may lead back.
            names = [] if os.path.islink(one) and one != path else sorted(os.listdir(one))
            waiting += [os.path.join(one, name) for name in names if name != _CACHE and name[0] != "."]
        elif not one.endswith(".py"):
            continue
        found.append(one)
    return found


def why_unsafe(path: str) -> str:
    """Return why a file must not be imported, because of who may write to what would run; empty if it may be."""
    try:
        own = sources(path)
    except OSError as error:
        return f"{error.filename} cannot be examined: {error.strerror}"
    for one in (os.path.dirname(path), *own):
        try:
            status = os.stat(one)
        except OSError as error:
            return f"{one} cannot be examined: {error.strerror}"
        if status.st_uid not in (os.geteuid(), 0):
            return f"{one} belongs to another user; hookrouter plugins add copies a file of one's own"
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"other users may write to {one}: chmod go-w {one}"
    return ""


def import_file(path: str) -> object:
    """Import a file or package of the folder, and return its module. Raises what it raises, and ImportError."""
    folder = os.path.dirname(path)
    tree = os.path.basename(folder)
    # A copy of a project's plugins has the digest of all of it for a name: no other project's helpers are its own.
    named = f"{PACKAGE}_{tree}" if len(tree) == _DIGEST else PACKAGE
    package = sys.modules.get(named)
    if package is None:
        package = sys.modules[named] = type(sys)(named)
    package.__path__ = [folder]
    name = f"{named}.{os.path.splitext(os.path.basename(path))[0]}"
    __import__(name)
    return sys.modules[name]
