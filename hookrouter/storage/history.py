"""The history of all machines in an engine: what became of each question, and how often hooks ran.

An engine may have it or not: one that does has a method ``history()`` (:class:`HistoryStorage`), and an author tests it
with :class:`hookrouter.testing.contracts.history_storage.HistoryStorageContract`. Each machine's process brings what
its journal tells (:mod:`hookrouter.storage.journal`); commands and the page then ask the engine once, and not machine
by machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from hookrouter.storage.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from hookrouter.storage.interface import Storage

__all__ = [
    "OPEN",
    "Count",
    "HistoryBatch",
    "HistoryMoved",
    "HistoryPlace",
    "HistoryStorage",
    "HistoryStore",
    "KeptPage",
    "KeptStory",
    "StoryKey",
    "StoryQuery",
    "history_of",
]

OPEN = "open"
"""The outcome of a question that waits for an answer."""

StoryKey = tuple[str, str]
"""Session id and tool_use_id, which tell a question of a machine from all others of it."""


class HistoryMoved(StoreError):
    """Another process has brought a part of this machine's history meanwhile; nothing of the batch was kept."""


class StoryQuery(NamedTuple):
    """Which stories are wanted: those that fit all of these; what is empty or None does not count."""

    words: str = ""
    """Each of these words stands in a question, an answer, the session's name or the name of who answered."""
    session: str = ""
    """The session's name."""
    kind: str = ""
    """The kind of dialog."""
    outcome: str = ""
    """How it ended."""
    by: str = ""
    """Who ended it: ``agent``, ``person`` or ``nobody``."""
    since: float | None = None
    """Only what was asked, or ended, at or after this time in seconds since 1970; what is open counts always."""
    until: float | None = None
    """Only what was asked before this time in seconds since 1970."""
    machine: str = ""
    """The machine that it was asked on."""


class KeptStory(NamedTuple):
    """What is kept of one question."""

    machine: str
    """The machine that it was asked on."""
    story: Mapping[str, Any]
    """What ``hookrouter history --json`` says of it."""
    sources: Mapping[str, Any]
    """What that was told from, so that it can be told anew when more is known: a JSON object."""
    at: float
    """When it was asked, or else ended, in seconds since 1970; 0 if neither is known. Stories are in this order."""
    latest: float
    """When it was asked or ended, whatever was later."""
    words: str
    """The text in which words are looked for, in the form of ``str.casefold``."""

    @property
    def key(self) -> StoryKey:
        """Session id and tool_use_id."""
        return self.story["session_id"], self.story["tool_use_id"]

    def fits(self, query: StoryQuery) -> bool:
        """Whether this is wanted."""
        wanted = [getattr(query, name) in ("", self.story[name]) for name in ("session", "kind", "outcome", "by")]
        return (
            all(wanted)
            and query.machine in ("", self.machine)
            and (query.since is None or self.story["outcome"] == OPEN or self.latest >= query.since)
            and (query.until is None or self.at < query.until)
            and all(word in self.words for word in query.words.casefold().split())
        )


class KeptPage(NamedTuple):
    """Some of the stories that are wanted."""

    stories: Sequence[KeptStory]
    """Newest first."""
    after: str
    """What :meth:`HistoryStore.stories` goes on from; empty if there are no more."""
    looked_until: float | None
    """The time of the last story that was looked at, in seconds since 1970; None if there are no more."""


class Count(NamedTuple):
    """How often something happened on a day. Two of the same place are one, with the sum of their calls."""

    day: int
    """Days since 1970-01-01 UTC."""
    subject: str
    """What is counted."""
    name: str
    """Of these, which one."""
    part: str
    """Of this one, which part; empty if it has none."""
    bucket: int
    """The class of how long it took; -1 if it did not say."""
    calls: int
    """How often; less than 0 in a batch that takes back what was counted before."""
    failed: int = 0
    """How many of these failed."""
    longest: float = 0.0
    """How long the longest one took."""


class HistoryPlace(NamedTuple):
    """How far a machine's journal was brought."""

    number: int
    """How many batches were brought."""
    files: Mapping[str, int]
    """By the name of each file of the journal, how many bytes of it."""


class HistoryBatch(NamedTuple):
    """What is brought in one transaction."""

    number: int
    """The :attr:`HistoryPlace.number` that it follows."""
    files: Mapping[str, int | None]
    """How far these files were brought now; None for one that is gone."""
    stories: Sequence[KeptStory]
    """Stories that are new or told anew, all of this machine."""
    counts: Sequence[Count]
    """What is added to what was counted. No two have the same place."""


class HistoryStore(Protocol):
    """The history of the machines that share an engine, as one of them sees it. Every method may raise StoreError."""

    def place(self) -> HistoryPlace:
        """Return how far this machine's journal was brought; number 0 and no files if nothing was."""

    def kept(self, keys: Collection[StoryKey]) -> Mapping[StoryKey, KeptStory]:
        """Return, of these questions of this machine, the stories that are kept."""

    def append(self, batch: HistoryBatch) -> None:
        """Keep all of a batch, or nothing: stories and counts, and how far the journal was read.

        It is a part of the transaction of :meth:`hookrouter.storage.interface.Storage.together` that this thread has
        open. Raises HistoryMoved if the last batch was another than ``batch.number``, so that whatever is interrupted,
        nothing is brought twice.
        """

    def machines(self) -> Sequence[str]:
        """Return the names of the machines whose history is kept, sorted."""

    def stories(self, query: StoryQuery, limit: int, after: str = "") -> KeptPage:
        """Return up to ``limit`` of the stories that fit, newest first; ``sources`` and ``words`` may be empty.

        ``after`` is that of the page before. An engine may look at a part of the stories only, so that each call costs
        the same whatever there is: then the page has fewer, and its ``after`` goes on from there. Raises ValueError
        for an ``after`` that no page has had.
        """

    def story(self, machine: str, key: StoryKey) -> KeptStory | None:
        """Return one story with its sources; None if nothing is known of the question."""

    def counts(self, first_day: int) -> Sequence[Count]:
        """Return what was counted on this day and later on all machines; no two have the same place."""

    def prune(self) -> int:
        """Remove what is older than the engine is to keep; return how many stories were removed.

        It concerns all machines, so how old something is must not depend on the clock of the machine that calls this.
        """


class HistoryStorage(Protocol):
    """What a :class:`hookrouter.storage.interface.Storage` has beside, if it keeps a history."""

    def history(self) -> HistoryStore | None:
        """Return the history; None if the tables that are there have none yet. Raises StoreError."""


def history_of(storage: Storage) -> HistoryStore | None:
    """Return the history of an engine; None if it keeps none. Raises StoreError."""
    find = getattr(storage, "history", None)
    found: HistoryStore | None = None if find is None else find()
    return found
