"""The agent's side: hands the answer to the hook that waits, and sees that it took it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from hookrouter.answering import Delivery, DeliveryOutcome
from hookrouter.decisions import Chat, MultiSelect, Select
from hookrouter.labels import joined_items, recorded_label
from hookrouter.store import StoreError
from hookrouter.watch import FolderWatch
from hookrouter_hook_reply.handover import Handover

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.answering import AnswerRequest
    from hookrouter.decisions import Decision
    from hookrouter.store import Store
    from hookrouter.tools import AskUserQuestionInput, Question

__all__ = ["ReplyChannel", "answer_document"]

_COMING = 3.0
"""Seconds to wait for a hook where no other channel could serve: it starts just after the question was saved."""
_TAKING = 5.0
"""Seconds that a waiting hook may need to take an answer; it takes milliseconds."""


class ReplyChannel:
    """The answer channel that hands the answer to the waiting PermissionRequest hook."""

    name = "reply"

    def deliver(self, request: AnswerRequest) -> Delivery:
        """Hand the answer over. See :class:`hookrouter.answering.AnswerChannel`."""
        if request.store is None:
            return Delivery(DeliveryOutcome.UNAVAILABLE, "there is no state folder to hand the answer over in")
        handover = Handover.of(request.store, request.session_id, request.form.raw)
        try:
            return self._deliver(request, handover)
        except StoreError as error:
            return Delivery(DeliveryOutcome.UNAVAILABLE, f"the answer cannot be handed over: {error}")

    def is_waiting(self, store: Store, session_id: str, form: AskUserQuestionInput) -> bool:
        """Whether a hook waits. See :class:`hookrouter.answering.WaitingChannel`."""
        return Handover.of(store, session_id, form.raw).waiting() is not None

    def _deliver(self, request: AnswerRequest, handover: Handover) -> Delivery:
        waiting = self._waiting(request, handover)
        if waiting is None:
            return Delivery(DeliveryOutcome.UNAVAILABLE, "no hook is waiting beside the dialog")
        if waiting.get("disputed"):
            return Delivery(
                DeliveryOutcome.UNAVAILABLE,
                "the session asks the same question twice, and hooks cannot tell which is which",
            )
        if reason := request.stopped():
            return Delivery(DeliveryOutcome.REFUSED, reason)
        with FolderWatch(handover.store.folder) as watch:
            handover.give(answer_document(request.form.questions, request.decisions))
            taken = self._is_taken(request, handover, watch)
        if not taken and handover.take_back():
            return Delivery(DeliveryOutcome.UNAVAILABLE, "the waiting hook did not take the answer")
        what = "the message" if isinstance(request.decisions[-1], Chat) else "the answer"
        return Delivery(
            DeliveryOutcome.DELIVERED,
            f"the waiting hook gave {what} to Claude Code",
            (f"{what} was handed to the hook that waits beside the dialog (process {waiting.get('pid')})",),
        )

    def _waiting(self, request: AnswerRequest, handover: Handover) -> Mapping[str, Any] | None:
        """Return who waits; where the answer can go no other way, a hook that is just starting is waited for."""
        patience = _COMING if request.is_last or request.terminal is None else 0
        deadline = min(time.monotonic() + patience, request.deadline)
        found = handover.waiting()
        if found is not None or not patience:
            return found
        with FolderWatch(handover.store.folder) as watch:
            while found is None and request.still_open() and (left := deadline - time.monotonic()) > 0:
                watch.wait(left)
                found = handover.waiting()
        return found

    def _is_taken(self, request: AnswerRequest, handover: Handover, watch: FolderWatch) -> bool:
        deadline = min(time.monotonic() + _TAKING, request.deadline)
        while handover.peek() is not None:
            left = deadline - time.monotonic()
            if left <= 0 or handover.waiting() is None:
                return False
            watch.wait(min(left, 0.5))
        return True


def answer_document(questions: Sequence[Question], decisions: Sequence[Decision]) -> dict[str, object]:
    """Return what the hook is to say: ``answers`` and ``annotations`` by question text, or a ``message``.

    The answers are what the client itself would record for these choices; a multi-select of which nothing was chosen
    has none. A chat declines the form with a message, which holds what was decided before it.
    """
    answers: dict[str, str] = {}
    annotations: dict[str, dict[str, str]] = {}
    for question, decision in zip(questions, decisions, strict=False):
        if isinstance(decision, Chat):
            return {"message": _message(decision.text, answers)}
        answer = _answer(question, decision)
        if answer is not None:
            answers[question.question] = answer
        if isinstance(decision, Select):
            option = question.options[decision.option_index]
            found = {"preview": option.preview, "notes": decision.notes}
            if kept := {key: value for key, value in found.items() if value}:
                annotations[question.question] = kept
    return {"answers": answers, "annotations": annotations}


def _answer(question: Question, decision: Decision) -> str | None:
    if isinstance(decision, Select):
        return recorded_label(question.options[decision.option_index].label)
    if isinstance(decision, MultiSelect):
        chosen = sorted(set(decision.selected_indices))
        items = [recorded_label(question.options[index].label) for index in chosen]
        if decision.text is not None:
            items.append(decision.text)
        return joined_items(items) if items else None
    return decision.text


def _message(text: str, answers: Mapping[str, str]) -> str:
    decided = "".join(f"\n- {question} {answer}" for question, answer in answers.items())
    before = f"\n\nDecided so far:{decided}" if decided else ""
    return f"The user did not choose an option, but wants to talk about the question first:\n\n{text}{before}"
