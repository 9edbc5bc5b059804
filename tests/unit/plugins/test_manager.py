"""Loading, checking and calling plugins."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pluggy
import pytest

from hookrouter import hookimpl
from hookrouter._inspection.validation import validate
from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter._plugins.manager import implementations, load_object
from hookrouter._plugins.registry import Plugins, PluginStatus
from hookrouter.answering.interfaces import answer_channels, keystroke_planners
from hookrouter.config import Config
from hookrouter.hookspecs import EventSpecs, PreToolUseSpecs
from hookrouter.messaging.gateway import gateways
from hookrouter.queue.channels import prompt_channels
from hookrouter.terminals import TerminalBackend, terminal_backends


class Author(PreToolUseSpecs, EventSpecs):
    """A plugin in the class style."""

    @hookimpl
    def pre_tool_use_bash(self, event, tool_input, context):
        return None

    @hookimpl(specname="stop")
    def at_the_end(self, context):
        return None


def test_only_marked_methods_are_hooks_and_specname_names_them() -> None:
    assert sorted(implementations(Author())) == ["pre_tool_use_bash", "stop"]
    validate("author", Author())


def module(**names: object) -> ModuleType:
    made = ModuleType("some_plugin")
    vars(made).update(names)
    return made


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: module(pre_tool_uze=hookimpl(lambda event, context: None)), "did you mean 'pre_tool_use'"),
        (lambda: module(PreToolUseWebFetch=hookimpl(lambda event: None)), "did you mean 'pre_tool_use_web_fetch'"),
        (lambda: module(stop=hookimpl(lambda event, kontext: None)), "stop: unknown argument 'kontext'; did you mean"),
        (lambda: module(stop=hookimpl(lambda x: None)), "stop: unknown argument 'x'; there are: event, context"),
        (lambda: module(gateway=hookimpl(lambda x: None)), "gateway: unknown argument 'x'; there are: none"),
        (lambda: module(stop=hookimpl(lambda event: None), end=hookimpl(specname="stop")(lambda: None)), "twice"),
        (lambda: module(stop=hookimpl(hookwrapper=True)(lambda event: (yield))), "wrapper=True"),
    ],
    ids=[
        "misspelt",
        "as event and tool",
        "misspelt argument",
        "unknown argument",
        "no arguments",
        "twice",
        "old wrapper",
    ],
)
def test_a_plugin_that_does_not_fit_the_specs_is_refused_with_the_reason(build, said) -> None:
    with pytest.raises(pluggy.PluginValidationError, match=said):
        validate("some", build())


def test_an_entry_point_may_name_a_module_a_class_or_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    thing = SimpleNamespace()
    monkeypatch.setitem(sys.modules, "some_plugin", module(Author=Author, thing=thing))
    assert load_object("some_plugin") is sys.modules["some_plugin"]
    assert isinstance(load_object("some_plugin:Author"), Author)
    assert load_object("some_plugin:thing") is thing


class Backend(TerminalBackend):
    def __init__(self, name: str) -> None:
        self.name = name


def plugins(problems: list[tuple[str, str]], **objects: object) -> Plugins:
    index = [DiscoveredPlugin(name=name, value=name, hooks=("terminal_backend",)) for name in objects]
    return Plugins(index, Config(), lambda name, text: problems.append((name, text)), objects)


def contribute(result: object) -> ModuleType:
    def terminal_backend() -> object:
        if isinstance(result, Exception):
            raise result
        return result

    return module(terminal_backend=hookimpl(terminal_backend))


def test_contributions_of_sound_plugins_survive_the_broken_ones() -> None:
    problems: list[tuple[str, str]] = []
    found = terminal_backends(
        plugins(
            problems,
            a=contribute(Backend("one")),
            b=contribute(ValueError("boom")),
            c=contribute(Backend("one")),
            d=contribute(object()),
            e=contribute(None),
            f=contribute(Backend("two")),
            g=contribute(SimpleNamespace(name="three")),
        )
    )
    assert sorted(found) == ["one", "two"]
    assert [name for name, _ in problems] == ["b", "c", "d", "g"]
    assert "boom" in problems[0][1]
    assert "already" in problems[1][1]
    assert problems[3][1] == "terminal_backend 'three' does not derive from hookrouter.terminals.TerminalBackend"


@pytest.mark.parametrize(
    ("contributed", "hook", "base"),
    [
        (answer_channels, "answer_channel", "hookrouter.answering.interfaces.AnswerChannel"),
        (keystroke_planners, "keystroke_planner", "hookrouter.answering.interfaces.KeystrokePlanner"),
        (prompt_channels, "prompt_channel", "hookrouter.queue.channels.PromptChannel"),
    ],
)
def test_a_channel_or_planner_that_derives_from_no_base_is_left_out(contributed, hook, base) -> None:
    problems: list[tuple[str, str]] = []
    index = [DiscoveredPlugin(name="own", value="own", hooks=(hook,))]
    objects = {"own": module(**{hook: hookimpl(lambda: SimpleNamespace(name="mine"), specname=hook)})}
    assert contributed(Plugins(index, Config(), lambda *problem: problems.append(problem), objects)) == {}
    assert problems == [("own", f"{hook} 'mine' does not derive from {base}")]


def test_a_plugin_that_cannot_be_imported_is_reported_once_it_is_needed() -> None:
    problems: list[tuple[str, str]] = []
    index = [DiscoveredPlugin(name="gone", value="surely_not_installed", hooks=("gateway",))]
    registry = Plugins(index, Config(), lambda name, text: problems.append((name, text)))
    assert registry.listing()[0].status == PluginStatus.ACTIVE
    assert gateways(registry) == {}
    assert problems[0][0] == "gone"
