"""``hookrouter history``: the story of each question, put together from the journal."""

from __future__ import annotations

import json
import os
import stat
from typing import Any

import pytest

from hookrouter.answering.interfaces import AnswerOutcome, AnswerRequest, AnswerStatus
from hookrouter.cli.dialogs import history as cli_history
from hookrouter.dialogs.answers.answer import answer
from hookrouter.dialogs.stories.history import history
from hookrouter.storage.journal import Journal
from hookrouter.util.clock import iso, now

RIGHT = json.dumps([{"action": "select", "optionIndex": 1}, {"action": "multi-select", "selectedIndices": [0]}])
CHAT = json.dumps([{"action": "chat", "text": "let us talk"}])
ANSWERS = {"Which database?": "Postgres", "Which features?": "Auth"}
DECLINED = "The user doesn't want to proceed with this tool use."
TALKED = f"{DECLINED} the user said: The user wants to clarify these questions."


def stories(asking: Any, **options: Any) -> list[dict[str, Any]]:
    return history(asking.journal, asking.app.store, **options)


def story(session: Any) -> dict[str, Any]:
    (found,) = stories(session)
    return found


def ended(session: Any, content: str) -> None:
    """Let the transcript show how the dialog ended."""
    session.write_transcript(
        {"type": "tool_use", "id": "toolu_1"},
        {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": content},
    )


@pytest.fixture
def command(ask_session: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setattr("hookrouter.cli.application.Application.from_environ", lambda *_: ask_session.app)

    def call(**options: Any) -> tuple[int, str, str]:
        code = cli_history.history(**options)
        return code, *capsys.readouterr()

    return call


def test_an_agents_answer_that_was_verified(ask_session: Any) -> None:
    ask_session.ask()

    def act(_: AnswerRequest) -> AnswerOutcome:
        ask_session.record_answers(ANSWERS)
        return AnswerOutcome(AnswerStatus.DELIVERED, "the dialog took it", ("Enter",))

    ask_session.first.act = act
    answer(ask_session.app, "main", RIGHT)
    found = story(ask_session)
    assert (found["session"], found["session_id"], found["tool_use_id"]) == ("main", "s-1", "toolu_1")
    assert (found["outcome"], found["by"], found["channel"], found["verified"]) == ("verified", "agent", "keys", True)
    assert 0 <= found["seconds"] < 30
    assert [(entry["header"], entry["question"], entry["recorded"]) for entry in found["questions"]] == [
        ("Database", "Which database?", "Postgres"),
        ("Features", "Which features?", "Auth"),
    ]
    assert [(attempt["outcome"], attempt["channel"]) for attempt in found["attempts"]] == [("delivered", "keys")]
    assert found["attempts"][0]["steps"] == ["Enter"]


def test_a_mismatch_shows_both_sides(ask_session: Any, command: Any) -> None:
    ask_session.ask()

    def act(_: AnswerRequest) -> AnswerOutcome:
        ask_session.record_answers({**ANSWERS, "Which database?": "SQLite"})
        return AnswerOutcome(AnswerStatus.DELIVERED, "the dialog took it")

    ask_session.first.act = act
    answer(ask_session.app, "main", RIGHT)
    found = story(ask_session)
    assert (found["outcome"], found["by"], found["verified"]) == ("mismatch", "agent", False)
    assert (found["questions"][0]["intended"], found["questions"][0]["recorded"]) == ("Postgres", "SQLite")
    code, out, err = command()
    assert (code, err) == (0, "")
    assert "1. Which database? -> SQLite\n     meant: Postgres\n  2. Which features? -> Auth\n" in out


def test_a_person_who_answers(ask_session: Any, command: Any) -> None:
    ask_session.ask()
    ask_session.record_answers({**ANSWERS, "Which database?": "none \x1b[31m" + "x" * 900})
    found = story(ask_session)
    assert (found["outcome"], found["by"], found["channel"]) == ("answered_by_person", "person", None)
    recorded = found["questions"][0]["recorded"]
    assert recorded.startswith("none \\x1b[31mxxx")
    assert len(recorded) <= 200
    assert "\x1b" not in command()[1]


def test_a_question_that_waits(ask_session: Any) -> None:
    ask_session.ask()
    found = story(ask_session)
    assert (found["outcome"], found["by"], found["ended_at"], found["seconds"]) == ("open", None, None, None)


@pytest.mark.parametrize(
    ("hook", "fields", "content", "outcome", "by", "reason"),
    [
        ("user_prompt_submit", {"prompt": "go on"}, DECLINED, "unanswered", "nobody", "closed without an answer"),
        ("user_prompt_submit", {"prompt": "hm"}, TALKED, "chat", "person", "Chat about this"),
        ("stop", {"stop_hook_active": False}, "a hook denied it", "unanswered", "nobody", "ended with an error"),
        ("session_end", {"reason": "clear"}, None, "unanswered", "nobody", "the session ended (clear)"),
        ("session_start", {"source": "resume"}, None, "unanswered", "nobody", "started again (resume)"),
        ("post_tool_use_failure_ask_user_question", {"error": "x"}, None, "unanswered", "nobody", "call failed"),
    ],
    ids=["declined", "chat by a person", "error", "clear", "resume", "tool failure"],
)
def test_ends_without_an_answer(
    ask_session: Any, hook: str, fields: dict[str, Any], content: str | None, outcome: str, by: str, reason: str
) -> None:
    ask_session.ask()
    if content is not None:
        ended(ask_session, content)
    ask_session.hook(hook, **fields)
    found = story(ask_session)
    assert (found["outcome"], found["by"], found["verified"]) == (outcome, by, None)
    assert reason in found["reason"]
    assert found["ended_at"] is not None
    assert ask_session.documents() == []
    assert len(ask_session.wakes()) == 2
    # Told once: further events find nothing.
    ask_session.hook("stop", stop_hook_active=False)
    ask_session.hook("session_end", reason="other")
    assert len(ask_session.wakes()) == 2


def test_a_client_that_was_killed_is_noticed_by_the_next_in_its_place(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.hook("session_start", source="startup", session_id="s-2")
    found = story(ask_session)
    assert (found["outcome"], found["by"], found["session_id"]) == ("unanswered", "nobody", "s-1")
    assert "another session was started in its place" in found["reason"]


def test_a_chat_by_the_agent(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.first.act = lambda _: AnswerOutcome(AnswerStatus.DELIVERED, "said", ("Enter",))
    answer(ask_session.app, "main", CHAT)
    found = story(ask_session)
    assert (found["outcome"], found["by"], found["chat"], found["channel"]) == ("chat", "agent", "let us talk", "keys")


def test_an_answer_that_finds_the_question_over_is_its_end(ask_session: Any) -> None:
    ask_session.ask()
    ended(ask_session, DECLINED)
    answer(ask_session.app, "main", RIGHT)
    found = story(ask_session)
    assert (found["outcome"], found["by"]) == ("unanswered", "nobody")
    assert "closed without an answer" in found["reason"]


def test_an_attempt_that_failed_is_no_end(ask_session: Any) -> None:
    ask_session.ask()
    answer(ask_session.app, "main", RIGHT)
    found = story(ask_session)
    assert found["outcome"] == "open"
    assert [attempt["outcome"] for attempt in found["attempts"]] == ["not_delivered"]


def test_reminders_are_counted(ask_session: Any, command: Any) -> None:
    ask_session.ask()
    ids = {"session_id": "s-1", "tool_use_id": "toolu_1", "session": "main"}
    for kind in ("question", "reminder", "reminder", "escalation"):
        ask_session.journal.write({"event": "delivery", "outcome": "delivered", "kind": kind, **ids}, "s-1")
    found = story(ask_session)
    assert (found["reminders"], found["escalated"]) == (2, True)
    assert "reminded 2 times, escalated" in command()[1]


def test_what_the_journal_keeps_of_a_question_is_short_safe_and_private(ask_session: Any) -> None:
    options = [{"label": "a" * 5000, "description": "b" * 5000}] * 4
    form = [{"question": "\x1b]0;x\x07" + "q" * 5000, "header": "h" * 5000, "options": options, "multiSelect": False}]
    ask_session.ask(tool_input={"questions": form * 4})
    (record,) = ask_session.records("PreToolUse")
    assert len(json.dumps(record)) < 3000
    assert record["questions"][0]["question"].startswith("\\x1b]0;x\\x07qqq")
    (file,) = os.scandir(ask_session.home.logs)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_questions_without_a_known_end(ask_session: Any) -> None:
    ask_session.ask()
    for name in ask_session.documents():
        os.unlink(os.path.join(ask_session.home.state, name))
    assert story(ask_session)["outcome"] == "unknown"


def test_sessions_time_and_number_can_be_chosen(ask_session: Any) -> None:
    ask_session.ask()
    ask_session.record_answers(ANSWERS)
    ask_session.ask(environ={"FAKE_SESSION": "other"}, session_id="s-2", tool_use_id="toolu_2")
    ask_session.ask(environ={"FAKE_SESSION": "other"}, session_id="s-2", tool_use_id="toolu_3")
    assert [found["tool_use_id"] for found in stories(ask_session)] == ["toolu_1", "toolu_2", "toolu_3"]
    assert [found["tool_use_id"] for found in stories(ask_session, session="other")] == ["toolu_2", "toolu_3"]
    assert [found["tool_use_id"] for found in stories(ask_session, limit=1)] == ["toolu_3"]
    assert [found["tool_use_id"] for found in stories(ask_session, since=now() - 60)] == [
        "toolu_1",
        "toolu_2",
        "toolu_3",
    ]
    old = ask_session.journal
    old.write(
        {
            "at": iso(now() - 7200),
            "event": "PreToolUse",
            "tool": "AskUserQuestion",
            "outcome": "asked",
            "session": "old",
            "session_id": "s-0",
            "tool_use_id": "toolu_0",
            "agent": "a",
        },
        "s-0",
    )
    assert len(stories(ask_session)) == 4
    assert len(stories(ask_session, since=now() - 3600)) == 3


def test_the_command_for_programs_and_for_people(ask_session: Any, command: Any) -> None:
    assert command()[1] == "No question is known.\n"
    ask_session.ask()
    code, out, err = command(as_json=True, since="1h", limit=0)
    assert (code, err) == (0, "")
    assert [found["outcome"] for found in json.loads(out)["questions"]] == ["open"]
    assert "main: open  (toolu_1)\n  1. Which database?\n" in command(session="main")[1]
    assert command(session="third")[1] == "No question of session third is known.\n"


@pytest.mark.parametrize("since", ["yesterday", "1y", "-1h", "", "9999999d", "2026-13-01"])
def test_times_that_cannot_be_read(command: Any, since: str) -> None:
    code, out, err = command(since=since)
    assert (code, out) == (2, "")
    assert "30m" in err


@pytest.mark.parametrize("since", ["2000-01-01", "2000-01-01T10:00", "2000-01-01T10:00:00Z", "999999w"])
def test_times_that_can_be_read(ask_session: Any, command: Any, since: str) -> None:
    ask_session.ask()
    assert "toolu_1" in command(since=since)[1]


def test_rotated_files_are_read_too(ask_session: Any) -> None:
    ask_session.journal = Journal(ask_session.home.logs, max_bytes=2000, backups=3)
    ask_session.ask()
    while len(os.listdir(ask_session.home.logs)) < 3:
        ask_session.journal.write({"event": "PreToolUse", "tool": "Bash", "session_id": "s-1"}, "s-1")
    ask_session.record_answers(ANSWERS)
    found = story(ask_session)
    assert (found["outcome"], found["questions"][0]["question"]) == ("answered_by_person", "Which database?")


@pytest.mark.slow
def test_ten_thousand_records_are_all_found(ask_session: Any) -> None:
    journal = ask_session.journal
    base = {"event": "PreToolUse", "tool": "AskUserQuestion", "outcome": "asked", "agent": "a", "session": "main"}
    lines = []
    for number in range(5000):
        ids = {"session_id": "s-1", "tool_use_id": f"toolu_{number}", "ms": 12.3, "plugins": [{"name": "x"}] * 3}
        asked = {"at": iso(), **base, **ids, "questions": [{"header": "H", "question": "Which?" * 20}]}
        ended = {"at": iso(), "event": "PostToolUse", "tool": "AskUserQuestion", "outcome": "answered_by_person", **ids}
        lines += [asked, ended]
    journal.write({}, "s-1")
    with open(os.path.join(ask_session.home.logs, "s-1.jsonl"), "a", encoding="ascii") as file:
        file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    found = stories(ask_session)
    assert len(found) == 5000
    assert {one["outcome"] for one in found} == {"answered_by_person"}


def test_strange_records_break_nothing(ask_session: Any) -> None:
    for record in (
        {"event": "PreToolUse", "tool": "AskUserQuestion", "outcome": "asked", "questions": [3, {"question": []}]},
        {"event": "PostToolUse", "tool": "AskUserQuestion", "outcome": "verified", "verification": {"questions": 3}},
        {"event": "PostToolUse", "tool": "AskUserQuestion", "outcome": ["x"], "tool_use_id": 7},
        {"event": "answer", "outcome": "chat", "decisions": "x", "closed": "yes"},
        {"event": "Stop", "swept": [None, {"outcome": 3}, {}]},
    ):
        ask_session.journal.write(record, "s-9")
    assert all(isinstance(cli_history.story_lines(found), list) for found in stories(ask_session))
