"""The pages for people: README, manual and the other Markdown files, and the blocks and links in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "DOCS",
    "REPOSITORY",
    "WRITTEN",
    "Block",
    "anchors",
    "blocks",
    "links",
    "prose",
    "replace_part",
    "write_part",
]

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"

GENERATED = "<!-- Written by"
"""How the comment begins that stands in every page that a program writes."""

WRITTEN = [
    str(file.relative_to(REPOSITORY))
    for file in (REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")))
    if GENERATED not in file.read_text(encoding="utf-8")[:500]
]
"""The pages that people write, by their path in the repository."""

_BLOCK = re.compile(r"^( *)```(\w+)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_INCLUDED = re.compile(r'^--8<-- "(.+)"$', re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


class Block(NamedTuple):
    """One fenced block."""

    language: str
    text: str

    @property
    def file(self) -> str:
        """The file that its first line names, as in ``# folder/name.py``; empty if it names none."""
        found = re.match(r"# ([\w/]+\.py)\n", self.text)
        return found[1] if found else ""


def blocks(page: str, *languages: str) -> list[Block]:
    """Return the fenced blocks of a page in these languages, or in all."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    found = [Block(match[2], match[3]) for match in _BLOCK.finditer(text)]
    return [block for block in found if not languages or block.language in languages]


def prose(page: str) -> str:
    """Return a page without its fenced blocks."""
    return _BLOCK.sub("", (REPOSITORY / page).read_text(encoding="utf-8"))


def links(page: str) -> list[str]:
    """Return the targets of a page's links."""
    return _LINK.findall(re.sub(r"`[^`\n]*`", "", prose(page)))


def anchors(page: str) -> set[str]:
    """Return what can stand after ``#`` in a link to a page: its headings, as the manual's builder names them."""
    found = set()
    text = prose(page)
    for included in _INCLUDED.findall(text):
        text += prose(included)
    for heading in _HEADING.findall(text):
        words = re.sub(r"[^\w\s-]", "", heading).strip().lower()
        found.add(re.sub(r"[-\s]+", "-", words))
    return found


def replace_part(document: str, name: str, text: str) -> str:
    """Return a page with ``text`` between ``<!-- name -->`` and ``<!-- /name -->``.

    Raises ValueError if it has not exactly one pair of them.
    """
    opening, closing = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, start, rest = document.partition(opening)
    _, end, after = rest.partition(closing)
    if not start or not end or opening in after or closing in after:
        raise ValueError(f"there must be one pair of {opening} and {closing}")
    return f"{before}{opening}\n{text}\n{closing}{after}"


def write_part(page: str, name: str, text: str) -> None:
    """Put what a program has measured into a page, see :func:`replace_part`."""
    file = REPOSITORY / page
    file.write_text(replace_part(file.read_text(encoding="utf-8"), name, text), encoding="utf-8")
