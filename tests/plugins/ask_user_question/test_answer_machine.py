"""A state machine of the planner and the channel: an answer is entered while a person uses the same keyboard.

Rules are looks of the channel, which decides its own keys, and a person's keys, pastes and resizes between them. The
dialog is the model that live tests compare with the client. Whatever happens, no key of the channel's records another
answer than the intended one, unless a person's key was on its way when the channel looked, or was a blank in the
text: such keys no look can show for sure. Where the terminal can keep a person's keys out, not even then.
"""

from __future__ import annotations

import copy
import json
import threading
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hookrouter._sandbox.dialog_model import DialogModel
from hookrouter._sandbox.fake_terminal import FakeTerminal
from hookrouter.answering.interfaces import AnswerRequest, AnswerStatus
from hookrouter.dialogs.comparison import compare
from hookrouter.dialogs.decisions import parse_decisions
from hookrouter.terminals import TerminalAddress
from hookrouter.tools import AskUserQuestionInput
from hookrouter_keystrokes.channel import KeysChannel
from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner
from hookrouter_keystrokes.timing import Timing
from support.holding_terminal import HoldingFakeTerminal
from support.random_forms import RandomForm, seeded_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.answering.interfaces import AnswerOutcome

ADDRESS = TerminalAddress("fake", "s", "%0", "")
TIMING = Timing(poll_seconds=0.05)
"""Fewer looks than the real pace has, which would not see more."""
SIZES = [(120, 40), (200, 50), (80, 24), (60, 20), (40, 12)]
KEYS = ["Up", "Down", "Left", "Right", "Tab", "BTab", "Space", "BSpace", "C-u", "C-e", *"12345nxjk"]
ENDING = ["Enter", "Escape"]


def question(text: str, *labels: str, multi: bool = False, preview: bool = False) -> dict[str, Any]:
    options = [{"label": each, "description": "", **({"preview": f"<{each}>"} if preview else {})} for each in labels]
    return {"question": text, "header": text[:12], "multiSelect": multi, "options": options}


def small(*pairs: tuple[dict[str, Any], dict[str, Any], str], note: str | None = None) -> RandomForm:
    questions, decisions = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    expected = {pair[0]["question"]: pair[2] for pair in pairs}
    notes = {pair[0]["question"]: pair[1]["notes"] for pair in pairs if "notes" in pair[1]}
    return RandomForm(questions, decisions, expected, notes, faulty=False)


SINGLE = question("Which approach shall we take?", "Alpha", "Beta", "Gamma")
MULTI = question("Which areas shall we discuss?", "Driver", "Naming", "Retry", multi=True)
PREVIEW = question("Which layout is the better one?", "Sidebar", "Topbar", preview=True)
SMALL = [
    small((SINGLE, {"action": "select", "optionIndex": 1}, "Beta")),
    small((SINGLE, {"action": "type", "text": "neither"}, "neither")),
    small((MULTI, {"action": "multi-select", "selectedIndices": [0, 2]}, "Driver, Retry")),
    small((MULTI, {"action": "multi-select", "selectedIndices": [1], "text": "more"}, "Naming, more")),
    small((PREVIEW, {"action": "select", "optionIndex": 1, "notes": "but wide"}, "Topbar")),
    small(
        (SINGLE, {"action": "type", "text": "2"}, "2"),
        (MULTI, {"action": "multi-select", "selectedIndices": [2]}, "Retry"),
        (PREVIEW, {"action": "select", "optionIndex": 0}, "Sidebar"),
    ),
]
forms = st.sampled_from(SMALL) | st.integers(0, 5000).map(lambda number: seeded_form(0, number)).filter(
    lambda form: not form.faulty
)


def bare(texts: dict[str, str]) -> dict[str, str]:
    return {question: "".join(text.split(" ")) for question, text in texts.items()}


class _Abandoned(BaseException):
    """The machine has ended before the channel."""


class Keyboard(FakeTerminal):
    """A terminal that a person shares with the channel."""

    def __init__(self, model: DialogModel, clock: Callable[[], float], **options: Any) -> None:
        super().__init__(model, clock, **options)
        self.persons: set[int] = set()
        """The numbers in ``log`` of the person's keys."""
        self.raced = False
        """Whether the channel acted while a person's key was on its way."""

    def person(self, kind: str, what: str) -> None:
        self.persons.add(len(self.log))
        self._send(kind, what)

    def on_their_way(self) -> set[int]:
        return {item[3] for item in self._queue} & self.persons

    def press(self, address: TerminalAddress, key: str) -> None:
        self.raced = self.raced or bool(self.on_their_way())
        super().press(address, key)

    def paste(self, address: TerminalAddress, text: str) -> None:
        self.raced = self.raced or bool(self.on_their_way())
        super().paste(address, text)


class HoldingKeyboard(Keyboard, HoldingFakeTerminal):
    """One that can keep the person's keys out."""

    def person(self, kind: str, what: str) -> None:
        if not self.is_held:
            super().person(kind, what)


class Typing(threading.Thread):
    """The channel in a thread of its own, which runs only while the machine waits for it: a sleep hands over."""

    def __init__(self, request: Callable[[], AnswerRequest]) -> None:
        super().__init__(daemon=True)
        self.now = 100.0
        self.delivery: AnswerOutcome | None = None
        self.error: Exception | None = None
        self._request = request
        self._looks = 0
        self._abandoned = False
        self._to_channel, self._to_machine = threading.Semaphore(0), threading.Semaphore(0)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self._looks -= 1
        if self._looks <= 0:
            self._to_machine.release()
            self._to_channel.acquire()
        if self._abandoned:
            raise _Abandoned

    def run(self) -> None:
        self._to_channel.acquire()
        try:
            if not self._abandoned:
                self.delivery = KeysChannel(TIMING._replace(clock=self.clock, sleep=self.sleep)).deliver(
                    self._request()
                )
        except _Abandoned:
            pass
        except Exception as error:  # noqa: BLE001 - handed to the thread that waits
            self.error = error
        finally:
            self._to_machine.release()

    def look(self, times: int) -> None:
        """Let the channel look at the screen so many times, or until it has ended."""
        if not self.is_alive():
            return
        self._looks = times
        self._to_channel.release()
        self._to_machine.acquire()
        if self.delivery is not None or self.error is not None:
            self.join()
        if self.error is not None:
            raise self.error

    def abandon(self) -> None:
        if self.is_alive():
            self._abandoned = True
            self._to_channel.release()
            self.join()


class Answering(RuleBasedStateMachine):
    """One form, one answer, one person."""

    @initialize(
        form=forms,
        chat=st.sampled_from([False] * 9 + [True]),
        size=st.sampled_from(SIZES),
        latency=st.sampled_from([0.0, 0.03, 0.08, 0.3]),
        lost=st.sets(st.integers(0, 30), max_size=1),
        holding=st.booleans(),
        opens=st.sampled_from([0.0, 0.4]),
    )
    def ask(
        self,
        form: RandomForm,
        chat: bool,
        size: tuple[int, int],
        latency: float,
        lost: set[int],
        holding: bool,
        opens: float,
    ) -> None:
        self.form = form
        raw = [*form.decisions[:-1], {"action": "chat", "text": "let us talk"}] if chat else form.decisions
        self.chat = chat
        self.asked = AskUserQuestionInput.from_json({"questions": form.questions})
        self.decisions = parse_decisions(json.dumps(raw), self.asked)
        self.model = DialogModel(self.asked)
        self.typing = Typing(self.request)
        keyboard = HoldingKeyboard if holding else Keyboard
        self.terminal = keyboard(
            self.model,
            self.typing.clock,
            width=size[0],
            height=size[1],
            opens_at=self.typing.now + opens,
            latency=latency,
        )
        self.terminal.lost = lost
        self.kept_out = holding and latency < TIMING.others_seconds
        # Of the others some need a larger pane.
        self.undisturbed = not lost and size in SIZES[:2] and form in SMALL
        self.typing.start()

    def request(self) -> AnswerRequest:
        return AnswerRequest(
            session="s",
            tool_use_id="t",
            form=self.asked,
            decisions=self.decisions,
            address=ADDRESS,
            terminal=self.terminal,
            planner=GrammarPlanner(),
            still_open=lambda: self.model.outcome is None,
            deadline=self.typing.now + 60.0,
        )

    @property
    def is_started(self) -> bool:
        return bool(self.typing.now > 100.0)

    @precondition(lambda self: not self.is_started)
    @rule(keys=st.lists(st.sampled_from(KEYS), min_size=1, max_size=6))
    def leave_something_behind(self, keys: list[str]) -> None:
        for key in keys:
            later = copy.deepcopy(self.model)
            later.press(key)
            if later.outcome is None:
                self.model.press(key)
        self.undisturbed = False

    @rule(times=st.integers(1, 40))
    def look(self, times: int) -> None:
        self.typing.look(times)

    @precondition(lambda self: self.typing.is_alive() and self.is_started)
    @rule(key=st.sampled_from(KEYS))
    def press(self, key: str) -> None:
        self.terminal.person("key", key)
        self.undisturbed = False

    @precondition(lambda self: self.typing.is_alive() and self.is_started)
    @rule(key=st.sampled_from(ENDING), sure=st.sampled_from([False, False, True]))
    def press_what_may_end_it(self, key: str, sure: bool) -> None:
        if sure:
            self.press(key)

    @precondition(lambda self: self.typing.is_alive() and self.is_started)
    @rule(text=st.sampled_from(["x", "other words", "two\nlines", "2"]))
    def paste(self, text: str) -> None:
        self.terminal.person("paste", text)
        self.undisturbed = False

    @precondition(lambda self: self.typing.is_alive() and self.is_started)
    @rule(seconds=st.sampled_from([0.4, 1.0, 6.0]))
    def stand_still(self, seconds: float) -> None:
        self.typing.now += seconds
        self.undisturbed = False

    @precondition(lambda self: self.typing.is_alive())
    @rule(size=st.sampled_from(SIZES))
    def resize(self, size: tuple[int, int]) -> None:
        self.terminal.width, self.terminal.height = size
        self.undisturbed = False

    @invariant()
    def the_channel_answers_rightly_or_not_at_all(self) -> None:
        result = self.model.result
        if result is None:
            return
        is_right = not self.chat and result["answers"] == self.form.expected
        noted = {text: each["notes"] for text, each in result["annotations"].items() if each.get("notes")}
        is_right = is_right and noted == self.form.notes
        if not is_right and not self.terminal.raced and not self.only_blanks_were_added(result["answers"], noted):
            assert self.terminal.closed_by in self.terminal.persons, (result, self.terminal.log)
        raw = [*self.form.decisions[:-1], {"action": "chat", "text": "-"}] if self.chat else self.form.decisions
        assert compare(self.form.questions, raw, result).matches == is_right

    def only_blanks_were_added(self, answers: dict[str, str], noted: dict[str, str]) -> bool:
        """Whether a person's blanks in a typed text are all that differs: rows that wrap or end do not show these."""
        blanks = any(self.terminal.log[number] == ("key", "Space") for number in self.terminal.persons)
        return (
            blanks
            and not self.chat
            and (bare(answers), bare(noted)) == (bare(self.form.expected), bare(self.form.notes))
        )

    @invariant()
    def a_key_that_was_kept_out_does_not_redirect_the_channels_last_one(self) -> None:
        if self.kept_out and self.model.outcome is not None and self.terminal.closed_by not in self.terminal.persons:
            assert self.model.outcome == ("chat" if self.chat else "answered"), self.terminal.log
            assert self.chat or (self.model.result or {})["answers"] == self.form.expected, self.terminal.log

    @invariant()
    def nothing_reaches_the_prompt_but_a_chat(self) -> None:
        if self.terminal.raced or (self.chat and self.model.outcome == "chat"):
            return
        for number in set(self.terminal.to_prompt) - self.terminal.persons:
            kind, what = self.terminal.log[number]
            assert (kind, what) == ("key", "Down"), self.terminal.log

    def teardown(self) -> None:
        if not hasattr(self, "typing"):
            return
        try:
            self.typing.look(20_000)
            self.ended()
        finally:
            self.typing.abandon()

    def ended(self) -> None:
        delivery = self.typing.delivery
        assert delivery is not None, "the channel does not end"
        self.the_channel_answers_rightly_or_not_at_all()
        self.nothing_reaches_the_prompt_but_a_chat()
        by_person = self.terminal.closed_by in self.terminal.persons
        if delivery.status == AnswerStatus.DELIVERED and not (by_person or self.terminal.raced):
            assert self.model.outcome == ("chat" if self.chat else "answered"), delivery
            enters = [number for number in self.terminal.to_prompt if self.terminal.log[number] == ("key", "Enter")]
            assert not self.chat or len(set(enters) - self.terminal.persons) == 1
            assert not self.chat or self.terminal.prompts.count("let us talk") == 1
        if self.undisturbed:
            assert delivery.status == AnswerStatus.DELIVERED, delivery


TestAnswering = Answering.TestCase
TestAnswering.settings = settings(stateful_step_count=20, suppress_health_check=list(HealthCheck))
