"""A person answers the real client with ``hookrouter answer`` at a terminal of their own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hookrouter._sandbox.tmux_server import TmuxPane
from hookrouter._sandbox.waiting import wait_until
from hookrouter.dialogs.answers.identity import login_name
from hookrouter.util.program import script_argv

pytestmark = pytest.mark.live

# The class is in conftest.py, which cannot be imported from here.
Live = Any


def question(text: str, header: str, *labels: str, multi: bool = False, preview: bool = False) -> dict[str, Any]:
    options = [{"label": label, "description": f"about {label}"} for label in labels]
    if preview:
        options = [{**option, "preview": f"+----+\n| {option['label'][:2]} |\n+----+"} for option in options]
    return {"question": text, "header": header, "multiSelect": multi, "options": options}


APPROACH = question("Which approach should we use?", "Approach", "Option A", "Option B", "You decide")
AREAS = question("Which areas do you want to discuss?", "Areas", "Driver path", "Naming", "Retry", multi=True)
LAYOUT = question("Which layout?", "Layout", "Sidebar", "Topbar", "None", preview=True)
NAMING = question("Naming convention?", "Naming", "snake_case", "kebab-case")


def at_terminal(live: Live, *words: str, size: tuple[int, int] = (80, 24)) -> TmuxPane:
    """Run ``hookrouter answer`` on a person's terminal."""
    pane = live.server.start(
        "person",
        [*script_argv(), "answer", "--wait", "30", *words],
        environ=live.stage.environ,
        width=size[0],
        height=size[1],
    )
    assert isinstance(pane, TmuxPane)
    return pane


def recorded_by_person(live: Live, pane: TmuxPane, asked: str, answers: dict[str, str]) -> None:
    """See that the command verified the answer, and that it is told as the person's everywhere."""
    wait_until(pane.dead, 40, "end of the command", pane.capture)
    said = pane.server.run("capture-pane", "-p", "-J", "-S", "-", "-t", pane.target)
    assert "recorded exactly" in said
    assert live.recorded(asked)["answers"] == answers
    record = live.outcome(asked)
    assert (record["outcome"], record["answered_by"], record["who"]) == ("verified", "person", login_name())
    (story,) = json.loads(live.stage.run("history", "--json").stdout)["questions"]
    assert (story["outcome"], story["by"], story["who"]) == ("verified", "person", login_name())
    assert live.stage.documents("question") == []
    assert live.stage.documents("pending-answer") == []
    assert live.wakes("mismatch") == []


@pytest.mark.long
def test_a_person_chooses_one_option(live: Live) -> None:
    asked = live.ask(APPROACH)
    pane = at_terminal(live, "managed", size=(60, 20))
    pane.wait_for("Ctrl-C")
    pane.press("Down")
    pane.wait_for("> ( ) 1  Option B")
    pane.press("Enter")
    pane.wait_for("> Send")
    pane.press("Enter")
    recorded_by_person(live, pane, asked, {APPROACH["question"]: "Option B"})


def test_a_person_answers_a_form_of_four_with_a_note(live: Live) -> None:
    asked = live.ask(APPROACH, AREAS, LAYOUT, NAMING)
    pane = at_terminal(live, size=(100, 40))
    pane.wait_for("question 1 of 4")
    pane.press("2")
    pane.wait_for("question 2 of 4")
    pane.press("0", "2", "End", "Up")
    pane.wait_for("> [ ] Also, in your own words")
    pane.type("and retries")
    pane.press("Enter")
    pane.wait_for("question 3 of 4")
    pane.press("Down", "Space")
    pane.wait_for("> (x) 1  Topbar")
    pane.type("but keep it narrow")
    pane.wait_for("Note: but keep it narrow")
    pane.press("Enter")
    pane.wait_for("question 4 of 4")
    pane.type("whatever the linter says")
    pane.press("Enter")
    pane.wait_for("> Send")
    pane.press("Enter")
    expected = {
        APPROACH["question"]: "You decide",
        AREAS["question"]: "Driver path, Retry, and retries",
        LAYOUT["question"]: "Topbar",
        NAMING["question"]: "whatever the linter says",
    }
    recorded_by_person(live, pane, asked, expected)
    assert live.recorded(asked)["annotations"][LAYOUT["question"]]["notes"] == "but keep it narrow"


def test_a_person_answers_in_words_while_the_session_is_paused(live: Live) -> None:
    asked = live.ask(NAMING)
    assert live.stage.run("pause", "--session", "managed").returncode == 0
    recorded_by_person(live, at_terminal(live, "managed", "keb"), asked, {NAMING["question"]: "kebab-case"})
