"""The prompt channel ``keys`` on a model of the client: disturbed, killed between any two acts, refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.queue.channels import PromptOutcome, PromptRequest, PromptStatus
from hookrouter.queue.client_commands import NOT_RUN, refused_command
from hookrouter.queue.items import new_item
from hookrouter_keystrokes.prompting.channel import KeysPromptChannel
from hookrouter_keystrokes.prompting.facts import ENDS
from hookrouter_keystrokes.prompting.left import Left
from hookrouter_keystrokes.prompting.models import asks_for, asks_for_effort
from hookrouter_keystrokes.prompting.situation import Entry
from hookrouter_keystrokes.screens.model import OtherDialog
from hookrouter_keystrokes.settings import KeystrokesSettings
from hookrouter_keystrokes.timing import Timing
from support.memory_storage import MemoryStore
from support.prompt_model import ADDRESS, VIEW, Clock, PromptModel, UnstyledPromptModel

LONG = "\n".join(f"{number}. a line of some length, so that it is wrapped in a small pane" for number in range(15))


class Killed(BaseException):
    """The process is killed."""


class Session:
    """A model of the client, and the queue's side of a channel."""

    def __init__(self, kind: type[UnstyledPromptModel] = PromptModel, **options: Any) -> None:
        self.clock = Clock()
        self.terminal = kind(self.clock, **options)
        self.phases: list[str] = []
        self.drafts = "wait"
        self.stopped = ""
        self.version: tuple[int, ...] | None = (2, 1, 330)
        self.store = MemoryStore()

    @property
    def phase(self) -> str:
        return self.phases[-1] if self.phases else ""

    def request(self, text: str, save: Callable[[str], None] | None = None) -> PromptRequest:
        return PromptRequest(
            item=new_item(text, by="agent")._replace(phase=self.phase),
            session="work",
            session_id="11111111-2222-3333-4444-555555555555",
            client_pid=0,
            client_version=self.version,
            folder="/project",
            transcript_path="",
            address=ADDRESS,
            terminal=self.terminal,
            store=self.store,
            deadline=self.clock() + 60,
            save_phase=save or self.phases.append,
            is_proven=lambda: False,
            stopped=lambda: self.stopped,
            settings=lambda kind: kind(drafts=self.drafts),
        )

    def submit(self, text: str) -> PromptOutcome:
        channel = KeysPromptChannel(Timing(clock=self.clock, sleep=self.clock.sleep))
        outcome = channel.submit(self.request(text))
        self.settle()
        return outcome

    def settle(self) -> None:
        self.clock.sleep(1.0)
        self.terminal.capture(ADDRESS)

    @property
    def submitted(self) -> list[str]:
        return [text.strip() for text in self.terminal.submitted]

    @property
    def pressed(self) -> list[str]:
        return [what for kind, what in self.terminal.log if kind == "key"]


def test_enter_is_pressed_once_and_saved_before() -> None:
    one = Session()
    outcome = one.submit("go on")
    assert outcome.status == PromptStatus.SUBMITTED
    assert one.submitted == ["go on"]
    assert one.pressed == ["Enter"]
    assert one.phases == ["typing", "entering"]


def test_a_hint_of_the_client_is_no_draft() -> None:
    one = Session()
    one.terminal.hint = "a suggestion of the client that nobody has seen before"
    assert one.submit("go on").status == PromptStatus.SUBMITTED
    plain = Session(UnstyledPromptModel)
    plain.terminal.hint = 'Try "edit <filepath> to..."'
    assert plain.submit("go on").status == PromptStatus.SUBMITTED
    plain.phases.clear()
    plain.terminal.hint = "a suggestion of the client that nobody has seen before"
    outcome = plain.submit("go on")
    assert (outcome.status, outcome.is_person) == (PromptStatus.NOT_NOW, True)


def test_a_draft_is_waited_for() -> None:
    one = Session()
    one.terminal.text = "half a thought"
    outcome = one.submit("go on")
    assert (outcome.status, outcome.is_person) == (PromptStatus.NOT_NOW, True)
    assert one.terminal.text == "half a thought"
    assert one.terminal.log == []
    assert one.phases == []


@pytest.mark.parametrize("text", ["go on", "/clear", "!ls", LONG])
def test_a_draft_is_put_away_and_comes_back(text: str) -> None:
    one = Session()
    one.drafts, one.terminal.text = "stash", "half a thought\nand another"
    outcome = one.submit(text)
    assert outcome.status == PromptStatus.SUBMITTED, outcome
    assert "is back" in outcome.reason
    assert one.submitted == [text]
    assert one.terminal.text == "half a thought\nand another"
    keys = one.pressed
    assert keys[0] == "C-s"
    assert keys.count("C-u") == 0


def test_a_draft_that_is_being_typed_is_not_put_away() -> None:
    one = Session()
    one.drafts, one.terminal.text = "stash", "half"
    look = one.terminal.capture

    def typing(address: Any) -> Any:
        one.terminal.text += "x" if one.clock() % 1 < 0.02 else ""
        return look(address)

    one.terminal.capture = typing  # type: ignore[method-assign]
    outcome = one.submit("go on")
    assert (outcome.status, outcome.is_person) == (PromptStatus.NOT_NOW, True)
    assert one.terminal.log == []


def test_a_second_draft_is_not_put_over_the_first() -> None:
    one = Session()
    one.drafts, one.terminal.text, one.terminal.stash = "stash", "second", "first"
    assert one.submit("go on").status == PromptStatus.NOT_NOW
    assert (one.terminal.text, one.terminal.stash) == ("second", "first")


def test_a_draft_that_was_put_away_is_given_back_if_nothing_comes_of_it() -> None:
    one = Session()
    one.drafts, one.terminal.text = "stash", "half a thought"
    one.terminal.before = lambda number: setattr(one, "stopped", "paused" if number >= 1 else "")
    outcome = one.submit(LONG)
    assert (outcome.status, outcome.reason) == (PromptStatus.NOT_NOW, "paused")
    assert one.terminal.text == "half a thought"
    assert one.submitted == []
    assert one.phase == ""


@pytest.mark.parametrize("busy", [True, False])
def test_a_session_that_does_not_wait_for_a_prompt_gets_none(busy: bool) -> None:
    one = Session()
    if busy:
        one.terminal.busy_until = one.clock() + 60
    else:
        one.terminal.cover = VIEW
    outcome = one.submit("go on")
    assert outcome.status == PromptStatus.NOT_NOW
    assert outcome.reason == ("Claude works" if busy else "the transcript view is open")
    assert one.terminal.log == []


def test_a_turn_that_ends_is_waited_for() -> None:
    one = Session()
    one.terminal.busy_until = one.clock() + 1
    assert one.submit("go on").status == PromptStatus.SUBMITTED


@pytest.mark.parametrize("text", ["go on", LONG, "!ls -l", "/hookrouter-contract"])
def test_what_was_typed_is_taken_out_if_claude_begins_to_work(text: str) -> None:
    one = Session()
    number = len(one.terminal.log)

    def begins(at: int) -> None:
        if at == number:
            one.terminal.busy_until = one.clock() + 1e9

    one.terminal.before = begins
    outcome = one.submit(text)
    assert outcome.status == PromptStatus.NOT_NOW
    assert (one.terminal.text, one.terminal.mode) == ("", "")
    assert one.submitted == []
    assert one.phase == ""


def test_a_command_that_the_session_does_not_have_is_refused_and_taken_out() -> None:
    one = Session()
    for text, said in (("/hookrouter-contr", "its menu offers /hookrouter-contract"), ("/nope", "does not offer")):
        outcome = one.submit(text)
        assert outcome.status == PromptStatus.REFUSED
        assert said in outcome.reason
        assert one.terminal.text == ""
    assert one.submitted == []
    assert one.submit("/context").status == PromptStatus.SUBMITTED


@pytest.mark.parametrize("old", [True, False])
def test_the_shell_mode_is_entered_by_its_key(old: bool) -> None:
    one = Session(old=old)
    assert one.submit("!echo hi").status == PromptStatus.SUBMITTED
    assert one.submitted == ["!echo hi"]
    assert one.pressed == ["!", "Enter"]


def test_a_text_that_the_client_takes_for_something_else_is_refused_and_taken_out() -> None:
    one = Session()
    put = one.terminal._put

    def memory(text: str, *, pasted: bool) -> None:
        if text.startswith("#"):
            one.terminal.mode, text = "#", text[1:]
        put(text, pasted=pasted)

    one.terminal._put = memory  # type: ignore[method-assign]
    outcome = one.submit("# is a comment")
    assert outcome.status == PromptStatus.REFUSED, outcome
    assert "something else" in outcome.reason
    assert one.submitted == []
    assert (one.terminal.text, one.terminal.mode) == ("", "")


def test_a_client_in_which_enter_makes_a_new_line_is_refused() -> None:
    one = Session()
    one.terminal.enter_is_newline = True
    outcome = one.submit("go on")
    assert outcome.status == PromptStatus.REFUSED
    assert "new line" in outcome.reason
    assert one.pressed.count("Enter") == 3
    assert one.terminal.text == ""


@pytest.mark.parametrize("text", ["go on", "!ls", "/clear", LONG])
def test_an_enter_that_was_lost_is_pressed_again_with_proof(text: str) -> None:
    probe = Session()
    assert probe.submit(text).status == PromptStatus.SUBMITTED
    one = Session()
    one.terminal.lost = {len(probe.terminal.log) - 1}
    outcome = one.submit(text)
    assert outcome.status == PromptStatus.SUBMITTED, outcome
    assert one.submitted == [text]
    assert one.pressed.count("Enter") == 2


@pytest.mark.parametrize("late", [1.0, 4.0, 8.0])
def test_an_enter_that_is_late_is_not_pressed_again(late: float) -> None:
    one = Session()
    one.terminal.late = {1: late}
    outcome = one.submit("go on")
    assert outcome.status == PromptStatus.SUBMITTED, outcome
    assert one.submitted == ["go on"]
    assert one.pressed.count("Enter") == 1
    assert one.terminal.text == ""


def test_an_enter_without_any_effect_is_uncertain() -> None:
    one = Session()
    one.terminal.late = {1: 1000.0}
    outcome = one.submit("go on")
    assert outcome.status == PromptStatus.UNCERTAIN
    assert one.pressed.count("Enter") == 1


@pytest.mark.parametrize(("at", "status"), [(0, PromptStatus.NOT_NOW), (1, PromptStatus.UNCERTAIN)])
def test_a_pane_that_goes_away_is_reported(at: int, status: str) -> None:
    one = Session()
    one.terminal.before = lambda number: setattr(one.terminal, "gone", number == at)
    channel = KeysPromptChannel(Timing(clock=one.clock, sleep=one.clock.sleep))
    outcome = channel.submit(one.request("go on"))
    assert (outcome.status, outcome.reason) == (status, "the pane is gone")


@pytest.mark.parametrize("pasted", [True, False], ids=["pasted", "typed"])
@pytest.mark.parametrize("text", ["go on, please", LONG])
def test_nobodys_key_comes_into_a_text_where_the_terminal_can_keep_it_out(text: str, pasted: bool) -> None:
    one = Session()
    one.terminal.before = lambda _number: one.terminal.by_hand("x" if not pasted else "a whole word", "Enter")
    outcome = one.submit(text)
    assert outcome.status == PromptStatus.SUBMITTED
    assert one.submitted == [text]


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_a_key_that_comes_in_between_is_seen_where_the_terminal_cannot(at: int) -> None:
    one = Session(UnstyledPromptModel)

    def person(number: int) -> None:
        if number == at:
            one.terminal.by_hand("x")

    one.terminal.before = person
    outcome = one.submit(LONG)
    assert outcome.status == PromptStatus.NOT_NOW, outcome
    assert one.submitted == []


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("text", ["word " * 700 + "end", "x" * 3000, "ab\n" * 300 + "end"], ids=["words", "x", "lines"])
def test_a_text_that_repeats_itself_is_typed_one_piece_after_the_other(text: str, old: bool) -> None:
    one = Session(old=old, width=60, height=20)
    waiting: list[int] = []
    one.terminal.before = lambda _number: waiting.append(len(one.terminal._queue))
    outcome = one.submit(text)
    assert outcome.status == PromptStatus.SUBMITTED, outcome
    assert one.submitted == [text]
    assert set(waiting) == {0}, "a paste before the one before it has shown"


# Killed between any two acts


def kill_points(text: str, **options: Any) -> int:
    probe = Session(**options)
    assert probe.submit(text).status == PromptStatus.SUBMITTED
    return len(probe.terminal.log)


@pytest.mark.parametrize("drafts", ["", "half a thought"], ids=["no draft", "a draft"])
@pytest.mark.parametrize("after", [True, False], ids=["after the act", "before the act"])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("go on", id="prompt"),
        pytest.param("!ls", id="shell"),
        pytest.param("/clear", id="command"),
        pytest.param(LONG, id="long", marks=pytest.mark.slow),
    ],
)
def test_whatever_act_it_is_killed_at_the_item_is_submitted_once_at_most(text: str, after: bool, drafts: str) -> None:
    seen: set[str] = set()
    for at in range(kill_points(text) + bool(drafts)):
        one = Session()
        one.terminal.text, one.drafts = drafts, "stash"

        def kill(number: int, at: int = at, one: Session = one) -> None:
            if number == at and after:
                one.terminal.before = kill_next
            elif number == at:
                raise Killed

        def kill_next(_number: int) -> None:
            raise Killed

        one.terminal.before = kill
        channel = KeysPromptChannel(Timing(clock=one.clock, sleep=one.clock.sleep))
        try:
            channel.submit(one.request(text))
        except Killed:
            one.terminal._held_until = None  # type: ignore[attr-defined]
        one.terminal.before = lambda _number: None
        one.settle()
        outcome = one.submit(text) if one.submitted == [] or one.phase else None
        if outcome is None:
            continue
        for _ in range(3):
            if outcome.status != PromptStatus.NOT_NOW:
                break
            outcome = one.submit(text)
        seen.add(outcome.status)
        assert one.submitted in ([], [text]), (at, one.submitted)
        assert outcome.status in (PromptStatus.SUBMITTED, PromptStatus.UNCERTAIN), (at, outcome)
        if outcome.status == PromptStatus.SUBMITTED:
            assert one.submitted == [text], at
        if drafts and one.submitted:
            assert one.terminal.text == drafts, at
    assert PromptStatus.SUBMITTED in seen


def test_after_an_enter_that_may_have_been_pressed_the_proof_decides() -> None:
    one = Session()
    one.phases.append("entering")
    assert one.submit("go on").status == PromptStatus.UNCERTAIN
    assert one.terminal.log == []
    proven = one.request("go on")._replace(is_proven=lambda: True)
    channel = KeysPromptChannel(Timing(clock=one.clock, sleep=one.clock.sleep))
    assert channel.submit(proven).status == PromptStatus.SUBMITTED
    assert one.terminal.log == []


def test_a_persons_text_is_never_taken_for_the_items_own() -> None:
    one = Session()
    one.terminal.text = "go on"
    assert one.submit("go on and on").status == PromptStatus.NOT_NOW
    one.phases.append("typing")
    one.terminal.text = "go on, but with care"
    outcome = one.submit("go on and on")
    assert outcome.status == PromptStatus.NOT_NOW
    assert "may in part be what an earlier attempt typed" in outcome.reason
    assert one.terminal.text == "go on, but with care"
    assert one.terminal.log == []


@given(
    st.sampled_from(["go on", "!ls", "/clear", LONG[:500]]),
    st.sets(st.integers(0, 12), max_size=3),
    st.dictionaries(st.integers(0, 12), st.floats(0.05, 6), max_size=3),
    st.booleans(),
    st.sampled_from(["", "a draft"]),
    st.integers(-1, 12),
)
def test_whatever_is_lost_or_late_nothing_is_submitted_twice_or_changed(
    text: str, lost: set[int], late: dict[int, float], old: bool, draft: str, killed: int
) -> None:
    one = Session(old=old)
    one.drafts, one.terminal.text = "stash", draft
    one.terminal.lost, one.terminal.late = lost, late

    def kill(number: int) -> None:
        if number == killed:
            raise Killed

    one.terminal.before = kill
    channel = KeysPromptChannel(Timing(clock=one.clock, sleep=one.clock.sleep))
    statuses = []
    for _ in range(4):
        try:
            statuses.append(channel.submit(one.request(text)).status)
        except Killed:
            one.terminal.before = lambda _number: None
            one.terminal._held_until = None  # type: ignore[attr-defined]
            one.clock.sleep(30)
            continue
        if statuses[-1] != PromptStatus.NOT_NOW:
            break
    one.clock.sleep(30)
    one.settle()
    assert one.submitted in ([], [text])
    if statuses and statuses[-1] == PromptStatus.SUBMITTED:
        assert one.submitted == [text]
    if statuses and statuses[-1] in (PromptStatus.NOT_NOW, PromptStatus.REFUSED):
        assert one.submitted == []


# Models


def dialog(row: str, cursor: int = 0) -> OtherDialog:
    return OtherDialog("model switch", (row, "No, go back"), cursor)


@pytest.mark.parametrize(
    ("row", "model", "is_it"),
    [
        ("Yes, switch to Sonnet 5.5", "sonnet", True),
        ("Yes, switch to Sonnet 5.5", "claude-sonnet-5-5", True),
        ("Yes, switch to Sonnet 4.6", "claude-sonnet-4-6-20260101", True),
        ("Yes, switch to Sonnet 4.6", "claude-sonnet-4-5", False),
        ("Yes, switch to Opus 5.5", "sonnet", False),
        ("Yes, switch to Opus 4.7 (1M context)", "opus", False),
        ("Yes, switch to Opus 4.7 (1M context)", "opus[1m]", True),
        ("Yes, switch to Opus 4.7", "opus[1m]", False),
        ("Yes, switch to Default (Opus 4.7)", "opus", False),
        ("No, go back", "sonnet", False),
        ("Yes, switch to Sonnet 5.5", "", False),
        ("Yes, switch to Sonnet 5.5", "opusplan", False),
    ],
)
def test_a_switch_is_confirmed_for_exactly_the_model_that_was_asked_for(row: str, model: str, is_it: bool) -> None:
    assert asks_for(dialog(row), model) is is_it
    assert not asks_for(dialog(row, cursor=1), model)
    assert not asks_for(None, model)


def test_an_effort_is_confirmed_for_exactly_the_level_that_was_asked_for() -> None:
    shown = OtherDialog("effort switch", ("Yes, switch to medium", "No, go back"), 0)
    assert asks_for_effort(shown, "medium")
    assert not asks_for_effort(shown, "high")
    assert not asks_for_effort(shown._replace(cursor=1), "medium")
    assert not asks_for_effort(dialog("Yes, switch to medium"), "medium")
    assert not asks_for(shown, "medium")


def test_the_switch_of_a_model_is_confirmed() -> None:
    one = Session()
    one.terminal.switches = {"sonnet": "Sonnet 5.5"}
    outcome = one.submit("/model sonnet")
    assert outcome.status == PromptStatus.SUBMITTED
    assert one.terminal.switched == ["Sonnet 5.5"]
    assert one.phases == ["typing", "entering", "confirming"]


def test_the_switch_to_another_model_is_left_open() -> None:
    one = Session()
    one.terminal.switches = {"sonnet": "Opus 5.5"}
    outcome = one.submit("/model sonnet")
    assert outcome.status == PromptStatus.SUBMITTED
    assert "left open" in outcome.reason
    assert one.terminal.switched == []


@pytest.mark.parametrize("phase", ["entering", "confirming"])
def test_a_killed_switch_is_confirmed_only_if_it_may_not_have_been(phase: str) -> None:
    one = Session()
    one.terminal.switches = {"sonnet": "Sonnet 5.5"}
    one.terminal.text = "/model sonnet"
    one.terminal.by_hand("Enter")
    one.settle()
    one.phases.append(phase)
    outcome = one.submit("/model sonnet")
    if phase == "entering":
        assert outcome.status == PromptStatus.SUBMITTED
        assert one.terminal.switched == ["Sonnet 5.5"]
    else:
        assert outcome.status == PromptStatus.UNCERTAIN
        assert one.terminal.switched == []
    assert one.submitted == ["/model sonnet"]


# Commands


def test_commands_that_would_hold_the_session_are_refused_before_anything_is_typed() -> None:
    one = Session()
    for text in ("/status", "/help", "/cost", "/model", "/exit", "/resume", "/config theme"):
        outcome = one.submit(text)
        assert outcome.status == PromptStatus.REFUSED
        assert outcome.reason.startswith(text.split()[0])
    assert one.terminal.log == []
    assert one.phases == []


def test_what_a_command_does_may_depend_on_arguments_and_version() -> None:
    assert refused_command("/model opus", (2, 1, 330)) == ""
    assert refused_command("/effort high", (2, 1, 330)) == ""
    assert refused_command("/effort", (2, 1, 330))
    assert refused_command("/doctor", (2, 1, 330)) == ""
    assert refused_command("/doctor", (2, 1, 150))
    assert refused_command("/doctor", None)
    assert refused_command("/gsd:next a b", None) == ""
    names = [name for rule in NOT_RUN for name in rule.names]
    assert len(names) == len(set(names))


def test_the_settings_are_declared() -> None:
    assert KeystrokesSettings().drafts == "wait"


@pytest.mark.parametrize("text", ENDS)
def test_a_prompt_that_ends_the_client_is_not_typed(text: str) -> None:
    session = Session()
    outcome = session.submit(text)
    assert (outcome.status, session.terminal.log) == (PromptStatus.REFUSED, [])
    assert "ends the client" in outcome.reason
    assert session.submit(f"{text} the loop").status == PromptStatus.SUBMITTED


def drops_marks(text: str) -> str:
    """Return what a client draws that leaves a character out."""
    return text.replace("~", "")


@pytest.mark.parametrize("text", ["a~b", "~", "!~", "a~\n~\nb", f"{LONG}~", "first~\n\n\n\n\n\n\n\n\nlast"])
def test_what_the_box_shows_otherwise_is_taken_out_again_and_counted(text: str) -> None:
    one = Session()
    one.terminal.draws = drops_marks
    outcome = one.submit(text)
    assert (outcome.status, outcome.is_try, outcome.is_person) == (PromptStatus.NOT_NOW, True, False), outcome
    assert (one.terminal.text, one.terminal.mode) == ("", "")
    assert one.submitted == []
    assert one.phase == ""
    assert one.submit("go on").status == PromptStatus.SUBMITTED


def test_where_nobody_can_be_kept_out_what_is_not_certain_to_be_its_own_stays() -> None:
    one = Session(UnstyledPromptModel)
    one.terminal.draws = drops_marks
    outcome = one.submit("a~b")
    assert (outcome.status, outcome.is_try) == (PromptStatus.NOT_NOW, True)
    assert one.terminal.text == "a~b"
    one.phases.clear()
    again = one.submit("go on")
    assert again.status == PromptStatus.NOT_NOW
    assert "somebody" not in again.reason


@pytest.mark.parametrize("text", ["the first one", "!ls", "/clear", LONG])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_what_a_killed_attempt_has_typed_is_taken_out_for_another_item(text: str, at: int) -> None:
    one = Session()

    def kill(number: int) -> None:
        if number == at:
            raise Killed

    one.terminal.before = kill
    try:
        one.submit(text)
    except Killed:
        one.settle()
    one.terminal.before = lambda number: None
    one.terminal.release(ADDRESS)  # type: ignore[attr-defined]
    if one.phase == "entering":
        # Nobody drops such an item.
        return
    one.phases.clear()
    assert one.submit("the second one").status == PromptStatus.SUBMITTED
    assert one.submitted == ["the second one"]


def test_a_draft_is_somebodys_once_nothing_of_ones_own_is_left() -> None:
    one = Session()
    assert one.submit("go on").status == PromptStatus.SUBMITTED
    one.phases.clear()
    one.terminal.text = "go on"
    outcome = one.submit("the next one")
    assert (outcome.status, outcome.is_person) == (PromptStatus.NOT_NOW, True)
    assert one.terminal.text == "go on"


def test_what_another_client_has_had_is_nobodys_of_this_one() -> None:
    one = Session()
    Left(one.request("go on")._replace(client_pid=7)).note(Entry("", "go on", is_bare_command=False))
    one.terminal.text = "go on"
    outcome = one.submit("the next one")
    assert (outcome.status, outcome.is_person) == (PromptStatus.NOT_NOW, True)
    assert one.terminal.text == "go on"


def test_a_screen_without_a_box_is_counted_and_a_dialog_is_not() -> None:
    one = Session()
    one.terminal.cover = VIEW
    assert not one.submit("go on").is_try
    nothing = Session(height=2)
    outcome = nothing.submit("go on")
    assert (outcome.status, outcome.is_try) == (PromptStatus.NOT_NOW, True), outcome


@pytest.mark.parametrize("character", ["\ufffe", "\uffff", "\ufdd0", "\U0001fffe", "\U0010ffff"])
def test_what_is_no_character_is_refused_before_anything_is_typed(character: str) -> None:
    one = Session()
    outcome = one.submit(f"a{character}b")
    assert (outcome.status, outcome.steps) == (PromptStatus.REFUSED, ())
    assert f"U+{ord(character):04X}" in outcome.reason


@pytest.mark.parametrize("text", ["a\nb\nc\nd\ne", "word " * 80 + "end"])
def test_what_does_not_fit_the_pane_is_taken_out_again_and_counted(text: str) -> None:
    one = Session(width=80)
    one.terminal.room = 3
    outcome = one.submit(text)
    assert (outcome.status, outcome.is_try) == (PromptStatus.NOT_NOW, True)
    assert "the pane is too small" in outcome.reason
    assert one.terminal.text == ""
    assert one.submit("go on").status == PromptStatus.SUBMITTED
    assert one.submitted == ["go on"]


@pytest.mark.parametrize("text", ["!!", "!!x"])
def test_a_shell_command_that_begins_with_its_own_key_is_refused(text: str) -> None:
    outcome = Session().submit(text)
    assert (outcome.status, outcome.steps) == (PromptStatus.REFUSED, ())
