"""Whether a plugin's implementations fit the hooks that there are."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING

import pluggy

from hookrouter._contract.document import snake
from hookrouter._inspection.annotations import misfits
from hookrouter._plugins.manager import implementations
from hookrouter._plugins.registry import UNKNOWN_HOOKS
from hookrouter.hookspecs import all_spec_classes
from hookrouter.markers import IMPLEMENTATION, LONGEST_TIMEOUT, PROJECT_NAME, TIMEOUT
from hookrouter.util.signatures import signature_of
from hookrouter.util.text import describe_value, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["declared_timeout", "is_timeout_misplaced", "known_hooks", "validate"]


def validate(name: str, plugin: object) -> dict[str, Callable[..., Any]]:
    """Return a plugin's implementations of the hooks that there are, by name, as :func:`implementations` has them.

    One that is not known and marked with ``optionalhook`` is left out: it may be another version's. Checks unknown
    names, arguments and classes, old-style wrappers, and functions that would not run if they were called.

    Raises pluggy.PluginValidationError, whose message names the hook and what is allowed.
    """
    manager = pluggy.PluginManager(PROJECT_NAME)
    for specs in all_spec_classes():
        manager.add_hookspecs(specs)
    known = {hook for hook in vars(manager.hook) if not hook.startswith("_")}
    found = implementations(plugin)
    for hook, function in list(found.items()):
        if hook not in known and _is_optional(function):
            del found[hook]
            continue
        if hook not in known:
            hint = did_you_mean(snake(hook), known, "see the hook reference for the names")
            raise pluggy.PluginValidationError(plugin, f"unknown hook {hook!r}; {hint}")
        if kind := _not_called(function):
            raise pluggy.PluginValidationError(plugin, f"{hook}: {kind}")
        if getattr(function, IMPLEMENTATION, {}).get("hookwrapper"):
            raise pluggy.PluginValidationError(plugin, f"{hook}: hookwrapper=True is not supported, use wrapper=True")
        spec = getattr(manager.hook, hook).spec
        for problem in (*_unknown_arguments(hook, function, spec.argnames), *misfits(hook, function, spec.function)):
            raise pluggy.PluginValidationError(plugin, problem)
    manager.register(plugin, name)
    manager.check_pending()
    return found


def declared_timeout(plugin: object) -> float | None:
    """Return how many seconds a plugin says that it needs in one run; None if it says nothing.

    Raises pluggy.PluginValidationError, whose message names the file, the attribute and what is allowed.
    """
    # Not getattr: some objects have every attribute.
    found = inspect.getattr_static(plugin, TIMEOUT, None)
    if found is None or (type(found) in (int, float) and 0 < found <= LONGEST_TIMEOUT):
        return None if found is None else float(found)
    allowed = f"a number of seconds, more than 0 and at most {LONGEST_TIMEOUT:g}"
    place = getattr(_module_of(plugin), "__file__", None) or f"{type(plugin).__module__}:{type(plugin).__qualname__}"
    raise pluggy.PluginValidationError(plugin, f"{place}: {TIMEOUT} is {describe_value(found)}; allowed: {allowed}")


def is_timeout_misplaced(plugin: object) -> bool:
    """Whether the module of a plugin declares a time limit that does not count, because the plugin is an object."""
    there = (inspect.getattr_static(one, TIMEOUT, None) is not None for one in (_module_of(plugin), plugin))
    return list(there) == [True, False]


def _module_of(plugin: object) -> object:
    return plugin if inspect.ismodule(plugin) else sys.modules.get(type(plugin).__module__)


def known_hooks(plugin: object) -> list[str]:
    """Return what a plugin that does not fit is taken to listen to, so that none of its guards is gone without a word.

    The hooks that there are and, if it has one that is not known and not optional, those before any call of a tool:
    it may be a guard's misspelt name. Raises pluggy.PluginValidationError as :func:`implementations` does.
    """
    found = implementations(plugin)
    known = {name for specs in all_spec_classes() for name in vars(specs)} & found.keys()
    has_unknown = any(hook not in known and not _is_optional(function) for hook, function in found.items())
    return sorted(known.union(UNKNOWN_HOOKS) if has_unknown else known)


def _not_called(function: Callable[..., Any]) -> str:
    """Return why calling a function would run nothing of it; empty if it would, or if it is a wrapper."""
    options, name = getattr(function, IMPLEMENTATION, {}), getattr(function, "__name__", "it")
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return f"{name} is 'async def', and hooks are called without an event loop; make it a plain function"
    if inspect.isgeneratorfunction(function) and not (options.get("wrapper") or options.get("hookwrapper")):
        return f"{name} has a 'yield', which only a wrapper may have: @hookimpl(wrapper=True)"
    return ""


def _is_optional(function: Callable[..., Any]) -> bool:
    return bool(getattr(function, IMPLEMENTATION, {}).get("optionalhook"))


def _unknown_arguments(hook: str, function: Callable[..., Any], known: Sequence[str]) -> list[str]:
    """Return what to say of an argument that the hook does not have, and that has no default."""
    parameters = signature_of(function).parameters.values()
    asked = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD and one.default is one.empty]
    unknown = [name for name in asked if name not in (*known, "self")]
    if not unknown:
        return []
    hint = did_you_mean(unknown[0], known, f"there are: {', '.join(known) or 'none'}")
    return [f"{hook}: unknown argument {unknown[0]!r}; {hint}"]
