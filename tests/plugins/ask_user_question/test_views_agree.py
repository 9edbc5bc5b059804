"""Whatever happens to questions, every view tells the same of them: checked after each step of random nights."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hookrouter.answering.interfaces import AnswerOutcome, AnswerStatus
from hookrouter.cli.dialogs import pause
from hookrouter.cli.main import main
from hookrouter.config import AnswerConfig, Config
from hookrouter.dialogs import transcript
from hookrouter.dialogs.answers.answer import answer
from support.ask_session import FORM, AskSession
from support.stepped_time import SteppedTime
from support.views import Run, Views, read_views

RIGHT = json.dumps([{"action": "select", "optionIndex": 1}, {"action": "multi-select", "selectedIndices": [0]}])
CHAT = json.dumps([{"action": "chat", "text": "let us talk"}])
ANSWERS = {"Which database?": "Postgres", "Which features?": "Auth"}
DECLINED = "The user doesn't want to proceed with this tool use."
TALKED = f"{DECLINED} the user said: The user wants to clarify these questions."
SESSIONS = {"work": "s-1", "deploy": "s-2"}
sessions = st.sampled_from(sorted(SESSIONS))


def in_process(asking: AskSession) -> Run:
    """Return what runs commands in this process, on the home of a test."""

    def run(arguments: Any) -> Any:
        out = io.StringIO()
        with contextlib.ExitStack() as stack:
            stack.enter_context(
                patch("hookrouter.cli.application.Application.from_environ", lambda *_, **__: asking.app)
            )
            for module in ("questions", "history"):
                stack.enter_context(patch(f"hookrouter.cli.dialogs.{module}.push"))
            stack.enter_context(patch("hookrouter.cli.outbox.push"))
            stack.enter_context(patch("hookrouter.cli.dialogs.pause.spawn_delivery"))
            stack.enter_context(contextlib.redirect_stdout(out))
            main(list(arguments))
        return json.loads(out.getvalue())

    return run


class Night(RuleBasedStateMachine):
    """Two sessions that ask, their agents, a person, and what goes wrong."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.patches = pytest.MonkeyPatch()
        # Nothing happens beside this process, so nothing comes of waiting.
        for module in (transcript, pause):
            self.patches.setattr(module, "time", SteppedTime())
        for name in ("_AFTER_KEYS_SECONDS", "_DECLINED_SECONDS"):
            self.patches.setattr(f"hookrouter.dialogs.answers.answer.{name}", 0.1)
        self.asking = AskSession(self.folder)
        self.asking.config = Config(answer=AnswerConfig(remind_after=60.0, escalate_to="inbox"))
        self.run = in_process(self.asking)
        self.number = 0
        self.blocks: dict[str, list[dict[str, Any]]] = {name: [] for name in SESSIONS}
        self.waiting: dict[str, list[str]] = {name: [] for name in SESSIONS}
        """What nobody has closed in Claude Code, by session."""
        self.over: list[tuple[str, str]] = []
        self.journal_is_whole = True

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.patches.undo()
            shutil.rmtree(self.folder)

    def fields(self, session: str, tool_use_id: str) -> dict[str, Any]:
        path = self.folder / f"{session}.jsonl"
        self.asking.transcript = path
        self.asking.write_transcript(*self.blocks[session])
        return {
            "environ": {"FAKE_SESSION": session, "FAKE_PANE": f"%{session}"},
            "session_id": SESSIONS[session],
            "tool_use_id": tool_use_id,
            "transcript_path": str(path),
        }

    def result(self, session: str, tool_use_id: str, content: str, *, is_error: bool) -> None:
        block = {"type": "tool_result", "tool_use_id": tool_use_id, "is_error": is_error, "content": content}
        self.blocks[session].append(block)

    def closed(self, session: str, tool_use_id: str) -> None:
        self.waiting[session].remove(tool_use_id)
        self.over.append((session, tool_use_id))

    def answered(self, session: str, answers: dict[str, str], **response: Any) -> None:
        """Claude Code records an answer."""
        tool_use_id = self.waiting[session][0]
        self.closed(session, tool_use_id)
        self.result(session, tool_use_id, "User has answered your questions", is_error=False)
        named = {f"{question} ({tool_use_id})": text for question, text in answers.items()}
        notes = {f"{question} ({tool_use_id})": one for question, one in response.pop("annotations", {}).items()}
        whole = {"questions": FORM, "answers": named, "annotations": notes, **response}
        fields = self.fields(session, tool_use_id)
        self.asking.record_answers({}, **fields, tool_response=whole)

    @precondition(lambda self: sum(map(len, self.waiting.values())) < 4)
    @rule(session=sessions)
    def ask(self, session: str) -> None:
        self.number += 1
        tool_use_id = f"toolu_{self.number}"
        self.blocks[session].append({"type": "tool_use", "id": tool_use_id, "name": "AskUserQuestion"})
        # Two that are open at once must have words of their own, or no answer could tell them apart.
        form = [{**one, "question": f"{one['question']} ({tool_use_id})"} for one in FORM]
        self.waiting[session].append(tool_use_id)
        self.asking.ask(**self.fields(session, tool_use_id), tool_input={"questions": form})

    @precondition(lambda self: any(self.waiting.values()))
    @rule(session=sessions, wrong=st.booleans(), wait=st.sampled_from([0.0, 1.0]))
    def agent_answers(self, session: str, wrong: bool, wait: float) -> None:
        def act(_: object) -> AnswerOutcome:
            self.answered(session, {**ANSWERS, "Which database?": "SQLite"} if wrong else ANSWERS)
            return AnswerOutcome(AnswerStatus.DELIVERED, "the dialog took it")

        self.say(session, RIGHT, act, wait)

    @precondition(lambda self: any(self.waiting.values()))
    @rule(session=sessions)
    def agent_is_late(self, session: str) -> None:
        """A person is first, while the agent's answer is on its way."""

        def act(_: object) -> AnswerOutcome:
            self.answered(session, {**ANSWERS, "Which features?": "Export"})
            return AnswerOutcome(AnswerStatus.REFUSED, "the dialog is gone")

        self.say(session, RIGHT, act, 1.0)

    @precondition(lambda self: any(self.waiting.values()) and self.journal_is_whole)
    @rule(session=sessions)
    def agent_cannot_reach_it(self, session: str) -> None:
        self.say(session, RIGHT, lambda _: AnswerOutcome(AnswerStatus.UNAVAILABLE, "no pane"), 0.0)

    @precondition(lambda self: any(self.waiting.values()))
    @rule(session=sessions)
    def agent_waits_in_vain(self, session: str) -> None:
        self.say(session, RIGHT, lambda _: AnswerOutcome(AnswerStatus.DELIVERED, "taken"), 0.01)

    @precondition(lambda self: any(self.waiting.values()))
    @rule(session=sessions)
    def agent_talks(self, session: str) -> None:
        def act(_: object) -> AnswerOutcome:
            self.result(session, self.waiting[session][0], TALKED, is_error=True)
            self.closed(session, self.waiting[session][0])
            self.fields(session, "")
            return AnswerOutcome(AnswerStatus.DELIVERED, "said")

        self.say(session, CHAT, act, 1.0)

    @precondition(lambda self: self.over)
    @rule(index=st.integers(0, 20), named=st.booleans())
    def agent_answers_what_is_over(self, index: int, named: bool) -> None:
        session, tool_use_id = self.over[index % len(self.over)]
        self.fields(session, "")
        self.checked(answer(self.asking.app, session if named else "", RIGHT, tool_use_id=tool_use_id, wait=0.0))

    def say(self, session: str, text: str, act: Any, wait: float) -> None:
        if not self.waiting[session]:
            return
        self.asking.first.act = act
        tool_use_id = self.waiting[session][0]
        self.fields(session, "")
        self.checked(answer(self.asking.app, session, text, tool_use_id=tool_use_id, wait=wait))

    def checked(self, result: Any) -> None:
        problems = read_views(self.run).of_answer(result.document())
        # Without its journal, what a question was asked before is known to nobody.
        assert not problems or not self.journal_is_whole, problems

    @precondition(lambda self: any(self.waiting.values()))
    @rule(session=sessions, note=st.booleans())
    def person_answers(self, session: str, note: bool) -> None:
        if self.waiting[session]:
            self.answered(session, ANSWERS, annotations={"Which database?": {"notes": "for now"}} if note else {})

    @precondition(lambda self: any(self.waiting.values()))
    @rule(session=sessions)
    def dialog_times_out(self, session: str) -> None:
        if self.waiting[session]:
            self.answered(session, {}, afkTimeoutMs=60000)

    @precondition(lambda self: any(self.waiting.values()))
    @rule(session=sessions, content=st.sampled_from([DECLINED, TALKED]), swept=st.booleans())
    def person_presses_escape(self, session: str, content: str, swept: bool) -> None:
        if not self.waiting[session]:
            return
        tool_use_id = self.waiting[session][0]
        self.result(session, tool_use_id, content, is_error=True)
        fields = self.fields(session, tool_use_id)
        self.closed(session, tool_use_id)
        if swept:
            del fields["tool_use_id"]
            self.asking.hook("user_prompt_submit", **fields, prompt="go on")

    @rule(session=sessions, hook=st.sampled_from(["stop", "session_end", "session_start"]))
    def session_goes_on(self, session: str, hook: str) -> None:
        fields = self.fields(session, "")
        del fields["tool_use_id"]
        more = {"stop": {"stop_hook_active": False}, "session_end": {"reason": "other"}}
        self.asking.hook(hook, **fields, **more.get(hook, {"source": "resume"}))
        if hook != "stop":
            for tool_use_id in list(self.waiting[session]):
                self.closed(session, tool_use_id)

    @rule(session=sessions, every=st.booleans(), on=st.booleans())
    def pause_or_resume(self, session: str, every: bool, on: bool) -> None:
        scope = ["--all"] if every else ["--session", session]
        with contextlib.suppress(json.JSONDecodeError):
            # What is not paused cannot be resumed, and is said on stderr.
            self.run(["pause" if on else "resume", *scope, "--json"])

    @precondition(lambda self: any(self.waiting.values()))
    @rule(session=sessions, kind=st.sampled_from(["question", "reminder", "escalation"]))
    def message_is_delivered(self, session: str, kind: str) -> None:
        if self.waiting[session]:
            ids = {"session_id": SESSIONS[session], "tool_use_id": self.waiting[session][0], "session": session}
            record = {"event": "delivery", "outcome": "delivered", "kind": kind, **ids}
            self.asking.journal.write(record, SESSIONS[session])

    @precondition(lambda self: self.number and self.journal_is_whole)
    @rule(sure=st.sampled_from([False, False, True]))
    def journal_is_lost(self, sure: bool) -> None:
        if sure:
            shutil.rmtree(self.asking.home.logs)
            self.journal_is_whole = False

    @invariant()
    def views_agree(self) -> None:
        if hasattr(self, "folder"):
            views = read_views(self.run)
            problems = views.contradictions()
            assert not problems or not self.journal_is_whole, problems
            # The views of one story agree even then; only the outbox may know of a question whose story is lost.
            assert not views._replace(outbox=[]).contradictions()


TestNight = pytest.mark.slow(Night.TestCase)
TestNight.settings = settings(stateful_step_count=14, suppress_health_check=list(HealthCheck))


def test_a_question_that_ended_by_escape_and_was_answered_then(ask_session: AskSession) -> None:
    run = in_process(ask_session)
    ask_session.write_transcript({"type": "tool_use", "id": "toolu_1"})
    ask_session.ask()
    ask_session.write_transcript(
        {"type": "tool_use", "id": "toolu_1"},
        {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": DECLINED},
    )
    result = answer(ask_session.app, "main", RIGHT)
    assert (result.exit_code, result.outcome) == (4, "unanswered")
    views = read_views(run)
    assert views.contradictions() == views.of_answer(result.document()) == []
    assert (views.stats["questions"]["unanswered"], views.stats["questions"]["open"]) == (1, 0)


def test_a_question_without_a_known_end_is_unknown_everywhere(ask_session: AskSession) -> None:
    ask_session.ask()
    shutil.rmtree(ask_session.home.state)
    views = read_views(in_process(ask_session))
    assert views.contradictions() == []
    assert (views.stats["questions"]["open"], views.stats["questions"]["unknown"]) == (0, 1)


@pytest.mark.parametrize(
    ("view", "changed"),
    [
        ("history", [{"outcome": "verified"}]),
        ("history", [{"agent": "another"}]),
        ("history", [{"asked_at": "2026-01-01T00:00:00.000Z"}]),
        ("outbox", [{"tool_use_id": "toolu_9"}]),
        ("outbox", [{"agent": "another"}]),
    ],
)
def test_the_check_sees_what_differs(ask_session: AskSession, view: str, changed: list[dict[str, Any]]) -> None:
    ask_session.ask()
    views = read_views(in_process(ask_session))
    assert views.contradictions() == []
    other = [{**entry, **change} for entry, change in zip(getattr(views, view), changed, strict=True)]
    assert Views(**{**views._asdict(), view: other}).contradictions()
