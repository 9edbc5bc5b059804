"""``hookrouter answer`` by a person, on a real terminal beside a session that really asks, in all kinds and sizes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hookrouter._sandbox.client import ClientSession
from hookrouter._sandbox.panes import Pane
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux, TmuxPane
from hookrouter._sandbox.waiting import wait_until
from hookrouter.dialogs.answers.identity import login_name
from hookrouter.util.program import script_argv

pytestmark = pytest.mark.tmux

HIDDEN = "\x1b[31mred\u202e"


def question(text: str, header: str, *labels: str, multi: bool = False, preview: bool = False) -> dict[str, Any]:
    options = []
    for label in labels:
        option = {"label": label, "description": f"about {label} {HIDDEN}"}
        if preview:
            option["preview"] = f"+----+\n| {label[:2]} |\n+----+"
        options.append(option)
    return {"question": text, "header": header, "multiSelect": multi, "options": options}


NAMING = question("Which naming convention?", "Naming", "snake_case", "camelCase", "You decide")
AREAS = question("Which areas?", "Areas", "Driver path", "Naming", "Retry", multi=True)
LAYOUT = question("Which layout?", "Layout", "Sidebar", "Topbar", preview=True)
LONG = question("Which of these? " + "words " * 300 + "LASTWORD", "Long", "First", "Second")
FORMS = {
    "single": [NAMING],
    "multi": [AREAS],
    "preview": [LAYOUT],
    "long": [LONG],
    "four": [NAMING, AREAS, LAYOUT, LONG],
}

SIZES = [(60, 20), (80, 24), (200, 50)]
READY = "Ctrl-C"


class Person:
    """A session that asks, and a person's terminal."""

    def __init__(self, folder: Path, server: PrivateTmux) -> None:
        self.stage = Stage(str(folder), '[answer]\nchannels = ["reply", "keys"]\n')
        self.stage.record("PostToolUse")
        self.stage.install()
        self.server = server
        self.pane: Pane | None = None
        forms = {name: {"questions": form} for name, form in FORMS.items()}
        self.client: ClientSession = self.stage.stand_in(forms, server, session="work", width=150, height=60)

    def ask(self, name: str) -> None:
        """Have Claude ask a form, and wait until it can be answered."""
        self.client.submit(f"please ASK {name}")
        self.client.wait_dialog()

        def is_waiting() -> bool:
            return all(one["hook_waits"] for one in self.questions()) and bool(self.questions())

        wait_until(is_waiting, 10, "a hook that waits")

    def questions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.stage.run("questions", "--json").stdout)["questions"]
        return found

    def answer(self, *words: str, size: tuple[int, int], environ: dict[str, str] | None = None) -> Pane:
        """Run the real command on a terminal of its own."""
        variables = {**self.stage.environ, **(environ or {})}
        # A server's environment wins over a session's for TERM, so a program of the pane sets it.
        command = ["env", *(f"{name}={value}" for name, value in (environ or {}).items()), *script_argv(), "answer"]
        self.pane = self.server.start(
            f"person-{len(words)}", [*command, *words], environ=variables, width=size[0], height=size[1]
        )
        return self.pane

    def recorded(self) -> dict[str, Any]:
        response: dict[str, Any] = self.stage.wait_payload("PostToolUse")["tool_response"]
        return response

    def story(self) -> dict[str, Any]:
        done = self.stage.run("history", "--json")
        (story,) = json.loads(done.stdout)["questions"]
        assert (story["outcome"], story["by"], story["who"]) == ("verified", "person", login_name())
        found: dict[str, Any] = story
        return found


@pytest.fixture
def person(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[Person]:
    person = Person(tmp_path, tmux_server)
    with person.client:
        yield person


def ended(pane: Pane) -> str:
    """Wait until the command has ended and return what it has said, its lines joined."""
    assert isinstance(pane, TmuxPane)
    wait_until(pane.dead, 20, "end of the command", pane.capture)
    return pane.server.run("capture-pane", "-p", "-J", "-S", "-", "-t", pane.target)


def press(pane: Pane, *steps: tuple[str, str]) -> None:
    """Press each key, or type each text, and wait until the screen holds what belongs to it."""
    for event, shown in steps:
        if event.startswith("'"):
            pane.type(event[1:])
        else:
            pane.press(*event.split())
        screen = pane.wait_for(shown)
        assert "\u202e" not in screen


@pytest.mark.parametrize("size", SIZES)
def test_one_choice_on_the_screen(person: Person, size: tuple[int, int]) -> None:
    person.ask("single")
    pane = person.answer(size=size)
    screen = pane.wait_for(READY)
    assert "0  snake_case" in screen
    assert "about snake_case \\x1b[31mred\\u202e" in screen
    press(pane, ("Down", "> ( ) 1  camelCase"), ("Enter", "what will be sent"))
    pane.press("Enter")
    assert "recorded exactly" in ended(pane)
    assert person.recorded()["answers"] == {NAMING["question"]: "camelCase"}
    assert person.story()["questions"][0]["recorded"] == "camelCase"


@pytest.mark.parametrize("size", SIZES)
def test_a_form_of_four_on_the_screen(person: Person, size: tuple[int, int]) -> None:
    person.ask("four")
    pane = person.answer("work", size=size)
    pane.wait_for("question 1 of 4")
    press(
        pane,
        ("'none of them", "> (x) Your own words: none of them"),
        ("Enter", "question 2 of 4"),
        ("0 2", "[x] 2  Retry"),
        ("End", "> "),
        ("Up", "> [ ] Also, in your own words"),
        ("'and retries", "and retries"),
        ("Enter", "question 3 of 4"),
        ("1", "question 4 of 4"),
        ("BTab", "(x) 1  Topbar"),
        ("'but narrow", ">     Note: but narrow"),
        ("Enter", "question 4 of 4"),
        ("1", "what will be sent"),
    )
    # Everything is kept on the way back and forth.
    press(pane, ("Left", "question 4 of 4"), ("BTab", "Note: but narrow"), ("BTab", "and retries"))
    press(pane, ("BTab", "none of them"), *([("Tab", "question")] * 3), ("Tab", "what will be sent"))
    # Enter sends only what was in sight to its end.
    pane.press("Enter")
    if size[1] < 50:
        pane.wait_for("> Send")
        pane.press("Enter")
    assert "recorded exactly" in ended(pane)
    response = person.recorded()
    assert response["answers"] == {
        NAMING["question"]: "none of them",
        AREAS["question"]: "Driver path, Retry, and retries",
        LAYOUT["question"]: "Topbar",
        LONG["question"]: "Second",
    }
    assert response["annotations"][LAYOUT["question"]]["notes"] == "but narrow"
    person.story()


@pytest.mark.parametrize("size", SIZES)
def test_a_long_text_can_be_read_to_its_end(person: Person, size: tuple[int, int]) -> None:
    person.ask("long")
    pane = person.answer(size=size)
    screen = pane.wait_for(READY)
    assert "Which of these?" in screen
    seen = [pane.capture()]
    while "LASTWORD" not in seen[-1]:
        pane.press("PageDown")
        seen.append(pane.wait_for(lambda screen: screen != seen[-1]))
    press(pane, ("Down", "> ( ) 1  Second"))
    pane.press("C-c")
    assert "nothing was sent" in ended(pane)
    assert len(person.questions()) == 1


@pytest.mark.parametrize("size", SIZES)
def test_line_by_line(person: Person, size: tuple[int, int]) -> None:
    person.ask("four")
    pane = person.answer("work", "--plain", size=size)
    pane.wait_for("Answer 1 of 4:")
    for line, shown in (
        ("snake", "Answer 2 of 4:"),
        ('0,2 "and retries"', "Answer 3 of 4:"),
        ("/back", "Answer 2 of 4:"),
        ("", "Answer 3 of 4:"),
        ("1 but narrow", "Answer 4 of 4:"),
        ("neither", "y or n:"),
        ("y", "/leave leaves:"),
    ):
        pane.type(line)
        pane.press("Enter")
        # A line that is too long for the pane is broken between words.
        pane.wait_for(lambda screen, shown=shown: " ".join(screen.split()).endswith(shown))
    pane.type("y")
    pane.press("Enter")
    assert "recorded exactly" in ended(pane)
    response = person.recorded()
    assert response["answers"] == {
        NAMING["question"]: "snake_case",
        AREAS["question"]: "Driver path, Retry, and retries",
        LAYOUT["question"]: "Topbar",
        LONG["question"]: "neither",
    }
    assert response["annotations"][LAYOUT["question"]]["notes"] == "but narrow"
    person.story()


@pytest.mark.parametrize("environ", [{"TERM": "dumb"}, {"NO_COLOR": "1"}], ids=["dumb", "no-colour"])
def test_a_terminal_without_a_screen_asks_line_by_line(person: Person, environ: dict[str, str]) -> None:
    person.ask("single")
    pane = person.answer(size=(80, 24), environ=environ)
    pane.wait_for("Answer:")
    pane.type("1")
    pane.press("Enter")
    pane.wait_for("Send it?")
    pane.type("y")
    pane.press("Enter")
    assert "recorded exactly" in ended(pane)


def test_talking_instead_of_answering(person: Person) -> None:
    person.ask("preview")
    pane = person.answer(size=(80, 24))
    pane.wait_for(READY)
    press(pane, ("End", "> "), ("'wait a bit", "answering: wait a bit"), ("Enter", "You decline the form"))
    pane.press("Enter")
    assert "chat" in ended(pane)
    (story,) = json.loads(person.stage.run("history", "--json").stdout)["questions"]
    assert (story["outcome"], story["by"], story["who"]) == ("chat", "person", login_name())


def test_an_answer_at_once(person: Person) -> None:
    person.ask("multi")
    assert person.questions()[0]["by_hand"] == "hookrouter answer work NUMBER,NUMBER"
    pane = person.answer("work", "0,2", "and retries", size=(80, 24))
    screen = ended(pane)
    assert "-> 2  Retry" in screen
    assert "recorded exactly" in screen
    assert person.recorded()["answers"] == {AREAS["question"]: "Driver path, Retry, and retries"}
    person.story()


def test_a_paused_session_is_answered_by_the_person_alone(person: Person) -> None:
    person.ask("single")
    assert person.stage.run("pause", "--session", "work").returncode == 0
    assert person.stage.run("answer", "work", "1").returncode == 4
    assert "recorded exactly" in ended(person.answer("work", "2", size=(80, 24)))
    assert person.recorded()["answers"] == {NAMING["question"]: "You decide"}


def test_one_of_several_is_chosen(person: Person) -> None:
    person.ask("single")
    forms = {"multi": {"questions": FORMS["multi"]}}
    # The script of the first stand-in is read already.
    with person.stage.stand_in(forms, person.server, session="other", width=150, height=60) as other:
        other.submit("please ASK multi")
        other.wait_dialog()
        pane = person.answer(size=(60, 20))
        screen = pane.wait_for("Number or Enter choose")
        assert "work, asked" in screen
        press(pane, ("Down", "> "), ("Up", "> "))
        pane.press("1" if screen.index("other, asked") < screen.index("work, asked") else "2")
        pane.wait_for("Which areas?")
        pane.press("0", "Enter")
        pane.wait_for("what will be sent")
        pane.press("Enter")
        assert "recorded exactly" in ended(pane)
        assert person.recorded()["answers"] == {AREAS["question"]: "Driver path"}


def test_the_agent_is_first(person: Person) -> None:
    person.ask("single")
    pane = person.answer(size=(80, 24))
    pane.wait_for(READY)
    assert person.stage.run("answer", "--any", '[{"action": "select", "optionIndex": 0}]').returncode == 0
    assert "agent default answered first" in ended(pane)
