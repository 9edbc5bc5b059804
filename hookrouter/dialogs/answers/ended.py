"""What ``hookrouter answer`` says of a question that somebody has ended before it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from hookrouter.dialogs.answers.choosing import AUTO
from hookrouter.dialogs.verdicts import list_verdicts, save_verdict
from hookrouter.storage.interface import StoreError

if TYPE_CHECKING:
    from hookrouter.dialogs.answers.result import AnswerResult
    from hookrouter.dialogs.verdicts import Verdict
    from hookrouter.storage.interface import DocumentStore

__all__ = ["already_ended"]

_ANSWERED = ("verified", "mismatch", "unverified", "answered_by_person")


def already_ended(store: DocumentStore, result: AnswerResult, tool_use_id: str | None) -> AnswerResult:
    """Return a result that found no question, with how the one that was meant has ended, if that is known.

    That is the question ``tool_use_id``, or without it the last one of a session that has none open.
    """
    try:
        verdict = _verdict(store, result, tool_use_id)
    except StoreError:
        return result
    if verdict is None:
        return result
    if result.by == "agent" and verdict.by != "agent" and not verdict.told_by:
        # The agent hears of it here, and so means a later question from now on.
        with contextlib.suppress(StoreError):
            save_verdict(store, verdict._replace(told_by="answer"))
    known = result._replace(session=verdict.session, tool_use_id=verdict.tool_use_id)
    if verdict.outcome not in _ANSWERED:
        how = verdict.reason or verdict.outcome
        return known._replace(outcome="unanswered", reason=f"the question has ended: {how}")
    is_persons = verdict.by == "person"
    who = f"person {verdict.who}" if verdict.who else "a person" if is_persons else f"agent {verdict.agent}"
    recorded = _recorded(verdict)
    return known._replace(
        outcome="answered_by_person" if is_persons else known.outcome,
        reason=f"{who} answered first{f': {recorded}' if recorded else ''}",
    )


def _verdict(store: DocumentStore, result: AnswerResult, tool_use_id: str | None) -> Verdict | None:
    session = None if result.session in ("", AUTO) else result.session
    if tool_use_id is not None:
        found = list_verdicts(store, session=session, tool_use_id=tool_use_id)
    elif result.session == "" or any(open_one["session"] == result.session for open_one in result.candidates):
        return None
    else:
        found = list_verdicts(store, session=session)
    last = max(found, key=lambda one: one.at, default=None)
    # Whatever an agent has answered before is nothing that it still means to answer.
    return last if tool_use_id is not None or (last is not None and last.by == "person") else None


def _recorded(verdict: Verdict) -> str:
    """Return what was recorded, in one line."""
    compared = (verdict.verification or {}).get("questions")
    entries = compared if isinstance(compared, list) else []
    answers = {str(one.get("question")): one.get("recorded") for one in entries if isinstance(one, dict)}
    answers |= verdict.recorded or {}
    return "; ".join(f"{question} -> {answer}" for question, answer in answers.items())[:300]
