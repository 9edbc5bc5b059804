"""What ``hookrouter answer`` does: check the decisions, note the intent, deliver it, and learn what was recorded."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING, Any

from hookrouter.answering.interfaces import AnswerStatus
from hookrouter.dialogs import documents
from hookrouter.dialogs.answers.awaiting import Awaiting
from hookrouter.dialogs.answers.channels import find_channels, no_channel, planned
from hookrouter.dialogs.answers.checked_answer import CheckedAnswer
from hookrouter.dialogs.answers.choosing import choose, decision_on, listed, not_over
from hookrouter.dialogs.answers.ended import already_ended
from hookrouter.dialogs.answers.handing_over import HandingOver
from hookrouter.dialogs.answers.identity import AGENT
from hookrouter.dialogs.answers.result import AnswerResult, ExitCode, with_recorded
from hookrouter.dialogs.closing import CLIENT_GONE, End, end, verdict_of
from hookrouter.dialogs.decisions import DecisionError, check_decisions, from_json
from hookrouter.dialogs.form import FormError, form_of
from hookrouter.dialogs.kinds import find_kind
from hookrouter.dialogs.transcript import (
    ANSWERED,
    is_prompt_said,
    question_state,
    reason_of,
    wait_for_state,
)
from hookrouter.dialogs.verdicts import save_verdict
from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.storage.journal import cap
from hookrouter.util.clock import now
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from hookrouter.answering.interfaces import AnswerOutcome
    from hookrouter.context import Services
    from hookrouter.dialogs.answers.identity import Author
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.dialogs.kinds import DialogKind
    from hookrouter.dialogs.verdicts import Verdict
    from hookrouter.tools.ask_user_question import AskUserQuestionInput

    Decide = Callable[[Dialog, AskUserQuestionInput], list[dict[str, Any]]]

__all__ = ["answer"]

_LOCK_SECONDS = 1.0
"""A sweep holds the lock for an instant to see whether an answer is running."""
_AFTER_KEYS_SECONDS = 2.0
"""How long an answer may take to be recorded whose channel lost sight of it after keys were pressed."""
_SHOWN = 300
"""Characters of another answer that are shown in a reason."""
_DECLINED_SECONDS = 2.0
"""How long a declined form may take to show in the transcript (measured: within 0.1 s)."""


class _Interrupted(BaseException):
    """A signal asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def answer(
    app: Services,
    session: str,
    decide: str | Decide,
    *,
    tool_use_id: str | None = None,
    expect: str | None = None,
    any_session: bool = False,
    channel: str | None = None,
    wait: float = 10.0,
    dry_run: bool = False,
    author: Author = AGENT,
) -> AnswerResult:
    """Answer the open question of ``session`` with the decisions in the JSON array ``decide``.

    ``decide`` may also be a function that returns the decisions for a question and its form, once it is known which is
    meant; what it raises, but for DecisionError, goes to the caller.

    ``tool_use_id`` says which question is meant, and must if the session has several open; ``session`` may then be
    empty. ``expect`` refuses a question none of whose texts holds these words. ``any_session`` means the one question
    that is open in any session, and so does the session ``auto``, if none is called so. ``channel`` uses that
    channel alone; ``wait`` is how many seconds to wait for the recorded answer once it is delivered. Nothing is saved
    before everything is checked, and nothing at all with ``dry_run``. ``author`` is who decides: a person may answer
    while the session is paused. Every end is a result; raises nothing that a user can cause.
    """
    result = AnswerResult("not_delivered", ExitCode.NOT_DELIVERED, session, by=author.by, who=author.name)
    question: Dialog | None = None
    try:
        chosen = choose(app, result, tool_use_id, expect, any_session=any_session)
        if isinstance(chosen, AnswerResult):
            return already_ended(app.store, chosen, tool_use_id)
        question = chosen
        session = question.session
        result = result._replace(session=session, tool_use_id=question.tool_use_id)
        form = form_of(question)
        kind = find_kind(app.plugins, question.kind)
        if kind is None:
            return result._replace(reason=f"no active plugin serves dialogs of the kind {question.kind!r}")
        result = result._replace(kind=kind.name)
        if isinstance(decide, str):
            given = kind.parse(question, decide)
        else:
            given = kind.chosen(question, check_decisions(decide(question, form), form))
        result = result._replace(questions=kind.intended(question, given))
        if not author.is_present and (refusal := kind.refusal(question, given, app.config)):
            if not dry_run:
                _journal_refusal(app, question, given, author, refusal)
            return result._replace(outcome="invalid", exit_code=ExitCode.BAD_INPUT, reason=refusal)
        typed = tuple(map(from_json, given)) if question.is_form else ()
        channels = find_channels(app, channel)
        reply, asked = kind.reply(question, given), kind.asked(question, given, app.store)
        checked = CheckedAnswer(question, form, tuple(given), channels, author, reply, typed, asked)
        if dry_run:
            return planned(app, checked, result)
        if not checked.channels:
            return result._replace(reason=no_channel("config.toml: answer.channels", app, app.config.answer.channels))
        own_name = documents.own_name(session, question.tool_use_id)
        with (
            app.store.lock(documents.ANSWER_LOCK, session, _LOCK_SECONDS),
            app.store.lock(documents.ANSWER_LOCK, own_name, _LOCK_SECONDS),
            _signals(),
        ):
            return _Answering(app, checked, result, kind).run(wait)
    except DecisionError as error:
        if question is not None and not dry_run:
            _journal_refusal(app, question, [], author, str(error))
        return result._replace(outcome="invalid", exit_code=ExitCode.BAD_INPUT, reason=str(error))
    except FormError as error:
        return result._replace(reason=f"the question document cannot be read: {error}")
    except StoreBusy as error:
        return result._replace(reason=f"session {session} is being answered already, by {error.holder}")
    except StoreError as error:
        return result._replace(reason=str(error))
    except _Interrupted as stop:
        return result._replace(outcome="interrupted", exit_code=128 + stop.number, reason=f"stopped by {stop}")


class _Answering:
    """One answer, under the session's lock."""

    def __init__(self, app: Services, answer: CheckedAnswer, result: AnswerResult, kind: DialogKind) -> None:
        self._app = app
        self._kind = kind
        self._author = answer.author
        self._question = answer.question
        self._given = answer.given
        self._result = result
        self._started = now()
        self._handing_over = HandingOver(app, answer, kind)
        self._awaiting = Awaiting(app, answer.question)
        self._chat = self._question.is_form and answer.given[-1]["action"] == "chat"
        self._is_closed = False
        """Whether this command has closed the question, so that no hook will."""

    def run(self, wait: float) -> AnswerResult:
        # A hook writes how a question ended before it removes the question: an answer between the two is too late.
        if not self._handing_over.is_open() or self._awaiting.verdict() is not None:
            ended = self._result._replace(reason="the question has ended: somebody answered or closed it meanwhile")
            self._result = already_ended(self._app.store, ended, self._question.tool_use_id)
            return self._finish()
        if closed := self._closed_reason():
            # No event has swept it yet; this command tells the agent, so that no wake needs to.
            self._close("unanswered", closed)
            return self._finish(outcome="unanswered", reason=f"the question has ended: {closed}")
        if reason := self._handing_over.mixed_up() or self._decided_before():
            return self._finish(reason=reason)
        try:
            delivery = self._handing_over.deliver()
        except _Interrupted:
            self._result = self._result._replace(channel=self._handing_over.channel)
            self._finish(outcome="interrupted", reason="stopped by a signal during the delivery")
            raise
        self._result = self._result._replace(
            channel=self._handing_over.channel, steps=delivery.steps, reason=delivery.reason
        )
        if delivery.status != AnswerStatus.DELIVERED:
            return self._not_delivered(delivery)
        if self._chat:
            return self._chatted(wait)
        self._journal("delivered", delivery.reason)
        if wait <= 0:
            return self._result._replace(outcome="delivered", exit_code=ExitCode.OK)
        return self._verify(wait)

    def _decided_before(self) -> str:
        """Return that a call was decided on already, and may still run; empty if it was not.

        That decision stays noted: what happens is to be compared with it. A question's answer is recorded at once.
        """
        pending = decision_on(self._app.store, self._question)
        if pending is None:
            return ""
        who = f"person {pending.who}".strip() if pending.by == "person" else "an agent"
        [entry] = self._kind.intended(self._question, pending.decisions)
        return f"{who} has decided already: {entry['intended']}; what came of it is not known yet"

    def _not_delivered(self, delivery: AnswerOutcome) -> AnswerResult:
        """Report a delivery that failed; if keys were pressed, whatever is recorded is still compared."""
        outcome = "paused" if self._handing_over.pause is not None else "not_delivered"
        if self._is_said(delivery):
            return self._said()
        # After keys were pressed the answer may have arrived although the channel did not see it.
        may_be_recorded = bool(delivery.steps) or not self._handing_over.is_open()
        lost = "; the text of the chat was not sent: give it to Claude as a prompt" if self._chat else ""
        if may_be_recorded and (verdict := self._awaiting.wait(_AFTER_KEYS_SECONDS)) is not None:
            if self._is_said(delivery):
                return self._said()
            self._journal("not_delivered", delivery.reason)
            ended = self._judged(verdict)
            return ended._replace(reason=ended.reason + lost)
        if closed := self._closed_reason():
            self._close("unanswered", closed)
            reason = f"{delivery.reason}; {closed}{lost}{self._others_open() if lost else ''}"
            # Nothing was done, so the end came before it, and is only seen now: the client writes it a moment later.
            outcome = outcome if delivery.steps or self._handing_over.pause is not None else "unanswered"
            return self._finish(outcome=outcome, reason=reason)
        reason = delivery.reason + ("" if self._handing_over.pause else self._others_open())
        if delivery.steps:
            reason += (
                "; the dialog may hold part of the answer, so the answer stays noted and will be compared with what is "
                "recorded"
            )
            return self._finish(outcome=outcome, reason=reason)
        documents.delete_pending(self._app.store, self._question.session, self._question.tool_use_id)
        return self._finish(outcome=outcome, reason=reason)

    def _is_said(self, delivery: AnswerOutcome) -> bool:
        """Whether the text of a chat arrived although its channel lost sight of it, as when the next dialog opens."""
        return (
            self._chat
            and bool(delivery.steps)
            and is_prompt_said(self._question.transcript_path, self._question.tool_use_id, self._given[-1]["text"])
        )

    def _chatted(self, wait: float) -> AnswerResult:
        """Report a chat that its channel has delivered, once the transcript shows that the form was declined.

        A person may have answered just before: then Claude Code drops what a hook says, and records their answer.
        """
        path, tool_use_id = self._question.transcript_path, self._question.tool_use_id
        if wait_for_state(path, tool_use_id, min(wait, _DECLINED_SECONDS)) == ANSWERED:
            return self._verify(max(wait, _AFTER_KEYS_SECONDS))
        if (
            not self._handing_over.is_open()
            and (verdict := self._awaiting.verdict()) is not None
            and verdict.outcome != "chat"
        ):
            return self._judged(verdict)
        self._close("chat")
        return self._finish(outcome="chat", exit_code=ExitCode.OK)

    def _said(self) -> AnswerResult:
        self._close("chat")
        return self._finish(outcome="chat", exit_code=ExitCode.OK, reason="Claude Code took the text as a prompt")

    def _others_open(self) -> str:
        """Return, to be added to a reason, which other questions may be on screen instead; empty if none can."""
        others = not_over(documents.others(self._app.store, self._question))
        if not others:
            return ""
        what, they = ("another question", "it") if len(others) == 1 else ("other questions", "they")
        return (
            f"; session {self._question.session} has {what} open ({listed(others)}), and Claude Code shows one dialog "
            f"at a time: {they} may have to be answered first"
        )

    def _verify(self, wait: float) -> AnswerResult:
        verdict = self._awaiting.wait(wait, self._shown)
        if verdict is None:
            return self._result._replace(
                outcome="not_confirmed",
                exit_code=ExitCode.NOT_CONFIRMED,
                reason=f"the answer was delivered, but Claude Code's record of it did not come within {wait:g} s",
            )
        return self._judged(verdict)

    def _shown(self) -> Verdict | None:
        """Return the verdict that the transcript gives, of what no hook tells; None while it gives none."""
        question = self._question
        comparison = self._kind.judge(question, self._given, self._app)
        if comparison is None:
            return None
        outcome = "verified" if comparison.matches else "mismatch"
        author, channel = self._author, self._handing_over.channel
        shown = End(outcome, comparison.reason, author.by, author.name, channel, comparison, told_by="answer")
        return None if end(self._app, question, lambda *_: shown) is None else verdict_of(question, shown)

    def _judged(self, verdict: Verdict) -> AnswerResult:
        """Return the result that the verdict on the question means for this answer."""
        outcome, reason = verdict.outcome, verdict.reason
        if other := self._other_answer(verdict):
            # Of two who answer at the same time, one is the first.
            return self._result._replace(
                outcome="not_delivered",
                exit_code=ExitCode.NOT_DELIVERED,
                reason=f"another answer was recorded: {other}; this one was not sent",
            )
        if verdict.by != "agent" and not self._author.is_person:
            # The agent hears of it here, and so means a later question from now on.
            with contextlib.suppress(StoreError):
                save_verdict(self._app.store, verdict._replace(told_by="answer"))
        shown = {
            "verified": ("verified", ExitCode.OK, "Claude Code recorded what was meant"),
            "mismatch": ("mismatch", ExitCode.RECORDED_DIFFERENTLY, reason),
            "answered_by_person": ("answered_by_person", ExitCode.NOT_DELIVERED, "a person answered first"),
            "unanswered": ("unanswered", ExitCode.NOT_DELIVERED, reason),
            "chat": ("unanswered", ExitCode.NOT_DELIVERED, reason),
        }.get(outcome)
        if shown is None:
            fallback = f"the question has ended, and its answer was not compared ({outcome}) {reason}".strip()
            shown = ("not_confirmed", ExitCode.NOT_CONFIRMED, fallback)
        return self._result._replace(
            outcome=shown[0],
            exit_code=shown[1],
            reason=shown[2],
            questions=with_recorded(self._result.questions, verdict.verification),
        )

    def _other_answer(self, verdict: Verdict) -> str:
        """Return the answer that a verdict has compared, if that is not this one; empty if it is, or if none was."""
        compared = (verdict.verification or {}).get("questions")
        known = [one for one in compared if isinstance(one, dict)] if isinstance(compared, list) else []
        entries = known if all("intended" in one for one in known) else []
        for ours, theirs in zip(self._result.questions, entries, strict=False):
            for key in ("intended", "intended_notes"):
                meant, found = ours.get(key) or "", theirs.get(key) or ""
                # The journal cuts what is long.
                if found not in (meant, cap(meant)):
                    return "; ".join(printable(str(one.get("intended", ""))) for one in entries)[:_SHOWN]
        return ""

    def _closed_reason(self) -> str:
        """Return why the question can get no answer any more, as transcript and client show; empty if it may."""
        reason = reason_of(question_state(self._question.transcript_path, self._question.tool_use_id))
        return reason or (CLIENT_GONE if documents.is_client_gone(self._question) else "")

    def _close(self, outcome: str, reason: str = "") -> None:
        """Close the question, whose end no hook tells: with a verdict for whoever watches.

        One that ended without an answer is left open by a person's command, so that the event that closes it tells the
        agent.
        """
        by, who = ("nobody", "") if outcome != "chat" else (self._author.by, self._author.name)
        if by == "nobody" and self._author.is_person:
            return
        self._is_closed = True
        told_by = "nobody" if self._author.is_person else "answer"
        ended = End(outcome, reason, by, who, told_by=told_by)
        end(self._app, self._question, lambda *_: ended)

    def _finish(self, **changes: Any) -> AnswerResult:
        """Change the result for the last time and journal it."""
        self._result = self._result._replace(**changes)
        self._journal(self._result.outcome, self._result.reason)
        return self._result

    def _trace(self) -> dict[str, str]:
        """Return the trace context that this command was given, for the journal."""
        from hookrouter.composing import has_traces

        if not has_traces(self._app):
            return {}
        from hookrouter.messaging import trace_context

        given = trace_context.parsed(self._app.environ.get(trace_context.VARIABLE, ""))
        return {} if given is None else {trace_context.HEADER: given.header()}

    def _journal(self, outcome: str, reason: str) -> None:
        self._app.journal.write(
            {
                "level": "info" if outcome in ("delivered", "chat") else "warning",
                "event": "answer",
                "session_id": self._question.session_id,
                "session": self._question.session,
                "tool_use_id": self._question.tool_use_id,
                "outcome": outcome,
                "reason": reason,
                "channel": self._result.channel,
                "decisions": list(self._given),
                "steps": list(self._result.steps),
                "closed": self._is_closed,
                "by": self._author.by,
                "who": self._author.name,
                "ms": round((now() - self._started) * 1000, 2),
                **self._trace(),
            },
            self._question.session_id,
        )


def _journal_refusal(app: Services, question: Dialog, given: list[dict[str, Any]], author: Author, reason: str) -> None:
    """Journal an answer that was refused: by its faults, then without decisions, or by a rule."""
    app.journal.write(
        {
            "level": "warning",
            "event": "answer",
            "session_id": question.session_id,
            "session": question.session,
            "tool_use_id": question.tool_use_id,
            "outcome": "invalid",
            "reason": reason,
            "decisions": given,
            "by": author.by,
            "who": author.name,
        },
        question.session_id,
    )


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Turn the signals that end a process into an exception, so that the documents are left as they should be."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise _Interrupted(number)

    former = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
