"""The history of questions for the page: an index in memory that follows the journal, and tells what ``history`` tells.

Each file of the journal is read once, and from then on only what is new in it. Of each question the lines that tell of
it are kept, as long as their file is there; its story is told anew only if one of them, or one of its documents, has
changed.
"""

from __future__ import annotations

import gc
import os
import stat
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.dialogs import documents
from hookrouter.dialogs.messages.reminders import ESCALATION, REMINDER
from hookrouter.dialogs.stories.one_story import (
    document_key,
    may_tell,
    one_story,
    record_keys,
    searched_text,
    story_times,
)
from hookrouter.dialogs.stories.story import OPEN, UNKNOWN, shown_id
from hookrouter.dialogs.verdicts import list_verdicts
from hookrouter.storage.interface import StoreError
from hookrouter.storage.journal import parsed
from hookrouter.util import fields
from hookrouter_page.reading.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrouter.dialogs.columns import Story
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.dialogs.verdicts import Verdict
    from hookrouter.storage.history import StoryQuery
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.storage.journal import Journal

__all__ = ["PAGE_STORIES", "Step", "StoryIndex", "StoryPage", "steps_of"]

PAGE_STORIES = 50
"""How many stories a page shows."""

_HEAD = 512
"""Bytes at a file's beginning that tell it from another one."""

_DELIVERIES = {REMINDER: "reminded", ESCALATION: "escalated"}
_Key = tuple[str, str]


class StoryPage(NamedTuple):
    """One page of the stories that were wanted."""

    stories: list[Story]
    """Newest first."""
    page: int
    """The number of this page, from 1; the last one if a later one was asked for."""
    pages: int
    """How many there are, at least 1."""
    total: int
    """How many stories fit."""


class Step(NamedTuple):
    """One thing that happened to a question."""

    at: str
    """When (ISO 8601); empty if that is not known."""
    name: str
    """``asked``, ``reminded``, ``escalated``, ``attempt`` or ``ended``."""
    text: str
    """What happened, in words of the journal; not made printable."""
    details: tuple[str, ...] = ()
    """Of an attempt, what was done: such as each key that was pressed, with why."""


def steps_of(story: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> list[Step]:
    """Return what happened to a question, in order of time; what has no time comes last.

    ``records`` are those of the journal that tell of it.
    """
    agent = story["agent"]
    steps = [Step(story["asked_at"], "asked", f"asked of {agent}" if agent else "asked")] if story["asked_at"] else []
    for record in records:
        name = _DELIVERIES.get(str(record.get("kind")))
        if name and record.get("event") == "delivery" and record.get("outcome") == "delivered":
            steps.append(Step(fields.text(record, "at"), name, f"{name} {fields.text(record, 'agent')}".strip()))
    for attempt in story["attempts"]:
        through = f" through {attempt['channel']}" if attempt["channel"] else ""
        why = f": {attempt['reason']}" if attempt["reason"] else ""
        steps.append(Step(attempt["at"], "attempt", f"{attempt['outcome']}{through}{why}", tuple(attempt["steps"])))
    if story["outcome"] not in (OPEN, UNKNOWN):
        why = f": {story['reason']}" if story["reason"] else ""
        steps.append(Step(story["ended_at"] or "", "ended", f"{story['outcome'].replace('_', ' ')}{why}"))
    return sorted(steps, key=lambda step: (not step.at, step.at))


class _File:
    """One file of the journal, and how far it was read."""

    def __init__(self) -> None:
        self.place: tuple[str, int] = ("", 0)
        self.offset = 0
        self.head = b""
        self.keys: set[_Key] = set()


class _Line(NamedTuple):
    file: _File
    offset: int
    data: bytes


class _Told(NamedTuple):
    story: Story
    text: str
    at: float | None
    latest: float


class StoryIndex:
    """The stories of a home's questions. May be used by many threads at once."""

    def __init__(self, journal: Journal, store: DocumentStore) -> None:
        """Read nothing yet: the first :meth:`refresh`, or :meth:`read_ahead`, reads the whole journal."""
        self._journal = journal
        self._store = store
        self._lock = threading.RLock()
        self._files: dict[tuple[int, int], _File] = {}
        self._lines: dict[_Key, list[_Line]] = {}
        self._open: dict[_Key, Dialog] = {}
        self._verdicts: dict[_Key, Verdict] = {}
        self._told: dict[_Key, _Told] = {}
        self._ordered: list[_Told] = []
        self._pace = Pace()

    def read_ahead(self) -> None:
        """Begin to read in a thread, so that whoever looks first need not wait for all of it. Raises nothing."""
        threading.Thread(target=self._read_ahead, name="history", daemon=True).start()

    def _read_ahead(self) -> None:
        # What is wrong is told to whoever looks.
        with suppress(StoreError):
            self.refresh(is_awaited=False)
        # Nothing of 20,000 stories is garbage, and all stands still while the collector looks through them.
        gc.freeze()

    def refresh(self, *, is_awaited: bool = True) -> None:
        """Read what is new in the journal and in the documents. Raises StoreError.

        If nobody waits for it, it leaves time to others, until somebody does.
        """
        if is_awaited:
            self._pace.hurry()
        with self._lock:
            changed = self._follow()
            # The questions before the verdicts, as in history(): one that is closed meanwhile is open, over, or both.
            opened = {document_key(one): one for one in documents.list_questions(self._store)}
            verdicts = {document_key(one): one for one in list_verdicts(self._store)}
            for former, present in ((self._open, opened), (self._verdicts, verdicts)):
                changed |= {key for key in former.keys() | present.keys() if former.get(key) != present.get(key)}
            self._open, self._verdicts = opened, verdicts
            for key in changed:
                self._tell(key)
                self._pace.rest()
            if changed:
                self._ordered = sorted(self._told.values(), key=_order, reverse=True)

    def find(self, query: StoryQuery, page: int = 1) -> StoryPage:
        """Return a page of the stories that fit, of what was read last."""
        with self._lock:
            ordered = self._ordered
        words = query.words.casefold().split()
        found = [told.story for told in ordered if _fits(told, query, words)]
        pages = max(1, -(-len(found) // PAGE_STORIES))
        number = min(max(page, 1), pages)
        return StoryPage(found[(number - 1) * PAGE_STORIES : number * PAGE_STORIES], number, pages, len(found))

    def story(self, session_id: str, tool_use_id: str) -> Story | None:
        """Return the story of one question; None if nothing is known of it."""
        with self._lock:
            told = self._told.get((session_id, shown_id(tool_use_id)))
        return None if told is None else told.story

    def all(self) -> list[Story]:
        """Return all stories, newest first, as they were read last."""
        with self._lock:
            return [told.story for told in self._ordered]

    def steps(self, story: Story) -> list[Step]:
        """Return what happened to a question, in order of time; what has no time comes last."""
        with self._lock:
            lines = list(self._lines.get((story["session_id"], story["tool_use_id"]), ()))
        return steps_of(story, (record for line in lines if (record := parsed(line.data)) is not None))

    def _follow(self) -> set[_Key]:
        """Read on in the journal's files; return the questions of which something has changed."""
        changed: set[_Key] = set()
        present = set()
        for identity, place, path in self._paths():
            if identity in present:
                continue
            present.add(identity)
            file = self._files.setdefault(identity, _File())
            if file.place != place:
                file.place = place
                changed |= file.keys
            changed |= self._read(file, identity, path)
        for gone in self._files.keys() - present:
            changed |= self._forget(self._files.pop(gone))
        return changed

    def _paths(self) -> list[tuple[tuple[int, int], tuple[str, int], str]]:
        found = []
        try:
            with os.scandir(self._journal.folder) as entries:
                for entry in entries:
                    name, is_journal, rest = entry.name.rpartition(".jsonl")
                    if not is_journal or (rest and not rest[1:].isdecimal()):
                        continue
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        # Of each session the oldest file first: it has the largest number.
                        place = (f"{name}.jsonl", -int(rest[1:] or 0))
                        found.append(((status.st_dev, status.st_ino), place, entry.path))
        except OSError:
            return found
        return found

    def _read(self, file: _File, identity: tuple[int, int], path: str) -> set[_Key]:
        changed: set[_Key] = set()
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return changed
        with open(descriptor, "rb") as opened:
            status = os.fstat(descriptor)
            if (status.st_dev, status.st_ino) != identity:
                # Renamed at this moment: it is read on under its new name the next time.
                return changed
            # A new file may have got the number of one that is gone.
            if status.st_size < file.offset or os.pread(descriptor, len(file.head), 0) != file.head:
                changed |= self._forget(file)
                file.offset = 0
            if status.st_size == file.offset:
                return changed
            opened.seek(file.offset)
            for line in opened:
                if not line.endswith(b"\n"):
                    break
                if may_tell(line):
                    changed |= self._add(file, line)
                file.offset += len(line)
                self._pace.rest()
            file.head = os.pread(descriptor, min(_HEAD, file.offset), 0)
        return changed

    def _add(self, file: _File, line: bytes) -> set[_Key]:
        record = parsed(line)
        if record is None:
            return set()
        keys = record_keys(record)
        for key in keys:
            self._lines.setdefault(key, []).append(_Line(file, file.offset, line))
        file.keys |= keys
        return keys

    def _forget(self, file: _File) -> set[_Key]:
        keys, file.keys = file.keys, set()
        for key in keys:
            kept = [line for line in self._lines.get(key, ()) if line.file is not file]
            if kept:
                self._lines[key] = kept
            else:
                self._lines.pop(key, None)
        return keys

    def _tell(self, key: _Key) -> None:
        lines = sorted(self._lines.get(key, ()), key=lambda line: (line.file.place, line.offset))
        records = (record for line in lines if (record := parsed(line.data)) is not None)
        story = one_story(key, records, self._open.get(key), self._verdicts.get(key))
        if story is None:
            self._told.pop(key, None)
            return
        times = story_times(story)
        self._told[key] = _Told(story, searched_text(story), times[0] if times else None, max(times, default=0.0))


def _fits(told: _Told, query: StoryQuery, words: list[str]) -> bool:
    story = told.story
    for name in ("session", "kind", "outcome", "by"):
        wanted = getattr(query, name)
        if wanted and story[name] != wanted:
            return False
    if query.since is not None and story["outcome"] != OPEN and told.latest < query.since:
        return False
    if query.until is not None and (told.at is None or told.at >= query.until):
        return False
    return all(word in told.text for word in words)


def _order(told: _Told) -> str:
    return str(told.story["asked_at"] or told.story["ended_at"] or "")
