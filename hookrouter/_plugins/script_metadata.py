"""What a single file says that it needs, in its first comments: the block ``# /// script`` of PEP 723.

https://packaging.python.org/en/latest/specifications/inline-script-metadata/
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from hookrouter.util.text import describe_value

__all__ = ["why_unmet"]

_BLOCK = re.compile(r"(?m)^# /// script$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
"""As the specification has it, for blocks of the type ``script``."""

LONGEST = 1024 * 1024
"""Characters of a file in which its block is looked for."""


def why_unmet(source: str) -> str:
    """Return what a file needs that this environment does not have; empty if it has all, or the file says nothing.

    A block that cannot be read is told of like something that is missing. Raises nothing.
    """
    found = [*_BLOCK.finditer(source[:LONGEST])]
    if not found:
        return ""
    if len(found) > 1:
        return "it has several blocks # /// script; one is allowed"
    lines = found[0].group("content").splitlines()
    try:
        document = tomllib.loads("\n".join(line.removeprefix("#").removeprefix(" ") for line in lines))
    except (ValueError, RecursionError) as error:
        return f"its block # /// script is no TOML: {error}"
    wanted, python = document.get("dependencies", []), document.get("requires-python", "")
    if not isinstance(wanted, list) or not all(isinstance(one, str) for one in wanted):
        shown = describe_value(wanted)
        return f"dependencies in its block # /// script is {shown}; allowed: a list of requirements, as texts"
    try:
        here = ".".join(map(str, sys.version_info[:3]))
        if not isinstance(python, str) or not SpecifierSet(python).contains(here, prereleases=True):
            shown = python if isinstance(python, str) else describe_value(python)
            return f"it needs Python {shown}, and this is {here}"
        missing = [one for one in wanted if not _is_met(Requirement(one))]
    except (InvalidRequirement, InvalidSpecifier) as error:
        return f"its block # /// script: {error}"
    return f"it needs {', '.join(missing)}, which is not installed in {sys.prefix}" if missing else ""


def _is_met(wanted: Requirement) -> bool:
    if wanted.marker is not None and not wanted.marker.evaluate():
        return True
    try:
        return wanted.specifier.contains(version(wanted.name), prereleases=True)
    except PackageNotFoundError:
        return False
