"""The question document and the pending-answer document: their one owner, which alone reads, writes and deletes them.

``question-<name>.json`` holds a question that is open, ``pending-answer-<name>.json`` the answer that somebody is
delivering to it. The name is ``<session_id>:<session>:<tool_use_id>``, so that those of one session are found by their
names, however many others are open: a hook reads no other session's questions. Claude may ask several at once (calls in
one message, a subagent), and a session may have got another name since. A document is known by what stands in it, never
by its name alone, so that none is taken for another question's.

Whatever is written or deleted here is so under one lock for each session, because the hooks of several calls run at the
same time.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.storage.engine import durable_together
from hookrouter.storage.home import DocumentKind
from hookrouter.util.claude_process import is_gone, process_space
from hookrouter.util.fields import number, record, text, texts
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeGuard

    from hookrouter.storage.interface import DocumentStore
    from hookrouter.terminals import TerminalAddress

__all__ = [
    "ANSWER_LOCK",
    "Dialog",
    "PendingAnswer",
    "client_here",
    "delete_pending",
    "delete_question",
    "find_question",
    "forms_beside",
    "has_provisional",
    "holding",
    "is_being_answered",
    "is_client_gone",
    "is_elsewhere",
    "is_form",
    "is_open",
    "is_young",
    "list_questions",
    "near",
    "open_condition",
    "open_question",
    "others",
    "own_name",
    "question_of",
    "read_pending",
    "remove",
    "remove_left_behind",
    "save_pending",
    "save_question",
    "session_questions",
    "settle",
    "shown_form",
    "shown_text",
    "tell_once",
    "wake_missed",
]

QUESTION = DocumentKind("question", shared=True)
"""The kind of the documents of open dialogs, whatever asks."""
FORM = "question"
"""What a document, a verdict or a journal record is about that names no kind of dialog: one that names it is of a
version that knew others."""
PENDING = DocumentKind("pending-answer", shared=True)
UNSETTLED = DocumentKind("unsettled", shared=True)
"""The kind of what stands beside a question that is provisional: with it a hook sees that there is one, of whatever
session, without reading any question."""
TOLD = DocumentKind("told", shared=True)
"""The kind of what says which messages about an open question are in the outbox, or have been: a hook may run twice."""
VERSION = 1

ANSWER_LOCK = "answer"
"""The kind of the locks that a running ``hookrouter answer`` holds: one by session, because two cannot type into one
terminal, and one by the question's own name, which says what it is at."""

JOURNALLED_CHARACTERS = 200
"""Of each of a form's texts, and of a person's answer, the journal keeps at most so many characters."""
JOURNALLED_QUESTIONS = 8

DRAWN_SECONDS = 30.0
"""The age from which a question's dialog is taken to have been drawn. Other PreToolUse hooks may delay it; without a
transcript, a new prompt can only have been typed after an older one was closed."""

_COLONS = 2
"""So many colons, or more, are in a name."""

_LOCK_SECONDS = 15.0
"""How long to wait for another process's change of the same session's documents. It takes milliseconds, but seconds on
a machine that has far more to do than it can; a question that cannot be saved is lost to its agent, so a hook waits for
half of the time that a plugin has."""


class Dialog(NamedTuple):
    """One open dialog of one session: a question, or what another kind of dialog asks."""

    session: str
    """The session's name."""
    session_id: str
    """Claude Code's id of the session."""
    tool_use_id: str
    """Claude Code's id of the tool call that asks."""
    questions: list[dict[str, Any]]
    """The form as Claude Code sent it."""
    terminal: TerminalAddress | None
    """Where the dialog is drawn; None outside any known terminal."""
    agent: str
    """The agent's id; empty if config.toml had problems, and what held then named none."""
    gateway: str
    """The gateway that wakes the agent, by its name in config.toml."""
    saved_at: str = ""
    """ISO 8601, UTC."""
    cwd: str = ""
    """The session's working folder."""
    transcript_path: str = ""
    """Where Claude Code writes the session's transcript."""
    permission_mode: str = ""
    """The session's permission mode when it asked."""
    agent_id: str = ""
    """The subagent that asks; empty for the main conversation."""
    client_pid: int = 0
    """The process id of the Claude Code client (``CLAUDE_PID`` of its hooks); 0 if it is not known."""
    fallbacks: tuple[str, ...] = ()
    """The gateways that are asked if ``gateway`` fails, in order."""
    client_host: str = ""
    """Where ``client_pid`` counts: see :func:`process_space`."""
    missed: bool = False
    """Whether the agent was not woken because the session was paused, or because it has none yet."""
    provisional: bool = False
    """Whether config.toml had problems when it was asked, so that its agent may be another one."""
    kind: str = FORM
    """What stops the session, by the name of its kind, see :mod:`hookrouter.dialogs.kinds`."""
    request: Mapping[str, Any] = {}
    """What is to be decided, as the kind has it; empty for a question, whose form says all. Otherwise the form shows it
    to people."""

    @property
    def is_form(self) -> bool:
        """Whether the form says all, and one decision on each of its questions answers it."""
        return not self.request

    @property
    def is_reserved(self) -> bool:
        """Whether a rule of the user leaves it to a person: no agent's answer is taken."""
        return self.request.get("decider") == "person"


class PendingAnswer(NamedTuple):
    """The answer that is being delivered to an open question."""

    session: str
    """The session's name."""
    session_id: str
    """Claude Code's id of the session."""
    tool_use_id: str
    """Claude Code's id of the tool call that asks."""
    decisions: list[dict[str, Any]]
    """The decisions in their JSON form, checked and normalised."""
    channel: str
    """The channel that is at it; empty before the first is chosen."""
    pid: int
    """The process that delivers it."""
    saved_at: str = ""
    """ISO 8601, UTC."""
    by: str = "agent"
    """Who decided: ``agent`` or ``person``."""
    who: str = ""
    """The login name of the person who decided; empty for an agent, or if it is not known."""


def is_client_gone(question: Dialog) -> bool:
    """Whether the client that asked has certainly ended; False if that cannot be known from here."""
    return question.client_host == process_space() and is_gone(question.client_pid)


def client_here(question: Dialog) -> int:
    """Return the process id of the client that asked; 0 if it is not known, or does not count here."""
    return question.client_pid if question.client_host == process_space() else 0


def is_young(question: Dialog) -> bool:
    """Whether its dialog may not have been drawn yet. A time in the future (a clock set back) is not young."""
    from hookrouter.util.clock import iso, now

    return iso(now() - DRAWN_SECONDS) < question.saved_at <= iso(now() + 1)


def is_being_answered(store: DocumentStore, question: Dialog) -> bool:
    """Whether a ``hookrouter answer`` runs for this question now. Takes no lock, and writes nothing."""
    return store.lock_holder(ANSWER_LOCK, own_name(question.session, question.tool_use_id)) is not None


def is_form(questions: object) -> TypeGuard[list[dict[str, Any]]]:
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


def forms_beside(store: DocumentStore, question: Dialog) -> list[Dialog]:
    """Return the other forms that are open in the same Claude session, or in the same pane, the oldest first.

    A session may be resumed by a second client, in a pane of its own: then two panes show its forms.
    """
    return [
        other
        for other in near(store, question.session_id, question.session)
        if other.is_form
        and other.tool_use_id != question.tool_use_id
        and (other.session_id == question.session_id or None is not other.terminal == question.terminal)
    ]


def is_elsewhere(question: Dialog, other: Dialog) -> bool:
    """Whether two questions are certainly drawn in different panes, whatever the terminal's sessions are called."""
    one, two = question.terminal, other.terminal
    if one is None or two is None:
        return False
    return (one.backend, one.server, one.target) != (two.backend, two.server, two.target)


def shown_form(questions: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return what the journal keeps of a form: its texts, made safe and short."""
    kept = []
    for form in questions[:JOURNALLED_QUESTIONS]:
        header = form.get("header")
        shown = shown_text(header) if isinstance(header, str) else ""
        kept.append({"header": shown, "question": shown_text(form["question"])})
    return kept


def shown_text(text: str) -> str:
    """Return a text as the journal keeps it: without control characters but newlines and tabs, and cut."""
    # Escapes make a text longer, so it is cut before and after.
    shown = printable(text[: JOURNALLED_CHARACTERS + 1], keep_newlines=True)
    return shown if len(shown) <= JOURNALLED_CHARACTERS else f"{shown[: JOURNALLED_CHARACTERS - 1]}…"


def own_name(session: str, tool_use_id: str) -> str:
    """Return the name of what belongs to one question beside its own documents: its verdict, the lock of an answer."""
    return f"{session}:{tool_use_id}"


def save_question(store: DocumentStore, question: Dialog) -> str:
    """Write the question durably, beside the others that its session has open; return where it is.

    Raises StoreError.
    """
    from hookrouter.util.clock import iso

    terminal = question.terminal
    document = question._asdict() | {
        "version": VERSION,
        "saved_at": question.saved_at or iso(),
        "terminal": terminal._asdict() if terminal else None,
    }
    with holding(store, question.session):
        return _write_question(store, question, document)


def open_question(store: DocumentStore, question: Dialog, tell: Callable[[Dialog], None]) -> Dialog:
    """Save a question unless this call has saved it already, and call ``tell`` unless it is missed; return it as saved.

    A hook may run twice for one call, because the first run was killed at any point, or while it still runs. ``tell``
    may not write this session's documents. Raises StoreError, as ``tell`` may.
    """
    with holding(store, question.session), durable_together():
        former = find_question(store, question.session_id, question.tool_use_id)
        if former is not None:
            # What others have noted in it since is kept.
            question = former
        else:
            save = {**question._asdict(), "version": VERSION}
            _write_question(store, question, {**save, "terminal": question.terminal and question.terminal._asdict()})
        if not question.missed:
            tell(question)
        return question


def _write_question(store: DocumentStore, question: Dialog, document: dict[str, object]) -> str:
    name = _document_name(question)
    where = store.write(QUESTION, name, document)
    if question.provisional:
        # After the question: one that is alone is of a question that has ended.
        store.write(UNSETTLED, name, {"version": VERSION}, durable=False)
    return where


def tell_once(
    store: DocumentStore, question: Dialog, kind: str, put: Callable[[], object], is_put: Callable[[], bool]
) -> None:
    """Call ``put``, which puts a message of one kind about a question into the outbox, unless an earlier run has.

    ``is_put`` looks for it there; it is asked only if a run that was to put it in did not come to say that it had. For
    whoever has the question's session :func:`holding`. Raises StoreError, as ``put`` may.
    """
    from hookrouter.storage.interface import StoreError

    name = _document_name(question)
    document = store.read(TOLD, name) or {}
    known = texts(document, "kinds")
    if kind in known:
        return
    # A full disk: the message itself says so, and one too many is better than none.
    with contextlib.suppress(StoreError):
        if text(document, "next") == kind and is_put():
            put = _nothing
        else:
            store.write(TOLD, name, {"version": VERSION, "kinds": list(known), "next": kind}, durable=False)
    put()
    with contextlib.suppress(StoreError):
        store.write(TOLD, name, {"version": VERSION, "kinds": [*known, kind]}, durable=False)


def _nothing() -> None:
    """Put nothing in, because it is there."""


def list_questions(store: DocumentStore) -> list[Dialog]:
    """Return the open questions of all sessions, by session name and age, the oldest first."""
    return _found(store, lambda _: True)


def session_questions(store: DocumentStore, session: str) -> list[Dialog]:
    """Return the open questions of one session, the oldest first."""
    found = _found(store, lambda name: f":{session}:" in name)
    return [question for question in found if question.session == session]


def near(store: DocumentStore, session_id: str, session: str = "") -> list[Dialog]:
    """Return the open questions of one Claude session, whatever it was called, and of one session name if it is given.

    Sorted as :func:`list_questions` does.
    """
    found = _found(store, lambda name: name.startswith(f"{session_id}:") or (session != "" and f":{session}:" in name))
    return [
        one for one in found if (session_id and one.session_id == session_id) or (session and one.session == session)
    ]


def others(store: DocumentStore, question: Dialog) -> list[Dialog]:
    """Return the questions that the same session has open beside this one, the oldest first."""
    return [other for other in session_questions(store, question.session) if other.tool_use_id != question.tool_use_id]


def find_question(store: DocumentStore, session_id: str, tool_use_id: str) -> Dialog | None:
    """Return the open question of this tool call, whatever its session is called by now."""
    for question in _found(store, lambda name: name.startswith(f"{session_id}:")):
        if question.session_id == session_id and question.tool_use_id == tool_use_id:
            return question
    return None


def _found(store: DocumentStore, named: Callable[[str], bool]) -> list[Dialog]:
    """Return the open questions whose documents have such names, by session name and age."""
    documents = _entries(store, QUESTION, named).values()
    found = [question for document in documents if (question := question_of(document))]
    return sorted(found, key=lambda question: (question.session, question.saved_at))


def wake_missed(store: DocumentStore, question: Dialog, wake: Callable[[Dialog], None]) -> bool:
    """Call ``wake`` once for a question that was missed, and note that it was; return whether it was called.

    False if the question has ended, or another process has done it. What ``wake`` raises leaves it missed; it may not
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


def settle(store: DocumentStore, question: Dialog, tell: Callable[[Dialog], None]) -> bool:
    """Note for good whose a provisional question is, and call ``tell`` with it, once; return whether this did it.

    ``question`` is as it is to be. False if it has ended, or another process has done it. What ``tell`` raises leaves
    it provisional; it may not write this session's documents. Raises StoreError.
    """
    session, tool_use_id = question.session, question.tool_use_id
    with holding(store, session):
        name = _name(store, QUESTION, session, tool_use_id)
        document = store.read(QUESTION, name) if name is not None else None
        if name is None or document is None or document.get("provisional") is not True:
            return False
        # Whoever was told before was another agent.
        store.delete(TOLD, name)
        tell(question)
        settled = {key: getattr(question, key) for key in ("agent", "gateway", "missed", "provisional")}
        store.write(QUESTION, name, {**document, **settled, "fallbacks": list(question.fallbacks)})
        store.delete(UNSETTLED, name)
        return True


def has_provisional(store: DocumentStore) -> bool:
    """Whether any session has a provisional question; reads no question if none has."""
    found = False
    for name, _ in store.entries(UNSETTLED):
        question = store.read(QUESTION, name)
        if question is not None and question.get("provisional") is True:
            found = True
        else:
            # Whoever closed or settled it was killed before this.
            store.delete(UNSETTLED, name)
    return found


def is_open(store: DocumentStore, session: str, tool_use_id: str) -> bool:
    """Say whether this question's document is there."""
    return _name(store, QUESTION, session, tool_use_id) is not None


def open_condition(question: Dialog) -> dict[str, object]:
    """Return what the outbox needs in order to see whether this question is open (``while_open``)."""
    fields = {"session": question.session, "tool_use_id": question.tool_use_id}
    return {"kind": QUESTION, "names": [_document_name(question)], "fields": fields}


@contextlib.contextmanager
def holding(store: DocumentStore, session: str) -> Iterator[None]:
    """Let no other process change the session's documents during the block. Raises StoreError.

    Within it only :func:`remove` and what reads may be called: the others take the same lock.
    """
    from hookrouter.storage.interface import StoreBusy, StoreError

    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(store.lock(QUESTION, session, _LOCK_SECONDS))
        except StoreBusy as busy:
            raise StoreError(f"the documents of session {session} are held by {busy.holder}") from None
        yield


def remove(store: DocumentStore, session: str, tool_use_id: str) -> bool:
    """Delete the documents of one question while :func:`holding`; say whether the question's was there."""
    _delete(store, PENDING, session, tool_use_id)
    name = _name(store, QUESTION, session, tool_use_id)
    if name is None:
        return False
    deleted = store.delete(QUESTION, name)
    for kind in (UNSETTLED, TOLD):
        store.delete(kind, name)
    return deleted


def delete_question(store: DocumentStore, session: str, tool_use_id: str) -> bool:
    """Delete the documents of this question, and of no other; say whether the question's was there."""
    if all(_name(store, kind, session, tool_use_id) is None for kind in (QUESTION, PENDING)):
        return False
    with holding(store, session):
        return remove(store, session, tool_use_id)


def save_pending(store: DocumentStore, pending: PendingAnswer) -> str:
    """Write the pending answer durably, in place of an older one of its question; return where it is.

    Raises StoreError.
    """
    from hookrouter.util.clock import iso

    document = pending._asdict() | {"version": VERSION, "saved_at": pending.saved_at or iso()}
    with holding(store, pending.session):
        return store.write(PENDING, _document_name(pending), document)


def read_pending(store: DocumentStore, session: str, tool_use_id: str) -> PendingAnswer | None:
    """Return the pending answer of one question, or None if it has none (or one that cannot be read)."""
    name = _name(store, PENDING, session, tool_use_id)
    document = store.read(PENDING, name) if name is not None else None
    if document is None:
        return None
    decisions = document.get("decisions")
    if not isinstance(decisions, list) or not all(isinstance(decision, dict) for decision in decisions):
        return None
    by = "person" if document.get("by") == "person" else "agent"
    found = record(PendingAnswer, document, decisions=decisions, pid=number(document, "pid"), by=by)
    return found if by == "person" else found._replace(who="")


def delete_pending(store: DocumentStore, session: str, tool_use_id: str) -> bool:
    """Delete the pending answer of one question; say whether it was there."""
    if _name(store, PENDING, session, tool_use_id) is None:
        return False
    with holding(store, session):
        return _delete(store, PENDING, session, tool_use_id)


def remove_left_behind(store: DocumentStore, session: str) -> list[str]:
    """Delete the session's pending answers to questions that are not open any more; return their tool_use_ids."""

    def left() -> dict[str, dict[str, Any]]:
        found = _entries(store, PENDING, lambda name: f":{session}:" in name)
        return {name: document for name, document in found.items() if text(document, "session") == session}

    if not left():
        return []
    removed = []
    with holding(store, session):
        for name, document in left().items():
            tool_use_id = text(document, "tool_use_id")
            if _name(store, QUESTION, session, tool_use_id) is None and store.delete(PENDING, name):
                removed.append(tool_use_id)
    return removed


def _document_name(question: Dialog | PendingAnswer) -> str:
    """Return the name of a question's documents."""
    return f"{question.session_id}:{question.session}:{question.tool_use_id}"


def _entries(store: DocumentStore, kind: str, named: Callable[[str], bool]) -> dict[str, dict[str, Any]]:
    """Return documents of one kind by name: those that are named so, and those of before this way of naming them."""
    found = {}
    for name, document in store.entries(kind, lambda name: _is_former(name) or named(name)):
        session_id, session, tool_use_id = (text(document, key) for key in ("session_id", "session", "tool_use_id"))
        is_former = name in (session, own_name(session, tool_use_id))
        # The engine's own word for a long name may be cut.
        found[name if is_former else f"{session_id}:{session}:{tool_use_id}"] = document
    return found


def _is_former(name: str) -> bool:
    """Whether this is a name of before: ``<session>`` or ``<session>:<tool_use_id>``."""
    return name.count(":") < _COLONS


def _name(store: DocumentStore, kind: str, session: str, tool_use_id: str) -> str | None:
    """Return the name under which a question's document of one kind is saved; None if it has none."""
    end = f":{own_name(session, tool_use_id)}"
    for name, document in _entries(store, kind, lambda name: name.endswith(end)).items():
        if (document.get("session"), document.get("tool_use_id")) == (session, tool_use_id):
            return name
    return None


def _delete(store: DocumentStore, kind: str, session: str, tool_use_id: str) -> bool:
    name = _name(store, kind, session, tool_use_id)
    return name is not None and store.delete(kind, name)


def question_of(document: Mapping[str, Any] | None) -> Dialog | None:
    """Return the question that a document holds; None if it holds none that can be read."""
    if document is None or not is_form(document.get("questions")):
        return None
    terminal = _address(document.get("terminal"))
    found = record(Dialog, document, questions=document["questions"], terminal=terminal)
    return found if found.session and found.tool_use_id else None


def _address(value: object) -> TerminalAddress | None:
    from hookrouter.terminals import TerminalAddress

    if not isinstance(value, dict):
        return None
    parts = [part for field in TerminalAddress._fields if isinstance(part := value.get(field), str)]
    return TerminalAddress(*parts) if len(parts) == len(TerminalAddress._fields) else None
