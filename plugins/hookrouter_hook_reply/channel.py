"""The agent's side: hands the answer to the hook that waits, and sees that it took it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from hookrouter.answering.decisions import Chat, Select
from hookrouter.answering.interfaces import EVERY_KIND, AnswerChannel, AnswerOutcome, AnswerStatus
from hookrouter.answering.recording import recorded_answer
from hookrouter.dialogs.handover import ANSWER, WAITING, Handover
from hookrouter.util.claude_process import process_space
from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.answering.decisions import Decision
    from hookrouter.answering.interfaces import AnswerRequest
    from hookrouter.storage.interface import DocumentStore, DocumentWatch
    from hookrouter.tools import AskUserQuestionInput, Question

__all__ = ["ReplyChannel", "answer_document"]

_COMING = 3.0
"""Seconds to wait for a hook if no other channel could serve: it starts just after the question was saved."""
_TAKING = 5.0
"""Seconds that a waiting hook may need to take an answer; it takes milliseconds."""
_RECORDING = 2.0
"""Seconds in which a question goes away whose answer was given by a hook that was killed just then."""
_NOT_TAKEN = "the waiting hook did not take the answer"
_LOOK = 0.5
"""Seconds between two looks whether the hook still lives, of which nothing tells."""


class ReplyChannel(AnswerChannel):
    """The answer channel that hands the answer to the waiting PermissionRequest hook."""

    name = "reply"
    kinds = (EVERY_KIND,)
    """It hands over whatever the waiting hook is to say."""
    hands_over = True

    def deliver(self, request: AnswerRequest) -> AnswerOutcome:
        """Hand the answer over."""
        if request.store is None:
            return AnswerOutcome(AnswerStatus.UNAVAILABLE, "there is no state folder to pass the answer through")
        handover = _handover(request, request.store)
        try:
            return self._deliver(request, handover)
        except HookrouterError as error:
            return AnswerOutcome(AnswerStatus.UNAVAILABLE, f"the answer cannot be passed on: {error}")

    def is_waiting(self, store: DocumentStore, session_id: str, form: AskUserQuestionInput) -> bool:
        """Whether a hook waits."""
        return Handover.of(store, session_id, form.raw).waiting() is not None

    def _deliver(self, request: AnswerRequest, handover: Handover) -> AnswerOutcome:
        waiting = self._waiting(request, handover)
        if waiting is None:
            return AnswerOutcome(AnswerStatus.UNAVAILABLE, "no hook is waiting beside the dialog")
        if _is_anothers(request, waiting):
            return AnswerOutcome(AnswerStatus.UNAVAILABLE, "the hook that waits is one of another client")
        if waiting.get("disputed") or _is_asked_twice(request, handover):
            return AnswerOutcome(
                AnswerStatus.UNAVAILABLE,
                "the session asks the same question twice, and hooks cannot tell which is which",
            )
        if reason := request.stopped():
            return AnswerOutcome(AnswerStatus.REFUSED, reason)
        with handover.store.watch(ANSWER, handover.name) as watch:
            answer = (
                dict(request.reply)
                if request.reply is not None
                else answer_document(request.form.questions, request.decisions)
            )
            handover.give({**answer, "by": request.by}, waiting, request.tool_use_id)
            _wait_until_taken(request, handover, waiting, watch)
            refusal = handover.refused()
            if handover.take_back():
                told = f"the waiting hook cannot use the answer: {refusal}" if refusal else _NOT_TAKEN
                return AnswerOutcome(AnswerStatus.UNAVAILABLE, told)
            if not _is_given(request, handover, waiting, watch):
                return AnswerOutcome(AnswerStatus.UNAVAILABLE, "the hook that took the answer ended before it gave it")
        is_chat = bool(request.decisions) and isinstance(request.decisions[-1], Chat)
        what = "the message" if is_chat else "the answer"
        return AnswerOutcome(
            AnswerStatus.DELIVERED,
            f"the waiting hook gave {what} to Claude Code",
            (f"{what} was passed to the hook that waits beside the dialog (process {waiting.get('pid')})",),
        )

    def _waiting(self, request: AnswerRequest, handover: Handover) -> Mapping[str, Any] | None:
        """Return who waits; if the answer can go no other way, a hook that is just starting is waited for."""
        patience = _COMING if request.is_last or request.terminal is None else 0
        deadline = min(time.monotonic() + patience, request.deadline)
        found = handover.waiting()
        if found is not None or not patience:
            return found
        with handover.store.watch(WAITING, handover.name) as watch:
            while found is None and request.still_open() and (left := deadline - time.monotonic()) > 0:
                watch.wait(left)
                found = handover.waiting()
        return found


def _handover(request: AnswerRequest, store: DocumentStore) -> Handover:
    if request.reply is None:
        return Handover.of(store, request.session_id, request.form.raw)
    return Handover.of_call(store, request.session_id, request.tool_use_id)


def _is_asked_twice(request: AnswerRequest, handover: Handover) -> bool:
    """Whether the client has another question of the same words open: its hook may only be about to wait.

    Raises HookrouterError if that cannot be known.
    """
    store, session = handover.store, request.session_id
    return any(Handover.of(store, session, form.raw).name == handover.name for form in request.beside().forms)


def _is_anothers(request: AnswerRequest, waiting: Mapping[str, Any]) -> bool:
    """Whether the hook that waits is certainly that of another client, which has the same session."""
    pid = waiting.get("client_pid")
    is_known = isinstance(pid, int) and pid > 0 and request.client_pid > 0
    return is_known and waiting.get("client_host") == process_space() and pid != request.client_pid


def _wait_until_taken(
    request: AnswerRequest, handover: Handover, waiting: Mapping[str, Any], watch: DocumentWatch
) -> None:
    """Wait until the hook has taken the answer, or is gone, or takes too long."""
    deadline = min(time.monotonic() + _TAKING, request.deadline)
    while (answer := handover.peek()) is not None and not answer.get("taken"):
        left = deadline - time.monotonic()
        if left <= 0 or not _is_alive(handover, waiting):
            return
        watch.wait(min(left, _LOOK))


def _is_given(request: AnswerRequest, handover: Handover, waiting: Mapping[str, Any], watch: DocumentWatch) -> bool:
    """Whether the hook that took the answer writes it to Claude Code: False if it ended before. Waits for either."""
    while handover.peek() is not None and (left := request.deadline - time.monotonic()) > 0:
        if _is_alive(handover, waiting):
            watch.wait(min(left, _LOOK))
        elif handover.peek() is not None:
            # It may have been killed after it had written its reply.
            given = _is_over_soon(request)
            handover.given()
            return given
    return not handover.refused()


def _is_over_soon(request: AnswerRequest) -> bool:
    deadline = time.monotonic() + _RECORDING
    while request.still_open():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_LOOK / 10)
    return True


def _is_alive(handover: Handover, waiting: Mapping[str, Any]) -> bool:
    now = handover.waiting()
    return now is not None and now.get("token") == waiting.get("token")


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
        answer = recorded_answer(question, decision)
        if answer is not None:
            answers[question.question] = answer
        if isinstance(decision, Select):
            option = question.options[decision.option_index]
            found = {"preview": option.preview, "notes": decision.notes}
            if kept := {key: value for key, value in found.items() if value}:
                annotations[question.question] = kept
    return {"answers": answers, "annotations": annotations}


def _message(text: str, answers: Mapping[str, str]) -> str:
    decided = "".join(f"\n- {question} {answer}" for question, answer in answers.items())
    before = f"\n\nDecided so far:{decided}" if decided else ""
    return f"The user did not choose an option, but wants to talk about the question first:\n\n{text}{before}"
