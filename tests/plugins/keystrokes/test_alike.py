"""Texts that no screen tells apart: a key goes into a dialog only if it can be no other one that is open."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookrouter._sandbox.dialog_model import DialogModel
from hookrouter._sandbox.fake_terminal import FakeTerminal
from hookrouter.answering.decisions import Decision, Select
from hookrouter.answering.interfaces import (
    AnswerOutcome,
    AnswerRequest,
    AnswerStatus,
    AskedDialog,
    Beside,
    Effect,
    GiveUp,
    KeystrokePlanner,
    Press,
    Taken,
    View,
)
from hookrouter.answering.likeness import key
from hookrouter.storage.interface import StoreError
from hookrouter.terminals import Screen, TerminalAddress
from hookrouter.tools import AskUserQuestionInput, Option, Question
from hookrouter_key_counting import keystroke_planner as counting
from hookrouter_keystrokes.channel import KeysChannel
from hookrouter_keystrokes.decisions.fitting import fits
from hookrouter_keystrokes.dialog_forms import TITLES
from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner
from hookrouter_keystrokes.screens.model import OtherDialog
from hookrouter_keystrokes.timing import Timing

from .test_decisions import ALLOW, FOLDER, IN_PART, RECORDED, REQUESTS, UNBOUNDED, screen
from .test_keys_channel import Clock

ADDRESS = TerminalAddress("fake", "s", "%0", "")
PLANNER = GrammarPlanner()

LOST = "".join(
    character
    for character in map(chr, (*range(0x20000), *range(0xE0000, 0xE0200)))
    if key.__wrapped__(character) == "" and unicodedata.category(character) not in ("Cc", "Cs", "Co", "Cn")
)
"""Every character that may get lost on the way to the screen, and that a model's text may hold."""

plain = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Sm", "Sc"]), min_size=1, max_size=30).filter(
    key
)


@st.composite
def alike(draw: st.DrawFn, text: st.SearchStrategy[str] = plain) -> tuple[str, str]:
    """Return two texts of one key, which may be equal."""
    first = draw(text)
    pair = []
    for _ in range(2):
        parts = list(unicodedata.normalize(draw(st.sampled_from(["NFC", "NFD"])), first))
        for at, lost in draw(st.lists(st.tuples(st.integers(0, len(parts)), st.sampled_from(LOST)), max_size=4)):
            parts.insert(at, lost)
        pair.append("".join(parts))
    return pair[0], pair[1]


@given(alike())
def test_what_gets_lost_makes_no_other_text(pair: tuple[str, str]) -> None:
    assert key(pair[0]) == key(pair[1])
    assert key(key(pair[0])) == key(pair[0])


def question(text: str, *labels: str, description: str = "about it", multi: bool = False) -> Question:
    options = tuple(Option(label=label, description=description) for label in labels)
    return Question(question=text, header="Head", options=options, multi_select=multi)


def form(*questions: Question) -> AskUserQuestionInput:
    return AskUserQuestionInput(questions=questions)


class Run:
    """A delivery to a fake terminal that shows one of two forms."""

    def __init__(self, meant: AskUserQuestionInput, other: AskUserQuestionInput, shown: AskUserQuestionInput) -> None:
        self.clock = Clock()
        self.terminal = FakeTerminal(DialogModel(shown), self.clock, opens_at=self.clock.now)
        self.meant = meant
        self.beside: Callable[[], Beside] = lambda: Beside(forms=(other,))
        self.open: Callable[[], bool] = lambda: self.terminal.model.outcome is None

    def deliver(self, planner: KeystrokePlanner, *decisions: Decision) -> AnswerOutcome:
        request = AnswerRequest(
            session="s",
            tool_use_id="t",
            form=self.meant,
            decisions=decisions or (Select(0),) * len(self.meant.questions),
            address=ADDRESS,
            terminal=self.terminal,
            planner=planner,
            still_open=self.open,
            deadline=self.clock.now + 60,
            beside=self.beside,
        )
        return KeysChannel(Timing(clock=self.clock, sleep=self.clock.sleep)).deliver(request)


PLANNERS = {"grammar": PLANNER, "key-counting": counting()}


@settings(deadline=None)
@given(
    alike(plain.map("What about {}?".format)), alike(), alike(), st.booleans(), st.sampled_from([*PLANNERS.values()])
)
def test_of_two_open_forms_that_read_alike_none_gets_a_key(
    asked: tuple[str, str],
    label: tuple[str, str],
    description: tuple[str, str],
    is_second: bool,
    planner: KeystrokePlanner,
) -> None:
    forms = [form(question(asked[at], f"one {label[at]}", "two", description=description[at])) for at in range(2)]
    run = Run(forms[0], forms[1], shown=forms[is_second])
    delivery = run.deliver(planner)
    # If what is on the screen reads like neither, as where a label gets longer than what is drawn, that is as good.
    assert delivery.status == AnswerStatus.REFUSED
    assert run.terminal.log == []


MEANT = form(question("Shall I deploy? 🟢", "Yes", "No"))
TWO = form(question("What first?", "A", "B"), question("And then?", "C", "D"))
OTHERS = {
    "emoji": form(question("Shall I deploy? 🔴", "Yes", "No")),
    "equal": MEANT,
    "one of several": form(question("Shall I deploy?", "Yes", "No"), question("And then?", "A", "B")),
    "in a list of several": form(question("What first?", "A", "B"), question("Shall I deploy?", "Yes", "No")),
}


@pytest.mark.parametrize("planner", PLANNERS.values(), ids=PLANNERS)
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_one_question_of_another_form_that_reads_alike_is_enough(
    other: AskUserQuestionInput, planner: KeystrokePlanner
) -> None:
    run = Run(MEANT, other, shown=MEANT)
    delivery = run.deliver(planner)
    assert delivery.status == AnswerStatus.REFUSED
    assert "reads like what is on the screen" in delivery.reason
    assert run.terminal.log == []


@pytest.mark.parametrize("planner", PLANNERS.values(), ids=PLANNERS)
@pytest.mark.parametrize(
    "other",
    [
        form(question("Shall I wait?", "Yes", "No")),
        form(question("Shall I wait with it then?", "Yes", "No"), question("Which tool?", "make", "just")),
    ],
)
def test_another_open_form_that_reads_otherwise_does_not_matter(
    other: AskUserQuestionInput, planner: KeystrokePlanner
) -> None:
    run = Run(MEANT, other, shown=MEANT)
    assert run.deliver(planner, Select(1)).status == AnswerStatus.DELIVERED
    assert run.terminal.model.result is not None
    assert run.terminal.model.result["answers"] == {"Shall I deploy? 🟢": "No"}


def test_a_planner_that_does_not_say_what_may_be_shown_gets_no_key_beside_another_form() -> None:
    class Blind(GrammarPlanner):
        def read(self, screen: Screen, form: AskUserQuestionInput) -> View:
            return View(screen, super().read(screen, form).state)

    run = Run(MEANT, form(question("Shall I wait?", "Yes", "No")), shown=MEANT)
    assert run.deliver(Blind()).status == AnswerStatus.REFUSED
    assert run.terminal.log == []
    run.beside = Beside
    assert run.deliver(Blind()).status == AnswerStatus.DELIVERED


def test_the_key_that_opened_the_next_dialog_is_not_taken_for_a_lost_one() -> None:
    """A call that has begun since the first look has drawn its dialog in the place of this one."""
    other = OTHERS["emoji"]
    run = Run(MEANT, other, shown=MEANT)
    second = DialogModel(other)
    run.open = lambda: True
    run.beside = lambda: Beside(forms=(other,) if run.terminal.model is second else ())
    capture = run.terminal.capture

    def captured(address: TerminalAddress) -> Screen:
        found = capture(address)
        if run.terminal.model.outcome is None:
            return found
        run.terminal.model = second
        return capture(address)

    run.terminal.capture = captured  # type: ignore[method-assign]
    delivery = run.deliver(PLANNER)
    assert delivery.status == AnswerStatus.REFUSED
    assert [key for kind, key in run.terminal.log if key == "1"] == ["1"]
    assert second.outcome is None


def test_nothing_is_pressed_if_it_is_not_known_what_else_is_open() -> None:
    def unknown() -> Beside:
        raise StoreError("the state folder cannot be read")

    run = Run(MEANT, MEANT, shown=MEANT)
    run.beside = unknown
    delivery = run.deliver(PLANNER)
    assert (delivery.status, delivery.reason) == (AnswerStatus.REFUSED, "the state folder cannot be read")
    assert run.terminal.log == []


def test_a_look_is_too_old_once_it_took_long_to_learn_what_else_is_open() -> None:
    """As from a database that is slow: meanwhile the dialog has closed, and a prompt box is there."""
    run = Run(MEANT, MEANT, shown=MEANT)
    asked: list[float] = []

    def slowly() -> Beside:
        asked.append(run.clock.now)
        if len(asked) == 2:
            run.terminal.opens_at = run.clock.now + 1000
        run.clock.sleep(0.6 if len(asked) <= 2 else 0.0)
        return Beside()

    run.beside = slowly
    assert run.deliver(PLANNER).status == AnswerStatus.REFUSED
    assert (run.terminal.log, len(asked)) == ([], 2)


def test_a_slow_store_delays_a_key_and_no_more() -> None:
    run = Run(MEANT, MEANT, shown=MEANT)
    delays = [0.6, 2.0]

    def slowly() -> Beside:
        run.clock.sleep(delays.pop() if delays else 0.1)
        return Beside()

    run.beside = slowly
    assert run.deliver(PLANNER).status == AnswerStatus.DELIVERED
    assert not delays


def test_the_arrow_that_tests_for_a_lost_key_is_a_key_as_well() -> None:
    """Another call's dialog, which reads the same, may have been drawn since the key."""
    other = form(question("Shall I deploy?", "Yes", "No"))
    run = Run(MEANT, other, shown=MEANT)
    run.terminal.lost = {0}
    run.beside = lambda: Beside(forms=(other,) if run.terminal.log else ())
    delivery = run.deliver(PLANNER)
    assert delivery.status == AnswerStatus.REFUSED
    assert "reads like what is on the screen" in delivery.reason
    assert len(run.terminal.log) == 1


def test_a_key_that_shows_its_effect_while_it_is_asked_what_else_is_open_is_not_tested() -> None:
    run = Run(TWO, MEANT, shown=TWO)
    run.terminal.latency = 1.0

    def slowly() -> Beside:
        if run.terminal.log:
            run.clock.sleep(0.6)
        return Beside()

    run.beside = slowly
    run.deliver(PLANNER)
    assert [what for _, what in run.terminal.log[:2] if what in ("Up", "Down")] == []


WHOLE = [
    (version, name)
    for version, name in RECORDED
    if name not in IN_PART and (version, name) not in UNBOUNDED and "amended" not in name and "typed" not in name
]
"""Dialogs that show all of a call, or as much as their client draws."""


@settings(deadline=None)
@given(st.sampled_from(WHOLE), st.data())
def test_of_two_calls_whose_dialogs_look_alike_none_is_decided(case: tuple[str, str], data: st.DataObject) -> None:
    """Whichever part of its input the other call has other invisible characters in."""
    version, name = case
    request = REQUESTS[name]
    fields = [field for field, value in request["input"].items() if isinstance(value, str)]
    # A path is compared as it is, and a description is drawn by some clients only: both are as good as another call's.
    field = data.draw(st.sampled_from([each for each in fields if each != "file_path"] or fields))
    value = request["input"][field]
    parts = list(value)
    lost = st.sampled_from([character for character in LOST if ord(character) > 0x2FF])
    for at, character in data.draw(st.lists(st.tuples(st.integers(0, len(parts)), lost), max_size=3)):
        parts.insert(at, character)
    other = {**request, "input": {**request["input"], field: "".join(parts)}}
    if name == "read" or field == "url":
        other = request
    asked = AskedDialog("permission", request, ALLOW, FOLDER, (other,))
    found = PLANNER.next_dialog_step(PLANNER.read_dialog(screen(version, name), asked), asked, ())
    assert isinstance(found, GiveUp), (other, found)


@pytest.mark.parametrize("title", ["{}{:>40}", "{} · from the general-purpose agent{:>12}"])
@pytest.mark.parametrize(("version", "name"), RECORDED)
def test_the_place_among_those_that_wait_is_no_part_of_the_title(version: str, name: str, title: str) -> None:
    """As 2.1.300 and later write it while two calls wait."""
    shown = screen(version, name)
    plain = PLANNER.read_dialog(shown, AskedDialog("permission", REQUESTS[name], ALLOW, FOLDER)).state
    assert isinstance(plain, OtherDialog)
    first = next(at for at, line in enumerate(plain.body) if line.strip())
    body = list(plain.body)
    body[first] = title.format(body[first], "1 of 2")
    placed = plain._replace(body=tuple(body))
    assert (
        fits(placed, "permission", REQUESTS[name], FOLDER) == fits(plain, "permission", REQUESTS[name], FOLDER) != "not"
    )


def test_no_two_tools_have_a_title_in_common() -> None:
    titles = [title for each in TITLES.values() for title in each]
    assert len(titles) == len(set(titles))


def test_a_dialog_of_which_no_hook_tells_is_decided_once() -> None:
    """A second message that was held, of the same words, waits for a decision of its own."""
    rows = ("Deny — drop it and tell the sender it was declined", "Deliver this message to Claude")
    shown = OtherDialog("held message", rows, 1, (" Message",))
    request = {"dialog": shown.kind, "rows": [*rows], "body": [*shown.body]}
    asked = AskedDialog("blocked", request, {"action": "choose", "index": 1})
    pane = Screen((), 80, 24)

    def view(state: OtherDialog) -> View:
        return View(pane, state, shown=True)

    enter = PLANNER.next_dialog_step(view(shown), asked, ())
    assert enter == Press("Enter", "choose row 2", Effect.SUBMITS)
    assert isinstance(enter, Press)
    for next_one in (shown, shown._replace(cursor=0)):
        assert isinstance(PLANNER.next_dialog_step(view(next_one), asked, (Taken(enter, view(shown)),)), GiveUp)
