"""Source text from the templates, laid out as formatters would."""

from __future__ import annotations

import os
from string import Template
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["fill", "import_line", "quoted", "template_names", "wrapped"]

_TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")
_SUFFIX = ".txt"
_LINE = 120


def fill(template: str, words: Mapping[str, str], **more: str) -> str:
    """Return the text of a template, named as in ``hook/plugin.py``, with its ``$words`` put in."""
    with open(os.path.join(_TEMPLATES, f"{template}{_SUFFIX}"), encoding="utf-8") as file:
        return Template(file.read()).substitute({**words, **more}).rstrip("\n") + "\n"


def template_names(folder: str) -> list[str]:
    """Return the names of a folder's templates."""
    return sorted(name.removesuffix(_SUFFIX) for name in os.listdir(os.path.join(_TEMPLATES, folder)))


def import_line(module: str, names: Iterable[str], indent: str) -> str:
    """Return an import statement as isort writes it."""
    ordered = sorted(names, key=str.lower)
    line = f"{indent}from {module} import {', '.join(ordered)}"
    if len(line) <= _LINE:
        return line
    return "\n".join([f"{indent}from {module} import (", *(f"{indent}    {name}," for name in ordered), f"{indent})"])


def wrapped(start: str, items: Sequence[str], end: str, indent: str) -> str:
    """Return the head of a definition as formatters write it: on one line, in three, or with a line for each item."""
    joined = ", ".join(items)
    if len(start + joined + end) <= _LINE:
        return start + joined + end
    if len(f"{indent}    {joined}") <= _LINE:
        return f"{start}\n{indent}    {joined}\n{indent}{end}"
    return "\n".join([start, *(f"{indent}    {item}," for item in items), f"{indent}{end}"])


def quoted(words: Iterable[str]) -> str:
    """Return words in double quotes, joined by commas, as Python and TOML have them."""
    return ", ".join(f'"{word}"' for word in words)
