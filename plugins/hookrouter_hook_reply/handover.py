"""How an answer gets from ``hookrouter answer`` to the hook that waits: two documents and a lock, by question.

PermissionRequest payloads have no ``tool_use_id``, so a question is known by its session and its own words.

``reply-waiting``: written by the hook when it begins to wait, removed when it ends, or by whoever knows that the
question is over. While the hook lives, it holds the lock of the same name, so that a killed one leaves no doubt.
``reply-answer``: written by ``answer``. Hook and ``answer`` each take it by removing it, which only one of them can:
the hook to give the answer, ``answer`` to take it back. So an answer is given or taken back, never both.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter import _json
from hookrouter.labels import recorded_label
from hookrouter.names import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.store import Lock, Store

__all__ = ["ANSWER", "WAITING", "Handover", "end_all", "identity"]

WAITING = "reply-waiting"
ANSWER = "reply-answer"
VERSION = 1


def identity(session_id: str, tool_input: object) -> str:
    """Return the name of a question: a digest of its session and of the texts and labels of its form."""
    questions = tool_input.get("questions") if isinstance(tool_input, dict) else None
    words = [_words(question) for question in questions] if isinstance(questions, list) else []
    return digest(_json.dumps([session_id, words]))


def _words(question: object) -> list[object]:
    if not isinstance(question, dict):
        return []
    options = question.get("options")
    labels = (
        [option.get("label") for option in options if isinstance(option, dict)] if isinstance(options, list) else []
    )
    shown = [recorded_label(label) if isinstance(label, str) else None for label in labels]
    return [question.get("question"), bool(question.get("multiSelect")), shown]


def end_all(store: Store, session_id: str) -> None:
    """Tell every hook that waits in this session that its question is over. Raises StoreError."""
    for name, document in store.entries(WAITING):
        if document.get("session_id") == session_id:
            Handover(store, name).end()


class Handover(NamedTuple):
    """The documents and the lock of one question."""

    store: Store
    name: str

    @classmethod
    def of(cls, store: Store, session_id: str, tool_input: object) -> Handover:
        """Return those of a question, known by its session and its raw tool input."""
        return cls(store, identity(session_id, tool_input))

    def lock(self, timeout: float = 0) -> Lock:
        """Return the lock that the waiting hook holds; :meth:`waiting` holds it for an instant too."""
        return self.store.lock(WAITING, self.name, timeout)

    def begin(self, session: str, session_id: str) -> None:
        """Note that a hook waits; what an earlier one left behind is removed. Only for the lock's holder."""
        self.store.delete(ANSWER, self.name)
        document = {"version": VERSION, "session": session, "session_id": session_id, "pid": os.getpid()}
        self.store.write(WAITING, self.name, document, durable=False)

    def is_wanted(self) -> bool:
        """Whether the waiting document is there: False once somebody knows that the question is over."""
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
        """Return the waiting document, where a live hook holds the lock; else None."""
        from hookrouter.store import StoreBusy

        try:
            with self.lock():
                return None
        except StoreBusy:
            return self.store.read(WAITING, self.name)

    def give(self, answer: Mapping[str, object]) -> None:
        """Put an answer where the hook finds it."""
        self.store.write(ANSWER, self.name, {"version": VERSION, **answer}, durable=False)

    def peek(self) -> Mapping[str, Any] | None:
        """Return the answer that was given, and leave it."""
        return self.store.read(ANSWER, self.name)

    def take(self) -> Mapping[str, Any] | None:
        """Take the answer that was given; None where there is none, or it was taken back."""
        answer = self.peek()
        return answer if answer is not None and self.store.delete(ANSWER, self.name) else None

    def take_back(self) -> bool:
        """Remove the answer again; False where the hook has taken it already."""
        return self.store.delete(ANSWER, self.name)
