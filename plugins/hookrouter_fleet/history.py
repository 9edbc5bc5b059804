"""Brings what a machine's journal tells to an engine that keeps a history: stories of questions, and counts of runs.

Each batch says how far the journal was read, in the same transaction; the engine refuses one that does not follow
the last. So whatever is interrupted, no line is brought twice, and none is lost as long as its file is there.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

from hookrouter.dialogs.documents import QUESTION, question_of
from hookrouter.dialogs.stories.one_story import (
    document_key,
    may_tell,
    one_story,
    record_keys,
    searched_text,
    story_times,
)
from hookrouter.dialogs.stories.story import UNKNOWN
from hookrouter.dialogs.verdicts import KIND as VERDICT
from hookrouter.dialogs.verdicts import verdict_in
from hookrouter.storage.history import OPEN, HistoryBatch, KeptStory, StoryQuery
from hookrouter.storage.hook_runs import FAILURES, run_of
from hookrouter.storage.journal import GENERAL, parsed
from hookrouter_fleet.counts import Counts
from hookrouter_fleet.journal_files import JournalFiles, session_of

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from hookrouter.dialogs.columns import Story
    from hookrouter.storage.history import HistoryPlace, HistoryStore, StoryKey
    from hookrouter.storage.interface import DocumentStore
    from hookrouter.storage.journal import Journal

__all__ = ["HistoryBringer"]

_PAGE = 500
_FIRST_BYTES, _MOST_BYTES = 128 * 1024, 2 * 1024 * 1024
"""About how much of the journal is brought in one transaction: twice as much after each that was saved, up to this. An
engine that keeps failing would never save a large one."""

PRUNE_SECONDS = 3600.0
"""Seconds between two times that what is too old is removed."""


class HistoryBringer:
    """One machine's journal, and what is known of it in the engine. For one thread, which holds the machine's lock.

    Once a method has raised, go on by :meth:`go_on_with`.
    """

    def __init__(
        self,
        journal: Journal,
        store: DocumentStore,
        history: HistoryStore,
        machine: str,
        waiting: Container[tuple[str, str]],
    ) -> None:
        """``store`` has the machine's own documents; ``waiting`` holds plugin and hook of what waits for answers."""
        self._folder = journal.folder
        self._files = JournalFiles(self._folder)
        self._most_bytes = _FIRST_BYTES
        self._store = store
        self._history = history
        self._machine = machine
        self._waiting = waiting
        self._place: HistoryPlace | None = None
        self._stamps: dict[tuple[str, str], object] = {}
        self._documents: dict[tuple[str, str], StoryKey] = {}
        """Of each question and verdict that was told of, by kind and name: which question it is about."""
        self._read: tuple[HistoryBatch, dict[tuple[str, str], object]] | None = None
        self._next_prune = 0.0

    def go_on_with(self, history: HistoryStore) -> None:
        """Bring to an engine that was opened anew. Raises StoreError.

        Unless all was saved that this object has brought, and nothing else, everything is compared again.
        """
        self._history = history
        # They have passed over what was read, which need not have been saved.
        self._files = JournalFiles(self._folder)
        self._most_bytes = _FIRST_BYTES
        self._read = None
        if self._place is not None and history.place() != self._place:
            self._place = None
            self._stamps, self._documents = {}, {}

    def read(self) -> bool:
        """Read what is to be brought next; return whether there is anything. Raises StoreError."""
        is_first = self._place is None
        if self._place is None:
            self._place = self._history.place()
        found = self._files.read_on(self._place.files, self._most_bytes)
        counts = Counts()
        lines: dict[StoryKey, list[str]] = {}
        for line in found.lines:
            record = parsed(line)
            if record is None:
                continue
            if (run := run_of(record, self._waiting)) is not None:
                counts.add_run(record.get("at"), run, FAILURES)
            if may_tell(line):
                for key in record_keys(record):
                    lines.setdefault(key, []).append(line.decode("utf-8", "replace").rstrip("\n"))
        known = {session_of(file) for file in self._place.files}
        for _session in {session_of(file) for file in found.files} - known - {GENERAL}:
            counts.add_session(time.time())
        stamps, documents = self._changed_documents()
        for key in self._closed_meanwhile() if is_first else ():
            documents.setdefault(key, {}).setdefault(QUESTION, None)
        stories = self._told(lines, documents, counts)
        if not (found.files or stories):
            self._keep(stamps)
            return False
        self._read = HistoryBatch(self._place.number, found.files, stories, counts.rows()), stamps
        return True

    def write(self) -> None:
        """Bring what was read, as a part of the transaction that is open. Raises StoreError."""
        if self._read is not None:
            self._history.append(self._read[0])

    def written(self) -> None:
        """Take note that the transaction was saved."""
        if self._read is None or self._place is None:
            return
        batch, stamps = self._read
        self._keep(stamps)
        files = {name: end for name, end in {**self._place.files, **batch.files}.items() if end is not None}
        self._place = self._place._replace(number=batch.number + 1, files=files)
        self._read = None
        self._most_bytes = min(2 * self._most_bytes, _MOST_BYTES)

    def _keep(self, stamps: dict[tuple[str, str], object]) -> None:
        """Take note that the engine knows the documents of these stamps, and what is gone of the former ones."""
        self._stamps = stamps
        self._documents = {place: key for place, key in self._documents.items() if place in stamps}

    def prune(self) -> None:
        """Have the engine remove what is too old, now and then. Raises StoreError."""
        if time.monotonic() >= self._next_prune:
            self._next_prune = time.monotonic() + PRUNE_SECONDS
            self._history.prune()

    def _closed_meanwhile(self) -> set[StoryKey]:
        """Return the questions that the engine has as open; those that are not were closed while no process looked."""
        found: set[StoryKey] = set()
        after = ""
        while True:
            page = self._history.stories(StoryQuery(machine=self._machine, outcome=OPEN), _PAGE, after)
            found |= {kept.key for kept in page.stories}
            if not (after := page.after):
                return found

    def _changed_documents(
        self,
    ) -> tuple[dict[tuple[str, str], object], dict[StoryKey, dict[str, Mapping[str, Any] | None]]]:
        """Return the stamps of now, and by question, the documents of each kind that have changed; None: it is gone."""
        stamps: dict[tuple[str, str], object] = {}
        found: dict[StoryKey, dict[str, Mapping[str, Any] | None]] = {}
        for kind in (QUESTION, VERDICT):
            now = dict(self._store.stamps(kind))
            stamps |= {(kind, name): stamp for name, stamp in now.items()}
            changed = {name for name, stamp in now.items() if self._stamps.get((kind, name)) != stamp}
            for name, document in self._store.entries(kind, changed.__contains__) if changed else ():
                one = question_of(document) if kind == QUESTION else verdict_in(document)
                if one is not None:
                    self._documents[kind, name] = key = document_key(one)
                    found.setdefault(key, {})[kind] = document
        for gone_kind, name in self._stamps.keys() - stamps.keys():
            # A verdict is removed after a day, and stays what it was.
            if (gone := self._documents.get((gone_kind, name))) is not None and gone_kind == QUESTION:
                found.setdefault(gone, {}).setdefault(QUESTION, None)
        return stamps, found

    def _told(
        self,
        lines: Mapping[StoryKey, list[str]],
        documents: Mapping[StoryKey, Mapping[str, Mapping[str, Any] | None]],
        counts: Counts,
    ) -> list[KeptStory]:
        """Return the stories that these lines and documents change."""
        keys = lines.keys() | documents.keys()
        kept = self._history.kept(keys) if keys else {}
        found = []
        for key in sorted(keys):
            former = kept.get(key)
            sources = _sources(former)
            sources = {
                "records": [*sources["records"], *lines.get(key, ())],
                **_changed(sources, documents.get(key, {})),
            }
            if former is not None and sources == former.sources:
                continue
            story = _tell(key, sources, former)
            if story is not None:
                counts.add_story(None if former is None else former.story, story)
                times = story_times(story)
                first, last = (times[0], max(times)) if times else (0.0, 0.0)
                found.append(KeptStory(self._machine, story, sources, first, last, searched_text(story)))
        return found


def _sources(former: KeptStory | None) -> dict[str, Any]:
    empty: dict[str, Any] = {"records": [], QUESTION: None, VERDICT: None}
    return empty if former is None else {**empty, **former.sources}


def _changed(sources: Mapping[str, Any], documents: Mapping[str, Any]) -> dict[str, Any]:
    return {kind: documents.get(kind, sources[kind]) for kind in (QUESTION, VERDICT)}


def _tell(key: StoryKey, sources: Mapping[str, Any], former: KeptStory | None) -> Story | None:
    records = (record for line in sources["records"] if (record := parsed(line.encode("utf-8"))) is not None)
    question, verdict = question_of(sources[QUESTION]), verdict_in(sources[VERDICT])
    story = one_story(key, records, question, verdict)
    # Of one that nothing tells of any more, it is known at least that it was asked.
    return story if story is not None or former is None else cast("Story", {**former.story, "outcome": UNKNOWN})
