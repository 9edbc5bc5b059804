"""Write files that follow from the code, or tell which are not up to date: the command lines of such generators."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["write_or_compare"]


def write_or_compare(
    module: str, arguments: list[str], default: Path, generate: Callable[[], Mapping[str, str]]
) -> int:
    """Run ``python -m MODULE [--check] [FOLDER]``; return the exit code.

    ``generate`` returns the text of each file by its path below FOLDER, which is ``default`` if none is given. A
    text that begins with ``#!`` becomes executable. With ``--check`` nothing is written, and the code is 1 if a file
    differs. Other arguments are refused with 2.
    """
    folders = [word for word in arguments if not word.startswith("-")]
    if len(folders) > 1 or set(arguments) - {"--check", *folders}:
        sys.stderr.write(f"usage: python -m {module} [--check] [FOLDER]\n")
        return 2
    folder = Path(folders[0]) if folders else default
    stale = []
    for name, text in generate().items():
        file = folder / name
        if "--check" not in arguments:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            file.chmod(0o755 if text.startswith("#!") else 0o644)
        elif not file.is_file() or file.read_text(encoding="utf-8") != text:
            stale.append(file)
    for file in stale:
        sys.stderr.write(f"{file} is not what the code says; run `python -m {module}`\n")
    return 1 if stale else 0
