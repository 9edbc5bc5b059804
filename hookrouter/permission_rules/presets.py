"""Rules to begin with, of ``presets.toml``: presets are made of groups of rules."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from hookrouter.permission_rules.rule import RuleError
from hookrouter.util.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["about", "preset_names", "preset_text"]


def preset_names() -> list[str]:
    """Return the names of the presets."""
    return sorted(_data()["presets"])


def about(name: str) -> str:
    """Return in one line what a preset is for. Raises RuleError if there is none of this name."""
    return _about(name).partition("\n")[0]


def preset_text(name: str, without: Collection[tuple[str, str]] = ()) -> str:
    """Return a preset as TOML, without some rules, each a rule and its decision; empty if none is left.

    Raises RuleError if there is none of this name.
    """
    head = "".join(f"# {line}\n" for line in _about(name).splitlines())
    data = _data()
    blocks = []
    for group in (data["groups"][key] for key in data["presets"][name]["groups"]):
        decide = group["decide"]
        tables = [
            f'[[approvals.rules]]\ntool = "{tool}"\ndecide = "{decide}"\n'
            for tool in group["tools"]
            if (tool, decide) not in without
        ]
        if tables:
            blocks.append(f"# {group['why']}\n" + "\n".join(tables))
    return "\n".join([head, *blocks]) if blocks else ""


def _about(name: str) -> str:
    presets = _data()["presets"]
    if name not in presets:
        hint = did_you_mean(name, presets, f"there are {', '.join(sorted(presets))}")
        raise RuleError(f"there is no preset {name!r}; {hint}")
    return str(presets[name]["about"])


def _data() -> dict[str, Any]:
    return tomllib.loads((files("hookrouter.permission_rules") / "presets.toml").read_text("utf-8"))
