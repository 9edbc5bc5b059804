"""The plugin manager: how plugins are loaded and checked, and how their hooks are called.

Pluggy orders and calls; around it stands isolation. Every implementation is registered behind a *guard* (a function
with the same signature), so that one that raises, hangs or returns the wrong thing is a recorded failure of that
plugin and never an exception in pluggy's call loop, which would lose the other plugins' results.

Pluggy is imported when it is first needed, because most hook runs do not need it: see
:mod:`hookrouter._plugins.plain_calls`.
"""

from __future__ import annotations

import sys

from hookrouter._plugins.plain_calls import plain_calls
from hookrouter.markers import IMPLEMENTATION, PROJECT_NAME
from hookrouter.util.text import describe_error
from hookrouter.util.time_limit import time_limit

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence
    from typing import Any

    from hookrouter._plugins.call_specs import CallSpecs

    Guard = Callable[[str, str, Callable[..., Any]], Callable[..., Any]]

__all__ = [
    "build_caller",
    "build_calls",
    "collect",
    "implementations",
    "in_turn",
    "is_wrapper",
    "load_object",
    "unasked",
]

CONTRIBUTION_SECONDS = 10.0
"""How long a plugin may take to hand over what it contributes: a terminal backend, a gateway, a command."""


def load_object(value: str) -> object:
    """Import what an entry point value names: a module, or an attribute; a class is instantiated without arguments.

    The path of a file is that of a plugin of :mod:`hookrouter._plugins.files`.
    """
    if value.startswith("/"):
        from hookrouter._plugins.files import import_file

        return import_file(value)
    module, _, attribute = value.partition(":")
    __import__(module)
    found: object = sys.modules[module]
    for part in filter(None, attribute.split(".")):
        found = getattr(found, part)
    return found() if isinstance(found, type) else found


def implementations(plugin: object) -> dict[str, Callable[..., Any]]:
    """Return the functions of a plugin that carry the ``hookimpl`` marker, by the name of the hook.

    Raises pluggy.PluginValidationError if two functions implement one hook.
    """
    import pluggy

    manager, found = pluggy.PluginManager(PROJECT_NAME), {}
    for name in dir(plugin):
        if name.startswith("__"):
            continue
        options = manager.parse_hookimpl_opts(plugin, name)
        if options is None:
            continue
        hook = options.get("specname") or name
        if hook in found:
            raise pluggy.PluginValidationError(plugin, f"{hook} is implemented twice, by {name!r} too")
        found[hook] = getattr(plugin, name)
    return found


class _Facade:
    """What pluggy gets in the place of a plugin: the guarded implementations, and no other name to look at."""

    def __init__(self, implementations: Mapping[str, Callable[..., Any]]) -> None:
        vars(self).update(implementations)

    def __dir__(self) -> list[str]:
        return list(vars(self))


def in_turn(plugins: Sequence[tuple[str, object]], last: Collection[str]) -> list[list[tuple[str, object]]]:
    """Return plugins in the groups that are called one after the other: those in ``last`` each by itself."""
    others = [one for one in plugins if one[0] not in last]
    return [*([others] if others else []), *([one] for one in plugins if one[0] in last)]


def build_calls(
    specs: CallSpecs,
    plugins: Sequence[tuple[str, object]],
    guard: Guard,
    failed: Callable[[str, BaseException], None],
    first: Collection[str] = (),
) -> Mapping[str, Callable[[], list[Any]]]:
    """Return what calls each hook that a plugin implements, and returns the results as pluggy does.

    It takes no arguments: the guards put them in. All else is as :func:`build_caller` has it.
    """
    plain = plain_calls(vars(specs), plugins, guard)
    if plain is not None:
        return plain

    def call(hook: str) -> Callable[[], list[Any]]:
        caller = getattr(callers, hook)
        return lambda: caller(**dict.fromkeys(caller.spec.argnames))

    callers = build_caller(specs, plugins, guard, failed, first)
    return {hook: call(hook) for hook in vars(specs) if getattr(callers, hook).get_hookimpls()}


def build_caller(
    specs: CallSpecs,
    plugins: Sequence[tuple[str, object]],
    guard: Guard,
    failed: Callable[[str, BaseException], None],
    first: Collection[str] = (),
) -> Any:
    """Return pluggy's ``hook`` object for these specs, with every implementation of the plugins behind a guard.

    ``specs`` holds the spec functions of the hooks at hand, ``plugins`` are in calling order, and
    ``guard(plugin name, hook, function)`` returns the function that pluggy will call instead, with any arguments that
    the original takes. A plugin whose hooks do not fit the specs is left out; ``failed(plugin name, error)`` is told.
    The plugins in ``first`` are called before the others, whatever their authors have marked as ``tryfirst``.
    """
    import functools

    import pluggy

    manager: Any = pluggy.PluginManager(PROJECT_NAME)
    manager.add_hookspecs(specs)
    hooks = [name for name in vars(manager.hook) if not name.startswith("_")]
    # Pluggy calls the plugin that was registered last first.
    for name, plugin in reversed(plugins):
        try:
            found = implementations(plugin)
            guarded = {
                hook: functools.update_wrapper(guard(name, hook, found[hook]), found[hook])
                for hook in hooks
                if hook in found
            }
            if name in first:
                for function in guarded.values():
                    options = {**getattr(function, IMPLEMENTATION), "tryfirst": True, "trylast": False}
                    setattr(function, IMPLEMENTATION, options)
            manager.register(_Facade(guarded), name)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            if manager.has_plugin(name):
                manager.unregister(name=name)
            failed(name, error)
    return manager.hook


def is_wrapper(function: Callable[..., Any]) -> bool:
    """Say whether an implementation is a wrapper (a generator function marked ``wrapper=True``)."""
    if not getattr(function, IMPLEMENTATION, {}).get("wrapper"):
        return False
    import inspect

    return inspect.isgeneratorfunction(function)


def unasked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in for an implementation that is not about this call."""
    return _unasked_wrapper if is_wrapper(function) else _unasked


def _unasked(*_given: Any, **_named: Any) -> None:
    pass


def _unasked_wrapper(*_given: Any, **_named: Any) -> Generator[None, list[Any], list[Any]]:
    return (yield)


def collect(
    hook: str, plugins: Sequence[tuple[str, object]], report: Callable[[str, str], None]
) -> list[tuple[str, Any]]:
    """Call one hook without arguments and return each plugin's result that is not None, in plugin order.

    ``report(plugin name, what went wrong)`` hears of an implementation that raised, or did not return within
    CONTRIBUTION_SECONDS.
    """
    found: list[tuple[str, Any]] = []

    def failed(plugin: str, error: BaseException) -> None:
        report(plugin, f"{hook}() failed: {describe_error(error)}")

    def guard(plugin: str, _hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def guarded() -> None:
            try:
                with time_limit(CONTRIBUTION_SECONDS):
                    result = function()
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                failed(plugin, error)
            else:
                if result is not None:
                    found.append((plugin, result))

        return guarded

    from hookrouter._plugins.call_specs import contribution_spec

    for call in build_calls(contribution_spec(hook), plugins, guard, failed).values():
        call()
    return found
