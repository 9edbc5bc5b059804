"""The dialogs that wait, in the order in which they need a person."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.dialogs import documents
from hookrouter.dialogs.answers.choosing import decision_on, not_over
from hookrouter.dialogs.form import FormError, form_of
from hookrouter.dialogs.messages.words import has_previews
from hookrouter.util.clock import now, seconds

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.dialogs.documents import Question
    from hookrouter.tools import AskUserQuestionInput

__all__ = ["Waiting", "find_waiting", "key_of", "read_key", "waiting"]

_FOR_PEOPLE = ("blocked",)
"""Kinds that no agent can end."""

_LONGEST_KEY = 4096


class Waiting(NamedTuple):
    """One dialog that stops a session."""

    question: Question
    form: AskUserQuestionInput | None
    """None if the document cannot be read as a form."""
    key: str
    """Names it in addresses and forms."""
    needs_person: bool
    """Whether nobody else will end it: no agent is asked, or it cannot."""
    being_answered: str
    """What is being done about it at this moment; empty for nothing."""
    age: float
    """Seconds since it was asked; 0 if that is not known."""

    @property
    def takes_notes(self) -> tuple[bool, ...]:
        """For each question, whether it takes notes to a choice and no words of one's own."""
        return tuple(has_previews(one) for one in self.form.questions) if self.form is not None else ()


def waiting(services: Services) -> list[Waiting]:
    """Return what waits: first what needs a person, and of those the oldest first. Raises StoreError."""
    found = [_seen(services, one) for one in not_over(documents.list_questions(services.store))]
    return sorted(found, key=lambda one: (not one.needs_person, one.question.saved_at))


def find_waiting(services: Services, key: str) -> Waiting | None:
    """Return the open dialog of this key; None if it is not open any more. Raises StoreError and ValueError."""
    session, session_id, tool_use_id = read_key(key)
    question = documents.find_question(services.store, session_id, tool_use_id)
    return None if question is None or question.session != session else _seen(services, question)


def key_of(session: str, session_id: str, tool_use_id: str) -> str:
    """Return the key of a dialog: letters, digits, dashes and underlines."""
    text = json.dumps([session, session_id, tool_use_id], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("ascii")).decode("ascii").rstrip("=")


def read_key(key: str) -> tuple[str, str, str]:
    """Return session, session id and tool_use_id. Raises ValueError for what is no key."""
    if not key.isascii() or len(key) > _LONGEST_KEY:
        raise ValueError("no key of a question")
    value: Any = json.loads(base64.urlsafe_b64decode(key + "=" * (-len(key) % 4)))
    if not isinstance(value, list) or len(value) != 3 or not all(isinstance(one, str) for one in value):
        raise ValueError("no key of a question")
    return value[0], value[1], value[2]


def _seen(services: Services, question: Question) -> Waiting:
    try:
        form = form_of(question)
    except FormError:
        form = None
    agent = next((one for one in services.config.agents if one.id == question.agent), None)
    is_told = agent is not None and not agent.is_person and agent.hears_of(question.kind)
    pending = decision_on(services.store, question)
    asked = seconds(question.saved_at)
    return Waiting(
        question=question,
        form=form,
        key=key_of(question.session, question.session_id, question.tool_use_id),
        needs_person=question.kind in _FOR_PEOPLE or not is_told or question.missed,
        being_answered="" if pending is None else f"{pending.by} {pending.who}".strip(),
        age=0.0 if asked is None else max(0.0, now() - asked),
    )
