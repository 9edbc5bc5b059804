"""Each kind of document is declared once, beside what writes it, and the manual lists it."""

from __future__ import annotations

import ast
import importlib
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter._plugins.registry import Plugins
from hookrouter.config import Config
from hookrouter.shared_documents import shared_kinds
from hookrouter.storage.home import DocumentKind
from support.shared_kinds import SHARED_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator


ROOT = Path(__file__).parents[3]
DOCUMENTS = ROOT / "docs" / "reference" / "documents.md"

WRITERS = {"write": 3, "create": 3}
"""The methods of a store that make documents, with how many arguments they have by place."""
OTHERS = {
    "hookrouter.cli.dialogs.person.view": "writes lines",
    "hookrouter.testing.contracts.document_storage": "tests engines, with documents of its own",
    "hookrouter_fleet.replica": "brings documents of all shared kinds, and those are declared",
}
"""Modules in which such a call names none, and why."""


class Module(NamedTuple):
    name: str
    path: str
    tree: ast.Module


@cache
def modules() -> list[Module]:
    found = []
    for top in ("hookrouter", "plugins"):
        base = ROOT if top == "hookrouter" else ROOT / top
        for file in sorted((ROOT / top).rglob("*.py")):
            source = file.read_text(encoding="utf-8")
            if "DocumentKind" in source or ".write(" in source or ".create(" in source:
                name = ".".join(file.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
                found.append(Module(name, str(file.relative_to(ROOT)), ast.parse(source)))
    return found


def declared() -> list[DocumentKind]:
    """Return the kinds that modules declare, each as often as it is declared."""
    found: list[DocumentKind] = []
    for one in modules():
        calls = sum(
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "DocumentKind"
            for statement in one.tree.body
            for node in ast.walk(statement)
        )
        if calls:
            values = list(vars(importlib.import_module(one.name)).values())
            parts = [part for value in values for part in (value if isinstance(value, tuple) else [value])]
            own = {id(part): part for part in parts if isinstance(part, DocumentKind)}
            found += own.values()
    return list({id(kind): kind for kind in found}.values())


def kinds_written() -> Iterator[tuple[str, str]]:
    """Yield place and first argument of each call that makes a document."""
    for one in modules():
        for node in ast.walk(one.tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            count = WRITERS.get(node.func.attr)
            pair = bool(node.args) and isinstance(node.args[0], ast.Starred)
            is_replaced = node.func.attr == "replace" and any(word.arg == "unchanged" for word in node.keywords)
            if is_replaced or (count is not None and len(node.args) == (count - 1 if pair else count)):
                first = node.args[0]
                yield one.name, ast.unparse(first.value if isinstance(first, ast.Starred) else first)


def test_each_kind_is_declared_once() -> None:
    kinds = declared()
    assert len({(kind.area, kind.name) for kind in kinds}) == len(kinds) > 30


def test_every_kind_that_is_written_is_declared() -> None:
    undeclared = []
    found = list(kinds_written())
    assert len(found) > 30
    for module, name in found:
        value = getattr(importlib.import_module(module), name, None)
        kind = value[0] if isinstance(value, tuple) else value
        if not isinstance(kind, DocumentKind) and (module not in OTHERS or name.isupper()):
            undeclared.append((module, name))
    assert undeclared == []


def test_no_kind_is_another_one_and_a_dash() -> None:
    """Else the documents of one would be among those of the other: a session called ``told-a`` was one of ``a``."""
    kinds = declared()
    assert [(one, two) for one in kinds for two in kinds if one.area == two.area and two.startswith(f"{one}-")] == []


def test_the_manual_lists_every_kind() -> None:
    rows = [
        line.split("|")[1].replace("`", "") for line in DOCUMENTS.read_text().splitlines() if line.startswith("| `")
    ]
    named = [file.strip().removeprefix("outbox/") for row in rows for file in row.split(", ") if ".json" in file]
    here = [kind for kind in declared() if kind.area in ("", "outbox")]
    assert [name for name in named if not name.startswith(tuple(f"{kind}-" for kind in here))] == []
    assert [kind for kind in here if not any(name.startswith(f"{kind}-") for name in named)] == []


def test_what_other_machines_see_is_what_they_saw() -> None:
    """Of every kind that is declared as shared, and of those that plugins have by their hook."""
    expected = {(kind.area, kind.name) for kind in SHARED_KINDS}
    assert {(kind.area, kind.name) for kind in declared() if kind.shared} == expected
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["hookrouter"]
    objects = {name: importlib.import_module(module) for name, module in entries.items()}
    objects = {name: one for name, one in objects.items() if hasattr(one, "document_kinds")}
    index = [DiscoveredPlugin(name=name, value=name, hooks=("document_kinds",)) for name in objects]
    found = shared_kinds(Plugins(index, Config(), pytest.fail, objects))
    assert {(kind.area, kind.name) for kind in found} == expected
    assert len(found) == len(expected)
