"""The one story of a question: asked, woken for, answered, compared, over; put together from records and documents.

``history``, ``questions --watch``, ``stats`` and the list of what a pause missed all read it. Journal records may come
in any order, and some may be missing: then the document of an open question and the verdict on a closed one tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs.documents import FORM, shown_form
from hookrouter.dialogs.messages.reminders import ESCALATION, REMINDER
from hookrouter.dialogs.verdicts import end_of_sweep
from hookrouter.storage.history import OPEN
from hookrouter.util.clock import seconds
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.dialogs.documents import Dialog
    from hookrouter.dialogs.verdicts import Verdict

__all__ = ["OPEN", "OUTCOMES", "UNKNOWN", "WORDS", "Stories", "Story", "shown_id"]

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

Story = dict[str, Any]
"""What ``history`` says of one question; its ``outcome`` is None if no end is known."""

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
            _asked(stories, record)
        # What happened comes after the question in time, but the records of a session may be read before another's.
        for record in sorted(self._later, key=lambda record: str(record.get("at"))):
            event = record.get("event")
            for entry in _tables(record.get("swept")):
                _swept(stories, entry, record)
            if _tells_end(record):
                _recorded(stories, record)
            elif event == "answer":
                _attempted(stories, record)
            elif event == "delivery":
                _reminded(stories, record)
        for key, verdict in self._verdicts.items():
            _judged(stories, verdict, is_known=key in stories)
        for question in self._open.values():
            story = _story(stories, question._asdict())
            story |= {"session": question.session, "agent": story["agent"] or question.agent, "kind": question.kind}
            story["rule"] = story["rule"] or _text(question.request, "rule")
            if story["asked_at"] is None:
                form = shown_form(question.questions)
                story |= {"asked_at": question.saved_at, "missed": question.missed, "questions": form}
            if (question.session_id, shown_id(question.tool_use_id)) not in self._verdicts:
                # Whoever closes a question writes a verdict first: without one, what was to end it has failed.
                story |= {"outcome": OPEN, "by": None, "verified": None, "ended_at": None, "reason": ""}
        for story in stories.values():
            begun, over = seconds(story["asked_at"]), seconds(story["ended_at"])
            if begun is not None and over is not None and over >= begun:
                story["seconds"] = round(over - begun, 3)
        return stories


def _tells_end(record: Mapping[str, Any]) -> bool:
    """Whether a hook's record says how a dialog has ended."""
    if record.get("event") == "PostToolUse" and record.get("tool") == "AskUserQuestion":
        return True
    return "dialog" in record and record.get("outcome") in ("verified", "mismatch", "answered_by_person")


def _asked(stories: dict[_Key, Story], record: Mapping[str, Any]) -> None:
    story = _story(stories, record)
    story |= {"asked_at": _text(record, "asked_at") or _text(record, "at"), "agent": _text(record, "agent")}
    story["missed"] = record.get("missed") is True
    story["session"] = _text(record, "session")
    story["kind"] = _text(record, "dialog") or FORM
    story["rule"] = _rule(record) or story["rule"]
    for entry in _tables(record.get("questions")):
        story["questions"].append({"header": _text(entry, "header"), "question": _text(entry, "question")})


def _recorded(stories: dict[_Key, Story], record: Mapping[str, Any]) -> None:
    """Take what PostToolUse saw: it is the last word."""
    outcome = record.get("outcome")
    compared = outcome in ("verified", "mismatch")
    if not compared and outcome != "answered_by_person" and _key(record) not in stories:
        # Of a session that no agent manages, or a question that was never seen.
        return
    story = _story(stories, record)
    story["kind"] = _text(record, "dialog") or story["kind"]
    story["ended_at"] = _text(record, "at")
    story["reason"] = _text(record, "reason")
    if compared:
        by = "person" if record.get("answered_by") == "person" else "agent"
        story |= {"outcome": outcome, "by": by, "who": _text(record, "who"), "verified": outcome == "verified"}
        story["channel"] = _text(record, "channel") or story["channel"]
    elif outcome == "answered_by_person":
        story |= {"outcome": outcome, "by": "person", "channel": None}
    elif outcome == "unanswered":
        story |= {"outcome": outcome, "by": "nobody", "channel": None}
    else:
        reason = "Claude Code recorded an answer, but it could not be compared"
        story |= {"outcome": "unverified", "by": None, "reason": story["reason"] or reason}
    _compared(story, record.get("verification"), record.get("recorded"), record.get("recorded_notes"))


def _judged(stories: dict[_Key, Story], verdict: Verdict, *, is_known: bool) -> None:
    """Take a verdict: it says how the question ended, if the journal does not."""
    story = _story(stories, verdict._asdict())
    if not is_known:
        story |= {"asked_at": verdict.asked_at or None, "kind": verdict.kind}
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
        for number, entry in enumerate(_tables(verification.get("questions"))):
            if number == len(story["questions"]):
                story["questions"].append({"header": "", "question": printable(_text(entry, "question"))})
            kept = ("intended", "recorded", "result", "intended_notes", "recorded_notes")
            story["questions"][number] |= {key: entry[key] for key in kept if key in entry}
    for key, texts in (("recorded", answers), ("recorded_notes", notes)):
        if not isinstance(texts, dict):
            continue
        for entry in story["questions"]:
            if entry["question"] in texts:
                entry[key] = texts[entry["question"]]


def _swept(stories: dict[_Key, Story], entry: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Take what a sweep closed, unless the end is known better."""
    outcome = entry.get("outcome")
    if outcome == "left":
        return
    story = _story(stories, entry)
    if story["outcome"] is not None:
        return
    story |= {"ended_at": _text(record, "at"), "reason": _text(entry, "reason")}
    ended, by = end_of_sweep(_text(entry, "outcome"), _text(entry, "state"), _text(entry, "by"))
    story |= {"outcome": ended, "by": by or None, "who": _text(entry, "who") if by == "person" else ""}


def _attempted(stories: dict[_Key, Story], record: Mapping[str, Any]) -> None:
    story = _story(stories, record)
    attempt = {key: _text(record, key) for key in ("at", "outcome", "channel", "reason")}
    steps = record.get("steps")
    done = [step for step in steps if isinstance(step, str)] if isinstance(steps, list) else []
    story["attempts"].append({**attempt, "steps": done})
    if attempt["outcome"] == "delivered":
        story["channel"] = attempt["channel"]
    elif attempt["outcome"] == "chat":
        decisions = _tables(record.get("decisions"))
        story |= {"channel": attempt["channel"], "chat": _text(decisions[-1], "text") if decisions else None}
    if record.get("closed") is True and story["outcome"] in (None, "chat"):
        ended = "chat" if attempt["outcome"] == "chat" else "unanswered"
        by = "person" if record.get("by") == "person" else "agent"
        story |= {"outcome": ended, "by": by if ended == "chat" else "nobody", "reason": attempt["reason"]}
        story["who"] = _text(record, "who") if ended == "chat" else ""
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
        stories[key] = {
            "kind": FORM,
            "session": _text(record, "session"),
            "session_id": key[0],
            "tool_use_id": key[1],
            "agent": _text(record, "agent"),
            "rule": _rule(record),
            "asked_at": None,
            "ended_at": None,
            "seconds": None,
            "outcome": None,
            "by": None,
            "who": "",
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
    return _text(record, "session_id"), shown_id(_text(record, "tool_use_id"))


def shown_id(tool_use_id: str) -> str:
    """Return a tool_use_id as journal records of hook runs show it."""
    return printable(tool_use_id)[:200]


def _rule(record: Mapping[str, Any]) -> str:
    """Return the rule by which a dialog was somebody's to decide, as config.toml has it; empty if none is known."""
    rule = record.get("rule")
    return _text(rule, "tool") if isinstance(rule, dict) else ""


def _tables(value: object) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""
