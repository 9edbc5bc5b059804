"""Rules to begin with, as data files beside this package."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING

from hookrouter.cli.errors import CommandError
from hookrouter.util.text import did_you_mean

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["missing_of", "preset_names", "preset_text", "summary"]

_TABLE = "[[approvals.rules]]"


def preset_names() -> list[str]:
    """Return the names of the presets."""
    found = (one.name for one in _folder().iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))


def preset_text(name: str) -> str:
    """Return a preset as TOML. Raises CommandError if there is none of this name."""
    names = preset_names()
    if name not in names:
        hint = did_you_mean(name, names, f"there are {', '.join(names)}")
        raise CommandError(f"there is no preset {name!r}; {hint}")
    return (_folder() / f"{name}.toml").read_text("utf-8")


def summary(text: str) -> str:
    """Return the first line of what a preset says about itself."""
    return text.partition("\n")[0].removeprefix("#").strip()


def missing_of(text: str, has: frozenset[tuple[str, str]]) -> str:
    """Return a preset without the rules that a config has already, as ``has`` (rule, decision); empty if it has all.

    A comment is kept if the rule that comes next, or one that follows without another comment, is.
    """
    head, *tables = text.split(_TABLE)
    kept = []
    comment = head
    for table in tables:
        body, mark, following = table.partition("\n#")
        (rule,) = tomllib.loads(f"{_TABLE}{body}")["approvals"]["rules"]
        if (rule["tool"], rule["decide"]) not in has:
            kept.append(f"{comment}{_TABLE}{body}")
            comment = ""
        if mark:
            comment = f"{mark}{following}"
    return f"{''.join(kept).strip()}\n" if kept else ""


def _folder() -> Traversable:
    return files("hookrouter_approvals") / "presets"
