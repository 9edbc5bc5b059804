"""Messages as they go out: context, advice once, data for programs, and what a person reads."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hookrouter.cli.main import main
from hookrouter.composing import Composing
from hookrouter.config import Agent, AnswerConfig, Config
from hookrouter.dialogs import documents
from hookrouter.dialogs.composer import DialogComposer
from hookrouter.dialogs.documents import Dialog, PendingAnswer
from hookrouter.dialogs.messages.formatting import MESSAGE_BYTES, Surroundings, question_message
from hookrouter.dialogs.verdicts import Verdict, save_verdict
from hookrouter.messaging.advice import KEPT_SECONDS
from hookrouter.messaging.gateway import Message
from hookrouter_page.security.answer_link import page_secret_file, read_link
from hookrouter_page.settings import PageSettings

SCHEMA = json.loads(files("hookrouter.dialogs").joinpath("schemas/message.json").read_text("utf-8"))
GATEWAYS = {name: {"type": "recorder"} for name in ("chat", "phone", "other")}
ADVICE = "# How to decide"


def composed(session: Any, message: Message | None = None, attempt: int = 1) -> Message:
    """Return what would go out now: of this message, or of the first that waits."""
    app = session.app
    if message is None:
        first = app.outbox.pending()[0]
        message = first.for_gateway(first.gateway)
    found = Composing({"dialogs": DialogComposer()}, app)(message, attempt)
    if found.data:
        faults = [error.message for error in Draft202012Validator(SCHEMA).iter_errors(found.data)]
        assert not faults
    return found


def followers(session: Any) -> dict[str, Message]:
    """Return the first message of each kind that follows the one that waits."""
    found: dict[str, Message] = {}
    for entry in session.wakes()[0].then:
        fields = {name: entry[name] for name in Message._fields if name in entry}
        found.setdefault(entry["kind"], Message(**fields, id=f"follow-{len(found)}"))
    return found


CLOSED = Message("closed", "main", "chat", "work", "id-1", "toolu_1", "Over: Claude asks", "It is over.", "1-closed")


def verdict(outcome: str = "verified", **fields: Any) -> Verdict:
    return Verdict("work", "id-1", "toolu_1", outcome, **{"by": "agent", "agent": "main", **fields})


@pytest.mark.parametrize(
    ("ended", "subject", "texts"),
    [
        (
            verdict(verification={"questions": [{"question": "Which?", "recorded": "Left\x1b"}]}),
            "Answered by the agent `main`: session `work`",
            ["> Which?", "> Left\\x1b", "recorded exactly what was meant"],
        ),
        (verdict(by="person", who="jo"), "Answered by `jo`: session `work`", ["recorded exactly"]),
        (verdict(by="person"), "Answered by a person: session `work`", []),
        (
            verdict("answered_by_person", by="person", recorded={"Which?": "Right"}),
            "Answered at the terminal: session `work`",
            ["> Which?", "> Right"],
        ),
        (
            verdict("mismatch", reason="other labels"),
            "Answered by the agent `main`, and recorded differently than meant: session `work`",
            ["> other labels"],
        ),
        (verdict("unverified"), "Answered by the agent `main`, and not compared: session `work`", []),
        (verdict("chat"), "Talked about instead of answered: session `work`", []),
        (
            verdict("unanswered", reason="it was declined"),
            "Ended without an answer: session `work`",
            ["> it was declined"],
        ),
    ],
    ids=lambda value: value.subject if isinstance(value, Message) else None,
)
def test_a_message_that_closes_another_says_how_the_question_ended(
    ask_session: Any, ended: Verdict, subject: str, texts: list[str]
) -> None:
    save_verdict(ask_session.app.store, ended)
    found = composed(ask_session, CLOSED)
    assert found.subject == subject
    assert found.text.startswith(f"# {subject.removesuffix(': session `work`')}\n")
    assert all(text in found.text for text in texts), found.text
    assert found.text.endswith("There is nothing left to answer.\n")


def test_one_whose_end_nobody_has_noted_goes_out_as_it_is(ask_session: Any) -> None:
    save_verdict(ask_session.app.store, verdict()._replace(tool_use_id="toolu_2"))
    assert composed(ask_session, CLOSED) == CLOSED


def delivered(session: Any) -> None:
    for wake in session.wakes():
        session.app.outbox.remove(wake.id)


def no_warnings(session: Any) -> bool:
    return not [record for record in session.records("delivery") if record.get("level") == "warning"]


@pytest.fixture
def project(ask_session: Any, tmp_path: Path) -> Path:
    """A project on a branch, whose session has said something."""
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/retries\n")
    lines = [
        {"type": "user", "message": {"content": "Add retries."}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "I must know one thing.\n> forged"}]}},
    ]
    ask_session.transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def answered(session: Any, number: int, question: str, answer: str, **fields: Any) -> None:
    compared = {"questions": [{"question": question, "recorded": answer, "intended": answer, "result": "match"}]}
    made = Verdict("main", "s-1", f"toolu_{number}", "verified", by="agent", verification=compared)
    save_verdict(session.app.store, made._replace(**fields))


def test_the_context_is_in_the_text_and_in_the_data(ask_session: Any, project: Path) -> None:
    answered(ask_session, 8, "Which client?", "httpx", at="2026-11-22T01:00:00.000Z")
    person = {"Keep it?": "No"}
    answered(ask_session, 9, "", "", at="2026-11-22T02:00:00.000Z", by="person", recorded=person, verification=None)
    answered(ask_session, 7, "Of another session?", "x", session_id="s-2")
    ask_session.ask(cwd=str(project))

    found = composed(ask_session, attempt=3)

    for part in (
        f"Folder `{project}`, branch `retries`",
        f"Transcript `{ask_session.transcript}`",
        "Last prompt:\n\n> Add retries.\n",
        "Claude's last words:\n\n> I must know one thing.\n> > forged\n",
        "Answered before:\n\n> Which client? = httpx\n> Keep it? = No (a person)\n",
    ):
        assert part in found.text
    context = found.data["context"]
    assert (context["branch"], context["last_prompt"], context["cwd"]) == ("retries", "Add retries.", str(project))
    assert context["last_words"] == "I must know one thing.\n> forged"
    assert [(one["answer"], one["by"]) for one in context["earlier"]] == [("httpx", "agent"), ("No", "person")]
    assert (found.data["id"], found.data["attempt"], found.data["answer_from"]) == (found.id, 3, "agent")
    assert found.data["command"][-3:] == ["--json", "--file", "-"]
    assert no_warnings(ask_session)


def test_the_advice_comes_once_for_each_session_and_agent(ask_session: Any) -> None:
    ask_session.ask()
    first = composed(ask_session)
    assert ADVICE in first.text
    assert composed(ask_session).text == first.text, "a message that is tried again must not change"
    delivered(ask_session)

    ask_session.ask(tool_use_id="toolu_2")
    second = composed(ask_session)
    assert ADVICE not in second.text
    assert "questions --guidance --session=main`" in second.text
    assert ADVICE in composed(ask_session, second._replace(agent="another", id="of another agent")).text
    delivered(ask_session)

    ask_session.ask(session_id="s-cleared")
    message = ask_session.wakes()[-1].for_gateway("inbox")
    assert message.session_id == "s-cleared"
    assert ADVICE in composed(ask_session, message).text


def test_a_message_that_never_arrived_has_brought_no_advice(ask_session: Any) -> None:
    ask_session.ask()
    assert ADVICE in composed(ask_session).text
    ask_session.ask(tool_use_id="toolu_2")
    second = ask_session.wakes()[1].for_gateway("inbox")
    assert ADVICE in composed(ask_session, second).text


def test_what_was_told_long_ago_is_forgotten(ask_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_session.ask()
    composed(ask_session)
    delivered(ask_session)
    ask_session.hook("session_start", source="startup")
    assert ask_session.app.store.read("guidance", "s-1:default") is not None
    monkeypatch.setattr("hookrouter.messaging.advice.KEPT_SECONDS", -60.0)
    ask_session.hook("session_start", source="startup")
    assert ask_session.app.store.read("guidance", "s-1:default") is None
    assert KEPT_SECONDS > 24 * 3600


def test_gsd_is_named_only_in_its_projects(ask_session: Any, tmp_path: Path) -> None:
    ask_session.ask(cwd=str(tmp_path))
    assert "GSD" not in composed(ask_session).text
    (tmp_path / "ROADMAP.md").write_text("")
    text = composed(ask_session).text
    assert "planned with GSD\n\nIt has `ROADMAP.md`." in text
    assert "STATE.md" not in text


def test_a_reminder_says_only_what_is_new(ask_session: Any, project: Path) -> None:
    gateways = {"chat": {"type": "recorder"}}
    answer = AnswerConfig(remind_after=60, terminal="fake")
    ask_session.config = Config(agents=(Agent("main", gateway="chat"),), gateways=gateways, answer=answer)
    ask_session.ask(cwd=str(project))
    found = composed(ask_session, followers(ask_session)["reminder"])
    assert found.text.startswith("# Reminder 1 of 3: Claude has waited for ")
    assert "questions --session=main --tool-use-id=toolu_1\n" in found.text
    assert "Which database?" not in found.text
    assert len(found.text.encode()) < 800
    assert (found.data["kind"], found.data["reminder"]) == ("reminder", {"number": 1, "of": 3})
    assert found.data["questions"][0]["question"] == "Which database?"


@pytest.mark.parametrize(
    ("others", "gateway", "to_person"),
    [
        ([Agent("boss", gateway="phone", kind="person")], "phone", True),
        ([Agent("boss", gateway="phone", kind="person", enabled=False)], "phone", False),
        ([Agent("boss", gateway="phone", kind="person")], "chat", False),
        ([Agent("boss", gateway="chat", kind="person")], "chat", False),
        ([Agent("helper", gateway="phone")], "phone", False),
        ([], "phone", False),
    ],
)
@pytest.mark.parametrize("kind", ["question", "reminder"])
def test_what_falls_back_to_a_persons_gateway_is_written_for_a_person(
    ask_session: Any, others: list[Agent], gateway: str, to_person: bool, kind: str
) -> None:
    main = Agent("main", gateway="chat", fallbacks=("phone",))
    answer = AnswerConfig(remind_after=600.0, reminders=1, terminal="fake")
    ask_session.config = Config(agents=(main, *others), gateways=GATEWAYS, answer=answer)
    ask_session.ask()
    first = ask_session.app.outbox.pending()[0].for_gateway(gateway)
    message = first if kind == "question" else followers(ask_session)["reminder"]._replace(gateway=gateway)
    found = composed(ask_session, message)
    assert ("DECISIONS" in found.text) != to_person
    assert found.data["answer_from"] == ("person" if to_person else "agent")


@pytest.mark.parametrize(
    ("agents", "to_person"),
    [
        ([Agent("main", gateway="chat")], True),
        ([Agent("main", gateway="chat"), Agent("boss", gateway="phone")], False),
        ([Agent("main", gateway="chat"), Agent("boss", gateway="other", fallbacks=("phone",))], False),
        ([Agent("main", gateway="chat"), Agent("phone", gateway="other")], False),
        ([Agent("main", gateway="chat"), Agent("boss", gateway="phone", kind="person")], True),
        ([Agent("main", gateway="phone"), Agent("boss", gateway="phone", kind="person")], True),
        ([Agent("main", gateway="chat"), Agent("boss", gateway="phone", enabled=False)], True),
    ],
)
def test_who_reads_the_escalation(ask_session: Any, agents: list[Agent], to_person: bool) -> None:
    answer = AnswerConfig(escalate_to="phone", terminal="fake")
    ask_session.config = Config(agents=tuple(agents), gateways=GATEWAYS, answer=answer)
    ask_session.ask()
    found = composed(ask_session, followers(ask_session)["escalation"])
    assert found.text.startswith("# Nobody has answered for ")
    assert "The agent `main` was asked and has not answered." in found.text
    assert ("optionIndex" in found.text) != to_person
    assert (ADVICE in found.text) != to_person
    assert found.data["answer_from"] == ("person" if to_person else "agent")


ONE = {"question": "Which database?", "header": "Database", "options": [{"label": "SQLite"}, {"label": "Postgres"}]}
SEVERAL = {**ONE, "multiSelect": True}
PREVIEWS = {**ONE, "options": [{"label": "A", "preview": "+--+\n|  |"}, {"label": "B"}]}


@pytest.mark.parametrize(
    ("forms", "lines"),
    [
        ([ONE], ["answer main 1", "answer main 'in your own words'", "answer main"]),
        ([SEVERAL], ["answer main 0,1", "answer main 'in your own words'", "answer main"]),
        ([PREVIEWS], ["answer main 1", "answer main"]),
        ([ONE, SEVERAL], ["answer main"]),
    ],
)
def test_a_person_gets_no_json(ask_session: Any, project: Path, forms: list[dict[str, Any]], lines: list[str]) -> None:
    ask_session.config = Config(agents=(Agent("me", gateway="chat", kind="person"),), gateways=GATEWAYS)
    ask_session.environ.pop("HOOKROUTER_HOME")
    ask_session.ask(cwd=str(project), tool_input={"questions": forms})
    at_rest = ask_session.wakes()[0].text
    found = composed(ask_session)
    for text in (at_rest, found.text):
        assert not {"{", "}", "[", "toolu_1", "JSON"} & {
            part for part in ("{", "}", "[", "toolu_1", "JSON") if part in text
        }
        commands = [line.split("hookrouter ", 1)[1] for line in text.splitlines() if line.startswith("    ")]
        assert commands == lines
    assert "> 0. " in found.text
    assert "> Add retries." in found.text
    assert ADVICE not in found.text
    assert found.data["answer_from"] == "person"


def test_a_person_sees_question_and_options_on_the_first_screen(ask_session: Any, project: Path) -> None:
    ask_session.config = Config(agents=(Agent("me", gateway="chat", kind="person"),), gateways=GATEWAYS)
    ask_session.ask(cwd=str(project), tool_input={"questions": [TYPICAL[0]]})
    rows = [
        line[start : start + 80]
        for line in composed(ask_session).text.split("\n")
        for start in range(0, len(line) or 1, 80)
    ]
    last_option = max(number for number, row in enumerate(rows) if row.startswith("> 3. "))
    assert last_option + 2 < 24


def test_a_person_sees_how_to_answer_on_the_first_screen(
    ask_session: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is in the default place: 24 rows of 80 columns, the last of them for the prompt."""
    monkeypatch.setattr("hookrouter.dialogs.composer.typed_argv", lambda: ["hookrouter"])
    ask_session.config = Config(agents=(Agent("me", gateway="chat", kind="person"),), gateways=GATEWAYS)
    ask_session.environ.pop("HOOKROUTER_HOME")
    ask_session.ask(cwd=str(project), tool_input={"questions": [TYPICAL[0]]})
    rows = [
        line[start : start + 80]
        for line in composed(ask_session).text.split("\n")
        for start in range(0, len(line) or 1, 80)
    ]
    assert "    hookrouter answer main" in rows[:23]


def test_a_session_with_several_questions_names_the_one_that_is_meant(ask_session: Any) -> None:
    ask_session.config = Config(agents=(Agent("me", gateway="chat", kind="person"),), gateways=GATEWAYS)
    ask_session.ask()
    ask_session.ask(tool_use_id="toolu_2", agent_id="sub")
    assert "answer --tool-use-id toolu_1\n" in composed(ask_session).text


def test_a_question_that_is_over_is_told_as_it_was_put_in(ask_session: Any) -> None:
    ask_session.ask()
    [wake] = ask_session.wakes()
    documents.delete_question(ask_session.app.store, "main", "toolu_1")
    found = composed(ask_session)
    assert (found.text, found.data) == (wake.text, {})


def test_the_ends_have_data_too(ask_session: Any) -> None:
    ask_session.ask()
    decisions = [
        {"action": "select", "optionIndex": 1},
        {"action": "multi-select", "selectedIndices": [0]},
    ]
    documents.save_pending(ask_session.app.store, PendingAnswer("main", "s-1", "toolu_1", decisions, "keys", 1))
    ask_session.record_answers({"Which database?": "SQLite", "Which features?": "Auth"})
    wake = ask_session.wakes()[-1]
    found = composed(ask_session, wake.for_gateway("inbox"), attempt=2)
    assert (found.kind, found.data["kind"], found.data["attempt"]) == ("mismatch", "mismatch", 2)
    assert found.data["verification"]["questions"][0]["recorded"] == "SQLite"
    assert (found.data["command"], found.data["answer_schema"]) == ([], None)
    ask_session.ask(tool_use_id="toolu_2")
    ask_session.hook("session_end", reason="exit")
    found = composed(ask_session, ask_session.wakes()[-1].for_gateway("inbox"))
    assert (found.kind, found.text) == ("unanswered", ask_session.wakes()[-1].text)
    assert found.data["reason"] == "the session ended (exit) without an answer"


def test_messages_of_others_are_left_alone(ask_session: Any) -> None:
    for message in (
        Message("test", "a", "g", "s", "sid", "", "subject", "text", "id", "now"),
        Message("question", "a", "g", "s", "sid", "", "subject", "text", "id", "now"),
        Message("warning", "a", "g", "s", "sid", "t", "subject", "text", "id", "now"),
    ):
        assert composed(ask_session, message) == message


def test_questions_shows_one_question_and_the_advice(
    ask_session: Any, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOOKROUTER_HOME", ask_session.home.root)
    monkeypatch.setattr("hookrouter.cli.dialogs.questions.push", lambda *_: False)
    (project / "STATE.md").write_text("")
    ask_session.ask(cwd=str(project))
    ask_session.ask(tool_use_id="toolu_2", agent_id="sub", tool_input={"questions": [SEVERAL]})
    assert main(["questions", "--session", "main", "--tool-use-id", "toolu_1"]) == 0
    shown = capsys.readouterr().out
    assert "tool use `toolu_1`" in shown
    assert "tool use `toolu_2`" not in shown
    assert "> Add retries." in shown
    assert ADVICE not in shown
    assert main(["questions", "--guidance", "--session", "main"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(ADVICE)
    assert "It has `STATE.md`." in shown
    monkeypatch.chdir(ask_session.folder)
    assert main(["questions", "--guidance"]) == 0
    assert "GSD" not in capsys.readouterr().out


def form(question: str, *options: tuple[str, str], header: str = "Choice", several: bool = False) -> dict[str, Any]:
    listed = [{"label": label, "description": about} for label, about in options]
    return {"question": question, "header": header, "options": listed, "multiSelect": several}


TYPICAL = [
    form(
        "How should a repeated charge be made safe when a request to the payment provider times out?",
        ("Idempotency keys (Recommended)", "Send a key with each charge and retry with it; the provider drops repeats"),
        ("Query first", "After a timeout, ask the provider for the charge by order id before trying again"),
        ("No retries for charges", "Retry only reads; a charge that timed out goes to the manual queue"),
        ("Outbox table", "Write the charge to a table and let a worker send it exactly once"),
    ),
    form("Shall I go on with the plan?", ("Yes", "Start with step 1"), ("No", "Let me change the plan first")),
    form(
        "Which of these checks should run in continuous integration from now on?",
        *[(f"Check number {number}", "runs on every push and takes about two minutes") for number in range(4)],
        several=True,
    ),
    form("Welche Bibliothek für Größenänderungen?", ("Pillow", "bewährt, aber groß"), ("pyvips", "schnell und klein")),
]
LONG = Surroundings(
    cwd="/home/someone/projects/customers/a-rather-long-name/shop",
    branch="feature/payments-with-retries-and-a-long-name",
    transcript_path=f"/home/someone/.claude/projects/-home-someone-projects-shop/{'0' * 36}.jsonl",
    last_prompt="Add retries to the client. " * 200,
    last_words="I have read all of the files.\n- one more line of a list\n" * 200,
    earlier=tuple(
        {"question": "Which one? " * 30, "answer": "That one. " * 30, "by": "person", "at": ""} for _ in range(9)
    ),
)


def asked(*forms: dict[str, Any]) -> Dialog:
    return Dialog(
        session="customers-shop",
        session_id="0" * 36,
        tool_use_id=f"toolu_{'0' * 24}",
        questions=list(forms),
        terminal=None,
        agent="night-shift",
        gateway="chat",
        saved_at="2026-11-22T21:30:00.000Z",
        permission_mode="acceptEdits",
    )


@pytest.mark.parametrize("one", TYPICAL, ids=lambda one: one["question"][:20])
@pytest.mark.parametrize("around", [Surroundings(), LONG], ids=["without context", "with all context"])
def test_a_message_stays_short(one: dict[str, Any], around: Surroundings) -> None:
    text = question_message(asked(one), ["/home/someone/.local/bin/hookrouter"], {}, surroundings=around)
    assert len(text.encode()) <= MESSAGE_BYTES == 2500
    if around is LONG:
        assert "Last prompt:" in text
        assert "Claude's last words:" in text


lines = st.text(st.characters(exclude_categories=["Cs"]), max_size=2000)


@given(prompt=lines, words=lines, answers=st.lists(lines, max_size=4))
def test_no_context_makes_it_longer(prompt: str, words: str, answers: list[str]) -> None:
    earlier = tuple({"question": answer, "answer": answer, "by": "agent", "at": ""} for answer in answers)
    around = LONG._replace(last_prompt=prompt, last_words=words, earlier=earlier)
    text = question_message(asked(TYPICAL[0]), ["/home/someone/.local/bin/hookrouter"], {}, surroundings=around)
    assert len(text.encode()) <= MESSAGE_BYTES


PAGE = {"url": "https://claude.example.org", "link_hours": 8.0}
SETTINGS = PageSettings(url="https://claude.example.org", link_hours=8.0)


def asked_by_a_person(ask_session: Any, page: dict[str, Any] | None = PAGE) -> None:
    ask_session.page = page
    me = Agent("me", gateway="phone", kind="person")
    answer = AnswerConfig(remind_after=60, reminders=1, escalate_to="other", terminal="fake")
    ask_session.config = Config(agents=(me,), gateways=GATEWAYS, answer=answer)
    ask_session.ask()


@pytest.mark.parametrize("kind", ["question", "reminder", "escalation"])
def test_a_person_gets_a_link_that_shows_just_this_question(ask_session: Any, kind: str) -> None:
    asked_by_a_person(ask_session)
    found = composed(ask_session, None if kind == "question" else followers(ask_session)[kind])
    assert found.link.startswith("https://claude.example.org/link/")
    assert found.data["link"] == found.link
    # Ahead of Claude's words: a service may cut the text.
    assert found.text.index(f"Answer here: {found.link} (valid until ") < found.text.index("Which database?")
    token = found.link.rpartition("/")[2]
    assert read_link(ask_session.home, SETTINGS, token) == ("main", "s-1", "toolu_1")


def test_an_agent_gets_no_link(ask_session: Any) -> None:
    ask_session.page = PAGE
    ask_session.config = Config(agents=(Agent("main", gateway="chat"),), gateways=GATEWAYS)
    ask_session.ask()
    found = composed(ask_session)
    assert (found.link, found.data["link"], "Answer here" in found.text) == ("", "", False)


@pytest.mark.parametrize("page", [{}, {"enabled": False, "url": "https://h"}, None])
def test_without_a_page_that_a_phone_reaches_there_is_no_link(ask_session: Any, page: dict[str, Any] | None) -> None:
    asked_by_a_person(ask_session, page)
    found = composed(ask_session)
    assert (found.link, found.data["link"], "Answer here" in found.text) == ("", "", False)
    assert not Path(page_secret_file(ask_session.home, SETTINGS)).exists()


def test_a_secret_that_cannot_be_used_costs_only_the_link(ask_session: Any) -> None:
    asked_by_a_person(ask_session)
    path = Path(page_secret_file(ask_session.home, SETTINGS))
    path.write_text("x\n")
    path.chmod(0o644)
    found = composed(ask_session)
    assert (found.link, "Which database?" in found.text) == ("", True)
    [warning] = [one for one in ask_session.journal.records(None) if one.get("level") == "warning"]
    assert "no link to the question could be made" in str(warning)
