"""What a folder tells of the project in it, from a few small files: its git branch, and whether GSD plans it."""

from __future__ import annotations

import os

from hookrouter.util.regular_file import read_end

__all__ = ["git_branch", "gsd_files"]

_HEAD_BYTES = 4096
_BRANCH = "ref: refs/heads/"
_NO_BRANCH = ".invalid"
"""What HEAD names where a repository keeps its references in another way (reftable)."""

_GSD_FILES = ("ROADMAP.md", "STATE.md")
_GSD_FOLDERS = (".planning", "")


def git_branch(folder: str) -> str:
    """Return the branch that is checked out in the working tree of a folder; empty if there is none. Never raises.

    Read from ``.git/HEAD``, without running git; in worktrees and submodules ``.git`` is a file that says where it is.
    """
    while os.path.isabs(folder):
        place = os.path.join(folder, ".git")
        if os.path.lexists(place):
            return _branch(place, folder)
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return ""


def gsd_files(folder: str) -> list[str]:
    """Return the files of GSD that a project's folder has, as paths from there; empty for other projects."""
    if not os.path.isabs(folder):
        return []
    names = [os.path.join(place, name) for place in _GSD_FOLDERS for name in _GSD_FILES]
    return [name for name in names if _is_file(os.path.join(folder, name))]


def _branch(place: str, folder: str) -> str:
    try:
        if not os.path.isdir(place):
            link = _text(place)
            if not link.startswith("gitdir:"):
                return ""
            place = os.path.join(folder, link.removeprefix("gitdir:").strip())
        head = _text(os.path.join(place, "HEAD"))
    except ValueError:
        return ""
    branch = head.removeprefix(_BRANCH).strip() if head.startswith(_BRANCH) else ""
    return "" if branch == _NO_BRANCH else branch


def _text(path: str) -> str:
    return read_end(path, _HEAD_BYTES).data.decode("utf-8", "replace")


def _is_file(path: str) -> bool:
    try:
        return os.path.isfile(path)
    except ValueError:
        return False
