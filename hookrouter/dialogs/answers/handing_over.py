"""Guards one answer and hands it over: the channels are tried in order, while nothing stands against it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from hookrouter.answering.interfaces import (
    AnswerOutcome,
    AnswerRequest,
    AnswerStatus,
    Beside,
    find_planner,
)
from hookrouter.dialogs import documents
from hookrouter.dialogs.answers.channels import unknown_parts
from hookrouter.dialogs.answers.choosing import listed, not_over
from hookrouter.dialogs.form import form_of
from hookrouter.dialogs.handover import identity
from hookrouter.dialogs.stories.story import shown_id
from hookrouter.dialogs.transcript import OPEN, client_version, question_state, transcript_of
from hookrouter.messaging.pauses import is_paused
from hookrouter.storage.interface import StoreError
from hookrouter.terminals import terminal_backends
from hookrouter.util.clock import now, seconds

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.dialogs.answers.checked_answer import CheckedAnswer
    from hookrouter.dialogs.kinds import DialogKind
    from hookrouter.messaging.pauses import Pause

__all__ = ["HandingOver"]

ANSWER_SECONDS = 60.0
"""How long all channels together may take."""

_LOOK_SECONDS = 0.5
"""How often to look whether a question goes away whose dialog is not there yet."""


class HandingOver:
    """The delivery of one answer, under the session's lock."""

    def __init__(self, app: Services, answer: CheckedAnswer, kind: DialogKind) -> None:
        """Do nothing yet."""
        self._app = app
        self._kind = kind
        self._answer = answer
        self._question = answer.question
        self._started = now()
        self.channel = ""
        """The last channel that was asked to deliver."""
        self.pause: Pause | None = None
        """The pause that has kept a channel from delivering."""

    def mixed_up(self) -> str:
        """Return why this answer could reach another question of exactly the same words; empty if it cannot.

        Two that are certainly both open are for the channels to tell apart, as are two whose words differ in what no
        screen shows. But one of which the transcript does not say so may be over, and its answer would go to the other.
        """
        if not self._question.is_form:
            return ""
        words = _name(self._question)
        asked = [self._question, *(other for other in self._forms_beside() if _name(other) == words)]
        if len(asked) == 1 or all(_is_surely_open(one) for one in asked):
            return ""
        return (
            f"the session has asked the same words more than once ({listed(asked)}), and its transcript does not show "
            "which of them still waits, so the answer to one could go to another; a person can answer at its terminal"
        )

    def _forms_beside(self) -> list[documents.Dialog]:
        return not_over(documents.forms_beside(self._app.store, self._question))

    def _beside(self) -> Beside:
        """Return what else the client may be asking by now. Raises StoreError and FormError."""
        if self._question.is_form:
            on_screen = [one for one in self._forms_beside() if not documents.is_elsewhere(self._question, one)]
            return Beside(forms=tuple(map(form_of, on_screen)))
        asked = self._kind.asked(self._question, self._answer.given, self._app.store)
        return Beside(requests=() if asked is None else asked.others)

    def deliver(self) -> AnswerOutcome:
        """Let the channels deliver, again if the dialog may not have been drawn yet when they looked."""
        with self._app.store.watch(documents.QUESTION) as changes:
            while True:
                is_coming = self._is_dialog_coming()
                delivery = self._deliver_once()
                if delivery.status == AnswerStatus.DELIVERED or delivery.steps or not is_coming:
                    return delivery
                if self.stopped() or not self._is_answerable():
                    return delivery
                changes.wait(_LOOK_SECONDS)

    def stopped(self) -> str:
        """Return why no more may be done: the session is paused, which counts for no person. Raises nothing."""
        if self._answer.author.is_person:
            return ""
        try:
            self.pause = is_paused(self._app.store, self._question.session) or self.pause
        except StoreError as error:
            return str(error)
        if self.pause is None:
            return ""
        scope = "--all" if self.pause.session is None else f"--session {self.pause.session}"
        return f"{self.pause.described()}; 'hookrouter resume {scope}' ends that"

    def is_open(self) -> bool:
        """Whether nobody has closed the question."""
        return documents.is_open(self._app.store, self._question.session, self._question.tool_use_id)

    def _is_answerable(self) -> bool:
        """Whether the question is open in a client that runs: the dialog of a killed one stays on the screen."""
        return self.is_open() and not documents.is_client_gone(self._question)

    def _is_dialog_coming(self) -> bool:
        """Whether hooks that run before the dialog is drawn may still be at work.

        The agent is woken by the first of them. The journal tells when all of ours are done; without it the question's
        age does. A dialog that no turn waits for was seen on the screen before it was opened.
        """
        if not self._kind.is_of_turn or not documents.is_young(self._question):
            return False
        shown, since = shown_id(self._question.tool_use_id), (seconds(self._question.saved_at) or self._started) - 1
        return not any(
            record.get("event") == "PreToolUse" and record.get("tool_use_id") == shown
            for record in self._app.journal.records(self._question.session_id, since)
        )

    def _deliver_once(self) -> AnswerOutcome:
        """Try the channels in order, until one can serve this session. Notes the intent before each."""
        address, backends = self._question.terminal, terminal_backends(self._app.plugins)
        request = AnswerRequest(
            session=self._question.session,
            tool_use_id=self._question.tool_use_id,
            form=self._answer.form,
            decisions=self._answer.decisions,
            address=address,
            terminal=backends.get(address.backend) if address is not None else None,
            planner=find_planner(self._app.plugins, self._app.config.answer.planner, self._question.kind),
            still_open=self._is_answerable,
            deadline=time.monotonic() + ANSWER_SECONDS,
            session_id=self._question.session_id,
            store=self._app.store,
            client_version=client_version(self._question.transcript_path),
            stopped=self.stopped,
            by=self._answer.author.by,
            kind=self._question.kind,
            reply=self._answer.reply,
            dialog=self._answer.dialog,
            beside=self._beside,
            client_pid=documents.client_here(self._question),
        )
        serving = {
            name: channel for name, channel in self._answer.channels.items() if channel.serves(self._question.kind)
        }
        reasons = [
            f"{name}: it serves no dialog of the kind {self._question.kind}"
            for name in self._answer.channels
            if name not in serving
        ]
        last = list(serving)[-1] if serving else ""
        for name, channel in serving.items():
            if reason := self.stopped():
                return AnswerOutcome(AnswerStatus.REFUSED, reason)
            self._save_pending(name)
            self.channel = name
            try:
                delivery = channel.deliver(request._replace(is_last=name == last))
            except Exception as error:  # noqa: BLE001 - a channel of another author; what it did is not known
                reason = f"the channel {name} failed with {type(error).__name__}: {error}"
                return AnswerOutcome(AnswerStatus.REFUSED, reason, (f"{name}: failed at an unknown step",))
            if delivery.status != AnswerStatus.UNAVAILABLE or delivery.steps:
                return delivery
            reasons.append(f"{name}: {delivery.reason}")
        reasons += unknown_parts(self._app, located=address is not None)
        return AnswerOutcome(AnswerStatus.UNAVAILABLE, "; ".join(reasons))

    def _save_pending(self, channel: str) -> None:
        documents.save_pending(
            self._app.store,
            documents.PendingAnswer(
                session=self._question.session,
                session_id=self._question.session_id,
                tool_use_id=self._question.tool_use_id,
                decisions=list(self._answer.given),
                channel=channel,
                pid=os.getpid(),
                by=self._answer.author.by,
                who=self._answer.author.name,
            ),
        )


def _name(question: documents.Dialog) -> str:
    """Return what a hook that waits for its answer knows a question by."""
    return identity(question.session_id, {"questions": question.questions})


def _is_surely_open(question: documents.Dialog) -> bool:
    """Whether the transcript that has the call says so."""
    path = transcript_of(question.transcript_path, question.agent_id)
    return question_state(path, question.tool_use_id) == OPEN
