"""The kinds of dialogs: what an answer may say, what it means, and what it is given to Claude Code as.

Whatever stops a session is kept as one document (:mod:`hookrouter.dialogs.documents`) with a form, so that people,
lists, messages and the history need not know its kind. What must, asks the kind, which a plugin contributes.
"""

# ruff: noqa: ARG002 - what a kind leaves unused, others use

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter._plugins.registry import Plugins
    from hookrouter.answering.decisions import Decision
    from hookrouter.answering.interfaces import AskedDialog
    from hookrouter.config import Config
    from hookrouter.context import Context, Services
    from hookrouter.dialogs.closing import End
    from hookrouter.dialogs.comparison import Comparison
    from hookrouter.dialogs.documents import Dialog, PendingAnswer
    from hookrouter.dialogs.opening import Opening
    from hookrouter.storage.interface import DocumentStore

__all__ = ["DialogKind", "Stalled", "dialog_kinds", "find_kind"]


class Stalled(NamedTuple):
    """A managed session that waits for something of which nothing is saved, looked at from outside."""

    context: Context
    """The session, as a hook of it would have it; an agent manages it."""
    waiting_for: str
    """What its client says that it waits for, see :mod:`hookrouter.sessions.running_clients`; empty if it does not
    say."""
    transcript_path: str
    """Where the client writes its transcript; empty if there is none."""


class DialogKind:
    """One kind of dialog: all that hookrouter asks of it. Decisions are JSON objects, each with its ``action``.

    Derive from it and say what is special: as it stands, a decision is an option of the form, no rule is asked, a hook
    that waits is handed the decision, and no key can enter one.
    """

    name = ""
    """The ``kind`` of the documents that it is about; config.toml's ``wake_on`` and ``history --kind`` take it."""
    commands: Sequence[tuple[str, str]] = ()
    """The short commands for people, each with what stands behind its options, such as ``("deny", " TEXT")``."""
    for_people = False
    """Whether the page puts it first, because an agent can seldom end it."""
    is_of_turn = True
    """Whether a turn of Claude's waits for it, so that it is over once the turn is, and the session's events close it.
    Otherwise its plugin looks whether it is still there."""
    compares_refusals = False
    """Whether a refusal of its tool call is a decision: :meth:`refused` is asked then."""
    prompt = ""
    """The file of ``prompts/`` that says how to decide; an agent gets it once for each session. Empty: nothing."""

    def parse(self, question: Dialog, text: str) -> list[dict[str, Any]]:
        """Return the decisions in a JSON text, checked. Raises DecisionError with every fault.

        By default those of a form: one for each of its questions.
        """
        from hookrouter.dialogs.decisions import parse_decisions, to_json
        from hookrouter.dialogs.form import form_of

        return to_json(parse_decisions(text, form_of(question)))

    def chosen(self, question: Dialog, decisions: Sequence[Decision]) -> list[dict[str, Any]]:
        """Return what a person's choice on the dialog's form means. Raises DecisionError. By default what it says."""
        from hookrouter.dialogs.decisions import to_json

        return to_json(decisions)

    def intended(self, question: Dialog, decisions: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
        """Return what the decisions mean, as ``questions`` of an answer's result has it.

        By default what a form of these answers records.
        """
        from hookrouter.dialogs.comparison import recorded_value

        shown = []
        for form, decision in zip(question.questions, decisions, strict=False):
            value = recorded_value(form, decision)
            entry = {"question": form["question"], "intended": decision["text"] if value is None else value}
            if decision.get("notes"):
                entry["intended_notes"] = decision["notes"]
            shown.append(entry | {"recorded": None, "result": "chat" if value is None else "unknown"})
        return tuple(shown)

    def refusal(self, question: Dialog, decisions: Sequence[Mapping[str, Any]], config: Config) -> str:
        """Return why no agent may decide this so, by the rules of now; empty if one may."""
        return ""

    def reply(self, question: Dialog, decisions: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """Return what the hook that waits beside the dialog is handed; None for a form's answers."""
        return None if question.is_form else {"decision": dict(decisions[0])}

    def asked(
        self,
        question: Dialog,
        decisions: Sequence[Mapping[str, Any]],
        store: DocumentStore,
    ) -> AskedDialog | None:
        """Return what a planner of keys is given; None if no keys can enter such a decision. Raises StoreError.

        A form is all that a planner needs.
        """
        return None

    def judge(
        self,
        question: Dialog,
        decisions: Sequence[Mapping[str, Any]],
        services: Services,
    ) -> Comparison | None:
        """Compare what transcript or screen show with what was decided; None while they show nothing that decides it.

        For what no hook tells, such as a refusal that Claude was told of.
        """
        return None

    def refused(self, question: Dialog, pending: PendingAnswer | None, state: str, told: str) -> End | None:
        """Return how a dialog has ended whose tool call the transcript shows as refused; None if that is not certain.

        ``pending`` is the decision that was under way, ``state`` ``declined`` or ``failed``, ``told`` what Claude was
        told. What is left here ends without an answer, once the turn does.
        """
        return None

    def unsaved(self, stalled: Stalled) -> Opening | None:
        """Return what a session waits for, if it is certainly a dialog of this kind that is to be opened.

        For dialogs that their hook could not save, as on a full disk. Raises StoreError.
        """
        return None

    def advice(self, services: Services, folder: str) -> str:
        """Return how to decide, for an agent, about the project in a folder: the text of :attr:`prompt`."""
        from hookrouter.dialogs.messages.prompts import prompt_text

        return prompt_text(services, self.prompt)


def find_kind(plugins: Plugins, name: str) -> DialogKind | None:
    """Return the kind of this name; None if no active plugin contributes it."""
    return dialog_kinds(plugins).get(name)


def dialog_kinds(plugins: Plugins) -> dict[str, DialogKind]:
    """Return the kinds of dialogs that active plugins contribute, by name."""
    return plugins.contributions("dialog_kinds", several=True)
