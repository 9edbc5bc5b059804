"""The whole loop on the real client: Claude asks, the agent is woken, ``hookrouter answer`` answers, hooks verify.

The tests know in what the client versions differ, so that they hold on each of them: ``tests/live/versions`` runs them
on many, and makes its table of what the ``capability`` marks and the ``refused`` fixture report.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.client import check_client, dialog_is_open, find_client
from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until
from support.matrix import mostly_long
from support.safety import safety

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

Version = tuple[int, ...]

pytestmark = [pytest.mark.live, pytest.mark.xdist_group("question loop")]

second = pytest.mark.xdist_group("second")
"""Groups of a test are joined: those that have both share a client of their own, so that none has too much to do."""


CHAT_SINCE = (2, 1, 8)
"""The first client whose dialog has a row for chat."""
PREVIEW_SINCE = (2, 1, 70)
"""The oldest client that was seen to take ``preview``; older ones show a plain list."""
SECOND_DIALOG_SINCE = (2, 1, 12)
"""2.0.76 stands still for good where the first of two questions is declined."""
NOTE_SINCE = (2, 1, 144)
"""Before this version Escape in the notes field declines the form, so that a note cannot be read back."""
BROKEN_BOXES = ((2, 1, 201), (2, 1, 299))
"""Between these, seen on 2.1.250, the boxes of long labels are broken over two lines in a narrow pane."""
KEPT_PAGES = (2, 1, 150)
"""The client that was seen to open the second of two forms of one message on the page on which the first was submitted,
and to record the first one's answers with it, too. 2.0.76 and 2.1.200 do neither; those between were not tried."""
OWN_PAGES_SINCE = (2, 1, 200)
"""The oldest client after ``KEPT_PAGES`` that was seen to begin each form of a message on its own first page."""
QUOTES_SINCE = (2, 1, 238)
"""From here on items of a multi-select that hold a comma are recorded JSON-quoted; before 2.1.234 they were not."""


def question(text: str, header: str, *labels: str, multi: bool = False, preview: bool = False) -> dict[str, Any]:
    options = []
    for label in labels:
        option = {"label": label, "description": f"about {label}"}
        if preview:
            option["preview"] = f"+----+\n| {label[:2]} |\n+----+"
        options.append(option)
    return {"question": text, "header": header, "multiSelect": multi, "options": options}


APPROACH = question("Which approach should we use?", "Approach", "Option A (Recommended)", "Option B", "You decide")
AREAS = question(
    "Which areas do you want to discuss?", "Areas", "Driver path", "Naming", "Retry", "Logging", multi=True
)
LAYOUT = question("Which layout?", "Layout", "Sidebar", "Topbar", "None", preview=True)

# The class is in conftest.py, which cannot be imported from here.
Live = Any


@pytest.fixture
def live(conversation: Live) -> Live:
    """Return a managed client in a conversation of the test's own."""
    return conversation


@pytest.fixture(scope="module")
def version() -> Version:
    """Return the version of the client that the tests run on."""
    program = find_client()
    assert program is not None
    said = check_client(program, {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]})
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", said)
    assert found is not None, said
    return tuple(map(int, found.groups()))


@pytest.fixture(autouse=True)
def _capability(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> None:
    mark = request.node.get_closest_marker("capability")
    assert mark is not None, "which line of the table of versions does this test speak for?"
    record_property("capability", mark.args[0])


@pytest.fixture
def refused(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Return what checks that an answer was refused with ``why``, and that nothing was done to its dialog."""

    def check(live: Live, asked: str, done: subprocess.CompletedProcess[str], before: str, why: str) -> None:
        assert done.returncode in (2, 4), f"answer: {done.returncode} {done.stdout} {done.stderr}"
        reason = json.loads(done.stdout)["reason"]
        assert why in reason
        assert dialog(live.client.screen()) == dialog(before)
        assert [payload for payload in live.stage.payloads("PostToolUse") if payload["tool_use_id"] == asked] == []
        assert len(live.stage.documents("question")) == 1
        record_property("refused", reason)

    return check


def verified(live: Live, tool_use_id: str, done: subprocess.CompletedProcess[str], answers: dict[str, str]) -> None:
    assert done.returncode == 0, f"answer: {done.returncode} {done.stdout} {done.stderr}\n{live.client.screen()}"
    with safety("an answer that is told as right is the one that was meant"):
        assert live.recorded(tool_use_id)["answers"] == answers
    assert live.outcome(tool_use_id)["outcome"] == "verified"
    # The turn may have gone on to its next form by now.
    assert tool_use_id not in live.open_questions()
    assert live.stage.documents("pending-answer") == []
    assert live.wakes("mismatch") == []


def settled(live: Live) -> str:
    """Return the screen once the client has drawn the whole dialog."""
    looks: list[str] = []

    def same() -> bool:
        looks.append(live.client.screen())
        return len(looks) > 10 and len({tuple(dialog(look)) for look in looks[-10:]}) == 1

    wait_until(same, 10, "dialog that stays as it is")
    return looks[-1]


def joined(version: Version, *items: str) -> str:
    """Return how the client records these items of a multi-select."""
    quote = version >= QUOTES_SINCE
    return ", ".join(f'"{item}"' if quote and "," in item else item for item in items)


@pytest.mark.capability("single select")
def test_single_select(live: Live) -> None:
    asked = live.ask(APPROACH)
    wake = live.wait_wake("question", asked)
    assert wake["session"] == "managed"
    assert APPROACH["question"] in wake["text"]
    done = live.answer({"action": "select", "optionIndex": 1})
    verified(live, asked, done, {APPROACH["question"]: "Option B"})
    assert '"Option B"' in live.model.wait_for_result(asked)


TYPED = {
    "quotes": "Neither: use 'B', then A;",
    "digit": "3",
    "lines": '--force\nand a second line, with "quotes" and 日本語',
}


@pytest.mark.capability("typed text")
@pytest.mark.parametrize("text", mostly_long(TYPED.values(), TYPED["lines"]), ids=TYPED)
def test_typed_text_is_recorded_verbatim(live: Live, text: str) -> None:
    asked = live.ask(APPROACH)
    verified(live, asked, live.answer({"action": "type", "text": text}), {APPROACH["question"]: text})


@pytest.mark.capability("multi-select")
def test_multi_select(live: Live) -> None:
    asked = live.ask(AREAS)
    done = live.answer({"action": "multi-select", "selectedIndices": [0, 2]})
    verified(live, asked, done, {AREAS["question"]: "Driver path, Retry"})


@pytest.mark.capability("multi-select with typed text")
def test_multi_select_with_typed_text(live: Live, version: Version) -> None:
    asked = live.ask(AREAS)
    done = live.answer({"action": "multi-select", "selectedIndices": [1], "text": "DRY, SRP"})
    verified(live, asked, done, {AREAS["question"]: joined(version, "Naming", "DRY, SRP")})


@pytest.mark.capability("four questions in tabs")
def test_four_questions_of_mixed_kinds_in_tabs(live: Live) -> None:
    database = question("Which database?", "Database", "SQLite", "Postgres")
    naming = question("Naming convention?", "Naming", "snake_case", "kebab-case", "You decide")
    features = question("Which features?", "Features", "Auth", "Search", "Export", multi=True)
    asked = live.ask(database, AREAS, naming, features)
    done = live.answer(
        {"action": "select", "optionIndex": 1},
        {"action": "multi-select", "selectedIndices": [0, 3], "text": "tests too"},
        {"action": "type", "text": "whatever the linter says"},
        {"action": "multi-select", "selectedIndices": [2]},
    )
    expected = {
        database["question"]: "Postgres",
        AREAS["question"]: "Driver path, Logging, tests too",
        naming["question"]: "whatever the linter says",
        features["question"]: "Export",
    }
    verified(live, asked, done, expected)


@pytest.mark.capability("preview with a note")
def test_preview_with_a_note(live: Live, version: Version, refused: Callable[..., None]) -> None:
    asked = live.ask(LAYOUT)
    before = settled(live)
    done = live.answer({"action": "select", "optionIndex": 1, "notes": "but keep it narrow"})
    if version < NOTE_SINCE:
        why = "notes cannot be entered safely" if version >= PREVIEW_SINCE else '"notes" go only with a question'
        refused(live, asked, done, before, why)
        return
    verified(live, asked, done, {LAYOUT["question"]: "Topbar"})
    assert live.recorded(asked)["annotations"][LAYOUT["question"]]["notes"] == "but keep it narrow"


@pytest.mark.capability("preview without a note")
def test_preview_without_a_note(live: Live, version: Version, record_property: Callable[[str, object], None]) -> None:
    asked = live.ask(LAYOUT)
    if "Notes:" not in live.client.screen():
        assert version < PREVIEW_SINCE
        record_property("not offered", "this client draws a plain list instead; that was answered and verified")
    done = live.answer({"action": "select", "optionIndex": 2})
    verified(live, asked, done, {LAYOUT["question"]: "None"})


@pytest.mark.capability('labels with ", "')
def test_labels_that_hold_a_comma(live: Live, version: Version) -> None:
    form = question("Which of these?", "Which", "Alpha, Beta", "Alpha", "Beta", "Gamma, 2. Delta", multi=True)
    asked = live.ask(form)
    done = live.answer({"action": "multi-select", "selectedIndices": [0, 1, 3]})
    verified(live, asked, done, {form["question"]: joined(version, "Alpha, Beta", "Alpha", "Gamma, 2. Delta")})
    single = question("And which one?", "One", "Alpha, Beta", "Alpha")
    asked = live.ask(single)
    verified(live, asked, live.answer({"action": "select", "optionIndex": 0}), {single["question"]: "Alpha, Beta"})


@pytest.mark.capability("chat")
def test_chat_declines_and_says_the_words_as_the_next_prompt(
    live: Live, version: Version, refused: Callable[..., None]
) -> None:
    asked = live.ask(APPROACH)
    before = settled(live)
    done = live.answer({"action": "chat", "text": "Let us first look at the tests, please."})
    if version < CHAT_SINCE:
        refused(live, asked, done, before, "no row for chat")
        return
    assert done.returncode == 0, f"{done.stdout} {done.stderr}\n{live.client.screen()}"
    assert "clarify" in live.model.wait_for_result(asked)
    live.model.wait_for_prompt("Let us first look at the tests, please.")
    wait_until(lambda: not live.stage.documents("question"), 10, "end of the question", live.client.screen)
    assert live.stage.documents("pending-answer") == []
    assert live.wakes("mismatch") == []


@pytest.mark.capability("forms that follow each other")
def test_forms_that_follow_each_other_in_one_turn(live: Live, version: Version) -> None:
    """What the transcript says about the first form must not be taken for the second's end."""
    live.start_turn([AREAS], [APPROACH], [AREAS])
    first = live.asked(1, AREAS["question"])
    verified(
        live, first, live.answer({"action": "multi-select", "selectedIndices": [0]}), {AREAS["question"]: "Driver path"}
    )
    second = live.asked(2, APPROACH["question"])
    if version < CHAT_SINCE:
        done = live.answer({"action": "select", "optionIndex": 0})
        verified(live, second, done, {APPROACH["question"]: "Option A (Recommended)"})
    else:
        done = live.answer({"action": "chat", "text": "Ask me about the areas again."})
        assert done.returncode in (0, 4, 5), f"{done.stdout} {done.stderr}"
    third = live.asked(3, AREAS["question"])
    verified(
        live, third, live.answer({"action": "multi-select", "selectedIndices": [3]}), {AREAS["question"]: "Logging"}
    )


@second
@pytest.mark.capability("two questions in one message")
def test_two_questions_in_one_message(live: Live, version: Version) -> None:
    """Both hooks run before any dialog; the dialogs come one after the other, in an order of the client's own."""
    forms = {APPROACH["question"]: APPROACH, AREAS["question"]: AREAS}
    decisions = {
        APPROACH["question"]: {"action": "select", "optionIndex": 1},
        AREAS["question"]: {"action": "multi-select", "selectedIndices": [0, 2]},
    }
    answers = {APPROACH["question"]: "Option B", AREAS["question"]: "Driver path, Retry"}
    asked = live.ask_together(*([form] for form in forms.values()))
    assert len(set(asked.values())) == 2
    for identifier in asked.values():
        live.wait_wake("question", identifier)
    assert len(live.stage.documents("question")) == 2
    ambiguous = live.answer({"action": "select", "optionIndex": 0})
    assert ambiguous.returncode == 4, ambiguous.stdout
    assert all(identifier in json.loads(ambiguous.stdout)["reason"] for identifier in asked.values())
    first = wait_until(lambda: shown(live, list(forms)), 15, "a dialog", live.client.screen)
    (second,) = set(forms) - {first}
    early = live.answer(decisions[second], options=("--tool-use-id", asked[second]))
    assert early.returncode == 4, early.stdout
    assert asked[first] in json.loads(early.stdout)["reason"]
    entered: dict[str, str] = {}
    for text in (first, second):
        done = live.answer(decisions[text], options=("--tool-use-id", asked[text]))
        assert done.returncode == 0, f"{done.stdout} {done.stderr}\n{live.client.screen()}"
        entered[text] = answers[text]
        own(live, version, asked[text], {text: answers[text]}, entered)
    live.client.wait_idle()
    live.stage.wait_payload("Stop")
    assert live.stage.documents("question") == []
    assert live.stage.documents("pending-answer") == []
    assert sorted(wake["tool_use_id"] for wake in live.wakes("question")) == sorted(asked.values())
    assert [wake for kind in ("unanswered", "mismatch", "warning") for wake in live.wakes(kind)] == []


def own(live: Live, version: Version, tool_use_id: str, answers: dict[str, str], entered: dict[str, str]) -> None:
    """Check that a form's answers were recorded and verified; ``entered`` are those of the message's forms so far."""
    recorded = live.recorded(tool_use_id)["answers"]
    with safety("an answer that is told as right is the one that was meant"):
        assert recorded.items() >= answers.items()
        assert recorded.items() <= (answers if version >= OWN_PAGES_SINCE else entered).items()
    assert live.outcome(tool_use_id)["outcome"] == "verified"


TWICE = question("Which of these again?", "Again", "Driver path", "Naming", "Retry", multi=True)
DATABASE = question("Which database?", "Database", "SQLite", "Postgres")
TOOL = question("Which tool?", "Tool", "make", "just")
NAMING = question("Naming convention?", "Naming", "snake_case", "kebab-case")


@second
@pytest.mark.capability("two questions in one message")
@pytest.mark.parametrize(
    "forms", [([AREAS], [TWICE]), ([APPROACH, DATABASE], [TOOL, NAMING])], ids=["multi-selects", "tabs"]
)
def test_two_forms_in_one_message_that_are_submitted_on_their_review(
    live: Live, version: Version, forms: tuple[list[dict[str, Any]], ...]
) -> None:
    """Whichever comes first: 2.1.150 opens the other one on its review, on which nothing may be submitted yet."""
    asked = live.ask_together(*forms)
    for identifier in asked.values():
        live.wait_wake("question", identifier)
    first = wait_until(lambda: shown(live, list(asked)), 15, "a dialog", live.client.screen)
    entered: dict[str, str] = {}
    for form in sorted(forms, key=lambda form: form[0]["question"] != first):
        text = form[0]["question"]
        answers = {each["question"]: each["options"][1]["label"] for each in form}
        decisions = [
            {"action": "multi-select", "selectedIndices": [1]}
            if each["multiSelect"]
            else {"action": "select", "optionIndex": 1}
            for each in form
        ]
        done = live.answer(*decisions, options=("--tool-use-id", asked[text]))
        assert done.returncode == 0, f"{done.stdout} {done.stderr}\n{live.client.screen()}"
        was_kept = any(step.startswith("Left") for step in json.loads(done.stdout)["steps"])
        if version == KEPT_PAGES:
            assert was_kept == bool(entered)
        elif version >= OWN_PAGES_SINCE:
            assert not was_kept
        entered |= answers
        own(live, version, asked[text], answers, entered)
    live.client.wait_idle()
    assert [wake for kind in ("unanswered", "mismatch", "warning") for wake in live.wakes(kind)] == []


@second
@pytest.mark.capability("a person presses in between")
@pytest.mark.parametrize("answered", [False, True], ids=["nothing answered", "another option chosen"])
def test_a_person_has_moved_to_the_review_before_the_agent_answers(live: Live, answered: bool) -> None:
    form = [APPROACH, DATABASE]
    asked = live.ask(*form)
    if answered:
        live.press_until("3", lambda: DATABASE["question"] in live.client.screen())
    live.press_until("Tab", lambda: "1. Submit answers" in live.client.screen())
    done = live.answer({"action": "select", "optionIndex": 1}, {"action": "select", "optionIndex": 0})
    verified(live, asked, done, {APPROACH["question"]: "Option B", DATABASE["question"]: "SQLite"})
    steps = json.loads(done.stdout)["steps"]
    assert steps[0].startswith("Left")
    assert [step for step in steps if step.startswith("Enter")] == steps[-1:]


def shown(live: Live, texts: list[str]) -> str:
    """Return which of these questions' dialogs is on screen; empty if none is."""
    screen = live.client.screen()
    return next((text for text in texts if dialog_is_open(screen) and text in screen), "")


@second
@pytest.mark.capability("Esc")
def test_two_questions_in_one_message_that_a_person_escapes(
    live: Live, version: Version, record_property: Callable[[str, object], None]
) -> None:
    if version < SECOND_DIALOG_SINCE:
        record_property("not offered", "after Escape this client draws no second dialog and takes no prompt any more")
        return
    asked = live.ask_together([APPROACH], [AREAS])
    live.client.wait_dialog("")
    for _ in range(6):
        if dialog_is_open(live.client.screen()):
            live.client.pane.press("Escape")
        try:
            live.client.wait_idle(timeout=2)
        except WaitTimeoutError:
            continue
        break
    live.client.submit("go on without an answer")
    for identifier in asked.values():
        live.wait_wake("unanswered", identifier)
    live.model.wait_for_prompt("go on without an answer")
    assert live.stage.documents("question") == []
    assert len(live.wakes("unanswered")) == 2


@second
@pytest.mark.capability("answer killed half-way, then given again")
def test_an_answer_that_was_killed_half_way_can_be_given_again(live: Live) -> None:
    asked = live.ask(AREAS)
    with live.start_answer({"action": "multi-select", "selectedIndices": [0, 2]}) as killed:
        live.client.pane.wait_for("[✔] Driver path")
        killed.kill()
    done = live.answer({"action": "multi-select", "selectedIndices": [1, 3]})
    verified(live, asked, done, {AREAS["question"]: "Naming, Logging"})


@second
@pytest.mark.capability("a person presses in between")
def test_a_wrong_recording_is_detected_and_the_agent_woken(live: Live) -> None:
    """A person presses another option while the agent's answer is on its way: the agent must hear of it."""
    asked = live.ask(APPROACH)
    pending = live.stage.documents("question")[0].replace("question-", "pending-answer-", 1)
    with live.start_answer({"action": "select", "optionIndex": 1}) as agent:
        deadline = time.monotonic() + 10
        while not os.path.exists(os.path.join(live.stage.home.state, pending)):
            assert time.monotonic() < deadline, "no pending answer"
        agent.send_signal(signal.SIGSTOP)
        try:
            press_until_recorded(live, asked, "1")
        finally:
            agent.send_signal(signal.SIGCONT)
        said, error = agent.communicate(timeout=30)
    assert live.recorded(asked)["answers"] == {APPROACH["question"]: "Option A (Recommended)"}
    assert agent.returncode == 3, f"{agent.returncode} {said} {error}"
    assert live.outcome(asked)["outcome"] == "mismatch"
    told = live.wait_wake("mismatch", asked)["text"]
    for part in (APPROACH["question"], "Option B", "Option A (Recommended)", asked):
        assert part in told
    assert live.stage.documents("question") == []
    assert live.stage.documents("pending-answer") == []


@second
@pytest.mark.capability("a person answers first")
def test_a_person_who_answers_first_wins(live: Live) -> None:
    asked = live.ask(APPROACH)
    press_until_recorded(live, asked, "3")
    live.outcome(asked)
    done = live.answer({"action": "select", "optionIndex": 0}, options=("--tool-use-id", asked))
    assert done.returncode == 4, f"{done.stdout} {done.stderr}"
    assert live.outcome(asked)["outcome"] == "answered_by_person"
    assert live.stage.documents("question") == []
    assert live.wakes("mismatch") == []


def press_until_recorded(live: Live, tool_use_id: str, key: str) -> None:
    live.press_until(
        key, lambda: any(entry["tool_use_id"] == tool_use_id for entry in live.stage.payloads("PostToolUse"))
    )


@second
@pytest.mark.capability("Esc")
def test_escape_is_swept_at_the_next_event_and_told_once(live: Live) -> None:
    asked = live.ask(APPROACH)
    live.press_until("Escape")
    live.client.wait_idle()
    assert len(live.stage.documents("question")) == 1
    live.client.submit("go on without an answer")
    told = live.wait_wake("unanswered", asked)
    assert APPROACH["question"] in told["text"]
    assert live.stage.documents("question") == []
    live.model.wait_for_prompt("go on without an answer")
    again = live.ask(AREAS)
    done = live.answer({"action": "multi-select", "selectedIndices": [3]})
    verified(live, again, done, {AREAS["question"]: "Logging"})
    assert len(live.wakes("unanswered")) == 1


@second
@pytest.mark.capability("unmanaged session, other hooks")
def test_an_unmanaged_session_is_left_alone(live: Live, request: pytest.FixtureRequest) -> None:
    other = live.start("private")
    request.addfinalizer(other.stop)
    asked = live.ask(APPROACH, client=other)
    assert live.stage.documents("question") == []
    done = live.stage.run("answer", "--session", "private", "--json", '[{"action":"select","optionIndex":0}]')
    assert done.returncode == 4, done.stderr
    screen = other.screen()
    assert "❯ 1. Option A (Recommended)" in screen
    live.press_until("Escape", client=other)
    other.wait_idle()
    assert [wake for kind in ("question", "unanswered") for wake in live.wakes(kind)] == []
    reasons = [record for record in live.stage.journal() if record.get("tool_use_id") == asked]
    assert [record["level"] for record in reasons] == ["warning"]


@second
@pytest.mark.capability("unmanaged session, other hooks")
def test_the_users_other_hooks_still_fire(live: Live) -> None:
    asked = live.ask(APPROACH)
    done = live.answer({"action": "select", "optionIndex": 0})
    verified(live, asked, done, {APPROACH["question"]: "Option A (Recommended)"})
    live.stage.wait_payload("Stop")
    for event in ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"):
        assert len(live.stage.payloads(event)) == 1, event


@second
@pytest.mark.capability("another dialog, or none: no key")
def test_nothing_is_pressed_where_another_dialog_is_on_screen(live: Live) -> None:
    """The saved question is not the one on screen."""
    live.ask(APPROACH)
    (name,) = live.stage.documents("question")
    path = os.path.join(live.stage.home.state, name)
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    document["questions"] = [question("Delete the production database?", "Delete", "Yes, delete it", "No")]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)
    before = dialog(settled(live))
    done = live.answer({"action": "select", "optionIndex": 1})
    assert done.returncode == 4, f"{done.returncode} {done.stdout} {done.stderr}"
    assert dialog(live.client.screen()) == before


def dialog(screen: str) -> list[str]:
    """Return the rows from the dialog's header, if that is not scrolled away, to its last; the logo is animated."""
    rows = screen.rstrip().splitlines()
    return rows[next((number for number, row in enumerate(rows) if row.startswith(" ☐")), 0) :]


@second
@pytest.mark.capability("another dialog, or none: no key")
def test_nothing_is_pressed_where_no_dialog_is_on_screen(live: Live) -> None:
    live.ask(APPROACH)
    live.press_until("Escape")
    live.client.wait_idle()
    prompts = live.model.prompts()
    done = live.answer({"action": "type", "text": "never to be a prompt"})
    assert done.returncode == 4, f"{done.returncode} {done.stdout} {done.stderr}"
    assert "never to be" not in live.client.wait_idle()
    assert live.model.prompts() == prompts


@second
@pytest.mark.capability("copy mode")
def test_copy_mode_and_a_narrow_pane_do_not_matter(live: Live) -> None:
    asked = live.ask(AREAS)
    live.server.run("resize-window", "-t", live.client.pane.target, "-x", "60", "-y", "24")
    live.client.wait_dialog("Driver path")
    live.server.run("copy-mode", "-t", live.client.pane.target)
    done = live.answer({"action": "multi-select", "selectedIndices": [1, 3]})
    verified(live, asked, done, {AREAS["question"]: "Naming, Logging"})


@second
@pytest.mark.capability("pane of 60x20")
def test_a_small_pane(live: Live, version: Version, refused: Callable[..., None]) -> None:
    live.server.run("resize-window", "-t", live.client.pane.target, "-x", "60", "-y", "20")
    tall = question(
        "Which of these areas, each of which has a long story of its own, do you want to discuss before we begin?",
        "Areas",
        *(f"{label} in all its depth, with everything that belongs to it" for label in ("Path", "Naming", "Retry")),
        multi=True,
    )
    asked = live.ask(APPROACH)
    verified(live, asked, live.answer({"action": "select", "optionIndex": 2}), {APPROACH["question"]: "You decide"})
    live.start_turn([tall])
    # The question itself may be scrolled away.
    asked = live.asked(1, "Retry in all")
    before = settled(live)
    done = live.answer({"action": "multi-select", "selectedIndices": [0, 2], "text": "more"})
    if BROKEN_BOXES[0] <= version <= BROKEN_BOXES[1]:
        refused(live, asked, done, before, "the dialog on screen is not this question")
        return
    labels = [tall["options"][at]["label"] for at in (0, 2)]
    verified(live, asked, done, {tall["question"]: joined(version, *labels, "more")})
