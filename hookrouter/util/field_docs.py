"""Shows in ``help()`` what the source says of a named tuple's fields, which Python itself keeps nowhere.

A field's docstring is the string below it in the class. Reading the source costs much, so it is read when somebody asks
for a field's ``__doc__``, and never in a hook run.
"""

from __future__ import annotations

from operator import itemgetter

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

__all__ = ["with_field_docs"]


def with_field_docs(kind: type[T]) -> type[T]:
    """Decorate a named tuple class so that each field has the docstring that stands below it in the source."""
    fields: tuple[str, ...] = getattr(kind, "_fields", ())
    for index, name in enumerate(fields):
        setattr(kind, name, _Field(index, name, kind))
    return kind


class _Field(property):
    def __init__(self, index: int, name: str, kind: type[Any]) -> None:
        super().__init__(itemgetter(index))
        self._name = name
        self._kind = kind

    def _text(self) -> str | None:
        return _docs(self._kind).get(self._name)

    # Python itself sets that of the getter, which says nothing of the field.
    __doc__ = property(_text, lambda _self, _text: None)


def _docs(kind: type[Any]) -> dict[str, str]:
    """Return the fields' docstrings by field; none if there is no source."""
    import ast
    import inspect
    import itertools
    import textwrap

    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    except (OSError, TypeError, SyntaxError):
        return {}
    found = {}
    statements = body.body if isinstance(body, ast.ClassDef) else []
    for field, text in itertools.pairwise(statements):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            value = getattr(text.value, "value", None)
            if isinstance(value, str):
                found[field.target.id] = inspect.cleandoc(value)
    return found
