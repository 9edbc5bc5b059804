"""Disturbance on the real client: whatever a person, the terminal or the client does half-way, no answer is wrong."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.client import ClientSession, find_client
from hookrouter._sandbox.waiting import wait_until
from support.matrix import mostly_long
from support.safety import safety

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.live

# The class is in conftest.py, which cannot be imported from here.
Live = Any


def question(text: str, header: str, *labels: str, multi: bool = False) -> dict[str, Any]:
    options = [{"label": label, "description": f"about {label}"} for label in labels]
    return {"question": text, "header": header, "multiSelect": multi, "options": options}


APPROACH = question("Which approach should we use?", "Approach", "Option A", "Option B", "Option C", "You decide")
AREAS = question("Which areas do you want to discuss?", "Areas", "Driver", "Naming", "Retry", "Logging", multi=True)
NAMING = question("Which naming convention is it to be?", "Naming", "snake_case", "kebab-case", "You decide")

CHOICE = [{"action": "select", "optionIndex": 2}]
TYPED = [{"action": "type", "text": "none of these, please"}]
TICKS = [{"action": "multi-select", "selectedIndices": [0, 2], "text": "and tests"}]
MIXED = [*CHOICE, *TICKS, {"action": "type", "text": "as the linter says"}]

FORMS = {
    "choice": ([APPROACH], CHOICE, ["Option C"]),
    "typed": ([APPROACH], TYPED, ["none of these, please"]),
    "ticks": ([AREAS], TICKS, ["Driver, Retry, and tests"]),
    "mixed": ([APPROACH, AREAS, NAMING], MIXED, ["Option C", "Driver, Retry, and tests", "as the linter says"]),
}


def answers(form: str) -> dict[str, str]:
    questions, _, texts = FORMS[form]
    return {each["question"]: text for each, text in zip(questions, texts, strict=True)}


def reply(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def is_recorded(live: Live, asked: str) -> bool:
    return any(entry["tool_use_id"] == asked for entry in live.stage.payloads("PostToolUse"))


def right(live: Live, asked: str, done: subprocess.CompletedProcess[str], form: str) -> None:
    assert done.returncode == 0, f"{done.returncode} {done.stdout} {done.stderr}\n{live.client.screen()}"
    with safety("an answer that is told as right is the one that was meant"):
        assert live.recorded(asked)["answers"] == answers(form)
    assert live.outcome(asked)["outcome"] == "verified"
    live.model.wait_for_result(asked)


def right_or_reported(live: Live, asked: str, done: subprocess.CompletedProcess[str], form: str) -> str:
    """See that the form was answered as meant, or not at all and ``answer`` says why; return what it ended in."""
    if done.returncode == 0:
        right(live, asked, done, form)
        return "right"
    said = reply(done)
    assert done.returncode == 4, f"{done.returncode} {done.stdout} {done.stderr}\n{live.client.screen()}"
    assert said["reason"]
    with safety("an answer that is told as not delivered was not recorded"):
        assert not is_recorded(live, asked), f"{done.stdout}"
    return str(said["reason"])


# How many keys and pastes come before the disturbance.
HALF_WAY = {"choice": 0, "typed": 2, "ticks": 4, "mixed": 5}


def is_input_off(live: Live) -> bool:
    target = live.client.pane.target
    return bool(live.server.run("display-message", "-p", "-t", target, "#{pane_input_off}").strip() == "1")


PERSON = {
    "moves-down": ["Down"],
    "moves-up": ["Up"],
    "types": ["x", "y"],
    "changes-tab": ["Tab"],
    "goes-back": ["Left"],
}


@pytest.mark.parametrize("form", mostly_long(FORMS, "typed"))
@pytest.mark.parametrize("keys", mostly_long(PERSON, "changes-tab"))
def test_a_person_presses_keys_half_way(form: str, keys: str, calm: Live) -> None:
    """On a terminal that cannot keep a person's keys out."""
    asked = calm.ask(*FORMS[form][0])
    with calm.paused(f"look {HALF_WAY[form]}", *FORMS[form][1], holds=False) as agent:
        assert agent.reached, agent.finish()
        calm.client.pane.press(*PERSON[keys])
        done = agent.finish()
    right_or_reported(calm, asked, done, form)


@pytest.mark.parametrize("form", mostly_long(["typed", "ticks"], "typed"))
@pytest.mark.parametrize("key", mostly_long(["Up", "Space", "x", "Escape"], "x", "Escape"))
def test_no_key_of_a_person_comes_into_a_text(form: str, key: str, calm: Live) -> None:
    asked = calm.ask(*FORMS[form][0])
    with calm.paused(f"look {HALF_WAY[form]}", *FORMS[form][1]) as agent:
        assert agent.reached, agent.finish()
        calm.client.pane.press(key)
        done = agent.finish()
    right(calm, asked, done, form)
    assert not is_input_off(calm)


@pytest.mark.parametrize(
    ("form", "press", "key"),
    [
        ("choice", 1, "Down"),
        pytest.param("choice", 1, "Up", marks=pytest.mark.long),
        pytest.param("typed", 1, "Escape", marks=pytest.mark.long),
        pytest.param("typed", 3, "Up", marks=pytest.mark.long),
        ("typed", 3, "x"),
        pytest.param("ticks", 7, "Down", marks=pytest.mark.long),
    ],
)
def test_a_person_presses_a_key_between_our_look_and_our_key(form: str, press: int, key: str, calm: Live) -> None:
    asked = calm.ask(*FORMS[form][0])
    with calm.paused(f"press {press}", *FORMS[form][1]) as agent:
        assert agent.reached, agent.finish()
        calm.client.pane.press(key)
        done = agent.finish()
    right(calm, asked, done, form)


@pytest.mark.parametrize(
    ("press", "key"),
    [(1, "Tab"), pytest.param(4, "Down", marks=pytest.mark.long), pytest.param(4, "Left", marks=pytest.mark.long)],
)
def test_a_person_in_the_last_instant_does_not_redirect_what_submits_or_declines(
    press: int, key: str, calm: Live
) -> None:
    """After the Tab the digit would choose on the review screen, where 1 submits; after the Down Enter would cancel."""
    asked = calm.ask(AREAS)
    with calm.paused(f"press {press}", {"action": "multi-select", "selectedIndices": [0, 2]}) as agent:
        assert agent.reached, agent.finish()
        assert ("1. Submit answers" in calm.client.screen()) == (press == 4)
        calm.client.pane.press(key)
        done = agent.finish()
    assert done.returncode == 0, f"{done.stdout}\n{calm.client.screen()}"
    assert calm.recorded(asked)["answers"] == {AREAS["question"]: "Driver, Retry"}
    calm.model.wait_for_result(asked)


def stand_still(calm: Live, look: int, *decisions: dict[str, Any]) -> tuple[str, subprocess.CompletedProcess[str]]:
    """Have ``answer`` stand still after ``look`` keys until a person's keys come in again, and press one."""
    asked = calm.ask(AREAS)
    with calm.paused(f"look {look}", *decisions) as agent:
        assert agent.reached, agent.finish()
        assert is_input_off(calm)
        wait_until(lambda: not is_input_off(calm), 15, "end of the hold")
        calm.client.pane.press("Up")
        return asked, agent.finish()


def test_an_answer_that_stood_still_goes_on_where_it_sees_what_others_did(calm: Live) -> None:
    asked, done = stand_still(calm, 2, {"action": "multi-select", "selectedIndices": [0, 2]})
    assert done.returncode == 0, f"{done.stdout}\n{calm.client.screen()}"
    assert calm.recorded(asked)["answers"] == {AREAS["question"]: "Driver, Retry"}
    calm.model.wait_for_result(asked)


def test_an_answer_that_stood_still_over_a_text_stops(calm: Live) -> None:
    asked, done = stand_still(calm, 5, *TICKS)
    assert done.returncode == 4, f"{done.stdout}\n{calm.client.screen()}"
    assert "other keys may have come" in reply(done)["reason"]
    assert not is_recorded(calm, asked)


def test_a_blank_that_could_not_be_kept_out_is_reported(calm: Live) -> None:
    asked = calm.ask(APPROACH)
    with calm.paused("look 2", *TYPED, holds=False) as agent:
        assert agent.reached, agent.finish()
        calm.client.pane.press("Space")
        done = agent.finish()
    assert done.returncode == 3, done.stdout
    assert calm.recorded(asked)["answers"] == {APPROACH["question"]: TYPED[0]["text"] + " "}
    assert TYPED[0]["text"] in calm.wait_wake("mismatch", asked)["text"]


@pytest.mark.parametrize(
    "left",
    mostly_long([" ", "none of these, please ", "other\nlines "], "other\nlines "),
    ids=["blank", "same", "lines"],
)
def test_a_text_that_a_person_left_is_replaced(left: str, calm: Live) -> None:
    asked = calm.ask(APPROACH)
    calm.leave_typed(left)
    right(calm, asked, calm.answer(*TYPED), "typed")


def choose_beside(calm: Live, asked: str, digit: str) -> None:
    """Leave the row for a text, and choose an option as a person does.

    For a moment after the cursor has left the row, the client takes a digit for the text that is no longer there.
    """
    calm.client.pane.press("Up")
    calm.client.pane.wait_for("❯ 4. You decide")
    calm.press_until(digit, lambda: is_recorded(calm, asked))


def test_a_person_answers_half_way(calm: Live) -> None:
    asked = calm.ask(APPROACH)
    with calm.paused("look 1", *TYPED, holds=False) as agent:
        assert agent.reached, agent.finish()
        choose_beside(calm, asked, "2")
        done = agent.finish()
    assert calm.recorded(asked)["answers"] == {APPROACH["question"]: "Option B"}
    assert done.returncode in (3, 4), done.stdout
    assert reply(done)["reason"]
    assert done.returncode == 4 or calm.wait_wake("mismatch", asked)


@pytest.mark.parametrize("form", mostly_long(FORMS, "ticks"))
def test_a_person_presses_escape_half_way(form: str, calm: Live) -> None:
    asked = calm.ask(*FORMS[form][0])
    with calm.paused(f"look {HALF_WAY[form]}", *FORMS[form][1], holds=False) as agent:
        assert agent.reached, agent.finish()
        calm.client.pane.press("Escape")
        calm.client.wait_idle()
        done = agent.finish()
    assert done.returncode == 4, done.stdout
    assert reply(done)["reason"]
    assert not is_recorded(calm, asked)


def resize(live: Live) -> None:
    for width, height in ((60, 24), (200, 50), (80, 30), (120, 40)):
        live.server.run("resize-window", "-t", live.client.pane.target, "-x", str(width), "-y", str(height))


def beside(live: Live) -> None:
    live.server.run("split-window", "-h", "-t", live.client.pane.target, "cat")


def zoom(live: Live) -> None:
    beside(live)
    live.server.run("resize-pane", "-Z", "-t", live.client.pane.target)


def synchronize(live: Live) -> None:
    live.server.run("split-window", "-h", "-d", "-t", live.client.pane.target, "cat")
    live.server.run("set-option", "-w", "-t", live.client.pane.target, "synchronize-panes", "on")


def mode(command: str) -> Callable[[Live], None]:
    return lambda live: live.server.run(command, "-t", live.client.pane.target)


TERMINAL: dict[str, Callable[[Live], None]] = {
    "resized": resize,
    "copy-mode": mode("copy-mode"),
    "clock-mode": mode("clock-mode"),
    "choose-tree": mode("choose-tree"),
    "another-pane-active": beside,
    "zoomed": zoom,
    "synchronized": synchronize,
    "another-window-active": lambda live: live.server.run("new-window", "-t", "managed:", "cat"),
    "window-renamed": lambda live: live.server.run("rename-window", "-t", live.client.pane.target, "other"),
    "session-renamed": lambda live: live.server.run("rename-session", "-t", "=managed", "managed-2"),
}


@pytest.fixture
def restored(calm: Live) -> Iterator[Live]:
    """Return the shared client, and see afterwards that other panes got no key; then undo what was done to tmux."""
    yield calm
    run, target = calm.server.run, calm.client.pane.target
    for pane in run("list-panes", "-s", "-t", target, "-F", "#{pane_id}").split():
        if pane != target:
            got = run("capture-pane", "-p", "-t", pane).strip()
            run("kill-pane", "-t", pane)
            assert got == ""
    run("set-option", "-w", "-u", "-t", target, "synchronize-panes")
    run("rename-session", "-t", target, "managed")
    run("copy-mode", "-q", "-t", target)
    run("resize-window", "-t", target, "-x", "120", "-y", "40")


@pytest.mark.parametrize("what", mostly_long(TERMINAL, "resized", "copy-mode"))
def test_the_terminal_changes_half_way(what: str, restored: Live) -> None:
    asked = restored.ask(*FORMS["ticks"][0])
    with restored.paused("look 2", *FORMS["ticks"][1]) as agent:
        assert agent.reached, agent.finish()
        TERMINAL[what](restored)
        done = agent.finish()
    right(restored, asked, done, "ticks")


class Child:
    """A client that a program of the pane started, as a shell does, so that tmux does not see what becomes of it."""

    def __init__(self, live: Live) -> None:
        program = find_client()
        assert program is not None
        self.typed = os.path.join(live.stage.folder, "typed")
        script = f'{shlex.quote(program)}; exec cat > "$0"'
        environ = {**live.stage.environ, **live.stage.client_home.environ(live.model)}
        command = ["sh", "-c", script, self.typed]
        self.client = ClientSession(command, live.server, live.stage.client_home, environ, session="managed-child")
        self.client.start()

    def signal(self, number: signal.Signals) -> None:
        target = self.client.pane.target
        shell = self.client.pane.server.run("display-message", "-p", "-t", target, "#{pane_pid}").strip()
        with open(f"/proc/{shell}/task/{shell}/children", encoding="ascii") as file:
            for child in file.read().split():
                os.kill(int(child), number)


CHILD = ("--session", "managed-child")


@pytest.mark.long
def test_the_client_is_suspended_for_seconds_and_for_longer_than_anybody_waits(pausing: Live) -> None:
    child = Child(pausing)
    for seconds in (2, None):
        asked = pausing.ask(*FORMS["ticks"][0], client=child.client)
        with pausing.paused("look 2", *FORMS["ticks"][1], options=CHILD) as agent:
            assert agent.reached, agent.finish()
            child.signal(signal.SIGSTOP)
            try:
                agent.go()
                if seconds is not None:
                    with pytest.raises(subprocess.TimeoutExpired):
                        agent.process.wait(seconds)
                else:
                    stuck = agent.finish()
            finally:
                child.signal(signal.SIGCONT)
            if seconds is not None:
                right(pausing, asked, agent.finish(), "ticks")
    assert stuck.returncode == 4, stuck.stdout
    assert "does not react" in reply(stuck)["reason"]
    assert not is_recorded(pausing, asked)
    right(pausing, asked, pausing.answer(*FORMS["ticks"][1], options=CHILD), "ticks")


def test_what_the_client_was_started_from_gets_no_key(pausing: Live) -> None:
    """The dialog of a client that was killed stays on the screen."""
    child = Child(pausing)
    asked = pausing.ask(APPROACH, client=child.client)
    with pausing.paused("look 1", *TYPED, options=CHILD) as agent:
        assert agent.reached, agent.finish()
        child.signal(signal.SIGKILL)
        wait_until(lambda: os.path.exists(child.typed), 10, "the end of the client")
        done = agent.finish()
    assert done.returncode == 4, done.stdout
    with open(child.typed, encoding="utf-8") as file:
        assert file.read() == ""
    assert not is_recorded(pausing, asked)


@pytest.mark.parametrize("command", ["kill-client", "kill-server"])
def test_the_client_or_the_terminal_is_gone_half_way(command: str, pausing: Live) -> None:
    asked = pausing.ask(*FORMS["ticks"][0])
    with pausing.paused("look 2", *FORMS["ticks"][1]) as agent:
        assert agent.reached, agent.finish()
        if command == "kill-server":
            pausing.server.run("kill-server")
        else:
            pane = pausing.client.pane
            os.kill(int(pausing.server.run("display-message", "-p", "-t", pane.target, "#{pane_pid}")), signal.SIGKILL)
            wait_until(pausing.client.pane.dead, 10, "end of the client")
        done = agent.finish()
    assert done.returncode == 4, f"{done.stdout} {done.stderr}"
    assert reply(done)["reason"]
    assert not is_recorded(pausing, asked)


@pytest.mark.parametrize("same", [True, False], ids=["same", "other-options"])
def test_the_question_is_replaced_by_the_next_one(same: bool, calm: Live) -> None:
    then = APPROACH if same else question(APPROACH["question"], "Approach", "Option C", "Option A", "Option D")
    calm.start_turn([APPROACH], [then])
    first = calm.asked(1, APPROACH["question"])
    with calm.paused("look 1", *TYPED, holds=False) as agent:
        assert agent.reached, agent.finish()
        choose_beside(calm, first, "1")
        second = calm.asked(2, then["question"])
        done = agent.finish()
    assert done.returncode in (3, 4), done.stdout
    assert not is_recorded(calm, second)
    again = calm.answer({"action": "select", "optionIndex": 1}, options=("--tool-use-id", second))
    assert again.returncode == 0, again.stdout
    assert calm.recorded(second)["answers"] == {then["question"]: then["options"][1]["label"]}


def test_a_chat_is_said_to_no_new_question(calm: Live) -> None:
    """The chat declines the form, and Claude asks the next one before the chat's text was typed."""
    calm.start_turn([APPROACH], [AREAS])
    first = calm.asked(1, APPROACH["question"])
    with calm.paused("look 6", {"action": "chat", "text": "let us talk"}) as agent:
        assert agent.reached, agent.finish()
        second = calm.asked(2, AREAS["question"])
        # Its hook runs before it is drawn.
        calm.client.wait_dialog(AREAS["question"])
        done = agent.finish()
    assert not is_recorded(calm, first)
    assert done.returncode == 4, done.stdout
    assert "was not sent" in reply(done)["reason"]
    right(calm, second, calm.answer(*TICKS, options=("--tool-use-id", second)), "ticks")


def test_of_two_answers_at_once_one_wins(calm: Live) -> None:
    asked = calm.ask(APPROACH)
    with calm.paused("look 2", *TYPED) as agent:
        assert agent.reached, agent.finish()
        other = calm.answer(*CHOICE)
        assert other.returncode == 4, other.stdout
        assert str(agent.process.pid) in reply(other)["reason"]
        done = agent.finish()
    right(calm, asked, done, "typed")


@pytest.mark.parametrize("form", mostly_long(FORMS))
def test_an_answer_is_killed_at_every_step_and_given_again(form: str, calm: Live) -> None:
    for step in range(40):
        asked = calm.ask(*FORMS[form][0])
        with calm.paused(f"look {step}", *FORMS[form][1]) as agent:
            reached = agent.reached
            agent.process.kill()
            agent.process.wait()
        if reached and not is_recorded(calm, asked):
            done = calm.answer(*FORMS[form][1])
            assert done.returncode == 0 or is_recorded(calm, asked), f"{step} {done.stdout}\n{calm.client.screen()}"
        assert calm.recorded(asked)["answers"] == answers(form)
        calm.model.wait_for_result(asked)
        wait_until(lambda: not is_input_off(calm), 10, "end of the hold")
        if not reached:
            break
    assert step >= HALF_WAY[form]
