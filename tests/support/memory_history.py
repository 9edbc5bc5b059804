"""A history in this process's memory, by the interface alone: the plain model that engines are compared with."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence

from hookrouter.storage.history import (
    Count,
    HistoryBatch,
    HistoryMoved,
    HistoryPlace,
    KeptPage,
    KeptStory,
    StoryKey,
    StoryQuery,
)
from support.memory_storage import MemoryStorage

__all__ = ["MemoryHistory", "MemoryHistoryStorage"]


class MemoryHistory:
    """The history of all machines; :meth:`of` returns it as another machine sees it."""

    def __init__(self, machine: str = "one", looked_at: int = 7) -> None:
        self._machine = machine
        self._looked_at = looked_at
        self.places: dict[str, HistoryPlace] = {}
        self.rows: dict[tuple[str, StoryKey], KeptStory] = {}
        self.numbers: dict[tuple[str, StoryKey], int] = {}
        self.counted: dict[tuple[str, int, str, str, str, int], Count] = {}

    def of(self, machine: str) -> MemoryHistory:
        other = copy.copy(self)
        other._machine = machine
        return other

    def place(self) -> HistoryPlace:
        return self.places.get(self._machine, HistoryPlace(0, {}))

    def kept(self, keys: Collection[StoryKey]) -> dict[StoryKey, KeptStory]:
        return {key: self.rows[self._machine, key] for key in keys if (self._machine, key) in self.rows}

    def append(self, batch: HistoryBatch) -> None:
        place = self.place()
        if batch.number != place.number:
            raise HistoryMoved("another process has brought history meanwhile")
        files = {name: end for name, end in {**place.files, **batch.files}.items() if end is not None}
        self.places[self._machine] = HistoryPlace(place.number + 1, files)
        for kept in batch.stories:
            self.rows[self._machine, kept.key] = kept._replace(machine=self._machine)
            self.numbers.setdefault((self._machine, kept.key), len(self.numbers))
        for count in batch.counts:
            key = (self._machine, *count[:5])
            former = self.counted.get(key, count._replace(calls=0, failed=0, longest=0.0))
            self.counted[key] = _sum(former, count)

    def machines(self) -> list[str]:
        return sorted(self.places)

    def stories(self, query: StoryQuery, limit: int, after: str = "") -> KeptPage:
        ordered = sorted(((kept.at, self.numbers[key], kept) for key, kept in self.rows.items()), reverse=True)
        if after:
            at, _, number = after.partition("/")
            ordered = [one for one in ordered if one[:2] < (float(at), int(number))]
        found: list[KeptStory] = []
        looked = 0
        for *_, kept in ordered[: self._looked_at]:
            looked += 1
            found += [kept] if kept.fits(query) else []
            if len(found) == limit:
                break
        if looked == len(ordered):
            return KeptPage(found, "", None)
        last = ordered[looked - 1]
        return KeptPage(found, f"{last[0]!r}/{last[1]}", last[0])

    def story(self, machine: str, key: StoryKey) -> KeptStory | None:
        return self.rows.get((machine, key))

    def counts(self, first_day: int) -> Sequence[Count]:
        found: dict[tuple[int, str, str, str, int], Count] = {}
        for count in self.counted.values():
            if count.day >= first_day:
                found[count[:5]] = _sum(found[count[:5]], count) if count[:5] in found else count
        return [count for count in found.values() if count.calls > 0]

    def prune(self) -> int:
        return 0


class MemoryHistoryStorage(MemoryStorage):
    """Documents and history of machines that share this process's memory."""

    def __init__(self, machine: str = "one") -> None:
        super().__init__(machine)
        self.kept = MemoryHistory(machine)

    def history(self) -> MemoryHistory:
        return self.kept


def _sum(one: Count, two: Count) -> Count:
    return one._replace(
        calls=one.calls + two.calls, failed=one.failed + two.failed, longest=max(one.longest, two.longest)
    )
