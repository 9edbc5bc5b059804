"""Compares the annotations of a hook implementation with its spec, when a plugin is looked at.

For authors without a type checker: what is plainly the class of another hook is told before the hook is called.
Annotations are compared by name and never evaluated, so names that are imported for type checkers only do no harm.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache
from typing import TYPE_CHECKING, Any

from hookrouter._contract.tables import EVENT_NAMES, TOOLS
from hookrouter.util.signatures import annotations_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["misfits"]

_PLAIN = frozenset(
    {"Mapping", "MutableMapping", "Dict", "dict", "str", "bytes", "int", "float", "bool", "list", "tuple"}
)
"""What no event, typed input or reply is."""

_ANYTHING = frozenset({"Any", "object"})


def misfits(hook: str, function: Callable[..., Any], spec: Callable[..., Any]) -> Iterator[str]:
    """Yield one line for each annotation that says something else than the spec of the hook.

    An annotation that is missing, or names nothing that hookrouter knows, is no misfit; nor is one that allows more.
    """
    right = spec.__annotations__
    for name, annotation in annotations_of(inspect.unwrap(function)).items():
        if name == "return":
            yield from _wrong_return(hook, annotation, right["return"], function)
        elif name in right:
            wrong = _wrong(annotation, right[name], function)
            if wrong and right[name].isidentifier():
                hint = f"; its JSON object is {name}.raw" if wrong <= _PLAIN else ""
                yield f"{hook}: the argument {name!r} is annotated {_listed(wrong)}; it is a {right[name]}{hint}"


def _wrong_return(hook: str, annotation: Any, right: str, function: Callable[..., Any]) -> Iterator[str]:
    if inspect.isgeneratorfunction(function) or not right.endswith("Reply | None"):
        return
    wrong = _wrong(annotation, right, function)
    if wrong:
        yield f"{hook}: the result is annotated {_listed(wrong)}; it is {right.replace(' | ', ' or ')}"


def _wrong(annotation: Any, right: str, function: Callable[..., Any]) -> set[str]:
    """Return the names in an annotation that are wrong, unless a right one is among them."""
    found = _names(annotation)
    allowed = (_names(right) - {"None"}) | _ANYTHING
    allowed |= {"Event"} if right in EVENT_NAMES else set()
    allowed |= {"Reply"} if right.endswith("Reply | None") else set()
    if found & allowed:
        return set()
    space = getattr(inspect.unwrap(function), "__globals__", {})
    return {name for name in found if name in _PLAIN or (name in _classes() and _is_ours(space.get(name)))}


def _is_ours(value: object) -> bool:
    """Say whether a name may stand for hookrouter's class: it does, or is known to type checkers only."""
    return value is None or str(getattr(value, "__module__", "")).startswith("hookrouter.")


@cache
def _classes() -> frozenset[str]:
    from hookrouter.replies import REPLIES
    from hookrouter.tools.calls import stem

    tools = (f"{stem(tool)}{part}" for tool in TOOLS for part in ("Input", "Output"))
    return frozenset([*EVENT_NAMES, *tools, *(kind.__name__ for kind in REPLIES.values()), "Context"])


def _names(annotation: Any) -> set[str]:
    """Return the names of the classes in an annotation, without those that say what a collection holds."""
    if not isinstance(annotation, str):
        annotation = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    try:
        tree = ast.parse(annotation, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return set()
    return set(_named(tree))


def _named(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Constant):
        yield from _names(node.value) if isinstance(node.value, str) else [str(node.value)]
    elif isinstance(node, ast.BinOp):
        yield from _named(node.left)
        yield from _named(node.right)
    elif isinstance(node, ast.Subscript):
        outer = set(_named(node.value))
        if outer & {"Optional", "Union", "Annotated"}:
            for item in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
                yield from _named(item)
        yield from outer


def _listed(names: set[str]) -> str:
    return " or ".join(sorted(names))
