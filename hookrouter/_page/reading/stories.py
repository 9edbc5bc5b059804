"""The history of all questions, kept in memory and followed as the journal grows.

``hookrouter history`` reads the whole journal each time. A page that many people look at reads what is new: the stories
of the past stay as they were put together, and only those of which something new is told are taken further.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.dialogs import documents
from hookrouter.dialogs.stories.story import OPEN, UNKNOWN, WORDS, Stories, story_key
from hookrouter.dialogs.verdicts import list_verdicts
from hookrouter.storage.journal import parsed
from hookrouter.storage.journal_query import Tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hookrouter.dialogs.stories.story import Story
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.storage.journal import Journal

__all__ = ["PAGE", "Found", "StoryIndex", "StoryQuery"]

PAGE = 50
"""Stories on one page."""

_FRESH_SECONDS = 1.0
"""For how long one look serves whoever asks."""

_LONGEST_HAYSTACK = 4000

_BATCH = 2000
"""Records that are put into stories at once, and in memory at the same time."""

_Key = tuple[str, str]


class StoryQuery(NamedTuple):
    """What is looked for; an empty text is no condition."""

    words: str = ""
    """Each of them is in the question, its answer, the session's name, or who answered."""
    session: str = ""
    kind: str = ""
    outcome: str = ""
    by: str = ""
    since: str = ""
    """ISO 8601: asked then or later."""
    until: str = ""
    """ISO 8601: asked before it."""


class Found(NamedTuple):
    """One page of what was found, newest first."""

    stories: list[Story]
    page: int
    pages: int
    total: int


class StoryIndex:
    """The stories of one home. May be used by several threads."""

    def __init__(self, journal: Journal, store: DocumentStore) -> None:
        """Nothing is read yet."""
        self._journal = journal
        self._store = store
        self._lock = threading.Lock()
        self._tail: Tail | None = None
        self._told: dict[_Key, Story] = {}
        """What the journal tells, by itself."""
        self._shown: list[tuple[str, str, Story]] = []
        """When it was asked, what is searched, and the story; newest first."""
        self._by_key: dict[_Key, Story] = {}
        self._haystacks: dict[_Key, tuple[Story, str]] = {}
        self._read_at = float("-inf")

    def refresh(self) -> None:
        """Read what is new. The first time that is the whole journal. Raises StoreError."""
        with self._lock:
            if time.monotonic() - self._read_at < _FRESH_SECONDS:
                return
            if self._tail is None:
                self._tail = Tail(self._journal.folder, whole=True)
            self._follow(self._tail)
            self._overlay()
            self._read_at = time.monotonic()

    def find(self, query: StoryQuery, page: int = 1) -> Found:
        """Return one page of the stories that fit, as they were at the last :meth:`refresh`."""
        with self._lock:
            shown = self._shown
        found = [story for at, haystack, story in shown if _fits(query, at, haystack, story)]
        pages = max(1, -(-len(found) // PAGE))
        page = min(max(1, page), pages)
        return Found(found[(page - 1) * PAGE : page * PAGE], page, pages, len(found))

    def story(self, session_id: str, tool_use_id: str) -> Story | None:
        """Return one story; None if it is not known."""
        with self._lock:
            return self._by_key.get((session_id, tool_use_id))

    def all(self) -> list[Story]:
        """Return all stories, newest first."""
        with self._lock:
            return [story for _, _, story in self._shown]

    def _follow(self, tail: Tail) -> None:
        needles = [word.encode("ascii") for word in WORDS]
        records: list[Mapping[str, object]] = []
        for line in tail.each():
            if any(needle in line for needle in needles) and (record := parsed(line)) is not None:
                records.append(record)
                if len(records) == _BATCH:
                    self._take(records)
                    records = []
        self._take(records)

    def _take(self, records: Sequence[Mapping[str, object]]) -> None:
        """Take the stories further of which records tell."""
        stories = Stories({key: self._told[key] for key in _keys(records) if key in self._told})
        for record in records:
            stories.add(record)
        self._told.update(stories.told())

    def _overlay(self) -> None:
        """Add what the documents tell of now: open questions first, as they may be closed meanwhile."""
        asked, verdicts = documents.list_questions(self._store), list_verdicts(self._store)
        keys = {story_key(one._asdict()) for one in asked} | {story_key(one._asdict()) for one in verdicts}
        stories = Stories({key: self._told[key] for key in keys if key in self._told})
        for question in asked:
            stories.add_question(question)
        for verdict in verdicts:
            stories.add_verdict(verdict)
        self._by_key = {**self._told, **stories.told()}
        shown = []
        for key, story in self._by_key.items():
            if story["outcome"] is None:
                story = {**story, "outcome": UNKNOWN}
                self._by_key[key] = story
            shown.append((story["asked_at"] or story["ended_at"] or "", self._haystack(key, story), story))
        shown.sort(key=lambda one: one[0], reverse=True)
        self._shown = shown

    def _haystack(self, key: _Key, story: Story) -> str:
        known = self._haystacks.get(key)
        if known is None or known[0] is not self._told.get(key) or story["outcome"] == OPEN:
            known = (self._told.get(key, story), "\n".join(_texts(story)).casefold()[:_LONGEST_HAYSTACK])
            self._haystacks[key] = known
        return known[1]


def _fits(query: StoryQuery, at: str, haystack: str, story: Story) -> bool:
    if query.since and at < query.since:
        return False
    if query.until and at >= query.until:
        return False
    for name in ("session", "kind", "outcome", "by"):
        wanted = getattr(query, name)
        if wanted and story[name] != wanted:
            return False
    return all(word in haystack for word in query.words.casefold().split())


def _texts(story: Story) -> Iterator[str]:
    yield story["session"]
    yield story["who"] or ""
    yield story["agent"] or ""
    yield story["tool_use_id"]
    yield story["reason"] or ""
    yield story["chat"] or ""
    for entry in story["questions"]:
        for name in ("header", "question", "intended", "recorded"):
            value = entry.get(name)
            if value:
                yield value if isinstance(value, str) else str(value)


def _keys(records: Iterable[Mapping[str, object]]) -> set[_Key]:
    """Return the keys of the stories that records tell of."""
    found = set()
    for record in records:
        swept = record.get("swept")
        for one in (record, *(swept if isinstance(swept, list) else ())):
            if isinstance(one, dict):
                found.add(story_key(one))
    return found
