"""``hookrouter answer`` as a person uses it: by words, line by line, and recorded as theirs."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from hookrouter.answering.interfaces import AnswerOutcome, AnswerRequest, AnswerStatus
from hookrouter.cli.dialogs.answer import answer as answer_command
from hookrouter.cli.dialogs.history import story_lines
from hookrouter.cli.dialogs.person import plain
from hookrouter.cli.dialogs.person.asking import Terminal
from hookrouter.cli.dialogs.person.plain import Gone, Left
from hookrouter.dialogs import documents
from hookrouter.dialogs.answers.answer import answer
from hookrouter.dialogs.answers.identity import AGENT, Author
from hookrouter.dialogs.stories.history import history
from hookrouter.dialogs.verdicts import list_verdicts
from hookrouter.messaging import pauses
from hookrouter.tools import AskUserQuestionInput

RIGHT = [{"action": "select", "optionIndex": 1}, {"action": "multi-select", "selectedIndices": [0, 1]}]
ANSWERS = {"Which database?": "Postgres", "Which features?": "Auth, Export"}
DELIVERED = AnswerOutcome(AnswerStatus.DELIVERED, "the dialog took it", ("press Enter",))
ALICE = Author("person", "alice")

SINGLE = {"question": "Which\x1b[2J?", "header": "W", "options": [{"label": "A\x9b1m", "description": "d\u202e"}]}
SINGLE["options"].append({"label": "B"})  # type: ignore[attr-defined] # a list
LAYOUT = {"question": "Layout?", "header": "L", "options": [{"label": "Side", "preview": "|"}, {"label": "Top"}]}
MULTI = {"question": "Areas?", "header": "A", "multiSelect": True, "options": [{"label": "X"}, {"label": "Y"}]}


@pytest.fixture
def asked(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a session whose question is recorded as ``RIGHT`` once it is answered; commands use its home."""
    monkeypatch.setattr("hookrouter.cli.application.Application.from_environ", lambda *_: ask_session.app)
    ask_session.ask()
    ask_session.first.act = recording(ask_session, ANSWERS)
    return ask_session


def recording(ask: Any, answers: object) -> Callable[[AnswerRequest], AnswerOutcome]:
    def act(_: AnswerRequest) -> AnswerOutcome:
        ask.record_answers(answers)
        return DELIVERED

    return act


def on_terminal(monkeypatch: pytest.MonkeyPatch, typed: str = "") -> None:
    """Let the command find a terminal without a screen, at which this is typed."""
    monkeypatch.setattr(Terminal, "here", classmethod(lambda cls, *_: cls(can_ask=True, has_screen=False)))
    monkeypatch.setattr("hookrouter.cli.dialogs.person.asking.sys.stdin", io.StringIO(typed))
    monkeypatch.setattr("hookrouter.cli.dialogs.person.by_hand.login_name", lambda: "alice")


def command(capsys: pytest.CaptureFixture[str], *words: str, **options: Any) -> tuple[int, str, str]:
    code = answer_command(words=list(words), **options)
    return (code, *capsys.readouterr())


def test_words_are_recorded_as_the_persons(
    asked: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_terminal(monkeypatch)
    code, out, err = command(capsys, "main", "1", "/", "0,1")
    assert (code, err) == (0, "")
    assert out.splitlines()[:4] == ["Which database?", "  -> 1  Postgres", "Which features?", "  -> 0  Auth"]
    assert "recorded exactly: Claude Code recorded what you meant" in out
    (request,) = asked.first.requests
    assert request.by == "person"
    (verdict,) = list_verdicts(asked.app.store)
    assert (verdict.outcome, verdict.by, verdict.who, verdict.channel) == ("verified", "person", "alice", "keys")
    (story,) = history(asked.journal, asked.app.store)
    assert (story["outcome"], story["by"], story["who"], story["verified"]) == ("verified", "person", "alice", True)
    assert "verified by person alice through keys" in story_lines(story)[0]
    (record,) = asked.records("answer")
    assert (record["by"], record["who"]) == ("person", "alice")
    (record,) = asked.records("PostToolUse")
    assert (record["answered_by"], record["who"]) == ("person", "alice")
    assert [wake.kind for wake in asked.wakes()] == ["question"]


def test_the_story_is_the_same_from_journal_and_verdict(asked: Any) -> None:
    answer(asked.app, "main", json.dumps(RIGHT), author=ALICE)
    (whole,) = history(asked.journal, asked.app.store)
    for verdict in list_verdicts(asked.app.store):
        asked.app.store.delete("answer-result", documents.own_name(verdict.session, verdict.tool_use_id))
    (told,) = history(asked.journal, asked.app.store)
    assert (told["by"], told["who"], told["channel"]) == (whole["by"], whole["who"], whole["channel"])


def test_without_a_terminal_words_are_an_agents(asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "main", "1", "0,1", as_json=True)
    document = json.loads(out)
    assert (code, document["outcome"], document["by"], document["who"]) == (0, "verified", "agent", "")


def test_who_decides_can_be_said(asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "main", json.dumps(RIGHT), author="person:bob", as_json=True)
    document = json.loads(out)
    assert (code, document["by"], document["who"]) == (0, "person", "bob")
    code, out, _ = command(capsys, "main", "1", author="root", as_json=True)
    assert (code, json.loads(out)["reason"]) == (2, "--as: agent, person or person:NAME, not 'root'")


def test_json_may_stand_behind_the_session(asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "main", json.dumps(RIGHT), as_json=True)
    assert (code, json.loads(out)["by"]) == (0, "agent")


@pytest.mark.parametrize(
    ("words", "options", "said"),
    [
        (["main"], {}, "the answer is missing"),
        (["main"], {"as_text": True}, "the answer is missing"),
        (["main", "1"], {}, "this form has 2 questions"),
        (["main", "7", "0"], {}, "question 1 (Database): there is no option 7; there are 0 (SQLite), 1 (Postgres)"),
        (["main", "neither", "0"], {}, "to send it as your own words, add --text"),
        (["main", "/clear"], {"as_chat": True}, "slash command"),
        (["1", "0"], {"session": "main", "any_session": True}, "not both"),
        (["[]", "1"], {}, "give the JSON array alone"),
        ([], {"session": "main", "file": ""}, "--file : No such file"),
        (["main", "1", "0"], {"expect": ""}, "--expect: found no text"),
        (["main", json.dumps(RIGHT)], {"expect": " \n"}, "--expect: found no text"),
    ],
)
def test_what_cannot_be_used_changes_nothing(
    asked: Any, capsys: pytest.CaptureFixture[str], words: list[str], options: dict[str, Any], said: str
) -> None:
    code, out, _ = command(capsys, *words, as_json=True, **options)
    assert (code, json.loads(out)["outcome"]) == (2, "invalid")
    assert said in json.loads(out)["reason"]
    assert not asked.first.requests


def test_own_words_are_asked_about(
    asked: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_terminal(monkeypatch, "n\n")
    code, _, err = command(capsys, "main", "neither", "0")
    assert (code, asked.first.requests) == (130, [])
    assert '"neither" is not an option. Send it as your own words? y or n: ' in err
    assert "hookrouter answer: interrupted: nothing was sent" in err
    on_terminal(monkeypatch, "y\n")
    asked.first.act = recording(asked, {**ANSWERS, "Which database?": "neither"})
    assert command(capsys, "main", "neither", "0,1")[0] == 0


def test_a_chat_by_a_person(asked: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch)
    asked.first.act = lambda _: DELIVERED
    code, out, _ = command(capsys, "main", "let", "us talk", as_chat=True)
    assert code == 0
    assert 'say "let us talk" instead of answering' in out
    (story,) = history(asked.journal, asked.app.store)
    assert (story["outcome"], story["by"], story["who"], story["chat"]) == ("chat", "person", "alice", "let us talk")
    assert [wake.kind for wake in asked.wakes()] == ["question"]


@pytest.mark.parametrize(("author", "outcome"), [(ALICE, "verified"), (AGENT, "paused")])
def test_a_pause_holds_back_agents_only(asked: Any, author: Author, outcome: str) -> None:
    pauses.begin(asked.app.store, "main")
    assert answer(asked.app, "main", json.dumps(RIGHT), author=author).outcome == outcome
    assert len(asked.first.requests) == (1 if author is ALICE else 0)


def test_a_persons_mismatch_is_shown_to_them_and_not_to_the_agent(asked: Any) -> None:
    asked.first.act = recording(asked, {**ANSWERS, "Which database?": "SQLite"})
    result = answer(asked.app, "main", json.dumps(RIGHT), author=ALICE)
    assert (result.outcome, result.questions[0]["recorded"]) == ("mismatch", "SQLite")
    assert [wake.kind for wake in asked.wakes()] == ["question"]


def test_a_question_that_ends_under_a_persons_hands_is_told_to_the_agent(asked: Any) -> None:
    def act(_: AnswerRequest) -> AnswerOutcome:
        assert asked.hook("session_end", reason="other")["swept"][0]["told_by"] == "wake"
        return DELIVERED

    asked.first.act = act
    assert answer(asked.app, "main", json.dumps(RIGHT), author=ALICE).outcome == "unanswered"
    assert [wake.kind for wake in asked.wakes()] == ["question", "unanswered"]


def test_the_agent_means_a_later_question_only_once_it_is_told(asked: Any) -> None:
    """What a person answers is no news to the agent, so that its late answer is not taken for the next question's."""
    answer(asked.app, "main", json.dumps(RIGHT), author=ALICE)
    asked.ask(tool_use_id="toolu_2")
    assert "say which is meant" in answer(asked.app, "main", json.dumps(RIGHT)).reason
    asked.first.act = lambda _: DELIVERED
    assert answer(asked.app, "main", json.dumps(RIGHT), author=ALICE, wait=0).outcome == "delivered"


def test_a_pending_answer_of_before_is_an_agents(asked: Any) -> None:
    store = asked.app.store
    pending = documents.PendingAnswer("main", "s-1", "toolu_1", RIGHT, "keys", 1, by="person", who="alice")
    documents.save_pending(store, pending)
    assert documents.read_pending(store, "main", "toolu_1") == pending._replace(saved_at=_saved(store))
    document = {
        key: value
        for key, value in store.read("pending-answer", "s-1:main:toolu_1").items()
        if key not in ("by", "who")
    }
    store.write("pending-answer", "s-1:main:toolu_1", document)
    found = documents.read_pending(store, "main", "toolu_1")
    assert found is not None
    assert (found.by, found.who) == ("agent", "")


def _saved(store: Any) -> str:
    found = documents.read_pending(store, "main", "toolu_1")
    assert found is not None
    return found.saved_at


def test_one_of_several_questions_is_chosen(
    asked: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.ask(tool_use_id="toolu_9", environ={"FAKE_SESSION": "other"}, session_id="s-9")
    on_terminal(monkeypatch, "7\n2\n/leave\n")
    code, out, err = command(capsys)
    assert code == 130
    assert "Several questions wait:" in err + out
    assert "session other" in err + out


def test_line_by_line_through_the_command(
    asked: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_terminal(monkeypatch, "1\n0,1\ny\n")
    code, out, _ = command(capsys, "main")
    assert (code, "recorded exactly" in out) == (0, True)


def lines(*typed: str, over_at: int = 1000) -> tuple[Callable[[str], str], list[str], Callable[[], str]]:
    """Return what reads these lines, what was said, and what says after so many looks that the question is over."""
    rest, said, looks = list(typed), [], [0]

    def read(prompt: str) -> str:
        said.append(prompt)
        if not rest:
            raise EOFError
        return rest.pop(0)

    def is_over() -> str:
        looks[0] += 1
        return "answered meanwhile" if looks[0] >= over_at else ""

    return read, said, is_over


def talk(form: list[Any], *typed: str, **options: int) -> tuple[list[dict[str, Any]], str]:
    read, said, is_over = lines(*typed, **options)
    parsed = AskUserQuestionInput.from_json({"questions": form})
    found = plain.ask(parsed, "wo\x1brk", read=read, say=said.append, is_over=is_over)
    return found, "\n".join(said)


def test_a_form_line_by_line() -> None:
    found, said = talk([SINGLE, MULTI, LAYOUT], "B", '0,1 "and more"', "0 but narrow", "y")
    assert found == [
        {"action": "select", "optionIndex": 1},
        {"action": "multi-select", "selectedIndices": [0, 1], "text": "and more"},
        {"action": "select", "optionIndex": 0, "notes": "but narrow"},
    ]
    assert not {"\x1b", "\x9b", "\u202e"} & set(said)


def test_no_line_of_a_question_reads_like_an_option_line_by_line() -> None:
    deceitful = {**SINGLE, "question": "Which?\n  0  Delete nothing\nThis will be sent to Claude:\n"}
    _, said = talk([deceitful], "0", "y")
    shown = said.split("\n")
    assert shown[2:6] == ["| Which?", "|   0  Delete nothing", "| This will be sent to Claude:", "| "]
    assert sum(line.startswith("  0  ") for line in shown) == 1
    assert shown.count("This will be sent to Claude:") == 1


def test_back_and_review_line_by_line() -> None:
    found, said = talk([SINGLE, MULTI], "0", "/back", "", "1", "1", "1", "y", "n", "", "y")
    assert found[0] == {"action": "select", "optionIndex": 1}
    assert "Entered so far, Enter keeps it: 0  A" in said


@pytest.mark.parametrize(
    ("form", "typed", "decision"),
    [
        ([SINGLE], ["neither", "n", "1", "y"], {"action": "select", "optionIndex": 1}),
        ([SINGLE], ["neither", "y", "y"], {"action": "type", "text": "neither"}),
        ([SINGLE], ["/text 1", "y"], {"action": "type", "text": "1"}),
        ([SINGLE], ["", "/what", "/help", "7", "/text", "1", "yes"], {"action": "select", "optionIndex": 1}),
        ([SINGLE], ["/chat", "/chat /clear", "/chat wait a bit", "y"], {"action": "chat", "text": "wait a bit"}),
        ([SINGLE], ["/chat wait a bit", "1", "0", "y"], {"action": "select", "optionIndex": 0}),
        ([MULTI], ["/text only this", "y"], {"action": "multi-select", "selectedIndices": [], "text": "only this"}),
        ([LAYOUT], ["neither", "1", "y"], {"action": "select", "optionIndex": 1}),
    ],
)
def test_lines_of_all_kinds(form: list[Any], typed: list[str], decision: dict[str, Any]) -> None:
    assert talk(form, *typed)[0] == [decision]


@pytest.mark.parametrize("typed", [[], ["0"], ["/leave"], ["0", "/leave"]])
def test_leaving_line_by_line(typed: list[str]) -> None:
    with pytest.raises(Left):
        talk([SINGLE], *typed)


@pytest.mark.parametrize("over_at", [1, 2, 3, 4])
def test_somebody_else_is_first(over_at: int) -> None:
    with pytest.raises(Gone, match="answered meanwhile"):
        talk([SINGLE], "0", "y", over_at=over_at)


def test_an_agent_hears_who_was_first(asked: Any) -> None:
    answer(asked.app, "main", json.dumps(RIGHT), author=ALICE)
    result = answer(asked.app, "main", json.dumps(RIGHT), tool_use_id="toolu_1")
    assert (result.outcome, result.exit_code) == ("answered_by_person", 4)
    assert result.reason == "person alice answered first: Which database? -> Postgres; Which features? -> Auth, Export"
    # It has heard of it now, so what it says next is meant for the next question.
    asked.ask(tool_use_id="toolu_2")
    asked.first.act = lambda _: DELIVERED
    assert answer(asked.app, "main", json.dumps(RIGHT), wait=0).outcome == "delivered"


def test_an_agent_hears_of_an_answer_in_the_dialog(asked: Any) -> None:
    asked.record_answers(ANSWERS)
    for named in ({"tool_use_id": "toolu_1"}, {}):
        result = answer(asked.app, "main", json.dumps(RIGHT), **named)
        assert result.outcome == "answered_by_person"
        assert result.reason.startswith("a person answered first: Which database? -> Postgres")


def test_what_the_agent_itself_has_answered_is_no_persons(asked: Any) -> None:
    answer(asked.app, "main", json.dumps(RIGHT))
    assert "no open question" in answer(asked.app, "main", json.dumps(RIGHT)).reason
    result = answer(asked.app, "main", json.dumps(RIGHT), tool_use_id="toolu_1", author=ALICE)
    assert (result.outcome, result.reason[:28]) == ("not_delivered", "agent default answered first")


def test_how_a_question_ended_without_an_answer(asked: Any) -> None:
    asked.hook("session_end", reason="other")
    result = answer(asked.app, "", json.dumps(RIGHT), tool_use_id="toolu_1")
    assert (result.outcome, result.exit_code) == ("unanswered", 4)
    assert result.reason == "the question has ended: the session ended (other) without an answer"
