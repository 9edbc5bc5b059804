"""What ``hookrouter answer`` does: check the decisions, note the intent, deliver it, and learn what was recorded."""

from __future__ import annotations

import contextlib
import signal
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.answering import AnswerRequest, Delivery, DeliveryOutcome
from hookrouter.clock import now
from hookrouter.decisions import Chat
from hookrouter.names import printable
from hookrouter.pause import is_paused
from hookrouter.payloads import check
from hookrouter.store import StoreBusy, StoreError
from hookrouter.views import view
from hookrouter_ask_user_question import documents
from hookrouter_ask_user_question.comparison import recorded_value
from hookrouter_ask_user_question.decisions import DecisionError, parse_decisions, to_json
from hookrouter_ask_user_question.formatting import preview
from hookrouter_ask_user_question.sweep import ANSWER_LOCK, CLIENT_GONE
from hookrouter_ask_user_question.transcript import client_version, is_prompt_said, question_state, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import FrameType

    from hookrouter.answering import AnswerChannel
    from hookrouter.application import Application
    from hookrouter.decisions import Decision
    from hookrouter.pause import Pause
    from hookrouter.tools import AskUserQuestionInput
    from hookrouter_ask_user_question.documents import Question

__all__ = ["AUTO", "AnswerResult", "ExitCode", "FormError", "answer", "form_of"]

AUTO = "auto"
"""In place of a session's name: whichever session has the one open question."""

DELIVERY_SECONDS = 60.0
"""How long all channels together may take."""

_LOCK_SECONDS = 1.0
"""A sweep holds the lock for an instant to see whether an answer is running."""
_POLL_SECONDS = 0.05
_RECORD_SECONDS = 2.0
"""How long after a question's document is gone its journal record may take to appear."""


class ExitCode:
    """The exit codes of ``hookrouter answer``."""

    OK = 0
    BAD_INPUT = 2
    RECORDED_DIFFERENTLY = 3
    NOT_DELIVERED = 4
    NOT_CONFIRMED = 5


class AnswerResult(NamedTuple):
    """What came of one ``hookrouter answer``."""

    outcome: str
    """``verified``, ``delivered`` (not waited for), ``chat``, ``planned`` (``--dry-run``), ``invalid``, ``mismatch``,
    ``not_delivered``, ``paused``, ``answered_by_person``, ``unanswered``, ``not_confirmed`` or ``interrupted``."""
    exit_code: int
    session: str
    reason: str = ""
    tool_use_id: str = ""
    channel: str = ""
    questions: tuple[Mapping[str, Any], ...] = ()
    """For each question: ``question``, ``intended``, ``recorded`` and ``result``, the last two where known."""
    steps: tuple[str, ...] = ()
    """What was done, or with ``--dry-run`` what would be."""
    candidates: tuple[Mapping[str, str], ...] = ()
    """Where it is not known which question is meant: ``session``, ``tool_use_id`` and ``asked_at`` of those open."""

    def document(self) -> dict[str, Any]:
        """Return this as JSON."""
        return {"ok": self.exit_code == ExitCode.OK, **self._asdict()}


class _Interrupted(BaseException):
    """A signal asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def answer(
    app: Application,
    session: str,
    text: str,
    *,
    tool_use_id: str | None = None,
    channel: str | None = None,
    wait: float = 10.0,
    dry_run: bool = False,
) -> AnswerResult:
    """Answer the open question of ``session`` with the decisions in the JSON array ``text``.

    ``tool_use_id`` says which question is meant, and must where the session has several open; ``session`` may then be
    empty. The session :data:`AUTO` means the one question that is open in any of them. ``channel`` uses that
    channel alone; ``wait`` is how many seconds to wait for the recorded answer once it is delivered. Nothing is saved
    before everything is checked, and nothing at all with ``dry_run``. Every end is a result; raises nothing that a
    user can cause.
    """
    result = AnswerResult(outcome="not_delivered", exit_code=ExitCode.NOT_DELIVERED, session=session)
    try:
        found = _questions(app, session)
        question = _chosen(found, tool_use_id)
        if question is None:
            return _none_chosen(app, result, found, tool_use_id)
        session = question.session
        result = result._replace(session=session, tool_use_id=question.tool_use_id)
        form = form_of(question)
        decisions = parse_decisions(text, form)
        result = result._replace(questions=_intended(question, decisions))
        channels = _channels(app, channel)
        if dry_run:
            return _planned(app, form, decisions, result)
        if not channels:
            return result._replace(reason=_no_channel("config.toml: answer.channels", app, app.config.answer.channels))
        own_name = documents.own_name(session, question.tool_use_id)
        with (
            app.store.lock(ANSWER_LOCK, session, _LOCK_SECONDS),
            app.store.lock(ANSWER_LOCK, own_name, _LOCK_SECONDS),
            _signals(),
        ):
            return _Answering(app, question, form, decisions, channels, result).run(wait)
    except DecisionError as error:
        return result._replace(outcome="invalid", exit_code=ExitCode.BAD_INPUT, reason=str(error))
    except FormError as error:
        return result._replace(reason=f"the question document cannot be read: {error}")
    except StoreBusy as error:
        return result._replace(reason=f"session {session} is being answered already, by {error.holder}")
    except StoreError as error:
        return result._replace(reason=str(error))
    except _Interrupted as stop:
        return result._replace(outcome="interrupted", exit_code=128 + stop.number, reason=f"stopped by {stop}")


class FormError(ValueError):
    """A question document holds no form."""


def form_of(question: Question) -> AskUserQuestionInput:
    """Return the form of a question document. Raises FormError."""
    questions = [
        {
            **form,
            "header": form["header"] if isinstance(form.get("header"), str) else "",
            "options": [{**option, "preview": preview(option)} for option in form["options"]],
        }
        for form in question.questions
    ]
    raw = {"questions": questions}
    faults, _ = check("AskUserQuestionInput", raw)
    if faults:
        raise FormError("; ".join(faults))
    return view("AskUserQuestionInput", raw)


class _Answering:
    """One delivery, under the session's lock."""

    def __init__(
        self,
        app: Application,
        question: Question,
        form: AskUserQuestionInput,
        decisions: tuple[Decision, ...],
        channels: Mapping[str, AnswerChannel],
        result: AnswerResult,
    ) -> None:
        self._app = app
        self._question = question
        self._form = form
        self._decisions = decisions
        self._channels = channels
        self._result = result
        self._started = now()
        self._chat = isinstance(decisions[-1], Chat)
        self._pause: Pause | None = None
        self._is_closed = False
        """Whether this command has closed the question, so that no hook will."""

    def run(self, wait: float) -> AnswerResult:
        if not self._still_open():
            return self._finish(reason="the question is over: somebody answered or closed it meanwhile")
        if closed := self._closed_reason():
            # No event has swept it yet; this command tells the agent, so that no wake needs to.
            self._remove_documents()
            return self._finish(outcome="unanswered", reason=f"the question is over: {closed}")
        try:
            delivery = self._deliver()
        except _Interrupted:
            self._finish(outcome="interrupted", reason="stopped by a signal during the delivery")
            raise
        self._result = self._result._replace(steps=delivery.steps, reason=delivery.reason)
        if delivery.outcome != DeliveryOutcome.DELIVERED:
            return self._not_delivered(delivery)
        if self._chat:
            self._remove_documents()
            return self._finish(outcome="chat", exit_code=ExitCode.OK)
        self._journal("delivered", delivery.reason)
        if wait <= 0:
            return self._result._replace(outcome="delivered", exit_code=ExitCode.OK)
        return self._verify(wait)

    def _deliver(self) -> Delivery:
        """Try the channels in order, until one can serve this session. Notes the intent before each."""
        address, backends = self._question.terminal, self._app.plugins.terminal_backends()
        request = AnswerRequest(
            session=self._question.session,
            tool_use_id=self._question.tool_use_id,
            form=self._form,
            decisions=self._decisions,
            address=address,
            terminal=backends.get(address.backend) if address is not None else None,
            planner=self._app.plugins.keystroke_planners().get(self._app.config.answer.planner),
            still_open=self._is_answerable,
            deadline=time.monotonic() + DELIVERY_SECONDS,
            session_id=self._question.session_id,
            store=self._app.store,
            client_version=client_version(self._question.transcript_path),
            stopped=self._stopped,
        )
        reasons = []
        last = list(self._channels)[-1]
        for name, channel in self._channels.items():
            if reason := self._stopped():
                return Delivery(DeliveryOutcome.REFUSED, reason)
            self._save_pending(name)
            self._result = self._result._replace(channel=name)
            try:
                delivery = channel.deliver(request._replace(is_last=name == last))
            except Exception as error:  # noqa: BLE001 - a channel of another author; what it did is not known
                reason = f"the channel {name} failed with {type(error).__name__}: {error}"
                return Delivery(DeliveryOutcome.REFUSED, reason, (f"{name}: failed at an unknown step",))
            if delivery.outcome != DeliveryOutcome.UNAVAILABLE or delivery.steps:
                return delivery
            reasons.append(f"{name}: {delivery.reason}")
        reasons += _unknown_parts(self._app, located=address is not None)
        return Delivery(DeliveryOutcome.UNAVAILABLE, "; ".join(reasons))

    def _save_pending(self, channel: str) -> None:
        import os

        documents.save_pending(
            self._app.store,
            documents.PendingAnswer(
                session=self._question.session,
                session_id=self._question.session_id,
                tool_use_id=self._question.tool_use_id,
                decisions=to_json(self._decisions),
                channel=channel,
                pid=os.getpid(),
            ),
        )

    def _not_delivered(self, delivery: Delivery) -> AnswerResult:
        """Report a delivery that failed; where keys were pressed, whatever is recorded is still compared."""
        outcome = "paused" if self._pause is not None else "not_delivered"
        if self._is_said(delivery):
            return self._said()
        # After keys were pressed the answer may have arrived although the channel did not see it.
        may_be_recorded = bool(delivery.steps) or not self._still_open()
        lost = "; the text of the chat was not sent: give it to Claude as a prompt" if self._chat else ""
        if may_be_recorded and (record := self._wait_for_record(_RECORD_SECONDS)) is not None:
            if self._is_said(delivery):
                return self._said()
            self._journal("not_delivered", delivery.reason)
            ended = self._closed(record)
            return ended._replace(reason=ended.reason + lost)
        if closed := self._closed_reason():
            self._remove_documents()
            reason = f"{delivery.reason}; {closed}{lost}{self._others_open() if lost else ''}"
            return self._finish(outcome=outcome, reason=reason)
        reason = delivery.reason + ("" if self._pause else self._others_open())
        if delivery.steps:
            reason += (
                "; the dialog may hold part of the answer, so the answer stays noted and whatever is recorded will be "
                "compared with it"
            )
            return self._finish(outcome=outcome, reason=reason)
        documents.delete_pending(self._app.store, self._question.session, self._question.tool_use_id)
        return self._finish(outcome=outcome, reason=reason)

    def _is_said(self, delivery: Delivery) -> bool:
        """Whether the text of a chat arrived although its channel lost sight of it, as when the next dialog opens."""
        last = self._decisions[-1]
        return (
            isinstance(last, Chat)
            and bool(delivery.steps)
            and is_prompt_said(self._question.transcript_path, self._question.tool_use_id, last.text)
        )

    def _said(self) -> AnswerResult:
        self._remove_documents()
        return self._finish(outcome="chat", exit_code=ExitCode.OK, reason="Claude Code took the text as a prompt")

    def _others_open(self) -> str:
        """Return, to be added to a reason, which other questions may be on screen instead; empty where none can."""
        others = _not_over(documents.others(self._app.store, self._question))
        if not others:
            return ""
        what, they = ("another question", "it") if len(others) == 1 else ("other questions", "they")
        return (
            f"; session {self._question.session} has {what} open ({_listed(others)}), and Claude Code shows one dialog "
            f"at a time: {they} may have to be answered first"
        )

    def _verify(self, wait: float) -> AnswerResult:
        record = self._wait_for_record(wait)
        if record is None:
            return self._result._replace(
                outcome="not_confirmed",
                exit_code=ExitCode.NOT_CONFIRMED,
                reason=f"the answer was delivered, but Claude Code's record of it did not come within {wait:g} s",
            )
        return self._closed(record)

    def _closed(self, record: Mapping[str, Any]) -> AnswerResult:
        """Return the result that the journal record of the question's end says."""
        outcome, reason = str(record.get("outcome")), str(record.get("reason") or "")
        shown = {
            "verified": ("verified", ExitCode.OK, "Claude Code recorded what was meant"),
            "mismatch": ("mismatch", ExitCode.RECORDED_DIFFERENTLY, reason),
            "answered_by_person": ("answered_by_person", ExitCode.NOT_DELIVERED, "a person answered first"),
            "unanswered": ("unanswered", ExitCode.NOT_DELIVERED, reason),
            "chat": ("unanswered", ExitCode.NOT_DELIVERED, reason),
        }.get(outcome)
        if shown is None:
            fallback = f"the question is over, and its answer was not compared ({outcome}) {reason}".strip()
            shown = ("not_confirmed", ExitCode.NOT_CONFIRMED, fallback)
        return self._result._replace(
            outcome=shown[0],
            exit_code=shown[1],
            reason=shown[2],
            questions=_with_recorded(self._result.questions, record.get("verification")),
        )

    def _wait_for_record(self, seconds: float) -> Mapping[str, Any] | None:
        """Return the journal record, or the entry of a sweep, that says how the question ended."""
        deadline = time.monotonic() + seconds
        gone_at = None
        while True:
            if not self._still_open():
                gone_at = gone_at or time.monotonic()
                if (record := self._record()) is not None:
                    return record
            if time.monotonic() >= deadline or (gone_at is not None and time.monotonic() > gone_at + _RECORD_SECONDS):
                return None
            time.sleep(_POLL_SECONDS)

    def _record(self) -> Mapping[str, Any] | None:
        shown_id = printable(self._question.tool_use_id)[:200]
        for record in self._app.journal.records(self._question.session_id, self._started - 1):
            if record.get("event") == "PostToolUse" and record.get("tool_use_id") == shown_id:
                return record
            swept = record.get("swept")
            for entry in swept if isinstance(swept, list) else ():
                if (
                    isinstance(entry, dict)
                    and entry.get("tool_use_id") == self._question.tool_use_id
                    and entry.get("outcome") != "left"
                ):
                    return entry
        return None

    def _closed_reason(self) -> str:
        """Return why the question can get no answer any more, as transcript and client show; empty where it may."""
        reason = reason_of(question_state(self._question.transcript_path, self._question.tool_use_id))
        return reason or (CLIENT_GONE if documents.is_client_gone(self._question) else "")

    def _remove_documents(self) -> None:
        self._is_closed = True
        documents.delete_question(self._app.store, self._question.session, self._question.tool_use_id)

    def _stopped(self) -> str:
        """Return why no more may be done because the session is paused; empty while it is not. Raises nothing."""
        try:
            self._pause = is_paused(self._app.store, self._question.session) or self._pause
        except StoreError as error:
            return str(error)
        if self._pause is None:
            return ""
        scope = "--all" if self._pause.session is None else f"--session {self._pause.session}"
        return f"{self._pause.described()}; 'hookrouter resume {scope}' ends that"

    def _still_open(self) -> bool:
        return documents.is_open(self._app.store, self._question.session, self._question.tool_use_id)

    def _is_answerable(self) -> bool:
        """Whether the question is open in a client that runs: the dialog of a killed one stays on the screen."""
        return self._still_open() and not documents.is_client_gone(self._question)

    def _finish(self, **changes: Any) -> AnswerResult:
        """Change the result for the last time and journal it."""
        self._result = self._result._replace(**changes)
        self._journal(self._result.outcome, self._result.reason)
        return self._result

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
                "decisions": to_json(self._decisions),
                "steps": list(self._result.steps),
                "closed": self._is_closed,
                "ms": round((now() - self._started) * 1000, 2),
            },
            self._question.session_id,
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


def _questions(app: Application, session: str) -> list[Question]:
    """Return the open questions that a session's name on the command line may mean."""
    if session in ("", AUTO):
        return documents.list_questions(app.store)
    return documents.session_questions(app.store, session)


def _chosen(found: Sequence[Question], tool_use_id: str | None) -> Question | None:
    """Return the question that is meant; None where it is not there, or several could be meant."""
    if tool_use_id is not None:
        candidates = [question for question in found if question.tool_use_id == tool_use_id]
    else:
        candidates = _not_over(found) if len(found) > 1 else list(found)
    return candidates[0] if len(candidates) == 1 else None


def _not_over(questions: Sequence[Question]) -> list[Question]:
    """Leave out those that are over, as transcript or client show, though no event has swept them yet."""
    return [
        question
        for question in questions
        if not reason_of(question_state(question.transcript_path, question.tool_use_id))
        and not documents.is_client_gone(question)
    ]


def _listed(questions: Sequence[Question]) -> str:
    return ", ".join(question.tool_use_id for question in questions)


def _none_chosen(
    app: Application, result: AnswerResult, found: Sequence[Question], tool_use_id: str | None
) -> AnswerResult:
    """Return the result where no question, or more than one, is meant; with those that could be."""
    session = result.session
    anywhere = documents.list_questions(app.store)
    shown = found or anywhere
    if session in ("", AUTO):
        same = [question for question in found if question.tool_use_id == tool_use_id]
        if same:
            reason = f"several sessions ask the question {tool_use_id}: say which with --session: {_placed(same)}"
        elif tool_use_id is not None:
            reason = f"the question {tool_use_id} is over, or was never asked; open: {_placed(found) or 'none'}"
        elif shown := _not_over(found):
            reason = f"{len(shown)} questions are open: say which with --tool-use-id: {_placed(shown)}"
        else:
            reason = "no session has an open question"
    elif found and tool_use_id is not None:
        reason = f"the question {tool_use_id} is over; session {session} now asks {_listed(found)}"
    elif found:
        reason = f"session {session} has {len(found)} questions open: say which with --tool-use-id: {_listed(found)}"
    else:
        sessions = list(dict.fromkeys(question.session for question in anywhere))
        others = f"; these sessions have one: {', '.join(sessions)}" if sessions else "; no session has one"
        reason = f"session {session} has no open question{others}"
    candidates = tuple(
        {"session": question.session, "tool_use_id": question.tool_use_id, "asked_at": question.saved_at}
        for question in shown
    )
    return result._replace(reason=reason, candidates=candidates)


def _placed(questions: Sequence[Question]) -> str:
    return ", ".join(f"{question.tool_use_id} in session {question.session}" for question in questions)


def _channels(app: Application, chosen: str | None) -> dict[str, AnswerChannel]:
    """Return the channels to try, in order. Raises DecisionError for a chosen one that does not exist."""
    available = app.plugins.answer_channels()
    wanted: Sequence[str] = (chosen,) if chosen is not None else app.config.answer.channels
    found = {name: available[name] for name in wanted if name in available}
    if chosen is not None and not found:
        raise DecisionError([_no_channel("--channel", app, wanted)])
    return found


def _no_channel(source: str, app: Application, wanted: Sequence[str]) -> str:
    known = ", ".join(sorted(app.plugins.answer_channels())) or "none"
    return f"{source}: there is no channel {', '.join(map(repr, wanted))}; available: {known}"


def _unknown_parts(app: Application, *, located: bool) -> list[str]:
    """Return which planner or terminal of config.toml does not exist, with its key and what there is.

    The terminal matters only where the question was ``located`` in none: a located one has the backend that did it.
    """
    planner, terminal = app.config.answer.planner, app.config.answer.terminal
    chosen: list[tuple[str, str, Iterable[str]]] = [("planner", planner, app.plugins.keystroke_planners())]
    if not located:
        chosen.append(("terminal", terminal, app.plugins.terminal_backends()))
    return [
        f"config.toml: answer.{key}: there is no {key} {name!r}; available: {', '.join(sorted(offered)) or 'none'}"
        for key, name, offered in chosen
        if name not in offered
    ]


def _planned(
    app: Application, form: AskUserQuestionInput, decisions: tuple[Decision, ...], result: AnswerResult
) -> AnswerResult:
    planner = app.plugins.keystroke_planners().get(app.config.answer.planner)
    if planner is None:
        reason = "; ".join(_unknown_parts(app, located=True))
        return result._replace(outcome="invalid", exit_code=ExitCode.BAD_INPUT, reason=reason)
    steps = tuple(planner.outline(form, decisions))
    return result._replace(outcome="planned", exit_code=ExitCode.OK, reason="nothing was done", steps=steps)


def _intended(question: Question, decisions: Sequence[Decision]) -> tuple[Mapping[str, Any], ...]:
    shown = []
    for form, decision in zip(question.questions, to_json(decisions), strict=False):
        value = recorded_value(form, decision)
        entry = {"question": form["question"], "intended": decision["text"] if value is None else value}
        if decision.get("notes"):
            entry["intended_notes"] = decision["notes"]
        shown.append(entry | {"recorded": None, "result": "chat" if value is None else "unknown"})
    return tuple(shown)


def _with_recorded(questions: Sequence[Mapping[str, Any]], verification: object) -> tuple[Mapping[str, Any], ...]:
    """Add what a verification in the journal recorded to what was intended, question by question."""
    results = verification.get("questions") if isinstance(verification, dict) else None
    if not isinstance(results, list):
        return tuple(questions)
    shown = []
    for entry, found in zip(questions, results, strict=False):
        known = {key: found[key] for key in ("recorded", "result", "recorded_notes") if key in found}
        shown.append({**entry, **known})
    return tuple(shown)
