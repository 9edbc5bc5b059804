"""Which of the open questions an answer is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs import documents
from hookrouter.dialogs.handover import Handover
from hookrouter.dialogs.transcript import question_state, reason_of
from hookrouter.dialogs.verdicts import list_verdicts
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.context import Services
    from hookrouter.dialogs.answers.result import AnswerResult
    from hookrouter.dialogs.documents import Dialog, PendingAnswer
    from hookrouter.storage.interface import DocumentStore

__all__ = ["AUTO", "candidates", "choose", "decision_on", "listed", "not_over", "session_names", "undecided"]

AUTO = "auto"
"""In place of a session's name: whichever session has the one open question, unless a session is called so."""


def choose(
    app: Services, result: AnswerResult, tool_use_id: str | None, expect: str | None, *, any_session: bool
) -> Dialog | AnswerResult:
    """Return the question that is meant, or the result that says why none is. Arguments: as ``answer()`` has them.

    ``result`` has the session that was named, and who answers. Raises StoreError.
    """
    session = result.session
    anywhere, found = candidates(app, session, any_session=any_session)
    if tool_use_id is not None and session == AUTO and not found:
        anywhere, found = True, documents.list_questions(app.store)
    question = _chosen(app, found, tool_use_id)
    if question is None:
        return _none_chosen(app, result, found, tool_use_id, anywhere=anywhere)
    if reason := _unexpected(app, question, tool_use_id, expect, is_person=result.by == "person"):
        return result._replace(session=question.session, reason=reason, candidates=(_candidate(question),))
    return question


def candidates(app: Services, session: str, *, any_session: bool) -> tuple[bool, list[Dialog]]:
    """Return whether any session is meant, and the open questions of those that are. Raises StoreError."""
    anywhere = any_session or session == "" or (session == AUTO and not _is_session(app, AUTO))
    if anywhere:
        return True, documents.list_questions(app.store)
    return False, documents.session_questions(app.store, session)


def not_over(questions: Sequence[Dialog]) -> list[Dialog]:
    """Leave out those that are over, as transcript or client show, though no event has swept them yet."""
    return [
        question
        for question in questions
        if not reason_of(question_state(question.transcript_path, question.tool_use_id))
        and not documents.is_client_gone(question)
    ]


def undecided(store: DocumentStore, questions: Sequence[Dialog]) -> list[Dialog]:
    """Leave out those that are over, and calls that were decided on and still run. Raises StoreError."""
    return [question for question in not_over(questions) if decision_on(store, question) is None]


def decision_on(store: DocumentStore, question: Dialog) -> PendingAnswer | None:
    """Return the decision on a call that was given, and of which it is not known yet what came. Raises StoreError.

    None for a form: its answer is recorded at once.
    """
    if question.is_form:
        return None
    pending = documents.read_pending(store, question.session, question.tool_use_id)
    if pending is None or Handover.of_call(store, question.session_id, question.tool_use_id).waiting() is not None:
        return None
    return pending


def listed(questions: Sequence[Dialog]) -> str:
    """Return the ids of questions for a message."""
    return ", ".join(question.tool_use_id for question in questions)


def session_names(app: Services) -> set[str]:
    """Return the names of all sessions that are known: they ask or have asked, an agent manages them by name, or hooks
    ran in them. Raises StoreError."""
    names = {question.session for question in documents.list_questions(app.store)}
    names |= {verdict.session for verdict in list_verdicts(app.store)}
    names |= {glob for agent in app.config.agents for glob in agent.sessions if not set(glob) & set("*?[")}
    # What is only a command's wish tells of no session.
    records = (record for record in app.journal.search(('"session":"',)) if record.get("event") != "pause")
    return names | {name for record in records if isinstance(name := record.get("session"), str) and name}


def _is_session(app: Services, name: str) -> bool:
    """Whether a session is or was called so."""
    return name in session_names(app)


def _unexpected(
    app: Services, question: Dialog, tool_use_id: str | None, expect: str | None, *, is_person: bool
) -> str:
    """Return why the one open question may not be the one that is meant; empty if it is."""
    texts = [form["question"] for form in question.questions]
    if expect is not None and not any(expect in text for text in texts):
        return f"the open question is another one than expected: {printable(' | '.join(texts))[:300]}"
    if tool_use_id is not None or expect is not None or is_person:
        return ""
    # Somebody else has ended the question before this one, and the agent has not been told of this one yet: then it
    # means the one before.
    before = [
        verdict for verdict in list_verdicts(app.store, session=question.session) if verdict.at <= question.saved_at
    ]
    last = max(before, key=lambda verdict: verdict.at, default=None)
    if last is None or last.by == "agent" or last.told_by == "answer" or not _is_unsent(app, question):
        return ""
    return (
        f"the question before this one ({last.tool_use_id}) ended without an answer of the agent, which has not been "
        f"told of this one yet: say which is meant with --tool-use-id {question.tool_use_id}, or with --expect TEXT"
    )


def _is_unsent(app: Services, question: Dialog) -> bool:
    """Whether the message about a question has not reached its agent; one that is on its way may have."""
    wanted = ("question", question.session_id, question.tool_use_id)
    return any(
        (one.kind, one.session_id, one.tool_use_id) == wanted and not one.may_have_arrived
        for one in app.outbox.pending()
    )


def _chosen(app: Services, found: Sequence[Dialog], tool_use_id: str | None) -> Dialog | None:
    """Return the question that is meant; None if it is not there, or several could be meant."""
    if tool_use_id is not None:
        meant = [question for question in found if question.tool_use_id == tool_use_id]
    else:
        meant = undecided(app.store, found) if len(found) > 1 else list(found)
    return meant[0] if len(meant) == 1 else None


def _none_chosen(
    app: Services, result: AnswerResult, found: Sequence[Dialog], tool_use_id: str | None, *, anywhere: bool
) -> AnswerResult:
    """Return the result if no question, or more than one, is meant; with those that could be."""
    session = result.session
    everywhere = documents.list_questions(app.store)
    shown = found or everywhere
    if anywhere:
        same = [question for question in found if question.tool_use_id == tool_use_id]
        if same:
            reason = f"several sessions ask the question {tool_use_id}: say which with --session: {_placed(same)}"
        elif tool_use_id is not None:
            reason = f"the question {tool_use_id} has ended, or was never asked; open: {_placed(found) or 'none'}"
        elif shown := not_over(found):
            reason = f"{len(shown)} questions are open: say which with --tool-use-id: {_placed(shown)}"
        else:
            reason = "no session has an open question"
    elif found and tool_use_id is not None:
        reason = f"the question {tool_use_id} has ended; session {session} now asks {listed(found)}"
    elif found:
        reason = f"session {session} has {len(found)} questions open: say which with --tool-use-id: {listed(found)}"
    else:
        sessions = list(dict.fromkeys(question.session for question in everywhere))
        others = f"; these sessions have one: {', '.join(sessions)}" if sessions else "; no session has one"
        reason = f"session {session} has no open question{others}"
        if session == AUTO and sessions:
            reason += '; "auto" is the name of a session here: --any means the session that asks'
    return result._replace(reason=reason, candidates=tuple(map(_candidate, shown)))


def _candidate(question: Dialog) -> Mapping[str, str]:
    return {"session": question.session, "tool_use_id": question.tool_use_id, "asked_at": question.saved_at}


def _placed(questions: Sequence[Dialog]) -> str:
    return ", ".join(f"{question.tool_use_id} in session {question.session}" for question in questions)
