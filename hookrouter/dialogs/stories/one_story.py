"""One question's story by itself: which questions a journal record is about, and how one of them is told from all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs.stories.story import UNKNOWN, WORDS, Stories, shown_id
from hookrouter.util.clock import seconds
from hookrouter.util.fields import tables, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrouter.dialogs.columns import Story
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.dialogs.verdicts import Verdict
    from hookrouter.storage.history import StoryKey

__all__ = ["document_key", "may_tell", "one_story", "record_keys", "searched_text", "story_times"]

_NEEDLES = tuple(word.encode("ascii") for word in WORDS)


def may_tell(line: bytes) -> bool:
    """Whether a line of the journal may tell of a question, seen without parsing it."""
    return any(needle in line for needle in _NEEDLES)


def record_keys(record: Mapping[str, Any]) -> set[StoryKey]:
    """Return the questions that a record is about."""
    return {_key(one) for one in (record, *tables(record, "swept"))}


def document_key(document: Dialog | Verdict) -> StoryKey:
    """Return the question that a document is about."""
    return document.session_id, shown_id(document.tool_use_id)


def one_story(
    key: StoryKey, records: Iterable[Mapping[str, Any]], question: Dialog | None, verdict: Verdict | None
) -> Story | None:
    """Return what ``history`` tells of one question; None if nothing is known of it. Raises nothing."""
    stories = Stories()
    for record in records:
        stories.add(record)
    if question is not None:
        stories.add_question(question)
    if verdict is not None:
        stories.add_verdict(verdict)
    story = stories.told().get(key)
    if story is not None:
        story["outcome"] = story["outcome"] or UNKNOWN
    return story


def searched_text(story: Story) -> str:
    """Return the text of a story in which words are looked for, in the form of ``str.casefold``."""
    texts: list[object] = [story["session"], story["who"], story["chat"]]
    for entry in story["questions"]:
        texts += [entry.get(name) for name in ("header", "question", "recorded", "intended", "recorded_notes")]
    return "\n".join(one if isinstance(one, str) else str(one) for one in texts if one).casefold()


def story_times(story: Story) -> list[float]:
    """Return when a question was asked and when it ended, in seconds since 1970, as far as that is known."""
    return [at for at in (seconds(story["asked_at"]), seconds(story["ended_at"])) if at is not None]


def _key(record: Mapping[str, Any]) -> StoryKey:
    return text(record, "session_id"), shown_id(text(record, "tool_use_id"))
