"""Calls hooks without pluggy if it would have nothing to do: no order to find, no wrapper to run.

Importing pluggy, with the ``inspect`` that it needs, takes longer than all the rest of most hook runs. What it does
with *plain* implementations can be told in a line: it calls them in the order of their plugins, with the arguments that
they name, and returns the results that are not None. So an implementation is called from here if it is a function of a
module or a method of an ordinary object, marked with no option that changes when or how it is called, and names
arguments of its hook alone, without defaults. If any that listens is not, all of them are pluggy's, which also says
what is wrong with one that does not fit. See :func:`hookrouter._plugins.manager.build_calls`.
"""

from __future__ import annotations

import os
import sys

from hookrouter.markers import IMPLEMENTATION

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

__all__ = ["argument_names", "plain_calls"]

# The module types has these under names, and takes time to import.
_Function: Any = type(lambda: None)
_Method: Any = type(os.environ.get)
_Module: Any = type(sys)

_CHANGING = ("hookwrapper", "tryfirst", "trylast", "wrapper")
"""The options that change when or how an implementation is called."""

_HANDMADE = ("__dir__", "__getattr__", "__getattribute__", "__slots__")
"""What gives an object names that are not in its dictionary, nor in those of its classes."""


def plain_calls(
    specs: Mapping[str, Callable[..., Any]],
    plugins: Sequence[tuple[str, object]],
    guard: Callable[[str, str, Callable[..., Any]], Callable[..., Any]],
) -> dict[str, Callable[[], list[Any]]] | None:
    """Return what calls each hook that is implemented; None if an implementation is not plain.

    ``specs`` are the spec functions of the hooks at hand; ``plugins`` and ``guard`` are as ``build_calls`` has them.
    """
    chosen: dict[str, list[tuple[str, Callable[..., Any]]]] = {}
    for name, plugin in plugins:
        found = _implementations(plugin)
        if found is None:
            return None
        for hook, spec in specs.items():
            function = found.get(hook)
            if function is None:
                continue
            if not _is_plain(function, argument_names(spec)):
                return None
            chosen.setdefault(hook, []).append((name, function))
    return {
        hook: _in_order([(guard(name, hook, function), len(argument_names(function))) for name, function in functions])
        for hook, functions in chosen.items()
    }


def argument_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the arguments that a function, bound or wrapped or not, takes in order."""
    is_bound = type(function) is _Method
    plain: Any = function.__func__ if is_bound else function  # type: ignore[attr-defined] # a method's
    if type(plain) is _Function and not hasattr(plain, "__wrapped__"):
        names: tuple[str, ...] = plain.__code__.co_varnames[: plain.__code__.co_argcount]
        return names[1:] if is_bound else names
    from hookrouter.util.signatures import signature_of

    return tuple(signature_of(function).parameters)


def _in_order(guards: Sequence[tuple[Callable[..., Any], int]]) -> Callable[[], list[Any]]:
    """Return what calls guards one after the other; each puts in itself what its implementation gets."""

    def call() -> list[Any]:
        results = [guard(*[None] * count) for guard, count in guards]
        return [result for result in results if result is not None]

    return call


def _implementations(plugin: object) -> dict[str, Callable[..., Any]] | None:
    """Return the implementations of a plugin by hook; None if pluggy has to say what they are."""
    namespaces = _namespaces(plugin)
    if namespaces is None:
        return None
    # The first that has a name wins, as for every attribute.
    members = {name: value for names in reversed(namespaces) for name, value in names.items()}
    found: dict[str, Callable[..., Any]] = {}
    for name, value in members.items():
        options = None if name.startswith("__") else _options(value)
        if options is None:
            continue
        hook = options.get("specname") or name if isinstance(options, dict) else ""
        is_own = len(namespaces) > 1 and name in namespaces[0]
        if not hook or hook in found or is_own or type(value) is not _Function:
            return None
        found[hook] = getattr(plugin, name)
    return found


def _options(value: Any) -> Any:
    """Return how a member of a plugin is marked as an implementation; None if it is not, or cannot be one."""
    if type(value) in (_Method, classmethod, staticmethod):
        return getattr(value, IMPLEMENTATION, None) or getattr(value.__func__, IMPLEMENTATION, None)
    # All else that can be one is a descriptor: a function, or what a decorator has made of it. Nothing else is asked:
    # some objects have every attribute.
    return getattr(value, IMPLEMENTATION, None) if hasattr(type(value), "__get__") else None


def _namespaces(plugin: object) -> list[Mapping[str, Any]] | None:
    """Return what holds the names of a module or an object, nearest first; None for what is neither, or handmade."""
    if type(plugin) is _Module:
        return None if "__dir__" in vars(plugin) else [vars(plugin)]
    kind = type(plugin)
    if isinstance(plugin, type) or type(kind) is not type:
        return None
    classes = [vars(base) for base in kind.__mro__ if base is not object]
    if any(name in names for names in classes for name in _HANDMADE):
        return None
    return [vars(plugin), *classes]


def _is_plain(function: Any, known: Collection[str]) -> bool:
    """Say whether an implementation needs nothing of pluggy; ``known`` are the arguments of its hook."""
    options = getattr(function, IMPLEMENTATION)
    is_method = type(function) is _Method
    return not (
        any(options.get(option) for option in _CHANGING)
        or hasattr(function, "__wrapped__")
        or function.__defaults__
        # A function that was a class's: pluggy may leave out its first argument.
        or ("." in function.__qualname__ and not is_method)
        or not set(argument_names(function)).issubset(known)
    )
