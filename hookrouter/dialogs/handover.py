"""How an answer gets from ``hookrouter answer`` to the hook that waits: two documents and a lock, by question.

PermissionRequest payloads have no ``tool_use_id``, so a question is known by its session and its own words, and a
dialog of another kind by the call that its plugin has found for it. The same words may be asked again, so an answer is
addressed to the hook that was seen waiting (its ``token``), and no hook takes one that was meant for an earlier one.

``reply-waiting``: written by the hook when it begins to wait, removed when it ends, or by whoever knows that the
question has ended. While the hook lives, it holds the lock of the same name, so that a killed one leaves no doubt. It
names its client: the hook of one that was killed may live on for a moment, and nobody hears what it replies.
``reply-answer``: written by ``answer``. The hook marks it as taken, or ``answer`` as withdrawn, which only one of them
can. So an answer is given or taken back, never both. The hook removes it, and ends its waiting, once its reply is
written to Claude Code: one that is still there, marked as taken, while its hook is gone was never given.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.answering.labels import recorded_label
from hookrouter.storage.home import DocumentKind
from hookrouter.util import fastjson
from hookrouter.util.claude_process import is_another_alive, is_gone, process_space
from hookrouter.util.filenames import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.storage.interface import DocumentLock, DocumentStore

__all__ = ["ANSWER", "WAITING", "Handover", "end_all", "identity"]

WAITING = DocumentKind("reply-waiting")
ANSWER = DocumentKind("reply-answer")
VERSION = 1


def identity(session_id: str, tool_input: object) -> str:
    """Return the name of a question: a digest of its session, and one of the texts and labels of its form."""
    questions = tool_input.get("questions") if isinstance(tool_input, dict) else None
    words = [_words(question) for question in questions] if isinstance(questions, list) else []
    return f"{_session_part(session_id)}{digest(fastjson.dumps(words))}"


def _session_part(session_id: str) -> str:
    """Return what the names of all questions of one session begin with."""
    return f"{digest(session_id)}-"


def _words(question: object) -> list[object]:
    if not isinstance(question, dict):
        return []
    options = question.get("options")
    labels = (
        [option.get("label") for option in options if isinstance(option, dict)] if isinstance(options, list) else []
    )
    shown = [recorded_label(label) if isinstance(label, str) else None for label in labels]
    return [question.get("question"), bool(question.get("multiSelect")), shown]


def end_all(store: DocumentStore, session_id: str, client: int = 0) -> None:
    """Tell every hook that waits in this session's main conversation that its question has ended. Raises StoreError.

    ``client`` is the process id of the client in which the turn has ended, 0 if it is not known: hooks of another one
    that has the same session and runs are left.

    A subagent works on after the main conversation's turn, and may go on waiting.
    """
    for name, document in store.entries(WAITING, lambda name: name.startswith(_session_part(session_id))):
        pid, host = document.get("client_pid"), str(document.get("client_host") or "")
        is_anothers = isinstance(pid, int) and is_another_alive(pid, host, client)
        if document.get("session_id") == session_id and not document.get("agent_id") and not is_anothers:
            Handover(store, name).end()


class Handover(NamedTuple):
    """The documents and the lock of one question."""

    store: DocumentStore
    """Where the documents are."""
    name: str
    """The name of both documents, and of the lock."""

    @classmethod
    def of(cls, store: DocumentStore, session_id: str, tool_input: object) -> Handover:
        """Return those of a question, known by its session and its raw tool input."""
        return cls(store, identity(session_id, tool_input))

    @classmethod
    def of_call(cls, store: DocumentStore, session_id: str, tool_use_id: str) -> Handover:
        """Return those of a dialog that is known by its tool call."""
        return cls(store, f"{_session_part(session_id)}{digest(tool_use_id)}")

    def lock(self, timeout: float = 0) -> DocumentLock:
        """Return the lock that the waiting hook holds."""
        return self.store.lock(WAITING, self.name, timeout)

    def begin(self, session: str, session_id: str, client: int = 0, agent_id: str = "") -> str:
        """Note that a hook of a client (its process id, 0 if not known) waits; return the token for answers to it.

        ``agent_id`` is of the subagent that asks; empty for the main conversation.

        An answer to an earlier hook is taken back by who gave it, and never given here; one that nobody addressed is
        removed. Only for the lock's holder.
        """
        token = os.urandom(8).hex()
        if "to" not in (self.store.read(ANSWER, self.name) or {"to": ""}):
            self.store.delete(ANSWER, self.name)
        document = {"version": VERSION, "session": session, "session_id": session_id, "pid": os.getpid()}
        place = {"client_pid": client, "client_host": process_space(), "agent_id": agent_id}
        self.store.write(WAITING, self.name, {**document, **place, "token": token}, durable=False)
        return token

    def is_wanted(self) -> bool:
        """Whether the waiting document is there: False once somebody knows that the question has ended."""
        return self.store.read(WAITING, self.name) is not None

    def end(self) -> bool:
        """Remove the waiting document; return whether it was there."""
        return self.store.delete(WAITING, self.name)

    def disputed(self) -> None:
        """Note that a second hook came with the same question, so that it is not known whose an answer would be."""
        document = self.store.read(WAITING, self.name)
        if document is not None:
            self.store.write(WAITING, self.name, {**document, "disputed": True}, durable=False)

    def waiting(self) -> Mapping[str, Any] | None:
        """Return the waiting document if a live hook of a client that lives holds the lock; else None.

        Disturbs nobody.
        """
        if self.store.lock_holder(WAITING, self.name) is None:
            return None
        document = self.store.read(WAITING, self.name)
        return None if document is None or _is_orphan(document) else document

    def end_orphan(self) -> bool:
        """End the waiting of a hook whose client was killed; return whether there was one."""
        document = self.store.read(WAITING, self.name)
        return document is not None and _is_orphan(document) and self.end()

    def give(self, answer: Mapping[str, object], waiting: Mapping[str, Any], tool_use_id: str) -> None:
        """Put the answer to a question where the hook of this waiting document finds it, and no later hook."""
        addressed = {"to": waiting["token"]} if "token" in waiting else {}
        document = {"version": VERSION, "tool_use_id": tool_use_id, **addressed, **answer}
        self.store.write(ANSWER, self.name, document, durable=False)

    def peek(self, token: str | None = None) -> Mapping[str, Any] | None:
        """Return the answer that was given, and leave it; with a ``token`` only one that is addressed to it."""
        answer = self.store.read(ANSWER, self.name)
        if answer is None or answer.get("withdrawn") or answer.get("refused"):
            return None
        return answer if token is None or answer.get("to", token) == token else None

    def take(self, token: str, seen: Mapping[str, Any] | None = None) -> Mapping[str, Any] | None:
        """Take the answer that was given to this hook; None if there is none, or it was taken back.

        With ``seen`` only that one, as :meth:`peek` returned it: another may stand in its place by now.
        """
        answer = self.peek(token) if seen is None else seen
        return answer if answer is not None and self._mark(answer, "taken") else None

    def refuse(self, token: str, reason: str) -> None:
        """Tell whoever gave this hook an answer that it cannot be used; the hook waits for another one."""
        answer = self.peek(token)
        if answer is not None:
            self._mark(answer, "refused", reason)

    def refused(self) -> str:
        """Return why the hook refuses the answer that was given; empty if it does not."""
        answer = self.store.read(ANSWER, self.name)
        return str((answer or {}).get("refused") or "")

    def given(self) -> None:
        """Remove the answer that was taken: it is given to Claude Code, or never will be."""
        self.store.delete(ANSWER, self.name)

    def take_back(self) -> bool:
        """Remove the answer again; False if the hook has taken it already."""
        answer = self.peek()
        # A hook of an older version takes an answer by removing it.
        is_ours = answer is not None and self._mark(answer, "withdrawn")
        # The hook may refuse it at this very moment.
        return (is_ours or self.refused() != "") and self.store.delete(ANSWER, self.name)

    def _mark(self, answer: Mapping[str, Any], mark: str, value: object = True) -> bool:
        """Mark the answer; False if it has a mark already, or is another one by now."""
        if answer.get("taken") or answer.get("withdrawn"):
            return False
        return self.store.replace(ANSWER, self.name, {**answer, mark: value}, unchanged=answer, durable=False)


def _is_orphan(document: Mapping[str, Any]) -> bool:
    """Whether the client of the hook that wrote this has certainly ended. Older versions do not name it."""
    pid = document.get("client_pid")
    return isinstance(pid, int) and document.get("client_host") == process_space() and is_gone(pid)
