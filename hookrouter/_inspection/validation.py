"""Whether a plugin's implementations fit the hooks that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from hookrouter._contract.document import snake
from hookrouter._inspection.annotations import misfits
from hookrouter._plugins.manager import implementations
from hookrouter.hookspecs import all_spec_classes
from hookrouter.markers import IMPLEMENTATION, PROJECT_NAME
from hookrouter.util.signatures import signature_of
from hookrouter.util.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["validate"]


def validate(name: str, plugin: object) -> dict[str, Callable[..., Any]]:
    """Return a plugin's implementations of the hooks that there are, by name, as :func:`implementations` has them.

    One that is not known and marked with ``optionalhook`` is left out: it may be another version's. Checks unknown
    names, arguments and classes, old-style wrappers.

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
        if getattr(function, IMPLEMENTATION, {}).get("hookwrapper"):
            raise pluggy.PluginValidationError(plugin, f"{hook}: hookwrapper=True is not supported, use wrapper=True")
        spec = getattr(manager.hook, hook).spec
        for problem in (*_unknown_arguments(hook, function, spec.argnames), *misfits(hook, function, spec.function)):
            raise pluggy.PluginValidationError(plugin, problem)
    manager.register(plugin, name)
    manager.check_pending()
    return found


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
