"""The places that name the client version which everything is measured on, and how they get another one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["PIN", "VERSIONS", "parse_version", "pinned", "with_version"]

PIN = "hookrouter/_contract/document.py"
"""Holds the pin: all programs and tests take the version from there."""

VERSIONS = "tests/support/versions.py"
"""Holds the versions of the table in the manual."""

_CONTRACT = "hookrouter/_contract/claude-code-{}.json"
_SAMPLES = "hookrouter/_contract/samples-{}.json"
_TABLE = re.compile(r'^VERSIONS = \(\n((?:    "[\d.]+",\n)+)\)$', re.MULTILINE)


def parse_version(text: str) -> tuple[int, int, int]:
    """Read ``2.1.330``. Raises ValueError."""
    found = re.fullmatch(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", text, re.ASCII)
    if found is None:
        raise ValueError(f"VERSION: {text!r} is no version such as 2.1.330")
    major, minor, patch = map(int, found.groups())
    return major, minor, patch


def with_version(text: str, version: str) -> str:
    """Return the module of the table's versions with ``version`` among them. Raises ValueError if it has no list."""
    found = _TABLE.search(text)
    if found is None:
        raise ValueError(f"{VERSIONS}: no VERSIONS = (...) with a version in each line")
    listed = {*re.findall(r'"([\d.]+)"', found[1]), version}
    lines = "".join(f'    "{each}",\n' for each in sorted(listed, key=parse_version))
    return text[: found.start(1)] + lines + text[found.end(1) :]


def pinned(root: Path, old: str, new: str) -> dict[str, str | None]:
    """Return what the pin changes below ``root``: path -> text, None for a file that goes. Writes nothing.

    The contract keeps its content: it is what was measured on ``old``, until the differences are put into it.
    """
    changed: dict[str, str | None] = {}
    if old == new:
        return changed
    for name in (_CONTRACT, _SAMPLES):
        text = (root / name.format(old)).read_text(encoding="utf-8")
        changed[name.format(old)] = None
        changed[name.format(new)] = _once(text, f'"claude_code_version": "{old}"', new) if name == _CONTRACT else text
    changed[PIN] = _once((root / PIN).read_text(encoding="utf-8"), f'VERSION = "{old}"', new)
    changed[VERSIONS] = with_version((root / VERSIONS).read_text(encoding="utf-8"), new)
    for page in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        told = re.sub(rf"(hookrouter\.testing\.client install ){re.escape(old)}(?![.\d])", rf"\g<1>{new}", text)
        if told != text:
            changed[str(page.relative_to(root))] = told
    return {path: text for path, text in changed.items() if text is None or not _is(root / path, text)}


def _once(text: str, held: str, new: str) -> str:
    if text.count(held) != 1:
        raise ValueError(f"{held} is there {text.count(held)} times, allowed once")
    return text.replace(held, re.sub(r"[\d.]+\"$", f'{new}"', held))


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text
