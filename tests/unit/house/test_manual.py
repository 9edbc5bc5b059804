"""The manual's first page about plugins names every plugin of hookrouter's own, and every hook that adds a part."""

from __future__ import annotations

import re
import tomllib
from inspect import signature

from hookrouter.hookspecs import all_spec_classes
from support.manual import DOCS, REPOSITORY

INDEX = (DOCS / "plugins" / "index.md").read_text(encoding="utf-8")


def named() -> set[str]:
    return set(re.findall(r"`([\w-]+)`", INDEX))


def test_it_names_every_plugin_of_hookrouters_own() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["entry-points"]["hookrouter"]) <= named()


def test_it_names_every_hook_that_adds_a_part() -> None:
    """They take no arguments; those of events do, and have a reference of their own."""
    specs = {name: spec for one in all_spec_classes() for name, spec in vars(one).items() if callable(spec)}
    hooks = {name for name, spec in specs.items() if list(signature(spec).parameters) == ["self"]}
    assert {"gateway", "dialog_kinds"} <= hooks
    assert hooks <= named()
