"""Which planner enters a decision, and which say what is on a screen."""

from __future__ import annotations

from typing import Any

import pytest

from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter._plugins.registry import Plugins
from hookrouter.answering.forms import refusal_of
from hookrouter.answering.interfaces import AskedDialog, GiveUp, KeystrokePlanner, SeenDialog, find_planner, seen_dialog
from hookrouter.config import Config
from hookrouter.markers import hookimpl
from hookrouter.terminals import Screen
from hookrouter.tools import AskUserQuestionInput

SCREEN = Screen(("Rewind",), 10, 1)


class Planner(KeystrokePlanner):
    """One of another package, for a kind of its own, which also knows its dialog by sight."""

    sees_dialogs = True

    def __init__(self, name: str, kinds: tuple[str, ...], sight: str) -> None:
        self.name, self.kinds, self._sight = name, kinds, sight

    def seen(self, screen: Screen) -> SeenDialog | None:
        return SeenDialog(self._sight, ()) if self._sight in screen.lines else None


class Counting(KeystrokePlanner):
    """One that knows questions alone."""

    name = "counting"


class Contributing:
    def __init__(self, planner: object) -> None:
        self.keystroke_planner = hookimpl(lambda: planner, specname="keystroke_planner")


@pytest.fixture
def plugins() -> Plugins:
    planners: tuple[Any, ...] = (Planner("grammar", ("plan",), "Plan"), Planner("rewind", ("rewind",), "Rewind"))
    objects = {one.name: Contributing(one) for one in (*planners, Counting())}
    index = [DiscoveredPlugin(name=name, value=name, hooks=("keystroke_planner",)) for name in sorted(objects)]
    return Plugins(index, Config(), lambda name, text: pytest.fail(f"{name}: {text}"), objects)


@pytest.mark.parametrize(
    ("named", "kind", "found"),
    [
        ("grammar", "question", "grammar"),
        ("grammar", "plan", "grammar"),
        ("grammar", "rewind", "rewind"),
        ("counting", "plan", "grammar"),
        ("counting", "puzzle", "counting"),
        ("none", "rewind", None),
    ],
)
def test_a_kind_that_the_chosen_planner_does_not_know_has_another(
    plugins: Plugins, named: str, kind: str, found: str | None
) -> None:
    planner = find_planner(plugins, named, kind)
    assert (None if planner is None else planner.name) == found


def test_what_a_planner_does_not_override_refuses() -> None:
    planner, asked = Counting(), AskedDialog("plan", {}, {})
    form = AskUserQuestionInput.from_json({"questions": []})
    for view, step, outline, kind in (
        (planner.read(SCREEN, form), planner.next_step, planner.outline(form, ()), "question"),
        (planner.read_dialog(SCREEN, asked), planner.next_dialog_step, planner.outline_dialog(asked), "plan"),
    ):
        why = f"the planner counting knows no dialog of the kind {kind}"
        arguments = (view, form, (), ()) if kind == "question" else (view, asked, ())
        assert (view.shown, step(*arguments), refusal_of(outline)) == (False, GiveUp(why), why)
    assert planner.seen(SCREEN) is None


def test_a_dialog_is_known_to_any_that_can_tell(plugins: Plugins) -> None:
    sight = seen_dialog(plugins, "grammar")
    assert sight is not None
    assert sight(SCREEN) == SeenDialog("Rewind", ())
    assert sight(Screen(("else",), 10, 1)) is None
    assert seen_dialog(plugins, "counting") is None


def test_who_says_that_a_dialog_is_told_of_is_right(plugins: Plugins) -> None:
    class Picker(Planner):
        def seen(self, screen: Screen) -> SeenDialog | None:
            return SeenDialog("Plan", (), is_told=True) if "mine" in screen.lines else None

    objects = {"picker": Contributing(Picker("picker", ("picker",), "Plan")), "grammar": plugins.load("grammar")}
    index = [DiscoveredPlugin(name=name, value=name, hooks=("keystroke_planner",)) for name in sorted(objects)]
    sight = seen_dialog(Plugins(index, Config(), lambda *_: None, objects), "grammar")
    assert sight is not None
    assert sight(Screen(("Plan",), 10, 1)) == SeenDialog("Plan", ())
    assert sight(Screen(("Plan", "mine"), 10, 2)) == SeenDialog("Plan", (), is_told=True)
