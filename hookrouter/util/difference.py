"""What a change of a file's text looks like to a person."""

from __future__ import annotations

import difflib
import os

__all__ = ["unified"]


def unified(path: str, before: str | None, after: str | None) -> str:
    """Return a unified diff of the file's text; None is no file. Empty if nothing changes."""
    lines = []
    for line in difflib.unified_diff(
        (before or "").splitlines(keepends=True),
        (after or "").splitlines(keepends=True),
        path if before is not None else os.devnull,
        path if after is not None else os.devnull,
    ):
        lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)
