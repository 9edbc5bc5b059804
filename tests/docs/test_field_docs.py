"""Each field of a public named tuple is described below it, where editors and the manual read it."""

from __future__ import annotations

import ast
import importlib
import inspect
from itertools import pairwise

import pytest

from scripts.generate.manual import public_modules

MODULES = [name for name in public_modules() if not name.startswith(("cli.", "testing.pytest_plugin"))]


def undescribed(source: str) -> list[str]:
    """Return the fields of public named tuples below which no text stands."""
    found = []
    for kind in ast.parse(source).body:
        bases = [base.id for base in kind.bases if isinstance(base, ast.Name)] if isinstance(kind, ast.ClassDef) else []
        if not isinstance(kind, ast.ClassDef) or "NamedTuple" not in bases or kind.name.startswith("_"):
            continue
        for field, below in pairwise([*kind.body, ast.Pass()]):
            is_told = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and not is_told:
                found.append(f"{kind.name}.{field.target.id}")
    return found


@pytest.mark.parametrize("module", MODULES)
def test_every_field_of_a_public_named_tuple_is_described(module: str) -> None:
    assert not undescribed(inspect.getsource(importlib.import_module(f"hookrouter.{module}")))


def test_one_without_a_text_is_found() -> None:
    source = 'class One(NamedTuple):\n    told: int\n    """It."""\n    silent: str\n'
    assert undescribed(source) == ["One.silent"]
