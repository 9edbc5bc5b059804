"""What may be decided about a dialog that no hook tells of, and how it shows that it has happened."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from hookrouter.answering.decisions import Select
from hookrouter.answering.interfaces import AskedDialog, seen_dialog
from hookrouter.config import AGENT
from hookrouter.dialogs.comparison import Comparison, QuestionResult
from hookrouter.dialogs.decisions import DecisionError, check_decisions, load_json
from hookrouter.dialogs.form import form_of
from hookrouter.dialogs.kinds import DialogKind
from hookrouter.terminals import TerminalError, TerminalGone, terminal_backends
from hookrouter.util.text import printable
from hookrouter_blocked.dialog import BLOCKED, is_same

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.answering.decisions import Decision
    from hookrouter.config import Config
    from hookrouter.context import Services
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.storage.interface import DocumentStore

__all__ = ["BlockedKind"]

_REDRAWN_SECONDS = 0.1
"""Seconds in which a screen that is being drawn is drawn."""

_BY_FORM = ("select", "type", "chat")


class BlockedKind(DialogKind):
    """A dialog of the client."""

    name = BLOCKED
    prompt = "approvals.md"
    for_people = True
    is_of_turn = False

    def parse(self, question: Dialog, text: str) -> list[dict[str, Any]]:
        """Return the one decision in a JSON text, checked. Raises DecisionError."""
        document = load_json(text)
        items = document if isinstance(document, list) else [document]
        item = items[0] if len(items) == 1 else None
        if not isinstance(item, dict):
            raise DecisionError([f'one object is wanted, {{"action": "row", "index": N}}, found {_shown(document)}'])
        if item.get("action") in _BY_FORM:
            return self.chosen(question, check_decisions(items, form_of(question)))
        if item.get("action") != "row":
            raise DecisionError([f'"action" is {_shown(item.get("action"))}; allowed is row'])
        if unknown := [name for name in item if name not in ("action", "index")]:
            raise DecisionError([f'"{printable(name)[:60]}" is not a key of row; allowed is index' for name in unknown])
        return [{"action": "row", "index": _row(question, item.get("index"))}]

    def chosen(self, question: Dialog, decisions: Sequence[Decision]) -> list[dict[str, Any]]:
        """Return the row that was chosen on the form. Raises DecisionError."""
        [choice] = decisions
        if not isinstance(choice, Select):
            raise DecisionError(["this dialog takes no words: choose one of its rows"])
        return [{"action": "row", "index": _row(question, choice.option_index)}]

    def intended(self, question: Dialog, decisions: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
        """Return the row in its own words."""
        meant = _meant(question, decisions)
        return ({"question": _about(question), "intended": meant, "recorded": None, "result": "unknown"},)

    def refusal(self, question: Dialog, decisions: Sequence[Mapping[str, Any]], config: Config) -> str:  # noqa: ARG002
        """Return why no agent may choose a row, by the config of now."""
        if config.approvals.rows == AGENT:
            return ""
        return 'config.toml: [approvals] rows = "person", so no agent may choose a row of such a dialog; a person can'

    def asked(
        self,
        question: Dialog,
        decisions: Sequence[Mapping[str, Any]],
        store: DocumentStore,  # noqa: ARG002 - no call is asked for
    ) -> AskedDialog:
        """Return the dialog and the row."""
        return AskedDialog(BLOCKED, question.request, decisions[0], question.cwd)

    def judge(self, question: Dialog, decisions: Sequence[Mapping[str, Any]], services: Services) -> Comparison | None:
        """Say that the dialog is gone from the screen after the row was chosen; None while it is there."""
        address = question.terminal
        seen_on = seen_dialog(services.plugins, services.config.answer.planner)
        backend = None if address is None else terminal_backends(services.plugins).get(address.backend)
        if address is None or backend is None or seen_on is None:
            return None
        # Twice: a screen that is just being drawn may show anything.
        for pause in (0.0, _REDRAWN_SECONDS):
            time.sleep(pause)
            try:
                seen = seen_on(backend.capture(address))
            except TerminalGone:
                # One of its rows ends the client.
                break
            except TerminalError:
                return None
            if seen is not None and is_same(seen, question.request):
                return None
        meant = _meant(question, decisions)
        result = QuestionResult(question=_about(question), result="match", intended=meant, recorded=meant)
        return Comparison(True, "screen", (result,), (), "")


def _row(question: Dialog, value: object) -> int:
    rows = question.request.get("rows") or []
    if not rows:
        raise DecisionError(["no row of this dialog can be chosen from here; a person can, at the session's terminal"])
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < len(rows):
        raise DecisionError([f'"index" is {_shown(value)}; allowed: 0 to {len(rows) - 1}'])
    return value


def _shown(value: object) -> str:
    return printable(json.dumps(value, ensure_ascii=False))[:60] if value is not None else "missing"


def _meant(question: Dialog, decisions: Sequence[Mapping[str, Any]]) -> str:
    index = decisions[0]["index"]
    return f"row {index}: {question.request['rows'][index]}"


def _about(question: Dialog) -> str:
    return str(question.request.get("dialog", ""))
