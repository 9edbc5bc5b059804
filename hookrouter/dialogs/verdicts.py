"""How a question ended: the ``answer-result`` document, written before the question's own documents go.

Whoever closes a question writes one: PostToolUse, which compared the answer, an event that found the question over, or
the ``hookrouter answer`` that had its text said. ``hookrouter answer`` waits for it, and ``history`` and ``questions
--watch`` read it. The journal tells people the same, but nothing depends on it.

A document is named ``<session>:<tool_use_id>`` and removed after :data:`KEPT_SECONDS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.dialogs.documents import FORM, own_name
from hookrouter.dialogs.transcript import CHAT
from hookrouter.storage.home import DocumentKind
from hookrouter.util.fields import record, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.dialogs.documents import Dialog
    from hookrouter.storage.interface import DocumentStore, DocumentWatch

__all__ = [
    "Verdict",
    "delete_verdict",
    "end_of_sweep",
    "list_verdicts",
    "prune_verdicts",
    "read_verdict",
    "recorded_before",
    "save_verdict",
    "verdict_in",
    "was_recorded",
    "watch_verdict",
]

KIND = DocumentKind("answer-result", shared=True)
VERSION = 1

KEPT_SECONDS = 24 * 3600.0
"""How long a document stays: far longer than any ``answer --wait``, and not so long that many gather."""


class Verdict(NamedTuple):
    """How one question ended."""

    session: str
    """The session's name."""
    session_id: str
    """Claude Code's id of the session."""
    tool_use_id: str
    """Claude Code's id of the tool call that asked."""
    outcome: str
    """``verified``, ``mismatch``, ``unverified`` (recorded, but not compared), ``answered_by_person``, ``chat`` or
    ``unanswered``."""
    reason: str = ""
    """Why it ended so, in one sentence; empty if the outcome says it."""
    by: str = ""
    """``agent``, ``person`` or ``nobody``; empty if that is not known."""
    who: str = ""
    """The login name of the person who answered with ``hookrouter answer``; empty for all others."""
    channel: str = ""
    """The channel through which ``hookrouter answer`` answered; empty if it did not."""
    verification: Mapping[str, Any] | None = None
    """Both sides of a comparison, as the journal has them; None if nothing was compared."""
    recorded: Mapping[str, str] | None = None
    """What a person answered, by question, cut like in the journal."""
    recorded_notes: Mapping[str, str] | None = None
    """The notes that a person added, likewise; None if that is not known."""
    told_by: str = ""
    """``answer`` if a ``hookrouter answer`` has told the agent how the question ended."""
    agent: str = ""
    """The agent whose question it was."""
    asked_at: str = ""
    """ISO 8601, UTC, like ``at``."""
    at: str = ""
    """When it ended."""
    kind: str = FORM
    """What had stopped the session, see :mod:`hookrouter.dialogs.kinds`."""
    asked: Mapping[str, Any] = {}
    """What the dialog told of the columns of history, see :func:`hookrouter.dialogs.columns.of_dialog`."""


def save_verdict(store: DocumentStore, verdict: Verdict) -> None:
    """Write how a question ended; a later word on the same question replaces it. Raises StoreError."""
    from hookrouter.util.clock import iso

    document = verdict._asdict() | {"version": VERSION, "at": verdict.at or iso()}
    store.write(KIND, own_name(verdict.session, verdict.tool_use_id), document, durable=False)


def read_verdict(store: DocumentStore, question: Dialog) -> Verdict | None:
    """Return how this question ended; None if nobody has said so. Raises StoreError."""
    found = verdict_in(store.read(KIND, own_name(question.session, question.tool_use_id)))
    same = found is not None and (found.session_id, found.tool_use_id) == (question.session_id, question.tool_use_id)
    return found if same else None


def delete_verdict(store: DocumentStore, question: Dialog) -> None:
    """Forget how an earlier question with this tool_use_id ended. Raises StoreError."""
    store.delete(KIND, own_name(question.session, question.tool_use_id))


def list_verdicts(store: DocumentStore, *, session: str | None = None, tool_use_id: str | None = None) -> list[Verdict]:
    """Return how the questions of the last time ended; only those of a session, or of an id, if one is given.

    Of a busy day there are thousands, of which then no other is read. Raises StoreError.
    """
    head, tail = own_name(session or "", ""), own_name("", tool_use_id or "")

    def may_be_meant(name: str) -> bool:
        return (session is None or name.startswith(head)) and (tool_use_id is None or name.endswith(tail))

    found = (verdict_in(document) for _, document in store.entries(KIND, may_be_meant))
    # A document may say something else than its name: what it says counts.
    return [
        one
        for one in found
        if one is not None and session in (None, one.session) and tool_use_id in (None, one.tool_use_id)
    ]


def recorded_before(store: DocumentStore, session_id: str) -> list[tuple[str, str]]:
    """Return the questions of this session that have ended, each with the answer that was recorded. Raises StoreError.

    Without long ones that a person answered: of those only the beginning is kept.
    """
    found: list[tuple[str, str]] = []
    for verdict in list_verdicts(store):
        if verdict.session_id != session_id:
            continue
        questions = (verdict.verification or {}).get("questions")
        each = [one for one in questions if isinstance(one, dict)] if isinstance(questions, list) else []
        pairs = [(one.get("question"), one.get("recorded")) for one in each]
        pairs += (verdict.recorded or {}).items()
        found += [(key, value) for key, value in pairs if isinstance(key, str) and isinstance(value, str)]
    return found


def watch_verdict(store: DocumentStore, question: Dialog) -> DocumentWatch:
    """Return a watch on the document of this question."""
    return store.watch(KIND, own_name(question.session, question.tool_use_id))


def was_recorded(store: DocumentStore, session_id: str, tool_use_id: str) -> bool:
    """Whether a PostToolUse has noted how this question ended; a sweep, which says who told of it, does not count."""
    for _, document in store.entries(KIND, lambda name: name.endswith(f":{tool_use_id}")):
        found = verdict_in(document)
        if found is not None and (found.session_id, found.tool_use_id) == (session_id, tool_use_id):
            return found.outcome in ("verified", "mismatch", "answered_by_person") or not found.told_by
    return False


def end_of_sweep(outcome: str, state: str, by: str = "") -> tuple[str, str]:
    """Return outcome and ``by`` of a question that an event found over, as the journal's ``swept`` has it.

    ``by`` is who decided the answer that was being delivered; empty if none was.
    """
    if outcome == "unverified":
        return "unverified", ""
    if outcome == "chat":
        return "chat", by or "agent"
    return ("chat", "person") if state == CHAT else ("unanswered", "nobody")


def prune_verdicts(store: DocumentStore) -> None:
    """Remove the documents that are older than :data:`KEPT_SECONDS`. Raises StoreError."""
    from hookrouter.util.clock import iso, now

    earliest = iso(now() - KEPT_SECONDS)
    for name, document in store.entries(KIND):
        if text(document, "at") < earliest:
            store.delete(KIND, name)


def verdict_in(document: Mapping[str, object] | None) -> Verdict | None:
    """Return the verdict that a document holds; None if it holds none. Raises nothing."""
    if document is None:
        return None
    found = record(Verdict, document)
    return found if found.session and found.tool_use_id and found.outcome else None
