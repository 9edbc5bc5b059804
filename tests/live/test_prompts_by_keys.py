"""A queue's items typed into the prompt box of the real client: exactly, once, and never into somebody's text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hookrouter._sandbox.scripted_model import ask
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from hookrouter.queue.channels import PromptOutcome, PromptRequest, PromptStatus
from hookrouter.testing.contracts import PromptChannelContract
from hookrouter_keystrokes.prompting.area import AreaKind
from hookrouter_keystrokes.prompting.channel import KeysPromptChannel
from support.matrix import mostly_long
from support.prompt_session import COMMAND, PromptSession, prompt_session
from support.safety import safety
from support.tested_client import VERSION

pytestmark = pytest.mark.live

IS_OLD = VERSION < (2, 1, 150)
TEXT = "first line of it\n  second, indented\n\nfourth: 日本語 👍\nand a fifth"


@pytest.fixture(scope="module")
def one_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PromptSession]:
    with PrivateTmux() as server, prompt_session(tmp_path_factory.mktemp("prompts"), server) as session:
        yield session


@pytest.fixture
def one(one_client: PromptSession) -> PromptSession:
    one_client.begin()
    return one_client


class TestKeysOnTheClient(PromptChannelContract):
    @pytest.fixture
    def client(self, one: PromptSession) -> PromptSession:
        return one

    @pytest.fixture
    def channel(self, one: PromptSession) -> KeysPromptChannel:
        class Noted(KeysPromptChannel):
            def submit(self, request: PromptRequest) -> PromptOutcome:
                outcome = super().submit(request)
                one.last = outcome.status
                return outcome

        return Noted()


@pytest.mark.parametrize("size", mostly_long([(60, 20), (200, 50)], (60, 20)), ids=["small", "large"])
@pytest.mark.parametrize(
    "text",
    mostly_long([TEXT, "word " * 1000 + "end", f"/{COMMAND}"], TEXT),
    ids=["lines", "5 kB", "command"],
)
def test_in_a_pane_of_any_size(one: PromptSession, size: tuple[int, int], text: str) -> None:
    one.resize(*size)
    try:
        outcome = one.submit(text)
        assert outcome.status == PromptStatus.SUBMITTED, (outcome, one.client.screen())
        assert one.submitted() == [text]
    finally:
        one.resize(100, 30)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        pytest.param((80, 10), "word " * 80 + "end", marks=pytest.mark.long),
        ((80, 11), "a\nb\nc\nd\ne"),
        pytest.param((80, 24), "a" + "\n" * 10 + "b", marks=pytest.mark.long),
    ],
    ids=["400 characters", "5 lines", "9 empty lines"],
)
def test_what_the_pane_cannot_show_is_taken_out_again(one: PromptSession, size: tuple[int, int], text: str) -> None:
    one.resize(*size)
    try:
        outcome = one.submit(text)
        if outcome.status == PromptStatus.SUBMITTED:
            assert one.submitted() == [text]
            return
        assert (outcome.status, outcome.is_try, outcome.is_person) == (PromptStatus.NOT_NOW, True, False), outcome
        assert one.phases[-1] == "", outcome
    finally:
        one.resize(100, 30)
    one.wait_area(lambda area: area.is_empty, "the empty box")
    assert one.submitted() == []


def test_what_the_client_would_change_is_refused_before_anything_is_typed(one: PromptSession) -> None:
    for text in ("a\tb", "e\u0301", "a\u200bb", "see [Pasted text #1 +2 lines]", "/status", "/model", "/exit", "!!"):
        outcome = one.submit(text)
        assert outcome.status == PromptStatus.REFUSED, text
        assert outcome.steps == ()
    assert one.submitted() == []


def test_a_command_that_the_session_does_not_have_is_taken_out_again(one: PromptSession) -> None:
    outcome = one.submit(f"/{COMMAND[:-3]}")
    assert outcome.status == PromptStatus.REFUSED
    assert f"/{COMMAND}" in outcome.reason
    assert one.area().is_empty
    assert one.submitted() == []


def test_a_draft_is_waited_for(one: PromptSession) -> None:
    one.write("half a thought")
    outcome = one.submit(TEXT)
    assert (outcome.status, outcome.is_person, outcome.steps) == (PromptStatus.NOT_NOW, True, ())
    assert one.area().rows == ("half a thought",)
    assert one.submitted() == []


@pytest.mark.parametrize(
    "text", mostly_long([TEXT, "/clear", f"/{COMMAND} a b"], TEXT), ids=["prompt", "clear", "command"]
)
def test_a_draft_is_put_away_and_comes_back(one: PromptSession, text: str) -> None:
    one.write("half a thought")
    outcome = one.submit(text, drafts="stash")
    assert outcome.status == PromptStatus.SUBMITTED, (outcome, one.client.screen())
    assert "is back" in outcome.reason
    assert one.submitted() == [text]
    one.wait_area(lambda area: area.rows == ("half a thought",), "the draft")


def test_a_person_who_types_in_the_middle_does_not_get_into_it(one: PromptSession) -> None:
    terminal = one.terminal
    person = one.client.pane

    class Disturbed(type(terminal)):  # type: ignore[misc]
        def paste(self, address: Any, text: str) -> None:
            person.press("x", "Enter", "Left")
            super().paste(address, text)
            person.press("y", "BSpace", "Enter")

    outcome = one.submit(TEXT, terminal=Disturbed())
    assert outcome.status == PromptStatus.SUBMITTED, (outcome, one.client.screen())
    assert one.submitted() == [TEXT]
    wait_until(one.client.pane.takes_keys, 20, "keys", one.client.screen)  # type: ignore[attr-defined]


def test_a_prompt_that_escape_brings_back_is_a_draft(one: PromptSession) -> None:
    one.model.script("hang", [ask({"questions": [QUESTION]})])
    one.write("please RUN hang")
    one.client.pane.press("Enter")
    one.client.wait_dialog("Which way?")
    outcome = one.submit(TEXT)
    assert outcome.status == PromptStatus.NOT_NOW
    assert outcome.steps == ()
    assert "Which way?" in one.client.screen()


QUESTION = {
    "question": "Which way?",
    "header": "Way",
    "multiSelect": False,
    "options": [{"label": "Left", "description": "there"}, {"label": "Right", "description": "here"}],
}


def test_a_view_or_picker_that_a_person_has_opened_is_left_alone(one: PromptSession) -> None:
    one.client.pane.press("C-o")
    one.wait_area(lambda area: area.kind == AreaKind.VIEW, "the transcript view")
    outcome = one.submit(TEXT)
    assert (outcome.status, outcome.is_person, outcome.steps) == (PromptStatus.NOT_NOW, True, ())
    one.client.pane.press("C-o")
    one.wait_area(lambda area: area.is_empty, "the box")
    one.write("/model")
    one.client.pane.press("Enter")
    one.wait_area(lambda area: area.kind == AreaKind.DIALOG, "the picker")
    assert one.submit(TEXT).status == PromptStatus.NOT_NOW
    assert one.submitted() == []


def test_copy_mode_is_left_for_it(one: PromptSession) -> None:
    one.server.run("copy-mode", "-t", one.address.target)
    outcome = one.submit(TEXT)
    assert outcome.status == PromptStatus.SUBMITTED, (outcome, one.client.screen())
    assert one.submitted() == [TEXT]


def test_a_model_is_switched_for_exactly_what_was_asked(one: PromptSession) -> None:
    one.submit("say something first")
    one.submitted()
    one.begin()
    outcome = one.submit("/model haiku")
    assert outcome.status == PromptStatus.SUBMITTED
    one.wait_area(lambda area: area.is_empty, "the box")
    assert "haiku" in one.client.screen().lower()
    if not IS_OLD:
        assert "confirmed" in outcome.reason, (outcome, one.client.screen())


@pytest.mark.parametrize("when", mostly_long(["before", "after"], "after"))
@pytest.mark.parametrize("act", mostly_long(range(4), 1, 2))
@pytest.mark.parametrize("text", mostly_long([TEXT, "!echo once"], TEXT), ids=["lines", "shell"])
def test_killed_at_any_act_it_is_submitted_once(one: PromptSession, text: str, act: int, when: str) -> None:
    outcome = one.attempt(text, [act, when])
    if outcome is None:
        wait_until(one.client.pane.takes_keys, 20, "the end of the hold", one.client.screen)  # type: ignore[attr-defined]
        for _ in range(3):
            outcome = one.attempt(text)
            assert outcome is not None
            if outcome.status != PromptStatus.NOT_NOW:
                break
    assert outcome is not None
    is_certain = outcome.status == PromptStatus.SUBMITTED
    if not is_certain:
        assert outcome.status == PromptStatus.UNCERTAIN, (outcome, one.client.screen())
        # An Enter that was pressed before the process was killed.
        one.last = PromptStatus.SUBMITTED
    submitted = one.submitted()
    with safety("no prompt is submitted twice or altered"):
        assert submitted in ([], [text])
    assert submitted == [text]


@pytest.fixture(scope="module")
def vim_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PromptSession]:
    folder: Path = tmp_path_factory.mktemp("vim")
    with PrivateTmux() as server, prompt_session(folder, server, settings={"editorMode": "vim"}) as session:
        yield session


@pytest.mark.parametrize("normal", mostly_long([False, True], True), ids=["insert", "normal"])
def test_in_vim_mode(vim_client: PromptSession, normal: bool) -> None:
    one = vim_client
    if "-- INSERT --" not in one.client.screen():
        one.client.pane.press("i")
        one.client.pane.wait_for("-- INSERT --")
    one.begin()
    if normal:
        one.client.pane.press("Escape")
        one.client.pane.wait_for(lambda screen: "-- INSERT --" not in screen)
    outcome = one.submit(TEXT)
    if normal and IS_OLD:
        assert outcome.status == PromptStatus.NOT_NOW
        assert one.area().is_empty
        assert one.submitted() == []
        return
    assert outcome.status == PromptStatus.SUBMITTED, (outcome, one.client.screen())
    assert one.submitted() == [TEXT]
