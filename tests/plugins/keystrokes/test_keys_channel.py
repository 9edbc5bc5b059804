"""The keys channel against a model of the dialog, with a clock that only the test moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrouter._sandbox.dialog_model import DialogModel
from hookrouter._sandbox.fake_terminal import FakeTerminal
from hookrouter.answering.decisions import Chat, FreeText, MultiSelect, Select
from hookrouter.answering.input_limits import text_faults
from hookrouter.answering.interfaces import (
    AnswerRequest,
    AnswerStatus,
    Effect,
    GiveUp,
    KeystrokePlanner,
    Paste,
    Press,
    Taken,
)
from hookrouter.dialogs.decisions import check_decisions
from hookrouter.records import replace
from hookrouter.terminals import TerminalAddress
from hookrouter.tools import AskUserQuestionInput, Option, Question
from hookrouter_keystrokes import answer_channel, keystroke_planner
from hookrouter_keystrokes.channel import KeysChannel
from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner
from hookrouter_keystrokes.screens.text import accented_key, key
from hookrouter_keystrokes.timing import Timing
from support.holding_terminal import HoldingFakeTerminal
from support.random_forms import seeded_form

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrouter.answering.decisions import Decision
    from hookrouter.answering.interfaces import AnswerOutcome, Step, View
    from hookrouter.terminals import Screen

ADDRESS = TerminalAddress("fake", "s", "%0", "")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0
        self.at: list[tuple[float, Callable[[], None]]] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        while self.at and self.at[0][0] <= self.now:
            self.at.pop(0)[1]()


def question(text: str, *labels: str, multi: bool = False, previews: bool = False) -> Question:
    options = tuple(
        Option(label=label, description=f"about {label}", preview=f"<{label}>" if previews else None)
        for label in labels
    )
    return Question(question=text, header=text[:12], options=options, multi_select=multi)


SINGLE = question("Which approach?", "Option A (Recommended)", "Option B", "You decide")
MULTI = question("Which areas?", "Driver, path", "Naming", "Retry", 'Say "hi"', multi=True)
PREVIEW = question("Which layout?", "Sidebar", "Topbar", "None", previews=True)


def form(*questions: Question) -> AskUserQuestionInput:
    return AskUserQuestionInput(questions=questions)


class Run:
    """One delivery to a fake terminal."""

    def __init__(
        self, asked: AskUserQuestionInput, *, width: int = 120, height: int = 40, kept: bool = False, **options: Any
    ) -> None:
        self.clock = Clock()
        self.form = asked
        self.model = DialogModel(asked, on_kept_review=kept)
        self.terminal = FakeTerminal(
            self.model, self.clock, width=width, height=height, opens_at=self.clock.now, **options
        )
        self.open: Callable[[], bool] = lambda: self.model.outcome is None
        self.planner: KeystrokePlanner = GrammarPlanner()
        self.client_version: tuple[int, ...] | None = None
        self.stopped: Callable[[], str] = lambda: ""

    def at(self, seconds: float, act: Callable[[], None]) -> None:
        self.clock.at.append((100.0 + seconds, act))
        self.clock.at.sort(key=lambda item: item[0])

    def deliver(self, *decisions: Decision, seconds: float = 60.0) -> AnswerOutcome:
        request = AnswerRequest(
            session="s",
            tool_use_id="t",
            form=self.form,
            decisions=decisions,
            address=ADDRESS,
            terminal=self.terminal,
            planner=self.planner,
            still_open=self.open,
            deadline=self.clock.now + seconds,
            client_version=self.client_version,
            stopped=self.stopped,
        )
        return KeysChannel(Timing(clock=self.clock, sleep=self.clock.sleep)).deliver(request)

    @property
    def answers(self) -> dict[str, str] | None:
        return None if self.model.result is None else self.model.result["answers"]

    @property
    def keys(self) -> list[str]:
        return [what for kind, what in self.terminal.log if kind == "key"]


def test_the_plugin_contributes_both() -> None:
    assert answer_channel().name == "keys"
    assert keystroke_planner().name == "grammar"


@pytest.mark.parametrize(
    ("version", "decision", "delivered"),
    [
        ((2, 1, 143), Select(1, "a note"), False),
        ((2, 1, 70), Select(1, "a note"), False),
        ((2, 1, 144), Select(1, "a note"), True),
        (None, Select(1, "a note"), True),
        ((2, 1, 70), Select(1), True),
    ],
)
def test_a_note_is_refused_on_a_client_that_would_decline_the_form(
    version: tuple[int, ...] | None, decision: Decision, delivered: bool
) -> None:
    run = Run(form(PREVIEW))
    run.client_version = version
    done = run.deliver(decision)

    assert (done.status == AnswerStatus.DELIVERED) is delivered
    if not delivered:
        assert "notes cannot be entered safely on client 2.1." in done.reason
        assert run.terminal.log == []
        assert run.model.outcome is None


@pytest.mark.parametrize(
    ("asked", "decision", "answer"),
    [
        (SINGLE, Select(0), "Option A (Recommended)"),
        (SINGLE, Select(2), "You decide"),
        (SINGLE, FreeText("neither:\n two lines, 'quoted'"), "neither:\n two lines, 'quoted'"),
        (SINGLE, FreeText("👍"), "👍"),
        (SINGLE, FreeText("❯ 1. Option A"), "❯ 1. Option A"),
        (MULTI, MultiSelect((0, 2)), '"Driver, path", Retry'),
        (MULTI, MultiSelect((1,), "DRY, SRP"), 'Naming, "DRY, SRP"'),
        (MULTI, MultiSelect((), "only this"), "only this"),
        (MULTI, MultiSelect((3,)), '"Say \\"hi\\""'),
        (PREVIEW, Select(1), "Topbar"),
        (PREVIEW, Select(0, "my note"), "Sidebar"),
    ],
)
def test_one_question_is_answered(asked: Question, decision: Decision, answer: str) -> None:
    run = Run(form(asked))

    delivery = run.deliver(decision)

    assert run.answers == {asked.question: answer}
    assert delivery.status == AnswerStatus.DELIVERED, delivery
    assert run.terminal.prompt == ""


def test_a_note_is_recorded_with_its_option() -> None:
    run = Run(form(PREVIEW, SINGLE))

    run.deliver(Select(2, "a note\nof two lines"), Select(1))

    assert run.model.result == {
        "answers": {PREVIEW.question: "None", SINGLE.question: "Option B"},
        "annotations": {PREVIEW.question: {"preview": "<None>", "notes": "a note\nof two lines"}},
    }


MIXED = form(SINGLE, MULTI, PREVIEW, question("Last?", "Yes", "No"))
MIXED_DECISIONS = (FreeText("something, else"), MultiSelect((1, 3), "and this"), Select(2), Select(0))
MIXED_ANSWERS = {
    "Which approach?": "something, else",
    "Which areas?": 'Naming, "Say \\"hi\\"", and this',
    "Which layout?": "None",
    "Last?": "Yes",
}


@pytest.mark.parametrize(("width", "height"), [(200, 50), (120, 40), (80, 24), (60, 20)])
def test_four_mixed_questions_are_submitted_from_the_review_screen(width: int, height: int) -> None:
    run = Run(MIXED, width=width, height=height)

    delivery = run.deliver(*MIXED_DECISIONS)

    assert run.answers == MIXED_ANSWERS, delivery
    assert delivery.status == AnswerStatus.DELIVERED


TALL = question("Which long ones?", *(f"Option {at} " + "word " * 11 + "end" for at in range(4)), multi=True)
TALL = replace(TALL, options=tuple(replace(option, description="words " * 25) for option in TALL.options))


@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 20), (60, 14)])
@pytest.mark.parametrize("latency", [0.0, 0.03, 0.3])
def test_a_form_taller_than_the_pane_is_answered(width: int, height: int, latency: float) -> None:
    run = Run(
        form(replace(TALL, multi_select=False, question="One?"), TALL), width=width, height=height, latency=latency
    )

    delivery = run.deliver(Select(0), MultiSelect((1, 3), "and this"))

    assert delivery.status == AnswerStatus.DELIVERED, delivery
    labels = [option.label for option in TALL.options]
    assert run.answers == {"One?": labels[0], TALL.question: f"{labels[1]}, {labels[3]}, and this"}
    assert len(run.keys) < 40


def test_a_lone_question_taller_than_the_pane_is_answered() -> None:
    for index in range(4):
        run = Run(form(replace(TALL, multi_select=False)), width=60, height=14)

        assert run.deliver(Select(index)).status == AnswerStatus.DELIVERED
        assert run.answers == {TALL.question: TALL.options[index].label}


@pytest.mark.parametrize("length", [300, 1500, 2800, 6000])
def test_a_question_longer_than_the_pane_is_answered(length: int) -> None:
    text = " ".join(f"word{at}" for at in range(length))[:length] + "?"
    run = Run(form(question(text, "Alpha", "Beta")), width=100, height=30)

    delivery = run.deliver(Select(1))

    assert (run.answers, delivery.status) == ({text: "Beta"}, AnswerStatus.DELIVERED), delivery


def test_a_key_that_never_takes_hold_ends_the_attempt_early() -> None:
    run = Run(form(PREVIEW))
    # A client on which somebody holds the cursor.
    press = run.model.press
    run.model.press = lambda key: press("Up" if key == "Down" and run.model.questions[0].cursor else key)  # type: ignore[method-assign]

    delivery = run.deliver(Select(2))

    assert delivery.status == AnswerStatus.REFUSED
    assert "in circles" in delivery.reason
    assert len(run.keys) < 12


@pytest.mark.parametrize(("asked", "decision"), [(SINGLE, Select(1)), (MULTI, MultiSelect((1, 2)))])
@pytest.mark.parametrize("theirs", ["Down", "Up"])
def test_a_person_who_moves_the_cursor_right_before_each_key_changes_nothing(
    asked: Question, decision: Decision, theirs: str
) -> None:
    run = Run(form(asked))
    press = run.model.press

    def pressed(key: str) -> None:
        if key.isdigit() and run.model.questions[0].cursor not in (0, len(asked.options) - 1):
            press(theirs)
        press(key)

    run.model.press = pressed  # type: ignore[method-assign]
    run.model.press("Down")

    delivery = run.deliver(decision)

    assert delivery.status == AnswerStatus.DELIVERED, delivery
    assert run.answers == {asked.question: "Option B" if asked is SINGLE else "Naming, Retry"}


def test_a_dialog_that_has_stood_for_long_is_answered_at_once() -> None:
    fresh, standing = Run(form(SINGLE)), Run(form(SINGLE))
    standing.clock.now += 2

    for run in (fresh, standing):
        started = run.clock.now
        assert run.deliver(Select(1)).status == AnswerStatus.DELIVERED
        assert run.answers == {SINGLE.question: "Option B"}
        run.clock.now -= started
    assert standing.clock.now < fresh.clock.now - 0.2


@pytest.mark.slow
def test_after_a_text_that_fills_the_pane_the_next_question_is_not_taken_for_its_page() -> None:
    drawn = seeded_form(2211, 103)
    asked = AskUserQuestionInput.from_json({"questions": drawn.questions})
    run = Run(asked, width=60, height=20)

    delivery = run.deliver(*check_decisions(drawn.decisions, asked))

    assert "leave question 2" in delivery.steps[-1], delivery


LONG = ("a text of many words, " * 220).strip()


@pytest.mark.parametrize(
    ("questions", "decisions"),
    [
        ((question("First?", "A", "B"), SINGLE), (Select(1), FreeText(LONG))),
        ((MULTI, SINGLE), (MultiSelect((1,)), FreeText(f"→ {LONG}"))),
        ((SINGLE, MULTI), (Select(1), MultiSelect((1, 2), LONG))),
        ((MULTI,), (MultiSelect((3,), LONG),)),
    ],
)
@pytest.mark.parametrize(("width", "height"), [(120, 40), (60, 20)])
def test_a_last_answer_longer_than_the_pane_is_submitted_from_the_review_that_shows_its_end(
    questions: tuple[Question, ...], decisions: tuple[Decision, ...], width: int, height: int
) -> None:
    run = Run(form(*questions), width=width, height=height)

    delivery = run.deliver(*decisions)

    assert run.answers is not None, delivery
    assert run.answers[questions[-1].question].strip('"').endswith(LONG)
    assert delivery.status == AnswerStatus.DELIVERED


@pytest.mark.parametrize("text", [LONG, LONG.replace("many", "few"), "words, "])
def test_the_review_of_another_long_text_is_left_alone(text: str) -> None:
    run = Run(form(question("First?", "A", "B"), SINGLE))
    for pressed in ("1", "3", "Down", "Down"):
        run.model.press(pressed)
    run.model.press("BTab")
    for pressed in ("Down", "Down"):
        run.model.press(pressed)
    run.model.paste(LONG)
    run.model.press("Enter")
    before = run.model.render(120, 40)
    assert "  2. Cancel" in before
    assert not any("Which approach?" in line or "→" in line for line in before)

    delivery = run.deliver(Select(0), FreeText(text))

    assert "too little of the question" in delivery.reason
    assert run.keys == []
    assert run.model.render(120, 40) == before


def test_too_small_a_pane_is_the_reason_it_gives() -> None:
    run = Run(form(question("Which of the two? " + "words " * 99, "A", "B")), width=60, height=8)

    delivery = run.deliver(Select(1))

    assert delivery.status == AnswerStatus.DELIVERED or "too little of the question" in delivery.reason
    assert run.answers in (None, {run.form.questions[0].question: "B"})


def test_chat_declines_the_form_and_sends_the_text_as_a_prompt() -> None:
    run = Run(MIXED)
    swept = False
    run.open = lambda: not swept

    delivery = run.deliver(Chat("let us talk:\nabout this"))

    assert (run.model.outcome, run.terminal.prompts) == ("chat", ["let us talk:\nabout this"])
    assert delivery.status == AnswerStatus.DELIVERED


def test_answers_before_a_chat_are_entered_first() -> None:
    run = Run(MIXED)

    run.deliver(Select(1), MultiSelect((0,)), Chat("the rest differs"))

    assert [item.answer() for item in run.model.questions] == ["Option B", '"Driver, path"', None, None]
    assert run.terminal.prompts == ["the rest differs"]


def test_a_chat_goes_on_after_its_question_was_swept() -> None:
    run = Run(form(SINGLE))
    run.open = lambda: run.model.outcome is None

    assert run.deliver(Chat("talk")).status == AnswerStatus.DELIVERED
    assert run.terminal.prompts == ["talk"]


def test_the_dialog_may_be_drawn_late() -> None:
    run = Run(form(SINGLE))
    run.terminal.opens_at += 0.5

    assert run.deliver(Select(1)).status == AnswerStatus.DELIVERED
    assert run.answers == {SINGLE.question: "Option B"}


def test_a_lost_enter_is_pressed_again_but_never_twice_into_the_next_question() -> None:
    for lost in range(12):
        run = Run(MIXED)
        run.terminal.lost = {lost}

        delivery = run.deliver(*MIXED_DECISIONS)

        assert delivery.status == AnswerStatus.DELIVERED or run.answers is None
        assert run.answers in (MIXED_ANSWERS, None), lost


class LastInstant(HoldingFakeTerminal):
    """A terminal on which a person presses ``key`` just before the key with the number ``before``."""

    before = -1
    key = ""

    def press(self, address: TerminalAddress, key: str) -> None:
        if len(self.log) == self.before and not self.is_held:
            super().press(address, self.key)
        super().press(address, key)


@pytest.mark.parametrize("key", ["Down", "Up", "Tab", "Left", "Escape"])
@pytest.mark.parametrize(
    ("asked", "decisions", "answers"),
    [
        (form(SINGLE), [FreeText("neither")], ["neither"]),
        (form(SINGLE, PREVIEW), [Select(0), Select(1)], ["Option A (Recommended)", "Topbar"]),
        (form(MULTI), [MultiSelect((1, 2))], ["Naming, Retry"]),
        (form(SINGLE), [Select(1)], ["Option B"]),
    ],
    ids=["typed", "tabs", "multi", "single"],
)
def test_a_person_in_the_last_instant_does_not_redirect_a_key_where_keys_can_be_kept_out(
    asked: AskUserQuestionInput, decisions: list[Decision], answers: list[str], key: str
) -> None:
    for before in range(30):
        run = Run(asked)
        terminal = LastInstant(run.model, run.clock, opens_at=run.clock.now)
        terminal.before, terminal.key = before, key
        run.terminal = terminal

        delivery = run.deliver(*decisions)

        assert delivery.status == AnswerStatus.DELIVERED, f"{before}: {delivery}"
        assert list((run.answers or {}).values()) == answers
        if before > len(terminal.log):
            break


class StandsStill(HoldingFakeTerminal):
    """A terminal of a process that stands still once it has sent so many keys and pastes; a person then presses one."""

    after = -1
    key = "Down"

    def capture(self, address: TerminalAddress) -> Screen:
        if len(self.log) == self.after:
            self.after = -1
            self.clock.sleep(20)  # type: ignore[attr-defined]
            assert not self.is_held
            super().press(address, self.key)
            self.clock.sleep(1)  # type: ignore[attr-defined]
        return super().capture(address)


@pytest.mark.parametrize("after", range(1, 8))
@pytest.mark.parametrize("decision", [MultiSelect((1, 2)), MultiSelect((1,), "a text")], ids=["ticks", "text"])
def test_a_process_that_stood_still_goes_on_unless_it_has_entered_a_text(after: int, decision: MultiSelect) -> None:
    run = Run(form(MULTI))
    run.terminal = terminal = StandsStill(run.model, run.clock, opens_at=run.clock.now)
    terminal.after = after

    delivery = run.deliver(decision, seconds=120)

    before = terminal.log[:after]
    if ("paste", "a text") in before and before.count(("key", "Enter")) < 2:
        assert (delivery.status, run.answers) == (AnswerStatus.REFUSED, None)
        assert "other keys may have come in between" in delivery.reason
    else:
        assert delivery.status == AnswerStatus.DELIVERED, delivery
        assert run.answers == {MULTI.question: "Naming, a text" if decision.text else "Naming, Retry"}


@pytest.mark.parametrize("after", range(1, 8))
def test_a_blank_that_came_in_while_the_process_stood_still_gets_into_no_text(after: int) -> None:
    run = Run(form(SINGLE))
    run.model.press("Up")
    run.model.press("Up")
    run.model.paste("left by others")
    run.terminal = terminal = StandsStill(run.model, run.clock, opens_at=run.clock.now)
    terminal.after, terminal.key = after, "Space"

    delivery = run.deliver(FreeText("neither"), seconds=120)

    is_answered = ("key", "Enter") in terminal.log[:after]
    assert run.answers == ({SINGLE.question: "neither"} if is_answered else None), terminal.log
    assert delivery.status == (AnswerStatus.DELIVERED if is_answered else AnswerStatus.REFUSED)


def test_a_person_who_cancels_on_the_review_in_the_last_instant_has_declined_the_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run(form(question("First?", "A", "B"), question("Second?", "A", "B")))
    press = run.terminal.press

    def pressed(address: TerminalAddress, key: str) -> None:
        if key == "Enter":
            run.model.press("Down")
        press(address, key)

    monkeypatch.setattr(run.terminal, "press", pressed)

    delivery = run.deliver(Select(0), Select(1))

    assert run.model.outcome == "declined"
    assert delivery.status == AnswerStatus.REFUSED
    assert "declined" in delivery.reason


@pytest.mark.parametrize("latency", [1.3, 4.0, 9.0])
def test_a_slow_client_gets_no_second_enter(latency: float) -> None:
    run = Run(form(question("First?", "A", "B"), question("Second?", "A", "B")), latency=latency)

    delivery = run.deliver(Select(0), Select(1))

    assert run.answers == {"First?": "A", "Second?": "B"}
    assert delivery.status == AnswerStatus.DELIVERED


def test_nothing_is_pressed_while_the_dialog_is_not_on_screen() -> None:
    run = Run(form(SINGLE))
    run.terminal.opens_at += 1000

    delivery = run.deliver(Select(1))

    assert delivery.status == AnswerStatus.REFUSED
    assert run.terminal.log == []
    assert run.clock.now < 110


@pytest.mark.parametrize(
    "other",
    [
        form(question("Which other approach?", "Option A (Recommended)", "Option B", "You decide")),
        form(question("Which approach?", "Option A (Recommended)", "Option B", "I decide")),
        form(question("Which approach?", "Option A (Recommended)", "Option B")),
        form(question("Which approach?", "Option A (Recommended)", "Option B", "You decide", multi=True)),
    ],
)
def test_another_question_is_left_alone(other: AskUserQuestionInput) -> None:
    run = Run(other)
    run.form = form(SINGLE)

    delivery = run.deliver(Select(1))

    assert delivery.status == AnswerStatus.REFUSED
    assert run.terminal.log == []


def test_a_person_who_answers_first_wins() -> None:
    run = Run(form(SINGLE, MULTI))
    run.at(0.3, lambda: run.model.press("Escape"))

    delivery = run.deliver(Select(1), MultiSelect((0,)))

    assert delivery.status == AnswerStatus.REFUSED
    assert run.answers is None
    assert (run.terminal.prompt, run.terminal.prompts) == ("", [])


@pytest.mark.parametrize("keys", [0, 1, 3])
def test_a_pause_ends_the_attempt_before_the_next_key(keys: int) -> None:
    run = Run(form(SINGLE, MULTI))
    run.stopped = lambda: "session s is paused" if len(run.keys) >= keys else ""

    delivery = run.deliver(Select(1), MultiSelect((0, 1)))

    assert (delivery.status, delivery.reason) == (AnswerStatus.REFUSED, "session s is paused")
    assert len(run.keys) == len(delivery.steps) == keys
    assert run.answers is None


def test_a_question_that_was_closed_before_is_not_touched() -> None:
    run = Run(form(SINGLE))
    run.open = lambda: False

    assert run.deliver(Select(1)).status == AnswerStatus.REFUSED
    assert run.terminal.log == []


def test_a_terminal_that_goes_away_is_reported() -> None:
    run = Run(MIXED)
    run.at(0.5, lambda: setattr(run.terminal, "gone", True))

    delivery = run.deliver(*MIXED_DECISIONS)

    assert delivery.status == AnswerStatus.REFUSED
    assert "gone" in delivery.reason


def test_a_client_that_hangs_gets_at_most_one_key_and_one_probe() -> None:
    run = Run(form(SINGLE), latency=1e9)

    delivery = run.deliver(Select(0))

    assert delivery.status == AnswerStatus.REFUSED
    assert run.keys == ["1", "Down"]


def test_what_a_screen_cannot_take_is_refused_before_any_key() -> None:
    texts = ("ends in \\", "   ", "a\x1b[31m", "Type something.")
    for decision in (*map(FreeText, texts), Chat("/clear")):
        run = Run(form(SINGLE))

        assert run.deliver(decision).status == AnswerStatus.REFUSED
        assert run.terminal.log == []


def test_without_a_terminal_the_channel_is_unavailable() -> None:
    request = AnswerRequest("s", "t", form(SINGLE), (Select(0),), None, None, GrammarPlanner(), lambda: True, 0.0)

    assert KeysChannel().deliver(request).status == AnswerStatus.UNAVAILABLE


TRICKY = [
    "Submit",
    "Next",
    "Chat about this",
    "Type something.",
    "Type something",
    "❯ 1. Yes",
    "[✔] Done",
    "2. Cancel",
    "1. Submit answers",
    "Done ✔",
    "日本語のオプション",
    "Review your answers",
    "● Last?",
    "→ B",
    "Enter to select · ↑/↓ to navigate · Esc to cancel",
    "───────────────",
    "a\nb",
    "Alpha, with comma",
    "Alpha",
    'say "hi", ok',
    "👍 emoji",
    "é",
    "x " * 40,
    "w" * 90,
    "5. Chat about this",
    "Notes: press n to add notes",
    "↑ 3 more lines",
]
texts = st.sampled_from(TRICKY) | st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=60
).filter(lambda text: text.strip())


@st.composite
def forms(draw: st.DrawFn) -> AskUserQuestionInput:
    asked = []
    # What no screen tells apart is refused; here everything is to be answered.
    for text in draw(st.lists(texts, min_size=1, max_size=4, unique_by=key)):
        multi = draw(st.booleans())
        previews = draw(st.booleans()) and draw(st.booleans())
        labels = draw(st.lists(texts, min_size=2, max_size=4, unique_by=accented_key))
        options = tuple(
            Option(label=label, description=draw(texts | st.just("")), preview=draw(texts) if previews else None)
            for label in labels
        )
        header = draw(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=12))
        asked.append(Question(question=text, header=header, options=options, multi_select=multi))
    return AskUserQuestionInput(questions=tuple(asked))


typed = texts.filter(lambda text: not text.strip().endswith("\\") and not text.strip().startswith("Type something"))


@st.composite
def intentions(draw: st.DrawFn) -> tuple[AskUserQuestionInput, tuple[Decision, ...]]:
    asked = draw(forms())
    decisions: list[Decision] = []
    for item in asked.questions:
        count = len(item.options)
        if item.multi_select:
            chosen = draw(st.sets(st.integers(0, count - 1), min_size=1))
            labels = [option.label for option in item.options]
            words = draw(st.none() | typed.filter(lambda text, labels=labels: not text_faults(text, labels)))
            decisions.append(MultiSelect(tuple(sorted(chosen)), words))
        elif any(option.preview for option in item.options):
            note = draw(st.none() | typed.filter(lambda text: "notes" not in text.lower()))
            decisions.append(Select(draw(st.integers(0, count - 1)), note))
        else:
            decisions.append(draw(st.builds(Select, st.integers(0, count - 1)) | st.builds(FreeText, typed)))
    return asked, tuple(decisions)


def expected(asked: AskUserQuestionInput, decisions: tuple[Decision, ...]) -> dict[str, str]:
    ideal = DialogModel(asked)
    for item, decision in zip(ideal.questions, decisions, strict=True):
        if isinstance(decision, Select):
            item.chosen = decision.option_index
        elif isinstance(decision, FreeText):
            item.typed.value, item.chosen = decision.text, len(item.options)
        elif isinstance(decision, MultiSelect):
            item.ticked = [at in decision.selected_indices for at in range(len(item.options))]
            item.typed.value, item.typed_ticked = decision.text or "", decision.text is not None
    return {item.text: answer for item in ideal.questions if (answer := item.answer()) is not None}


KEYS = ["Up", "Down", "Left", "Right", "Tab", "BTab", "Space", "1", "2", "x", "n", "BSpace"]


@settings(suppress_health_check=list(HealthCheck))
@given(
    intentions(),
    st.lists(st.sampled_from(KEYS), max_size=6),
    st.lists(st.tuples(st.floats(0, 2), st.sampled_from(KEYS)), max_size=2),
    st.sets(st.integers(0, 30), max_size=1),
    st.sampled_from([(120, 40), (80, 24), (60, 20)]),
    st.sampled_from([0.0, 0.03, 0.3]),
    st.booleans(),
)
def test_any_form_from_any_state_ends_right_or_not_at_all(
    intention: tuple[AskUserQuestionInput, tuple[Decision, ...]],
    before: list[str],
    meanwhile: list[tuple[float, str]],
    lost: set[int],
    size: tuple[int, int],
    latency: float,
    kept: bool,
) -> None:
    asked, decisions = intention
    run = Run(asked, width=size[0], height=size[1], latency=latency, kept=kept)
    run.terminal.lost = lost
    for pressed in before:
        run.model.press(pressed)
    if run.model.outcome is not None:
        return
    for seconds, pressed in meanwhile:
        run.at(seconds, lambda pressed=pressed: run.model.press(pressed))  # type: ignore[misc]

    delivery = run.deliver(*decisions)

    if run.model.outcome == "answered" and not meanwhile:
        assert run.answers == expected(asked, decisions)
    assert run.model.outcome in ("answered", None) or meanwhile
    assert run.terminal.prompts == []
    if delivery.status == AnswerStatus.DELIVERED:
        assert run.model.outcome == "answered"
    if not (meanwhile or lost or before) and size == (120, 40):
        assert delivery.status == AnswerStatus.DELIVERED, delivery


@pytest.mark.parametrize("hundredths", range(8, 26, 2))
def test_a_key_that_ends_the_form_is_not_pressed_again_because_a_persons_key_shows_late(hundredths: int) -> None:
    run = Run(form(SINGLE), latency=0.15)
    run.at(hundredths / 100, lambda: run.terminal.press(ADDRESS, "Up"))

    run.deliver(Select(2))
    run.clock.sleep(1)
    run.terminal.capture(ADDRESS)

    assert run.terminal.prompt == "", run.terminal.log
    assert run.answers == {SINGLE.question: "You decide"}


def test_no_key_follows_a_look_after_which_the_process_stood_still(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(form(SINGLE))
    next_step = GrammarPlanner.next_step

    def slow(*arguments: Any) -> Any:
        step = next_step(*arguments)
        if isinstance(step, Press) and run.model.outcome is None:
            run.terminal.press(ADDRESS, "1")
            run.clock.sleep(2)
            run.terminal.capture(ADDRESS)
        return step

    monkeypatch.setattr(GrammarPlanner, "next_step", slow)

    delivery = run.deliver(Select(2))

    assert delivery.status == AnswerStatus.REFUSED
    assert run.answers == {SINGLE.question: "Option A (Recommended)"}
    assert "3" not in run.keys
    assert run.terminal.prompt == ""


class SomebodysPlanner(KeystrokePlanner):
    """A planner of another package that reads the dialog."""

    name = "somebodys"

    def __init__(self) -> None:
        self._planner = keystroke_planner()

    def read(self, screen: Screen, form: AskUserQuestionInput) -> View:
        return self._planner.read(screen, form)

    def next_step(
        self, view: View, form: AskUserQuestionInput, decisions: Sequence[Decision], taken: Sequence[Taken]
    ) -> Step:
        return self._planner.next_step(view, form, decisions, taken)

    def outline(self, form: AskUserQuestionInput, decisions: Sequence[Decision]) -> list[str]:
        return self._planner.outline(form, decisions)


@pytest.mark.parametrize("lost", range(4))
def test_a_planner_of_another_package_is_served_alike(lost: int) -> None:
    run = Run(form(SINGLE, MULTI))
    run.planner = SomebodysPlanner()
    run.terminal.lost = {lost}

    delivery = run.deliver(Select(2), MultiSelect((0, 2)))

    assert delivery.status == AnswerStatus.DELIVERED, delivery
    assert run.answers == {SINGLE.question: "You decide", MULTI.question: '"Driver, path", Retry'}


def test_an_enter_that_makes_a_new_line_in_the_prompt_box_is_pressed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(form(SINGLE))

    def to_prompt(kind: str, what: str) -> None:
        run.terminal.prompt += "\n" if what == "Enter" else what

    monkeypatch.setattr(run.terminal, "_to_prompt", to_prompt)

    delivery = run.deliver(Chat("let us talk\nabout it"))

    assert delivery.status == AnswerStatus.REFUSED
    assert "Enter makes a new line" in delivery.reason
    assert run.terminal.prompt == "let us talk\nabout it\n"


def test_an_enter_that_shows_no_effect_on_the_prompt_box_is_pressed_a_few_times_at_most() -> None:
    run = Run(form(SINGLE))
    step = Press("Enter", "send the chat's text")
    box = ("─" * 120, "❯ let us talk", "─" * 120)
    view = keystroke_planner().read(run.terminal.capture(ADDRESS)._replace(lines=box), run.form)
    declined = Taken(Press("Enter", "choose chat", Effect.DECLINES), view)
    taken = [declined, Taken(Paste("let us talk", ""), view)]
    while isinstance(found := keystroke_planner().next_step(view, run.form, (Chat("let us talk"),), taken), Press):
        assert found == step
        taken.append(Taken(found, view))

    assert isinstance(found, GiveUp)
    assert len(taken) == 5
