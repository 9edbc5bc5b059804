"""What is called without pluggy is called as pluggy calls it, and everything else is pluggy's."""

from __future__ import annotations

import functools
import itertools
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pluggy
import pytest

from hookrouter._plugins import manager, plain_calls
from hookrouter._plugins.call_specs import hookspecs_for
from hookrouter.markers import PROJECT_NAME, hookimpl, hookspec

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = "from hookrouter import hookimpl\n"
OPTIONS = ("hookwrapper", "optionalhook", "tryfirst", "trylast", "wrapper")


def function(*_arguments: object) -> None:
    return None


def marked(marker: Any, options: dict[str, Any], attribute: str) -> Any:
    def made() -> None:
        return None

    made_too = marker(made, **options) if options.pop("at once", False) else marker(**options)(made)
    assert made_too is made
    return vars(made)[attribute]


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("chosen", [names for n in range(3) for names in itertools.combinations(OPTIONS, n)])
def test_an_implementation_is_marked_as_pluggy_marks_it(chosen: tuple[str, ...], at_once: bool) -> None:
    options = {"at once": at_once, "specname": "other", **dict.fromkeys(chosen, True)}
    ours = marked(hookimpl, dict(options), "hookrouter_impl")
    assert ours == marked(pluggy.HookimplMarker(PROJECT_NAME), dict(options), "hookrouter_impl")


@pytest.mark.parametrize("options", [{}, {"firstresult": True}, {"historic": True}, {"warn_on_impl": UserWarning("x")}])
def test_a_spec_is_marked_as_pluggy_marks_it(options: dict[str, Any]) -> None:
    ours = marked(hookspec, dict(options), "hookrouter_spec")
    assert ours == marked(pluggy.HookspecMarker(PROJECT_NAME), dict(options), "hookrouter_spec")


def test_a_bare_marker_gives_each_function_its_own_options() -> None:
    marker = hookimpl(tryfirst=True)
    first, second = marker(lambda: None), marker(lambda: None)
    assert vars(first)["hookrouter_impl"] == vars(second)["hookrouter_impl"]
    assert vars(first)["hookrouter_impl"] is not vars(second)["hookrouter_impl"]
    assert vars(hookimpl(lambda: None))["hookrouter_impl"] == marked(
        pluggy.HookimplMarker(PROJECT_NAME), {}, "hookrouter_impl"
    )


def test_the_markers_take_the_same_arguments_as_pluggys() -> None:
    import inspect

    for ours, theirs in ((hookimpl, pluggy.HookimplMarker), (hookspec, pluggy.HookspecMarker)):
        expected = list(inspect.signature(theirs.__call__).parameters.values())[1:]
        found = inspect.signature(ours).parameters.values()
        assert [(one.name, one.default) for one in found] == [(one.name, one.default) for one in expected]


def test_no_spec_is_historic_and_stops_at_the_first_result() -> None:
    with pytest.raises(ValueError, match="historic firstresult"):
        hookspec(historic=True, firstresult=True)(function)


def module(body: str) -> ModuleType:
    made = ModuleType("some_plugin")
    exec(HEADER + body, vars(made))
    return made


def instance(body: str) -> object:
    made = module(body)
    return made.Plugin()


def calls(
    plugins: list[object], build: Callable[..., Any] = manager.build_calls
) -> tuple[dict[str, list[Any]], list[tuple[str, int]], list[str]]:
    """Return the results by hook, the guards' calls with the number of arguments, and the plugins that failed."""
    called: list[tuple[str, int]] = []
    failures: list[str] = []

    def guard(plugin: str, hook: str, implementation: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*given: Any, **named: Any) -> Any:
            called.append((f"{plugin}.{hook}", len(given)))
            return implementation(*given, **named)

        def wrapper(*given: Any, **named: Any) -> Any:
            return (yield from implementation(*given, **named))

        return wrapper if manager.is_wrapper(implementation) else guarded

    named = [(f"p{number}", plugin) for number, plugin in enumerate(plugins)]
    built = build(hookspecs_for("PreToolUse", "Bash"), named, guard, lambda plugin, _error: failures.append(plugin))
    results = {hook: call() for hook, call in built.items()}
    return results, called, failures


PLAIN: list[list[object]] = [
    [module("@hookimpl\ndef pre_tool_use(event, context): return 1")],
    [module("@hookimpl\ndef pre_tool_use(): return 1"), module("@hookimpl\ndef pre_tool_use(context): return 2")],
    [module("@hookimpl\ndef pre_tool_use(): return None"), module("@hookimpl\ndef pre_tool_use(): return 0")],
    [module("@hookimpl\ndef pre_tool_use_bash(tool_input): return 1\n@hookimpl\ndef raw_event(payload): return [2]")],
    [module("@hookimpl(specname='pre_tool_use')\ndef other(context, event): return 1")],
    [module("@hookimpl(optionalhook=True)\ndef pre_tool_use(context, event): return 1")],
    [module("@hookimpl\ndef stop(event): return 1"), module("def pre_tool_use(): return 1")],
    [module("from unittest.mock import Mock\nmock = Mock()\n@hookimpl\ndef pre_tool_use(event): return 1")],
    [instance("class Plugin:\n    @hookimpl\n    def pre_tool_use(self, event): return 1")],
    [
        instance(
            "class Base:\n    @hookimpl\n    def pre_tool_use(self, event): return 1\n"
            "    @hookimpl\n    def raw_event(self): return 2\n"
            "class Plugin(Base):\n    def raw_event(self): return 3\n"
        )
    ],
    [
        instance(
            "from hookrouter.hookspecs.pre_tool_use import PreToolUseSpecs\n"
            "class Plugin(PreToolUseSpecs):\n    @hookimpl\n    def pre_tool_use_bash(self, tool_input): return 1"
        )
    ],
    [
        instance(
            "class Plugin:\n    def __init__(self): self.x = print\n    @hookimpl\n    def raw_event(self): return 1"
        )
    ],
]


@pytest.mark.parametrize("plugins", PLAIN, ids=range(len(PLAIN)))
def test_plain_implementations_are_called_as_pluggy_calls_them(
    plugins: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(manager, "plain_calls", lambda *_: None)
        expected = calls(plugins)
    monkeypatch.setattr(manager, "build_caller", None)
    assert calls(plugins) == expected


OTHERS: list[list[object]] = [
    [module("@hookimpl(tryfirst=True)\ndef pre_tool_use(event): return 1")],
    [module("@hookimpl(trylast=True)\ndef pre_tool_use(event): return 1")],
    [module("@hookimpl(wrapper=True)\ndef pre_tool_use(event): return (yield)")],
    [module("@hookimpl(hookwrapper=True)\ndef pre_tool_use(event): yield")],
    [module("@hookimpl\ndef pre_tool_use(event, context=None): return 1")],
    [module("@hookimpl\ndef pre_tool_use(kontext): return 1")],
    [module("@hookimpl\ndef pre_tool_use(): pass\n@hookimpl(specname='pre_tool_use')\ndef other(): pass")],
    [module("import functools\n@hookimpl\n@functools.wraps(len)\ndef pre_tool_use(event): return 1")],
    [module("import functools\n@functools.cache\n@hookimpl\ndef pre_tool_use(event): return 1")],
    [module("class A:\n    @hookimpl\n    def pre_tool_use(self, event): return 1\npre_tool_use = A.pre_tool_use")],
    [module("class A:\n    @hookimpl\n    def pre_tool_use(self, event): return 1\npre_tool_use = A().pre_tool_use")],
    [module("def __dir__(): return []\n@hookimpl\ndef pre_tool_use(event): return 1")],
    [instance("class Plugin:\n    @staticmethod\n    @hookimpl\n    def pre_tool_use(event): return 1")],
    [instance("class Plugin:\n    @classmethod\n    @hookimpl\n    def pre_tool_use(cls, event): return 1")],
    [instance("class Plugin:\n    __slots__ = ()\n    @hookimpl\n    def pre_tool_use(self, event): return 1")],
    [instance("import abc\nclass Plugin(abc.ABC):\n    @hookimpl\n    def pre_tool_use(self, event): return 1")],
    [instance("class Plugin:\n    def __init__(self):\n        self.pre_tool_use = hookimpl(lambda event: 1)")],
    [module("class Plugin:\n    @hookimpl\n    def pre_tool_use(self, event): return 1").Plugin],
]


@pytest.mark.parametrize("plugins", OTHERS, ids=range(len(OTHERS)))
def test_all_else_is_pluggys(plugins: list[object]) -> None:
    def guard(_plugin: str, _hook: str, implementation: Callable[..., Any]) -> Callable[..., Any]:
        return implementation

    named = [(f"p{number}", plugin) for number, plugin in enumerate([*PLAIN[0], *plugins])]
    assert plain_calls.plain_calls(vars(hookspecs_for("PreToolUse", "Bash")), named, guard) is None


def test_names_of_arguments_are_those_in_order() -> None:
    class Some:
        def method(self, event: object, context: object, *more: object) -> None:
            local = event, context
            del local

    @functools.wraps(Some.method)
    def wrapped() -> None:
        return

    assert plain_calls.argument_names(Some().method) == ("event", "context")
    assert plain_calls.argument_names(Some.method) == ("self", "event", "context")
    assert plain_calls.argument_names(wrapped) == ("self", "event", "context", "more")
