"""What ``help()`` says of the fields of public named tuples, which Python itself calls "Alias for field number 0"."""

from __future__ import annotations

import importlib
import pydoc
from typing import Any

import pytest

from hookrouter.answering.interfaces import AnswerRequest, Screen
from scripts.generate.manual import public_modules

MODULES = [name for name in public_modules() if not name.startswith(("cli.", "testing.pytest_plugin"))]


def named_tuples(module: str) -> list[type[Any]]:
    found = vars(importlib.import_module(f"hookrouter.{module}"))
    return [
        kind
        for name, kind in found.items()
        if isinstance(kind, type)
        and issubclass(kind, tuple)
        and hasattr(kind, "_fields")
        and not name.startswith("_")
        and kind.__module__ == f"hookrouter.{module}"
    ]


@pytest.mark.parametrize("module", MODULES)
def test_every_field_of_a_public_named_tuple_is_described(module: str) -> None:
    silent = [
        f"{kind.__name__}.{field}"
        for kind in named_tuples(module)
        for field in kind._fields
        if not (told := getattr(kind, field).__doc__) or told.startswith("Alias for field")
    ]
    assert not silent, "no docstring below the field, or no @with_field_docs on the class"


def test_named_tuples_are_found() -> None:
    assert {Screen, AnswerRequest} <= set(named_tuples("answering.interfaces"))


def test_help_shows_what_stands_below_a_field() -> None:
    assert "Rows of the pane." in pydoc.plain(pydoc.render_doc(Screen))
