"""Paths as Claude Code makes them of what its tools are given."""

from __future__ import annotations

import os
import re

from hookrouter.util.text import TRIMMED

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["client_path", "paths_of", "searched_folder"]

_READS = {"Read": "file_path", "Edit": "file_path", "NotebookEdit": "notebook_path", "Glob": "path", "Grep": "path"}
_WRITES = {"Write": "file_path", "Edit": "file_path", "NotebookEdit": "notebook_path"}
_IS_HERE = ("Glob", "Grep")
"""The tools that look into the folder itself if no path is given."""

_WILDCARD = re.compile(r"[*?\[\]{}()!+@\\]")
_UPWARDS = re.compile(r"(?:^|/)\.\.(?:/|$)|[{,(|]\.{1,2}[},)|/]|\[\.")


def paths_of(tool: str, tool_input: Mapping[str, Any], folder: str, *, writes: bool) -> tuple[str, ...] | None:
    """Return the absolute paths that a call reads, or writes; None if that is not known, none for a tool without any.

    For a search it is the file or folder that it goes through.
    """
    name = (_WRITES if writes else _READS).get(tool)
    if name is None:
        return ()
    path = tool_input.get(name)
    if path is None and tool in _IS_HERE:
        path = "."
    found = client_path(path, folder) if isinstance(path, str) and path else None
    if found is not None and tool == "Glob":
        pattern = tool_input.get("pattern")
        found = searched_folder(pattern, found) if isinstance(pattern, str) else None
    return None if found is None else (found,)


def client_path(path: str, folder: str) -> str | None:
    """Return the absolute path that a tool takes ``path`` for in a session of ``folder``; None if it takes none.

    Source: the code of Claude Code 2.1.332. Blanks around it are taken away; nothing else is the folder itself; ``~``
    and ``~/`` are the home folder; ``.``, ``..`` and doubled slashes are resolved; letters are composed (NFC).
    """
    if "\0" in path:
        return None
    path = path.strip(TRIMMED)
    if path == "~" or path.startswith("~/"):
        path = os.path.expanduser("~") + path[1:]
    full = os.path.normpath(os.path.join(folder, path))
    if full.startswith("//"):
        # POSIX, and so Python, lets two slashes stand.
        full = full[1:]
    if full.isascii():
        return full
    from unicodedata import normalize

    return normalize("NFC", full)


def searched_folder(pattern: str, folder: str) -> str | None:
    """Return the folder that the pattern of Glob looks into, from ``folder`` on; None if that is not known.

    It is that of the part of the pattern without wildcards: ``/etc`` for ``/etc/*.conf``.
    """
    found = _WILDCARD.search(pattern)
    at = pattern.rfind("/", 0, found.start()) + 1 if found else len(pattern)
    if _UPWARDS.search(pattern, at):
        return None
    return client_path(pattern[:at] or ".", folder)
