"""The question document and the pending-answer document: their one owner, which alone reads, writes and deletes them.

``question-<session>.json`` holds the question that a session is asking; ``pending-answer-<session>.json`` the answer
that somebody is delivering to it. Claude may ask several questions at once (calls in one message, a subagent): those
that find the name taken are named ``<session>:<tool_use_id>``, and so are their pending answers. A document is known
by the ``session`` and ``tool_use_id`` in it, never by its name alone, so that none is taken for another question's.

Whatever is written or deleted here is so under one lock for each session, because the hooks of several calls run at the
same time.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookrouter.answering import TerminalAddress
    from hookrouter.store import Store

__all__ = [
    "PendingAnswer",
    "Question",
    "delete_pending",
    "delete_question",
    "find_question",
    "holding",
    "is_client_gone",
    "is_form",
    "is_open",
    "list_questions",
    "open_condition",
    "others",
    "own_name",
    "process_space",
    "read_pending",
    "remove",
    "remove_left_behind",
    "save_pending",
    "save_question",
    "session_questions",
    "wake_missed",
]

QUESTION = "question"
PENDING = "pending-answer"
VERSION = 1

_LOCK_SECONDS = 3.0
"""How long to wait for another process's change of the same session's documents, which takes milliseconds."""


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
    fallbacks: tuple[str, ...] = ()
    """The gateways that are asked where ``gateway`` fails, in order."""
    client_host: str = ""
    """Where ``client_pid`` counts: see :func:`process_space`."""
    missed: bool = False
    """Whether the agent was not woken because the session was paused."""


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


def process_space() -> str:
    """Return what tells this machine's, or this container's, process ids from others'."""
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return f"{os.uname().nodename} {space}".strip()


def is_client_gone(question: Question) -> bool:
    """Whether the client that asked has certainly ended; False where that cannot be known from here."""
    if question.client_pid <= 0 or question.client_host != process_space():
        return False
    try:
        os.kill(question.client_pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


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


def own_name(session: str, tool_use_id: str) -> str:
    """Return the name that a question has for itself, beside the one that it may have as its session's first."""
    return f"{session}:{tool_use_id}"


def save_question(store: Store, question: Question) -> str:
    """Write the question durably, beside the others that its session has open; return the file's path.

    Raises StoreError.
    """
    from hookrouter.clock import iso

    terminal = question.terminal
    document = question._asdict() | {
        "version": VERSION,
        "saved_at": question.saved_at or iso(),
        "terminal": terminal._asdict() if terminal else None,
    }
    session, tool_use_id = question.session, question.tool_use_id
    with holding(store, session):
        name = _name(store, QUESTION, session, tool_use_id)
        if name is None:
            first = _question(store.read(QUESTION, session))
            name = session if first is None else own_name(session, tool_use_id)
        return store.write(QUESTION, name, document)


def list_questions(store: Store) -> list[Question]:
    """Return the open questions of all sessions, by session name and age, the oldest first."""
    found = [question for _, document in store.entries(QUESTION) if (question := _question(document))]
    return sorted(found, key=lambda question: (question.session, question.saved_at))


def session_questions(store: Store, session: str) -> list[Question]:
    """Return the open questions of one session, the oldest first."""
    return [question for question in list_questions(store) if question.session == session]


def others(store: Store, question: Question) -> list[Question]:
    """Return the questions that the same session has open beside this one, the oldest first."""
    return [other for other in session_questions(store, question.session) if other.tool_use_id != question.tool_use_id]


def find_question(store: Store, session_id: str, tool_use_id: str) -> Question | None:
    """Return the open question of this tool call, whatever its session is called by now."""
    for question in list_questions(store):
        if question.session_id == session_id and question.tool_use_id == tool_use_id:
            return question
    return None


def wake_missed(store: Store, question: Question, wake: Callable[[Question], None]) -> bool:
    """Call ``wake`` once for a question that was missed, and note that it was; return whether it was called.

    False where the question is over, or another process has done it. What ``wake`` raises leaves it missed; it may not
    write this session's documents. Raises StoreError.
    """
    session, tool_use_id = question.session, question.tool_use_id
    with holding(store, session):
        name = _name(store, QUESTION, session, tool_use_id)
        document = store.read(QUESTION, name) if name is not None else None
        if name is None or document is None or document.get("missed") is not True:
            return False
        wake(question)
        store.write(QUESTION, name, {**document, "missed": False})
        return True


def is_open(store: Store, session: str, tool_use_id: str) -> bool:
    """Say whether this question's document is there."""
    return _name(store, QUESTION, session, tool_use_id) is not None


def open_condition(session: str, tool_use_id: str) -> dict[str, object]:
    """Return what the outbox needs in order to see whether this question is open (``while_open``)."""
    names = [session, own_name(session, tool_use_id)]
    return {"kind": QUESTION, "names": names, "fields": {"session": session, "tool_use_id": tool_use_id}}


@contextlib.contextmanager
def holding(store: Store, session: str) -> Iterator[None]:
    """Let no other process change the session's documents during the block. Raises StoreError.

    Within it only :func:`remove` and what reads may be called: the others take the same lock.
    """
    from hookrouter.store import StoreBusy, StoreError

    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(store.lock(QUESTION, session, _LOCK_SECONDS))
        except StoreBusy as busy:
            raise StoreError(f"the documents of session {session} are held by {busy.holder}") from None
        yield


def remove(store: Store, session: str, tool_use_id: str) -> bool:
    """Delete the documents of one question while :func:`holding`; say whether the question's was there."""
    _delete(store, PENDING, session, tool_use_id)
    return _delete(store, QUESTION, session, tool_use_id)


def delete_question(store: Store, session: str, tool_use_id: str) -> bool:
    """Delete the documents of this question, and of no other; say whether the question's was there."""
    if all(_name(store, kind, session, tool_use_id) is None for kind in (QUESTION, PENDING)):
        return False
    with holding(store, session):
        return remove(store, session, tool_use_id)


def save_pending(store: Store, pending: PendingAnswer) -> str:
    """Write the pending answer durably, in place of an older one of its question; return the file's path.

    Raises StoreError.
    """
    from hookrouter.clock import iso

    document = pending._asdict() | {"version": VERSION, "saved_at": pending.saved_at or iso()}
    session, tool_use_id = pending.session, pending.tool_use_id
    with holding(store, session):
        name = _name(store, QUESTION, session, tool_use_id) or own_name(session, tool_use_id)
        return store.write(PENDING, name, document)


def read_pending(store: Store, session: str, tool_use_id: str) -> PendingAnswer | None:
    """Return the pending answer of one question, or None where it has none (or one that cannot be read)."""
    name = _name(store, PENDING, session, tool_use_id)
    document = store.read(PENDING, name) if name is not None else None
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


def delete_pending(store: Store, session: str, tool_use_id: str) -> bool:
    """Delete the pending answer of one question; say whether it was there."""
    if _name(store, PENDING, session, tool_use_id) is None:
        return False
    with holding(store, session):
        return _delete(store, PENDING, session, tool_use_id)


def remove_left_behind(store: Store, session: str) -> list[str]:
    """Delete the session's pending answers to questions that are not open any more; return their tool_use_ids."""
    if all(_text(document, "session") != session for _, document in store.entries(PENDING)):
        return []
    removed = []
    with holding(store, session):
        for name, document in store.entries(PENDING):
            tool_use_id = _text(document, "tool_use_id")
            if _text(document, "session") != session or _name(store, QUESTION, session, tool_use_id) is not None:
                continue
            if store.delete(PENDING, name if name == session else own_name(session, tool_use_id)):
                removed.append(tool_use_id)
    return removed


def _name(store: Store, kind: str, session: str, tool_use_id: str) -> str | None:
    """Return the name under which a question's document of one kind is saved; None where it has none."""
    for name in (session, own_name(session, tool_use_id)):
        document = store.read(kind, name)
        if document is not None and (document.get("session"), document.get("tool_use_id")) == (session, tool_use_id):
            return name
    return None


def _delete(store: Store, kind: str, session: str, tool_use_id: str) -> bool:
    name = _name(store, kind, session, tool_use_id)
    return name is not None and store.delete(kind, name)


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
        client_host=_text(document, "client_host"),
        fallbacks=_texts(document.get("fallbacks")),
        missed=document.get("missed") is True,
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


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _number(document: dict[str, Any], key: str) -> int:
    value = document.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
