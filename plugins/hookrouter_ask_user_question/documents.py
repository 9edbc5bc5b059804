"""The question document and the pending-answer document: their one owner, which alone reads, writes and deletes them.

``question-<session>.json`` holds the question that a session is asking now; ``pending-answer-<session>.json`` the
answer that somebody is delivering to it. Both carry the ``tool_use_id``, so that neither is ever taken for another
question's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from hookrouter.answering import TerminalAddress
    from hookrouter.store import Store

__all__ = [
    "PendingAnswer",
    "Question",
    "delete_pending",
    "delete_question",
    "find_question",
    "is_form",
    "list_questions",
    "read_pending",
    "read_question",
    "save_pending",
    "save_question",
]

QUESTION = "question"
PENDING = "pending-answer"
VERSION = 1


class Question(NamedTuple):
    """One open question of one session."""

    session: str
    session_id: str
    tool_use_id: str
    questions: list[dict[str, Any]]
    """The form as Claude Code sent it."""
    terminal: TerminalAddress | None
    """Where the dialog is drawn; None outside any known terminal."""
    agent: str
    gateway: str
    saved_at: str = ""
    """ISO 8601, UTC."""
    cwd: str = ""
    transcript_path: str = ""
    permission_mode: str = ""
    agent_id: str = ""
    """The subagent that asks; empty for the main conversation."""
    client_pid: int = 0
    """The process id of the Claude Code client (``CLAUDE_PID`` of its hooks); 0 where it is not known."""


class PendingAnswer(NamedTuple):
    """The answer that is being delivered to an open question."""

    session: str
    session_id: str
    tool_use_id: str
    decisions: list[dict[str, Any]]
    """The decisions in their JSON form, checked and normalised."""
    channel: str
    """The channel that is at it; empty before the first is chosen."""
    pid: int
    """The process that delivers it."""
    saved_at: str = ""


def is_form(questions: object) -> bool:
    """Say whether this is a list of questions that can be shown and answered: texts and labels are all there."""
    return isinstance(questions, list) and bool(questions) and all(_is_question(question) for question in questions)


def _is_question(question: object) -> bool:
    if not isinstance(question, dict) or not isinstance(question.get("question"), str):
        return False
    options = question.get("options")
    return (
        isinstance(options, list)
        and bool(options)
        and all(isinstance(option, dict) and isinstance(option.get("label"), str) for option in options)
    )


def save_question(store: Store, question: Question) -> str:
    """Write the question durably, in place of an older one of its session; return the file's path.

    Raises StoreError.
    """
    from hookrouter.clock import iso

    terminal = question.terminal
    document = question._asdict() | {
        "version": VERSION,
        "saved_at": question.saved_at or iso(),
        "terminal": terminal._asdict() if terminal else None,
    }
    return store.write(QUESTION, question.session, document)


def read_question(store: Store, session: str) -> Question | None:
    """Return the session's open question, or None where it has none (or one that cannot be read)."""
    return _question(store.read(QUESTION, session))


def list_questions(store: Store) -> list[Question]:
    """Return the open questions of all sessions, by session name."""
    return [question for _, document in store.entries(QUESTION) if (question := _question(document))]


def find_question(store: Store, session_id: str, tool_use_id: str) -> Question | None:
    """Return the open question of this tool call, whatever its session is called by now."""
    for question in list_questions(store):
        if question.session_id == session_id and question.tool_use_id == tool_use_id:
            return question
    return None


def delete_question(store: Store, question: Question) -> bool:
    """Delete this question's document, and no later question's; say whether it was there."""
    current = store.read(QUESTION, question.session)
    if current is None or current.get("tool_use_id") != question.tool_use_id:
        return False
    return store.delete(QUESTION, question.session)


def save_pending(store: Store, pending: PendingAnswer) -> str:
    """Write the pending answer durably, in place of an older one of its session; return the file's path.

    Raises StoreError.
    """
    from hookrouter.clock import iso

    document = pending._asdict() | {"version": VERSION, "saved_at": pending.saved_at or iso()}
    return store.write(PENDING, pending.session, document)


def read_pending(store: Store, session: str) -> PendingAnswer | None:
    """Return the session's pending answer, or None where it has none (or one that cannot be read)."""
    document = store.read(PENDING, session)
    if document is None:
        return None
    decisions = document.get("decisions")
    if not isinstance(decisions, list) or not all(isinstance(decision, dict) for decision in decisions):
        return None
    return PendingAnswer(
        session=_text(document, "session"),
        session_id=_text(document, "session_id"),
        tool_use_id=_text(document, "tool_use_id"),
        decisions=decisions,
        channel=_text(document, "channel"),
        pid=_number(document, "pid"),
        saved_at=_text(document, "saved_at"),
    )


def delete_pending(store: Store, session: str, tool_use_id: str | None = None) -> bool:
    """Delete the session's pending answer; with ``tool_use_id`` only if it is that question's. Say whether one went."""
    if tool_use_id is not None:
        current = store.read(PENDING, session)
        if current is None or current.get("tool_use_id") != tool_use_id:
            return False
    return store.delete(PENDING, session)


def _question(document: dict[str, Any] | None) -> Question | None:
    if document is None or not is_form(document.get("questions")):
        return None
    session, tool_use_id = _text(document, "session"), _text(document, "tool_use_id")
    if not session or not tool_use_id:
        return None
    return Question(
        session=session,
        session_id=_text(document, "session_id"),
        tool_use_id=tool_use_id,
        questions=document["questions"],
        terminal=_address(document.get("terminal")),
        agent=_text(document, "agent"),
        gateway=_text(document, "gateway"),
        saved_at=_text(document, "saved_at"),
        cwd=_text(document, "cwd"),
        transcript_path=_text(document, "transcript_path"),
        permission_mode=_text(document, "permission_mode"),
        agent_id=_text(document, "agent_id"),
        client_pid=_number(document, "client_pid"),
    )


def _address(value: object) -> TerminalAddress | None:
    from hookrouter.answering import TerminalAddress

    if not isinstance(value, dict):
        return None
    parts = [part for field in TerminalAddress._fields if isinstance(part := value.get(field), str)]
    return TerminalAddress(*parts) if len(parts) == len(TerminalAddress._fields) else None


def _text(document: dict[str, Any], key: str) -> str:
    value = document.get(key)
    return value if isinstance(value, str) else ""


def _number(document: dict[str, Any], key: str) -> int:
    value = document.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
