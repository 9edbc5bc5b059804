"""The kind of dialogs ``rewind``: which decisions there are, and how it shows that one has happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter import override
from hookrouter.answering.decisions import Select
from hookrouter.answering.interfaces import AskedDialog
from hookrouter.dialogs.comparison import Comparison, QuestionResult
from hookrouter.dialogs.decisions import DecisionError, parse_decisions, to_json
from hookrouter.dialogs.form import form_of
from hookrouter.dialogs.kinds import DialogKind
from hookrouter.terminals import TerminalError, terminal_backends

from hookrouter_rewind.planner import KIND, chosen_prompt
from hookrouter_rewind.screens import is_restored, read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.answering.decisions import Decision
    from hookrouter.context import Services
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.storage.interface import DocumentStore

__all__ = ["RewindKind"]


class RewindKind(DialogKind):
    """The Rewind list. No turn waits for it, so the watcher sees to its end."""

    name = KIND
    is_of_turn = False

    @override
    def parse(self, question: Dialog, text: str) -> list[dict[str, Any]]:
        return self.chosen(question, parse_decisions(text, form_of(question)))

    @override
    def chosen(self, question: Dialog, decisions: Sequence[Decision]) -> list[dict[str, Any]]:
        if not all(isinstance(one, Select) for one in decisions):
            raise DecisionError(["the Rewind list takes no words: select one of its options"])
        return to_json(decisions)

    @override
    def asked(
        self, question: Dialog, decisions: Sequence[Mapping[str, Any]], store: DocumentStore
    ) -> AskedDialog | None:
        return AskedDialog(KIND, question.request, decisions[0], question.cwd)

    @override
    def judge(self, question: Dialog, decisions: Sequence[Mapping[str, Any]], services: Services) -> Comparison | None:
        """Say that the list is gone and, if it was to be, the conversation; None while the screen does not show it."""
        address = question.terminal
        backend = None if address is None else terminal_backends(services.plugins).get(address.backend)
        if address is None or backend is None:
            return None
        try:
            screen = backend.capture(address)
        except TerminalError:
            return None
        prompt = chosen_prompt(question.request, decisions[0])
        if read(screen) is not None or (prompt is not None and not is_restored(screen, prompt)):
            return None
        [shown] = self.intended(question, decisions)
        result = QuestionResult(shown["question"], "match", shown["intended"], shown["intended"])
        return Comparison(True, "screen", (result,), (), "")
