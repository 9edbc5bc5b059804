"""The one story of a question: asked, woken for, answered, compared, over; put together from records and documents.

``history``, ``questions --watch``, ``stats`` and the list of what a pause missed all read it. Journal records may come
in any order, and some may be missing: then the document of an open question and the verdict on a closed one tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs.columns import begun, fill, of_dialog
from hookrouter.dialogs.messages.reminders import ESCALATION, REMINDER
from hookrouter.dialogs.verdicts import end_of_sweep
from hookrouter.storage.history import OPEN
from hookrouter.util.clock import seconds
from hookrouter.util.fields import tables, text, texts
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.dialogs.columns import Story
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.dialogs.verdicts import Verdict

__all__ = ["OPEN", "OUTCOMES", "UNKNOWN", "WORDS", "Stories", "shown_id"]

UNKNOWN = "unknown"
"""The outcome of a question of which nothing says how it ended."""
OUTCOMES = ("verified", "mismatch", "unverified", "answered_by_person", "chat", "unanswered")
"""How a question may have ended; of the first four Claude Code recorded an answer."""

WORDS = (
    '"AskUserQuestion"',
    '"dialog"',
    '"event":"answer"',
    '"swept"',
    f'"kind":"{REMINDER}"',
    f'"kind":"{ESCALATION}"',
)
"""Every journal record that a story needs holds one of these."""

_Key = tuple[str, str]


class Stories:
    """The stories of questions, by session id and tool_use_id."""

    def __init__(self) -> None:
        """Begin with none."""
        self._asked: dict[_Key, Mapping[str, Any]] = {}
        self._later: list[Mapping[str, Any]] = []
        self._open: dict[_Key, Dialog] = {}
        self._verdicts: dict[_Key, Verdict] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Take a journal record; one that tells nothing of a question is passed over. Raises nothing."""
        event, outcome = record.get("event"), record.get("outcome")
        if event in ("PreToolUse", "dialog") and outcome == "asked":
            self._asked[_key(record)] = record
        if (
            "swept" in record
            or event == "answer"
            or (_tells_end(record) and outcome != "repeated")
            or (event == "delivery" and outcome == "delivered" and record.get("kind") in (REMINDER, ESCALATION))
        ):
            self._later.append(record)

    def add_question(self, question: Dialog) -> None:
        """Take the document of an open question."""
        self._open[question.session_id, shown_id(question.tool_use_id)] = question

    def add_verdict(self, verdict: Verdict) -> None:
        """Take the verdict on a question."""
        self._verdicts[verdict.session_id, shown_id(verdict.tool_use_id)] = verdict

    def told(self) -> dict[_Key, Story]:
        """Return the stories, by session id and (printable) tool_use_id."""
        stories: dict[_Key, Story] = {}
        for record in self._asked.values():
            story = _story(stories, record)
            story["asked_at"] = story["asked_at"] or text(record, "at")
        # What happened comes after the question in time, but the records of a session may be read before another's.
        for record in sorted(self._later, key=lambda record: str(record.get("at"))):
            event = record.get("event")
            for entry in tables(record, "swept"):
                _swept(stories, entry, record)
            if _tells_end(record):
                _recorded(stories, record)
            elif event == "answer":
                _attempted(stories, record)
            elif event == "delivery":
                _reminded(stories, record)
        for verdict in self._verdicts.values():
            _judged(stories, verdict)
        for question in self._open.values():
            story = _story(stories, {**question._asdict(), **of_dialog(question)})
            story |= {"session": question.session, "kind": question.kind}
            if (question.session_id, shown_id(question.tool_use_id)) not in self._verdicts:
                # Whoever closes a question writes a verdict first: without one, what was to end it has failed.
                story |= {"outcome": OPEN, "by": None, "verified": None, "ended_at": None, "reason": ""}
        for story in stories.values():
            asked, over = seconds(story["asked_at"]), seconds(story["ended_at"])
            if asked is not None and over is not None and over >= asked:
                story["seconds"] = round(over - asked, 3)
        return stories


def _tells_end(record: Mapping[str, Any]) -> bool:
    """Whether a hook's record says how a dialog has ended."""
    if record.get("event") == "PostToolUse" and record.get("tool") == "AskUserQuestion":
        return True
    return "dialog" in record and record.get("outcome") in ("verified", "mismatch", "answered_by_person")


def _recorded(stories: dict[_Key, Story], record: Mapping[str, Any]) -> None:
    """Take what PostToolUse saw: it is the last word."""
    outcome = record.get("outcome")
    compared = outcome in ("verified", "mismatch")
    if not compared and outcome != "answered_by_person" and _key(record) not in stories:
        # Of a session that no agent manages, or a question that was never seen.
        return
    story = _story(stories, record)
    story["kind"] = text(record, "dialog") or story["kind"]
    story["ended_at"] = text(record, "at")
    story["reason"] = text(record, "reason")
    if compared:
        by = "person" if record.get("answered_by") == "person" else "agent"
        story |= {"outcome": outcome, "by": by, "who": text(record, "who"), "verified": outcome == "verified"}
        story["channel"] = text(record, "channel") or story["channel"]
    elif outcome == "answered_by_person":
        story |= {"outcome": outcome, "by": "person", "channel": None}
    elif outcome == "unanswered":
        story |= {"outcome": outcome, "by": "nobody", "channel": None}
    else:
        reason = "Claude Code recorded an answer, but it could not be compared"
        story |= {"outcome": "unverified", "by": None, "reason": story["reason"] or reason}
    _compared(story, record.get("verification"), record.get("recorded"), record.get("recorded_notes"))


def _judged(stories: dict[_Key, Story], verdict: Verdict) -> None:
    """Take a verdict: it says how the question ended, if the journal does not."""
    story = _story(stories, {**verdict._asdict(), "dialog": verdict.kind, **verdict.asked})
    if story["outcome"] is not None:
        return
    by, compared = verdict.by or None, verdict.outcome in ("verified", "mismatch")
    story |= {"outcome": verdict.outcome, "by": by, "who": verdict.who}
    story |= {"ended_at": verdict.at, "reason": verdict.reason}
    if compared:
        story |= {"channel": verdict.channel or story["channel"], "verified": verdict.outcome == "verified"}
    elif by == "person" and not verdict.who:
        story["channel"] = None
    _compared(story, verdict.verification, verdict.recorded, verdict.recorded_notes)


def _compared(story: Story, verification: object, answers: object, notes: object) -> None:
    """Take both sides of a comparison, and what a person answered and noted."""
    if isinstance(verification, dict):
        for number, entry in enumerate(tables(verification, "questions")):
            if number == len(story["questions"]):
                story["questions"].append({"header": "", "question": printable(text(entry, "question"))})
            kept = ("intended", "recorded", "result", "intended_notes", "recorded_notes")
            story["questions"][number] |= {key: entry[key] for key in kept if key in entry}
    for key, said in (("recorded", answers), ("recorded_notes", notes)):
        if not isinstance(said, dict):
            continue
        for entry in story["questions"]:
            if entry["question"] in said:
                entry[key] = said[entry["question"]]


def _swept(stories: dict[_Key, Story], entry: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Take what a sweep closed, unless the end is known better."""
    outcome = entry.get("outcome")
    if outcome == "left":
        return
    story = _story(stories, entry)
    if story["outcome"] is not None:
        return
    story |= {"ended_at": text(record, "at"), "reason": text(entry, "reason")}
    ended, by = end_of_sweep(text(entry, "outcome"), text(entry, "state"), text(entry, "by"))
    story |= {"outcome": ended, "by": by or None, "who": text(entry, "who") if by == "person" else ""}


def _attempted(stories: dict[_Key, Story], record: Mapping[str, Any]) -> None:
    story = _story(stories, record)
    attempt = {key: text(record, key) for key in ("at", "outcome", "channel", "reason")}
    story["attempts"].append({**attempt, "steps": [*texts(record, "steps")]})
    if attempt["outcome"] == "delivered":
        story["channel"] = attempt["channel"]
    elif attempt["outcome"] == "chat":
        decisions = tables(record, "decisions")
        story |= {"channel": attempt["channel"], "chat": text(decisions[-1], "text") if decisions else None}
    if record.get("closed") is True and story["outcome"] in (None, "chat"):
        ended = "chat" if attempt["outcome"] == "chat" else "unanswered"
        by = "person" if record.get("by") == "person" else "agent"
        story |= {"outcome": ended, "by": by if ended == "chat" else "nobody", "reason": attempt["reason"]}
        story["who"] = text(record, "who") if ended == "chat" else ""
        story["ended_at"] = story["ended_at"] or attempt["at"]


def _reminded(stories: dict[_Key, Story], record: Mapping[str, Any]) -> None:
    if record.get("kind") == REMINDER:
        _story(stories, record)["reminders"] += 1
    elif record.get("kind") == ESCALATION:
        _story(stories, record)["escalated"] = True


def _story(stories: dict[_Key, Story], record: Mapping[str, Any]) -> Story:
    """Return the story that a record belongs to, begun with what the record says."""
    key = _key(record)
    if key not in stories:
        stories[key] = begun(text(record, "session"), *key)
    fill(stories[key], record)
    return stories[key]


def _key(record: Mapping[str, Any]) -> _Key:
    return text(record, "session_id"), shown_id(text(record, "tool_use_id"))


def shown_id(tool_use_id: str) -> str:
    """Return a tool_use_id as journal records of hook runs show it."""
    return printable(tool_use_id)[:200]
