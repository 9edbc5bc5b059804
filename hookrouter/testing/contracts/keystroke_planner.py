"""What every keystroke planner must do, tried on a model of the dialog."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrouter._sandbox.dialog_model import DialogModel
from hookrouter._sandbox.fake_terminal import FakeTerminal
from hookrouter.answering.decisions import Chat, Decision, FreeText, MultiSelect, Select
from hookrouter.answering.forms import refusal_of
from hookrouter.answering.interfaces import (
    AskedDialog,
    Done,
    Effect,
    GiveUp,
    KeystrokePlanner,
    Paste,
    Press,
    Taken,
    View,
    Wait,
)
from hookrouter.terminals import Screen, TerminalAddress
from hookrouter.testing.contracts._optional import misspelt_methods, overrides
from hookrouter.tools import AskUserQuestionInput, Option, Question

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CASES", "Case", "KeystrokePlannerContract"]


def _question(text: str, *labels: str, multi: bool = False, previews: bool = False) -> Question:
    options = tuple(
        Option(label=label, description=f"about {label}", preview=f"<{label}>" if previews else None)
        for label in labels
    )
    return Question(question=text, header=text[:12], options=options, multi_select=multi)


_SINGLE = _question("Which approach should we use?", "Option A (Recommended)", "Option B", "You decide")
_MULTI = _question("Which areas?", "Driver, path", "Naming", "Retry", "Logging", multi=True)
_PREVIEW = _question("Which layout?", "Sidebar", "Topbar", "None", previews=True)
_LAST = _question("Really?", "Yes", "No")
_TEXT = "neither: 'B', then \"A\";\n\tand a second line -- 日本語 👍"
_LONG = "".join(f"line {number} of a long text; " for number in range(200))


class Case(NamedTuple):
    """One form, what is decided, and what the client must then record."""

    about: str
    """What kind of answer it is."""
    questions: tuple[Question, ...]
    """The form."""
    decisions: tuple[Decision, ...]
    """What the agent decided."""
    answers: Mapping[str, str] | None
    """What must be recorded, by question text; None if the form must be declined for a chat."""
    note: str = ""
    """What must be recorded as the note of the first question."""
    prompt: str = ""
    """What must be said after a chat."""


CASES: Mapping[str, Case] = {
    "select-first": Case(
        "the first option, where the cursor is", (_SINGLE,), (Select(0),), {_SINGLE.question: "Option A (Recommended)"}
    ),
    "select-second": Case("an option in the middle", (_SINGLE,), (Select(1),), {_SINGLE.question: "Option B"}),
    "select-last": Case("the last option", (_SINGLE,), (Select(2),), {_SINGLE.question: "You decide"}),
    "select-of-previews": Case(
        "the first option of a question with previews", (_PREVIEW,), (Select(0),), {_PREVIEW.question: "Sidebar"}
    ),
    "select-second-of-previews": Case("the second one there", (_PREVIEW,), (Select(1),), {_PREVIEW.question: "Topbar"}),
    "note": Case(
        "an option of a question with previews, and a note of two lines",
        (_PREVIEW,),
        (Select(2, "keep it\nnarrow"),),
        {_PREVIEW.question: "None"},
        note="keep it\nnarrow",
    ),
    "type": Case(
        "typed text with quotes, a tab, two lines, wide characters",
        (_SINGLE,),
        (FreeText(_TEXT),),
        {_SINGLE.question: _TEXT},
    ),
    "type-digit": Case("typed text that is an option's number", (_SINGLE,), (FreeText("3"),), {_SINGLE.question: "3"}),
    "type-label": Case(
        "typed text that is an option's label", (_SINGLE,), (FreeText("Option B"),), {_SINGLE.question: "Option B"}
    ),
    "type-long": Case(
        "typed text of thousands of characters", (_SINGLE,), (FreeText(_LONG),), {_SINGLE.question: _LONG}
    ),
    "multi-select": Case(
        "several options, one with a comma in its label",
        (_MULTI,),
        (MultiSelect((0, 2)),),
        {_MULTI.question: '"Driver, path", Retry'},
    ),
    "multi-select-all": Case(
        "all options",
        (_MULTI,),
        (MultiSelect((0, 1, 2, 3)),),
        {_MULTI.question: '"Driver, path", Naming, Retry, Logging'},
    ),
    "multi-select-text": Case(
        "one of several options, and typed text with a comma",
        (_MULTI,),
        (MultiSelect((1,), "DRY, SRP"),),
        {_MULTI.question: 'Naming, "DRY, SRP"'},
    ),
    "multi-select-only-text": Case(
        "no option but typed text", (_MULTI,), (MultiSelect((), "only this"),), {_MULTI.question: "only this"}
    ),
    "multi-select-nothing": Case("none of several options", (_MULTI,), (MultiSelect(()),), {}),
    "tabs": Case(
        "three questions: typed text, several options with text, one option",
        (_SINGLE, _MULTI, _LAST),
        (FreeText("something else"), MultiSelect((1, 3), "and this"), Select(1)),
        {_SINGLE.question: "something else", _MULTI.question: "Naming, Logging, and this", _LAST.question: "No"},
    ),
    "tabs-with-previews": Case(
        "three questions, the first with previews",
        (_PREVIEW, _SINGLE, _LAST),
        (Select(2), Select(1), Select(0)),
        {_PREVIEW.question: "None", _SINGLE.question: "Option B", _LAST.question: "Yes"},
    ),
    "chat": Case(
        "a chat instead of an answer",
        (_SINGLE,),
        (Chat("let us talk\nabout it"),),
        None,
        prompt="let us talk\nabout it",
    ),
    "chat-in-tabs": Case(
        "a chat after the first of two questions is decided",
        (_SINGLE, _LAST),
        (Select(1), Chat("let us talk")),
        None,
        prompt="let us talk",
    ),
}
"""Every kind of answer, by name; ``refused`` names those that a planner cannot enter."""

_IMPOSSIBLE: Mapping[str, tuple[tuple[Question, ...], tuple[Decision, ...]]] = {
    "no-decision": ((_SINGLE,), ()),
    "too-many": ((_SINGLE,), (Select(0), Select(0))),
    "too-few": ((_SINGLE, _LAST), (Select(0),)),
    "no-such-option": ((_SINGLE,), (Select(3),)),
    "negative-option": ((_SINGLE,), (Select(-1),)),
    "one-of-several": ((_MULTI,), (Select(0),)),
    "several-of-one": ((_SINGLE,), (MultiSelect((0,)),)),
    "blank-text": ((_SINGLE,), (FreeText(" \n "),)),
    "control-character": ((_SINGLE,), (FreeText("bell\a"),)),
    "escape": ((_MULTI,), (MultiSelect((0,), "\x1b[201~"),)),
    "final-backslash": ((_SINGLE,), (FreeText("path\\"),)),
    "note-without-previews": ((_SINGLE,), (Select(0, "a note"),)),
    "chat-first": ((_SINGLE, _LAST), (Chat("talk"), Select(0))),
}

_ADDRESS = TerminalAddress("fake", "s", "%0", "")
_SIZES = [(200, 50), (120, 40), (80, 24)]
_EFFECTS = (Effect.CHANGES, Effect.INVISIBLE, Effect.LEAVES, Effect.SUBMITS, Effect.DECLINES)
_MOST_STEPS = 120
_MOST_LOOKS = 40
"""After how many looks at a screen that stays as it is the contract gives up."""
_PERSON = ["Up", "Down", "Left", "Right", "Tab", "BTab", "Space", "1", "2", "3", "x", "n", "BSpace"]

_lines = st.lists(st.text(max_size=60), max_size=40)
_DIALOGS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "permission": ({"tool": "Bash", "input": {"command": "touch one"}}, {"action": "allow"}),
    "plan": ({"tool": "ExitPlanMode", "input": {"plan": "# A plan"}}, {"action": "approve"}),
    "blocked": ({"dialog": "workspace trust", "rows": ["No", "Yes"], "body": ["a"]}, {"action": "row", "index": 1}),
}
"""A request and a decision of each kind of dialog besides the question."""
_intentions = st.sampled_from([(case.questions, case.decisions) for case in CASES.values()])


def _assert_outline_refuses(
    planner: KeystrokePlanner, questions: Sequence[Question], decisions: Sequence[Decision]
) -> None:
    lines = planner.outline(_form(questions), decisions)
    assert refusal_of(lines), f"outline() of what is refused must be one line, 'nothing: ' and the reason: {lines}"


class _Run(NamedTuple):
    """What came of one form."""

    terminal: FakeTerminal
    steps: list[Press | Paste]
    end: Done | GiveUp | Wait

    def __str__(self) -> str:
        return f"{[step[0][:20] for step in self.steps]} {self.end}"


class _Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _form(questions: Sequence[Question]) -> AskUserQuestionInput:
    return AskUserQuestionInput(questions=tuple(questions))


def _play(
    planner: KeystrokePlanner,
    form: AskUserQuestionInput,
    decisions: Sequence[Decision],
    size: tuple[int, int] = (120, 40),
    before: Sequence[str] = (),
    asked: AskUserQuestionInput | None = None,
) -> _Run:
    """Let a planner answer ``form`` on a client that shows ``asked``, until it stops or waits for good."""
    clock = _Clock()
    model = DialogModel(asked or form)
    for key in before:
        model.press(key)
    terminal = FakeTerminal(model, clock, width=size[0], height=size[1], guard=0.0, latency=0.0)
    taken: list[Taken] = []
    looks = 0
    while True:
        clock.now += 1.0
        view = _read(planner, terminal.capture(_ADDRESS), form)
        copies = tuple(decisions), list(taken)
        step = planner.next_step(view, form, decisions, taken)
        assert (tuple(decisions), taken) == copies, "the planner changed what it was given"
        assert planner.next_step(view, form, decisions, list(taken)) == step, "two calls with the same differ"
        looks += 1
        if isinstance(step, (Done, GiveUp, Wait)):
            if not isinstance(step, Wait) or looks > _MOST_LOOKS:
                return _Run(terminal, [each.step for each in taken], step)
            continue
        looks = 0
        assert len(taken) < _MOST_STEPS, f"no end after {len(taken)} steps: {step}"
        if isinstance(step, Press):
            assert step.effect in _EFFECTS, step
            terminal.press(_ADDRESS, step.key)
        else:
            terminal.paste(_ADDRESS, step.text)
        taken.append(Taken(step, view))


def _read(planner: KeystrokePlanner, screen: Screen, form: AskUserQuestionInput) -> View:
    """Return what the planner reads, which must be the same twice and fit what the channel does with it."""
    view = planner.read(screen, form)
    assert isinstance(view, View)
    assert view.screen == screen
    assert planner.read(screen, form) == view, "two calls with the same differ"
    assert planner.read(screen._replace(unchanged=3.0), form).state == view.state, "the state tells how old a screen is"
    assert view.shown in (True, False, None)
    assert view.test_key in ("", "Up", "Down")
    hash(view.pages)
    return view


class KeystrokePlannerContract:
    """Subclass it, and give the fixture ``planner``, in the class or in its module."""

    refused: ClassVar[Mapping[str, str]] = {}
    """What the planner cannot enter: the name of a case in ``CASES``, with a regular expression that its reason
    matches. It must then stop before the first key."""

    @pytest.mark.parametrize("size", _SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
    @pytest.mark.parametrize("name", CASES)
    def test_an_answer_is_entered_as_it_was_meant(
        self, planner: KeystrokePlanner, name: str, size: tuple[int, int]
    ) -> None:
        case = CASES[name]
        run = _play(planner, _form(case.questions), case.decisions, size)
        model = run.terminal.model
        if name in self.refused:
            assert isinstance(run.end, GiveUp), run
            assert re.search(self.refused[name], run.end.why)
            assert run.steps == []
            _assert_outline_refuses(planner, case.questions, case.decisions)
            return
        # If the transcript has scrolled away, only the hook tells that the client took the answer.
        assert isinstance(run.end, (Wait, Done)), run
        if case.answers is None:
            assert (model.outcome, run.terminal.prompts) == ("chat", [case.prompt])
            return
        assert model.result is not None, run
        assert model.result["answers"] == case.answers
        notes = model.result["annotations"].get(case.questions[0].question, {}).get("notes", "")
        assert notes == case.note
        assert (run.terminal.prompt, run.terminal.prompts) == ("", [])

    @pytest.mark.parametrize("name", _IMPOSSIBLE)
    def test_what_cannot_be_entered_is_said_before_any_key(self, planner: KeystrokePlanner, name: str) -> None:
        questions, decisions = _IMPOSSIBLE[name]
        run = _play(planner, _form(questions), decisions)
        assert isinstance(run.end, GiveUp), run
        assert run.end.why
        assert run.steps == []
        _assert_outline_refuses(planner, questions, decisions)

    @pytest.mark.parametrize("name", CASES)
    def test_the_outline_says_something_for_every_answer(self, planner: KeystrokePlanner, name: str) -> None:
        lines = planner.outline(_form(CASES[name].questions), CASES[name].decisions)
        assert lines
        assert all(line and "\n" not in line for line in lines)

    @settings(deadline=None, suppress_health_check=list(HealthCheck))
    @given(lines=_lines, intention=_intentions)
    def test_nothing_is_pressed_on_a_screen_of_anything_else(
        self, planner: KeystrokePlanner, lines: list[str], intention: tuple[tuple[Question, ...], tuple[Decision, ...]]
    ) -> None:
        form = _form(intention[0])
        step = planner.next_step(_read(planner, Screen(tuple(lines), 80, 40), form), form, intention[1], ())
        assert isinstance(step, (Wait, GiveUp))

    @settings(deadline=None, suppress_health_check=list(HealthCheck))
    @given(lines=_lines, earlier=_lines, key=st.sampled_from([*_PERSON, "Enter"]), intention=_intentions)
    def test_no_screen_makes_it_raise(
        self,
        planner: KeystrokePlanner,
        lines: list[str],
        earlier: list[str],
        key: str,
        intention: tuple[tuple[Question, ...], tuple[Decision, ...]],
    ) -> None:
        questions, decisions = intention
        form = _form(questions)
        model = DialogModel(form)
        shown = model.render(80, 24)
        for first, now in ((earlier, lines), (shown, lines), (earlier, shown), (shown, [*lines, *shown])):
            taken = [Taken(Press(key, ""), _read(planner, Screen(tuple(first), 80, 24), form))]
            step = planner.next_step(_read(planner, Screen(tuple(now), 80, 24), form), form, decisions, taken)
            assert isinstance(step, (Press, Paste, Wait, Done, GiveUp))

    def test_its_optional_methods_are_those_that_are_called(self, planner: KeystrokePlanner) -> None:
        assert isinstance(planner, KeystrokePlanner)
        assert misspelt_methods(planner, KeystrokePlanner) == []
        forms, dialogs, sight = (
            {overrides(planner, KeystrokePlanner, name) for name in names}
            for names in (
                ("read", "next_step", "outline"),
                ("read_dialog", "next_dialog_step", "outline_dialog"),
                ("seen",),
            )
        )
        assert len(forms) == 1, "a planner for questions has read(), next_step() and outline()"
        assert dialogs == {bool(planner.kinds)}, "`kinds` goes with read_dialog(), next_dialog_step(), outline_dialog()"
        assert sight == {planner.sees_dialogs}, "`sees_dialogs` goes with seen()"

    @settings(deadline=None, suppress_health_check=list(HealthCheck))
    @given(lines=_lines)
    def test_no_screen_makes_it_see_what_is_no_dialog_of_the_client(
        self, planner: KeystrokePlanner, lines: list[str]
    ) -> None:
        screen = Screen(tuple(lines), 80, 40)
        seen = planner.seen(screen)
        assert seen is None or (seen.kind.strip() and all(row.strip() for row in seen.rows))
        for kind in set(planner.kinds) & set(_DIALOGS):
            request, decision = _DIALOGS[kind]
            asked = AskedDialog(kind, request, decision, folder="/project")
            view = planner.read_dialog(screen, asked)
            assert isinstance(planner.next_dialog_step(view, asked, ()), (Wait, GiveUp))
            assert all(line and "\n" not in line for line in planner.outline_dialog(asked))

    @pytest.mark.parametrize("name", CASES)
    def test_another_forms_dialog_is_left_alone(self, planner: KeystrokePlanner, name: str) -> None:
        case = CASES[name]
        others = (
            _question("Delete the production database?", "Yes, delete it", "No", "Later", "Never"),
            *(_question(each.question, "Yes, delete it", "No", multi=each.multi_select) for each in case.questions),
            *(
                _question("Which other one?", *(o.label for o in each.options), multi=each.multi_select)
                for each in case.questions
            ),
        )
        for other in others:
            run = _play(planner, _form(case.questions), case.decisions, asked=_form([other]))
            assert run.steps == [], run
            assert run.terminal.model.outcome is None

    def test_the_prompt_box_is_left_alone(self, planner: KeystrokePlanner) -> None:
        for before in (["Escape"], ["1"]):
            for decision in (Select(1), FreeText("never to be a prompt")):
                run = _play(planner, _form([_SINGLE]), [decision], before=before)
                assert run.steps == [], run
                assert (run.terminal.prompt, run.terminal.prompts) == ("", [])
                assert not isinstance(run.end, Done)

    def test_a_client_that_does_not_react_gets_few_keys(self, planner: KeystrokePlanner) -> None:
        for case in (CASES["select-last"], CASES["type"], CASES["multi-select"]):
            form = _form(case.questions)
            view = _read(planner, Screen(tuple(DialogModel(form).render(120, 40)), 120, 40), form)
            taken: list[Taken] = []
            while isinstance(step := planner.next_step(view, form, case.decisions, taken), (Press, Paste)):
                taken.append(Taken(step, view))
                assert len(taken) <= 10, [each.step for each in taken]

    @settings(deadline=None, suppress_health_check=list(HealthCheck))
    @given(name=st.sampled_from(sorted(CASES)), before=st.lists(st.sampled_from(_PERSON), max_size=6))
    def test_what_somebody_left_in_the_dialog_is_never_answered_wrongly(
        self, planner: KeystrokePlanner, name: str, before: list[str]
    ) -> None:
        case = CASES[name]
        model = DialogModel(_form(case.questions))
        for key in before:
            model.press(key)
        if model.outcome is not None:
            return
        run = _play(planner, _form(case.questions), case.decisions, before=before)
        if run.terminal.model.result is not None:
            assert run.terminal.model.result["answers"] == case.answers, run
        if case.answers is not None:
            assert run.terminal.model.outcome in ("answered", None), run
            assert run.terminal.prompts == []
