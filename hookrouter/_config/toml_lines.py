"""Where in a TOML text each key is set, which :mod:`tomllib` does not tell.

A TOML text is a sequence of statements, each of whole lines: a header, a key with its value, or nothing but a comment.
Every statement is TOML of its own, and none of its beginnings is, so that tomllib itself says where it ends.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Path", "Statement", "key_text", "lines_of", "statements"]

Path = tuple["str | int", ...]
"""A key in a file: names of tables and keys, and indices of lists."""

_ENDS = ("]", "}", '"""', "'''")
"""What the last line of a statement of several lines ends with, if no comment follows."""


class Statement(NamedTuple):
    """One statement, and the keys that it sets."""

    first: int
    """The number of its first line, from 1."""
    text: str
    """Its lines, each with its newline, but for the end of the text."""
    table: Path
    """The table in which it stands; of a header, the table that begins there."""
    is_header: bool
    paths: tuple[Path, ...]
    """Every key and list item that it sets, outer ones first."""


def statements(text: str) -> list[Statement]:
    """Split a text, which must be TOML. The statements' texts together are the text."""
    found: list[Statement] = []
    table: Path = ()
    sizes: dict[Path, int] = {}
    lines = text.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    begin = 0
    for number, line in enumerate(lines):
        if number > begin and not _may_end(line):
            continue
        chunk = "".join(lines[begin : number + 1])
        try:
            value = tomllib.loads(chunk)
        except ValueError:
            continue
        is_header = chunk.lstrip(" \t").startswith("[")
        if is_header:
            table = _header(value, sizes)
            paths = [table[: end + 1] for end in range(len(table))]
        else:
            paths = [(*table, *path) for path in _paths(value)]
        found.append(Statement(begin + 1, chunk, table, is_header, tuple(paths)))
        begin = number + 1
    return found


def lines_of(text: str) -> dict[str, int]:
    """Return the line of each key of a TOML text, by its name as :func:`key_text` writes it."""
    found: dict[str, int] = {}
    for statement in statements(text):
        for path in statement.paths:
            found.setdefault(key_text(path), statement.first)
    return found


def key_text(path: Path) -> str:
    """Return a key as messages name it: ``agents[0].id``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _may_end(line: str) -> bool:
    """Say whether a statement of several lines may end with this one; cheaper than to try it for every line."""
    return line.rstrip().endswith(_ENDS) or ("#" in line and any(end in line for end in _ENDS))


def _header(value: object, sizes: dict[Path, int]) -> Path:
    """Return the table that a header begins; ``sizes`` holds how many tables each list of tables has so far."""
    path: Path = ()
    while isinstance(value, dict) and value:
        ((name, value),) = value.items()
        path = (*path, name)
        if isinstance(value, list):
            value = value[0]
            if not value:
                sizes[path] = sizes.get(path, 0) + 1
        if path in sizes:
            path = (*path, sizes[path] - 1)
    return path


def _paths(value: object, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _paths(item, (*path, key))
