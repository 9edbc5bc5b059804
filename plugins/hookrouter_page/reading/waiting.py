"""The dialogs that wait, in the order in which they need a person."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.dialogs import documents
from hookrouter.dialogs.answers.choosing import decision_on, not_over
from hookrouter.dialogs.elsewhere import open_elsewhere
from hookrouter.dialogs.form import FormError, form_of
from hookrouter.dialogs.kinds import find_kind
from hookrouter.dialogs.messages.words import has_previews
from hookrouter.util.clock import now, seconds
from hookrouter_page.machines import SeveralMachinesError

if TYPE_CHECKING:
    from hookrouter import machines as fleet
    from hookrouter.context import Services
    from hookrouter.dialogs.documents import Dialog, PendingAnswer
    from hookrouter.tools import AskUserQuestionInput
    from hookrouter_page.machines import Machines

__all__ = ["Key", "Waiting", "find_waiting", "key_of", "read_key", "waiting"]

_LONGEST_KEY = 4096


class Key(NamedTuple):
    """What names a dialog in an address."""

    session: str
    """The session's name."""
    session_id: str
    """Claude Code's id of it."""
    tool_use_id: str
    """Claude Code's id of the tool call."""
    machine: str = ""
    """The machine on which it is; empty if none share an engine, or if the key does not say, as that of a link."""


class Waiting(NamedTuple):
    """One dialog that stops a session."""

    question: Dialog
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
    machine: str = ""
    """The machine that it waits on; empty if none share an engine."""
    is_here: bool = True
    """Whether that is this machine."""

    @property
    def takes_notes(self) -> tuple[bool, ...]:
        """For each question, whether it takes notes to a choice and no words of one's own."""
        return tuple(has_previews(one) for one in self.form.questions) if self.form is not None else ()


def waiting(services: Services, machines: Machines) -> list[Waiting]:
    """Return what waits on all machines: first what needs a person, and of those the oldest first.

    Raises StoreError if this machine's documents cannot be read; :attr:`Machines.problem` tells of the others.
    """
    here = machines.here(services)
    found = [_seen(services, one, here) for one in not_over(documents.list_questions(services.store))]
    found += machines.ask(services, lambda others: _elsewhere(services, others), list[Waiting]())
    return sorted(found, key=lambda one: (not one.needs_person, one.question.saved_at))


def find_waiting(services: Services, machines: Machines, key: str) -> Waiting | None:
    """Return the open dialog of this key; None if it is not open any more.

    Raises StoreError, ValueError for what is no key, and SeveralMachinesError if several machines have what it names.
    """
    wanted, here = read_key(key), machines.here(services)
    found = []
    if wanted.machine in ("", here):
        question = documents.find_question(services.store, wanted.session_id, wanted.tool_use_id)
        if question is not None:
            found.append(_seen(services, question, here))
    if not wanted.machine or wanted.machine != here:
        found += machines.ask(services, lambda others: _elsewhere(services, others), list[Waiting]())
    found = [one for one in found if wanted == Key(*_names(one.question), one.machine if wanted.machine else "")]
    if len(found) > 1:
        raise SeveralMachinesError("this question", [one.machine for one in found])
    return found[0] if found else None


def key_of(session: str, session_id: str, tool_use_id: str, machine: str = "") -> str:
    """Return the key of a dialog: letters, digits, dashes and underlines."""
    names = [session, session_id, tool_use_id, *([machine] if machine else [])]
    text = json.dumps(names, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("ascii")).decode("ascii").rstrip("=")


def read_key(key: str) -> Key:
    """Return what a key names. Raises ValueError for what is no key."""
    if not key.isascii() or len(key) > _LONGEST_KEY:
        raise ValueError("no key of a question")
    value: Any = json.loads(base64.urlsafe_b64decode(key + "=" * (-len(key) % 4)))
    if not isinstance(value, list) or len(value) not in (3, 4) or not all(isinstance(one, str) for one in value):
        raise ValueError("no key of a question")
    return Key(*value)


def _seen(services: Services, question: Dialog, here: str) -> Waiting:
    agent = next((one for one in services.config.agents if one.id == question.agent), None)
    is_told = agent is not None and not agent.is_person and agent.hears_of(question.kind)
    return _waiting(services, question, decision_on(services.store, question), is_told=is_told, machine=here)


def _elsewhere(services: Services, others: fleet.Machines) -> list[Waiting]:
    """Return what waits on the other machines. Whom they tell of what is in their own config.toml alone."""
    return [
        _waiting(
            services,
            one.question,
            decision_on(others.store(one.machine), one.question),
            is_told=bool(one.question.agent),
            machine=one.machine,
            is_here=False,
        )
        for one in open_elsewhere(others)
    ]


def _waiting(
    services: Services,
    question: Dialog,
    pending: PendingAnswer | None,
    *,
    is_told: bool,
    machine: str,
    is_here: bool = True,
) -> Waiting:
    try:
        form = form_of(question)
    except FormError:
        form = None
    asked, kind = seconds(question.saved_at), find_kind(services.plugins, question.kind)
    return Waiting(
        question=question,
        form=form,
        key=key_of(*_names(question), machine),
        needs_person=(kind is not None and kind.for_people) or not is_told or question.missed,
        being_answered="" if pending is None else f"{pending.by} {pending.who}".strip(),
        age=0.0 if asked is None else max(0.0, now() - asked),
        machine=machine,
        is_here=is_here,
    )


def _names(question: Dialog) -> tuple[str, str, str]:
    return question.session, question.session_id, question.tool_use_id
