"""The kinds of dialogs: what an answer may say, what it means, and what it is given to Claude Code as.

Whatever stops a session is kept as one document (:mod:`hookrouter.dialogs.documents`) with a form, so that people,
lists, messages and the history need not know its kind. What must, asks the kind, which a plugin contributes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter._plugins.registry import Plugins
    from hookrouter.answering.decisions import Decision
    from hookrouter.answering.interfaces import AskedDialog
    from hookrouter.config import Config
    from hookrouter.context import Context, Services
    from hookrouter.dialogs.comparison import Comparison
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.dialogs.opening import Opening
    from hookrouter.storage.interface import DocumentStore

__all__ = ["DialogKind", "FindingKind", "Stalled", "dialog_kinds", "find_kind", "finding_kinds"]


class Stalled(NamedTuple):
    """A managed session that waits for something of which nothing is saved, looked at from outside."""

    context: Context
    """The session, as a hook of it would have it; an agent manages it."""
    waiting_for: str
    """What its client says that it waits for, see :mod:`hookrouter.sessions.running_clients`; empty if it does not
    say."""
    transcript_path: str
    """Where the client writes its transcript; empty if there is none."""


class DialogKind(Protocol):
    """One kind of dialog. Decisions are JSON objects, each with its ``action``."""

    name: str
    """The ``kind`` of the documents that it is about."""

    def parse(self, question: Dialog, text: str) -> list[dict[str, Any]]:
        """Return the decisions in a JSON text, checked. Raises DecisionError with every fault."""

    def chosen(self, question: Dialog, decisions: Sequence[Decision]) -> list[dict[str, Any]]:
        """Return what a person's choice on the dialog's form means. Raises DecisionError."""

    def intended(self, question: Dialog, decisions: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
        """Return what the decisions mean, as ``questions`` of an answer's result has it."""

    def refusal(self, question: Dialog, decisions: Sequence[Mapping[str, Any]], config: Config) -> str:
        """Return why no agent may decide this so, by the rules of now; empty if one may."""

    def reply(self, question: Dialog, decisions: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """Return what the hook that waits beside the dialog is handed; None for a form's answers."""

    def asked(
        self, question: Dialog, decisions: Sequence[Mapping[str, Any]], store: DocumentStore
    ) -> AskedDialog | None:
        """Return what a planner of keys is given; None if no keys can enter such a decision. Raises StoreError."""

    def judge(self, question: Dialog, decisions: Sequence[Mapping[str, Any]], services: Services) -> Comparison | None:
        """Compare what transcript or screen show with what was decided; None while they show nothing that decides it.

        For what no hook tells, such as a refusal that Claude was told of.
        """


@runtime_checkable
class FindingKind(DialogKind, Protocol):
    """A kind whose dialogs are found again if their hook could not save them, as on a full disk."""

    def unsaved(self, stalled: Stalled) -> Opening | None:
        """Return what a session waits for, if it is certainly a dialog of this kind that is to be opened.

        Raises StoreError.
        """


def find_kind(plugins: Plugins, name: str) -> DialogKind | None:
    """Return the kind of this name; None if no active plugin contributes it."""
    return dialog_kinds(plugins).get(name)


def finding_kinds(plugins: Plugins) -> list[FindingKind]:
    """Return the kinds whose dialogs are found if they were not saved."""
    return [kind for kind in dialog_kinds(plugins).values() if isinstance(kind, FindingKind)]


def dialog_kinds(plugins: Plugins) -> dict[str, DialogKind]:
    """Return the kinds of dialogs that active plugins contribute, by name."""
    return plugins.contributions("dialog_kinds", several=True)
