"""Puts what ``hookrouter plugins new`` writes into the pages of the manual that tell of it, so that it stands once.

A page says with which command its package is made, in a block of ``sh`` that begins with ``hookrouter plugins new``.
That block gets the commands that come next; each block of ``python`` whose first line names a file of the package, such
as ``# hookrouter_folder/gateway.py`` or ``# test_folder.py``, gets that file. Tables of what a contract tries are
put in too (:mod:`scripts.generate.contract_tables`).
"""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from typing import TYPE_CHECKING

from hookrouter.cli.scaffold.package import Package, plan
from scripts.generate.contract_tables import with_contract_tables

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["made_packages", "plugin_pages", "with_packages"]

_NEW = "hookrouter plugins new "
_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def plugin_pages(docs: Path) -> dict[str, str]:
    """Return the text of each page that has such a command, by its path below ``docs``."""
    pages = [*(docs / "plugins").glob("*.md"), *(docs / "start").glob("*.md")]
    texts = {str(page.relative_to(docs)): page.read_text(encoding="utf-8") for page in sorted(pages)}
    return {name: with_contract_tables(with_packages(text)) for name, text in texts.items() if made_packages(text)}


def made_packages(text: str) -> dict[str, Package]:
    """Return the packages that a page makes, by their commands."""
    lines = [block[2].splitlines()[0] for block in _BLOCK.finditer(text) if block[2].startswith(_NEW)]
    return {line: _package(line) for line in lines}


def with_packages(text: str) -> str:
    """Return the text of a page with the commands and files of its packages put in."""
    packages = made_packages(text)
    files = {
        f"# {path.removeprefix('src/').removeprefix('tests/')}": file
        for package in packages.values()
        for path, file in package.files.items()
    }

    def renewed(block: re.Match[str]) -> str:
        first = block[2].partition("\n")[0]
        if block[1] == "sh" and first in packages:
            package = packages[first]
            lines = [first, f"cd {package.distribution}", *package.work]
        elif block[1] == "python" and first in files:
            lines = [first, files[first].rstrip("\n")]
        else:
            return block[0]
        return "\n".join([f"```{block[1]}", *lines, "```"])

    return _BLOCK.sub(renewed, text)


def _package(command: str) -> Package:
    name, *options = shlex.split(command.removeprefix(_NEW))
    events = [value for option, value in pairwise(options) if option == "--event"]
    return plan(name, events, fail_closed="--fail-closed" in options)
