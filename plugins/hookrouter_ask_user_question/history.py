"""What has become of Claude's questions, as the journal's records tell it.

A question's story is put together from the PreToolUse run that saw it asked, the runs of ``hookrouter answer``, the
PostToolUse run that compared the answer, the event that swept it (which may be another session's), and the deliveries
of reminders. All are known by session id and ``tool_use_id``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.clock import seconds
from hookrouter.names import printable
from hookrouter_ask_user_question import documents, transcript
from hookrouter_ask_user_question.reminders import ESCALATION, REMINDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrouter.journal import Journal
    from hookrouter.store import Store

__all__ = ["OPEN", "UNKNOWN", "history", "told"]

OPEN = "open"
"""The outcome of a question that waits for an answer."""
UNKNOWN = "unknown"
"""The outcome of a question of which nothing says how it ended."""

_WORDS = ('"AskUserQuestion"', '"event":"answer"', '"swept"', f'"kind":"{REMINDER}"', f'"kind":"{ESCALATION}"')

_Key = tuple[str, str]


def history(
    journal: Journal,
    store: Store,
    *,
    session: str | None = None,
    since: float | None = None,
    limit: int | None = None,
) -> list[dict[str, Any]]:
    """Return what is known of each question, in the order in which they were asked.

    ``session`` leaves out other sessions, ``since`` what was asked and over before this time in seconds since 1970,
    ``limit`` all but the last ones. Each has:

    - ``session``, ``session_id``, ``tool_use_id``, ``agent``; ``asked_at`` and ``ended_at`` (ISO 8601, or None), and
      the ``seconds`` between the two (None where either is missing, or the clock was set back);
    - ``outcome``: ``verified``, ``mismatch``, ``unverified`` (recorded, but not compared), ``answered_by_person``,
      ``chat``, ``unanswered``, ``open`` or ``unknown``; ``reason``; ``by``: ``agent``, ``person``, ``nobody``, or None
      where it is open or unknown; ``channel`` (None where no agent answered) and ``verified`` (None where nothing was
      compared);
    - ``missed``: whether it was asked while the session was paused; ``reminders`` and ``escalated``: how often the
      agent was reminded, and whether somebody else was asked;
    - ``questions``: for each ``header`` and ``question`` (cut where long) and, where known, ``intended``, ``recorded``
      and ``result``; ``chat``: what the agent said instead, or None;
    - ``attempts``: what each ``hookrouter answer`` came to: ``at``, ``outcome``, ``channel`` and ``reason``.

    Raises StoreError.
    """
    stories = told(journal.search(_WORDS, since))
    waiting = {
        (question.session_id, _shown_id(question.tool_use_id)): question for question in documents.list_questions(store)
    }
    found = []
    for key, story in stories.items():
        if key in waiting:
            story["session"] = waiting[key].session
        if story["outcome"] is None:
            story["outcome"] = OPEN if key in waiting else UNKNOWN
        if session not in (None, story["session"]):
            continue
        if since is not None and story["outcome"] != OPEN:
            times = [seconds(story["asked_at"]), seconds(story["ended_at"])]
            if max((time for time in times if time is not None), default=0.0) < since:
                continue
        found.append(story)
    found.sort(key=lambda story: story["asked_at"] or story["ended_at"] or "")
    return found if limit is None else found[max(len(found) - limit, 0) :]


def told(records: Iterable[Mapping[str, Any]]) -> dict[_Key, dict[str, Any]]:
    """Return the stories of the questions that these records tell of, by session id and (printable) tool_use_id.

    ``outcome`` is None where no record tells of the end; all else is as :func:`history` says.
    """
    stories: dict[_Key, dict[str, Any]] = {}
    later: list[Mapping[str, Any]] = []
    for record in records:
        if record.get("event") == "PreToolUse" and record.get("outcome") == "asked":
            _asked(stories, record)
        if record.get("event") != "PreToolUse" or "swept" in record:
            later.append(record)
    # What happened comes after the question in time, but the records of a session may be read before another's.
    later.sort(key=lambda record: str(record.get("at")))
    for record in later:
        event = record.get("event")
        for entry in _tables(record.get("swept")):
            _swept(stories, entry, record)
        if event == "PostToolUse" and record.get("tool") == "AskUserQuestion":
            _recorded(stories, record)
        elif event == "answer":
            _attempted(stories, record)
        elif event == "delivery" and record.get("outcome") == "delivered":
            _reminded(stories, record)
    for story in stories.values():
        begun, over = seconds(story["asked_at"]), seconds(story["ended_at"])
        if begun is not None and over is not None and over >= begun:
            story["seconds"] = round(over - begun, 3)
    return stories


def _asked(stories: dict[_Key, dict[str, Any]], record: Mapping[str, Any]) -> None:
    story = _story(stories, record)
    story |= {"asked_at": _text(record, "at"), "agent": _text(record, "agent"), "missed": record.get("missed") is True}
    story["session"] = _text(record, "session")
    for entry in _tables(record.get("questions")):
        story["questions"].append({"header": _text(entry, "header"), "question": _text(entry, "question")})


def _recorded(stories: dict[_Key, dict[str, Any]], record: Mapping[str, Any]) -> None:
    """Take what PostToolUse saw: it is the last word."""
    outcome = record.get("outcome")
    compared = outcome in ("verified", "mismatch")
    if not compared and outcome != "answered_by_person" and _key(record) not in stories:
        # Of a session that no agent manages, or a question that was never seen.
        return
    story = _story(stories, record)
    story["ended_at"] = _text(record, "at")
    story["reason"] = _text(record, "reason")
    if compared:
        story |= {"outcome": outcome, "by": "agent", "verified": outcome == "verified"}
        story["channel"] = _text(record, "channel") or story["channel"]
    elif outcome == "answered_by_person":
        story |= {"outcome": outcome, "by": "person", "channel": None}
    elif outcome == "unanswered":
        story |= {"outcome": outcome, "by": "nobody", "channel": None}
    else:
        reason = "Claude Code recorded an answer, but it could not be compared"
        story |= {"outcome": "unverified", "by": None, "reason": story["reason"] or reason}
    verification = record.get("verification")
    if isinstance(verification, dict):
        for number, entry in enumerate(_tables(verification.get("questions"))):
            if number == len(story["questions"]):
                story["questions"].append({"header": "", "question": printable(_text(entry, "question"))})
            kept = ("intended", "recorded", "result", "intended_notes", "recorded_notes")
            story["questions"][number] |= {key: entry[key] for key in kept if key in entry}
    answers = record.get("recorded")
    if isinstance(answers, dict):
        for entry in story["questions"]:
            entry |= {"recorded": answers[entry["question"]]} if entry["question"] in answers else {}


def _swept(stories: dict[_Key, dict[str, Any]], entry: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Take what a sweep closed, unless the end is known better."""
    outcome = entry.get("outcome")
    if outcome == "left":
        return
    story = _story(stories, entry)
    if story["outcome"] is not None:
        return
    story |= {"ended_at": _text(record, "at"), "reason": _text(entry, "reason")}
    if outcome == "unverified":
        story |= {"outcome": "unverified"}
    elif outcome == "chat":
        story |= {"outcome": "chat", "by": "agent"}
    elif entry.get("state") == transcript.CHAT:
        story |= {"outcome": "chat", "by": "person"}
    else:
        story |= {"outcome": "unanswered", "by": "nobody"}


def _attempted(stories: dict[_Key, dict[str, Any]], record: Mapping[str, Any]) -> None:
    story = _story(stories, record)
    attempt = {key: _text(record, key) for key in ("at", "outcome", "channel", "reason")}
    story["attempts"].append(attempt)
    if attempt["outcome"] == "delivered":
        story["channel"] = attempt["channel"]
    elif attempt["outcome"] == "chat":
        decisions = _tables(record.get("decisions"))
        story |= {"channel": attempt["channel"], "chat": _text(decisions[-1], "text") if decisions else None}
    if record.get("closed") is True and story["outcome"] in (None, "chat"):
        ended = "chat" if attempt["outcome"] == "chat" else "unanswered"
        story |= {"outcome": ended, "by": "agent" if ended == "chat" else "nobody", "reason": attempt["reason"]}
        story["ended_at"] = story["ended_at"] or attempt["at"]


def _reminded(stories: dict[_Key, dict[str, Any]], record: Mapping[str, Any]) -> None:
    if record.get("kind") == REMINDER:
        _story(stories, record)["reminders"] += 1
    elif record.get("kind") == ESCALATION:
        _story(stories, record)["escalated"] = True


def _story(stories: dict[_Key, dict[str, Any]], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the story that a record belongs to, begun with what the record says."""
    key = _key(record)
    if key not in stories:
        stories[key] = {
            "session": _text(record, "session"),
            "session_id": key[0],
            "tool_use_id": key[1],
            "agent": _text(record, "agent"),
            "asked_at": None,
            "ended_at": None,
            "seconds": None,
            "outcome": None,
            "by": None,
            "channel": None,
            "verified": None,
            "reason": "",
            "missed": False,
            "reminders": 0,
            "escalated": False,
            "questions": [],
            "chat": None,
            "attempts": [],
        }
    return stories[key]


def _key(record: Mapping[str, Any]) -> _Key:
    return _text(record, "session_id"), _shown_id(_text(record, "tool_use_id"))


def _shown_id(tool_use_id: str) -> str:
    """Return a tool_use_id as journal records of hook runs show it."""
    return printable(tool_use_id)[:200]


def _tables(value: object) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""
