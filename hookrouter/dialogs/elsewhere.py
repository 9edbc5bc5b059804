"""The open dialogs of other machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.dialogs import documents

if TYPE_CHECKING:
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.machines import Machines

__all__ = ["Elsewhere", "open_elsewhere"]


class Elsewhere(NamedTuple):
    """An open question of another machine."""

    machine: str
    """The machine."""
    question: Dialog
    """The question, as its document in the engine has it."""


def open_elsewhere(machines: Machines) -> list[Elsewhere]:
    """Return what is open on other machines, by machine and age. Raises StoreError."""
    rows = machines.entries(documents.QUESTION)
    found = [(name, documents.question_of(document)) for name, _, document in rows]
    open_ones = [Elsewhere(name, question) for name, question in found if question is not None]
    return sorted(open_ones, key=lambda one: (one.machine, one.question.session, one.question.saved_at))
