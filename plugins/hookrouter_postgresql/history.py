"""The history of all machines as rows: stories of questions, and counts by day."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.storage.history import OPEN, Count, HistoryMoved, HistoryPlace, KeptPage, KeptStory
from hookrouter.util import fastjson

if TYPE_CHECKING:
    from collections.abc import Collection

    from hookrouter.storage.history import HistoryBatch, StoryKey, StoryQuery
    from hookrouter_postgresql.access import Access

    _Condition = tuple[str, object]
    """What is asked of a row, and the value in it; a tuple for several, or none."""

__all__ = ["PostgresqlHistory"]

_LOOKED_AT = 1000
"""How many stories one call looks at if it has to look at each: what it costs does not depend on how many there are."""
_PRUNED_AT_ONCE = 1000
_LASTING = 86_400.0
"""Seconds for which a question was open that is looked for apart, see the column ``lasting``."""
_LONGEST_NAME = 300
"""Characters of a name that an index holds."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AFTER = re.compile(r"(-?\d{1,17})\.(\d{1,18})")

_NUMBER = "SELECT number FROM {schema}.history_machine WHERE machine = %s"
_FILES = "SELECT file, position FROM {schema}.history_file WHERE machine = %s"
_BEGUN = (
    "INSERT INTO {schema}.history_machine (machine, number) VALUES (%s, 1) "
    "ON CONFLICT (machine) DO NOTHING RETURNING number"
)
_NEXT = "UPDATE {schema}.history_machine SET number = number + 1 WHERE machine = %s AND number = %s RETURNING number"
_MOVE = (
    "INSERT INTO {schema}.history_file (machine, file, position) SELECT %s, * FROM unnest(%s::text[], %s::bigint[]) "
    "ON CONFLICT (machine, file) DO UPDATE SET position = excluded.position"
)
_GONE = "DELETE FROM {schema}.history_file WHERE machine = %s AND file = ANY(%s::text[])"
_PUT = (
    "INSERT INTO {schema}.story "
    "(machine, key, session, kind, outcome, ended_by, at, latest, lasting, words, story, sources) "
    "SELECT %s, * FROM unnest(%s::bytea[], %s::text[], %s::text[], %s::text[], %s::text[], %s::timestamptz[], "
    "%s::timestamptz[], %s::boolean[], %s::text[], %s::text[], %s::text[]) "
    "ON CONFLICT (machine, key) DO UPDATE SET session = excluded.session, kind = excluded.kind, "
    "outcome = excluded.outcome, ended_by = excluded.ended_by, at = excluded.at, latest = excluded.latest, "
    "lasting = excluded.lasting, words = excluded.words, story = excluded.story, sources = excluded.sources"
)
# Names that are cut may be the same.
_COUNT = (
    "INSERT INTO {schema}.history_count AS old (day, machine, subject, name, part, bucket, calls, failed, longest) "
    "SELECT day, %s, subject, name, part, bucket, sum(calls), sum(failed), max(longest) "
    "FROM unnest(%s::integer[], %s::text[], %s::text[], %s::text[], %s::integer[], %s::bigint[], %s::bigint[], "
    "%s::float8[]) AS new (day, subject, name, part, bucket, calls, failed, longest) "
    "GROUP BY day, subject, name, part, bucket "
    "ON CONFLICT (day, machine, subject, name, part, bucket) DO UPDATE SET calls = old.calls + excluded.calls, "
    "failed = old.failed + excluded.failed, longest = greatest(old.longest, excluded.longest)"
)
_KEPT = (
    "SELECT machine, story, sources, at, latest, words FROM {schema}.story "
    "WHERE machine = %s AND key = ANY(%s::bytea[])"
)
_MACHINES = "SELECT machine FROM {schema}.history_machine ORDER BY machine"
_COUNTED = (
    "SELECT day, subject, name, part, bucket, sum(calls)::bigint, sum(failed)::bigint, max(longest) "
    "FROM {schema}.history_count WHERE day >= %s GROUP BY day, subject, name, part, bucket HAVING sum(calls) > 0"
)
# By the server's clock: what all machines have kept must not go because one of them has a wrong one.
_MAY_PRUNE = (
    "SELECT pg_try_advisory_xact_lock(hashtextextended('hookrouter prunes ' || %s, 0)), "
    "timezone('UTC', clock_timestamp())"
)
_PRUNE = (
    "DELETE FROM {schema}.story WHERE id IN (SELECT id FROM {schema}.story "
    f"WHERE timezone('UTC', at) < %s AND latest < %s AND outcome <> '{OPEN}' "
    f"ORDER BY timezone('UTC', at) LIMIT {_PRUNED_AT_ONCE} FOR UPDATE SKIP LOCKED) RETURNING id"
)
_PRUNE_COUNTS = "DELETE FROM {schema}.history_count WHERE day < %s"

_BY_NEWEST, _BY_MOMENT = "timezone('UTC', at)", "at"
"""What the index of all stories is in the order of, and what all other indexes are."""
_COLUMNS = ("session", "outcome", "machine", "kind", "by")
"""The parts of a query that have an index, the one that most likely leaves the fewest first."""


class _Part(NamedTuple):
    """A part of all stories that is looked through."""

    order: str
    """What the newest is told by."""
    leading: list[_Condition]
    """Conditions by which an index leads to what is looked at."""
    rest: list[_Condition]
    """Conditions that are tried on each, until there are enough."""


class PostgresqlHistory:
    """The history, as one machine sees it: :class:`hookrouter.storage.history.HistoryStore`."""

    def __init__(self, access: Access, machine: str) -> None:
        """Touches nothing yet."""
        self._access = access
        self._machine = machine

    def place(self) -> HistoryPlace:
        """Return how far this machine's journal was brought."""
        rows = self._access.run(_NUMBER, (self._machine,))
        if not rows:
            return HistoryPlace(0, {})
        return HistoryPlace(rows[0][0], dict(self._access.run(_FILES, (self._machine,))))

    def kept(self, keys: Collection[StoryKey]) -> dict[StoryKey, KeptStory]:
        """Return, of these questions of this machine, the stories that are kept."""
        rows = self._access.run(_KEPT, (self._machine, [_digest(key) for key in keys]))
        return {one.key: one for one in map(_whole, rows)}

    def append(self, batch: HistoryBatch) -> None:
        """Keep all of a batch, or nothing."""
        run, machine = self._access.run, self._machine
        with self._access.connections.together():
            if not (run(_NEXT, (machine, batch.number)) if batch.number else run(_BEGUN, (machine,))):
                raise HistoryMoved(f"another process has written history of the machine {machine!r} meanwhile")
            moved = {file: position for file, position in batch.files.items() if position is not None}
            if moved:
                run(_MOVE, (machine, list(moved), list(moved.values())))
            if gone := [file for file, position in batch.files.items() if position is None]:
                run(_GONE, (machine, gone))
            if batch.stories:
                run(_PUT, (machine, *map(list, zip(*map(_row, batch.stories), strict=True))))
            if batch.counts:
                rows = [one._replace(name=_plain(one.name), part=_plain(one.part)) for one in batch.counts]
                run(_COUNT, (machine, *map(list, zip(*rows, strict=True))))

    def machines(self) -> list[str]:
        """Return the names of the machines whose history is kept, sorted."""
        return [machine for (machine,) in self._access.run(_MACHINES, ())]

    def stories(self, query: StoryQuery, limit: int, after: str = "") -> KeptPage:
        """Return up to ``limit`` of the stories that fit, newest first, of the next :data:`_LOOKED_AT`."""
        rows: list[tuple[Any, ...]] = []
        end: tuple[datetime, int] | None = None
        for part in _parts(query, _before(after)):
            if len(rows) == limit:
                end = rows[-1][2], rows[-1][0]
                break
            found, end = self._look(part, limit - len(rows))
            rows += found
            if end is not None:
                break
        stories = [KeptStory(row[1], _object(row[4]), {}, *_times(row[2], row[3]), "") for row in rows]
        return KeptPage(stories, "", None) if end is None else KeptPage(stories, _after(*end), end[0].timestamp())

    def _look(self, part: _Part, limit: int) -> tuple[list[tuple[Any, ...]], tuple[datetime, int] | None]:
        """Return what fits, newest first, and the place of the last one that was looked at; None if that was all."""
        window = f"FROM {{schema}}.story{_where(part.leading)} ORDER BY {part.order} DESC, id DESC"
        rows = self._access.run(
            "SELECT id, machine, at, latest, story "
            f"FROM (SELECT *, {part.order} AS place {window} LIMIT {_LOOKED_AT}) AS looked"
            f"{_where(part.rest)} ORDER BY place DESC, id DESC LIMIT {limit + 1}",
            [*_values(part.leading), *_values(part.rest)],
        )
        if len(rows) > limit:
            return rows[:limit], (rows[limit - 1][2], rows[limit - 1][0])
        if len(rows) == _LOOKED_AT:
            return rows, (rows[-1][2], rows[-1][0])
        if not part.rest:
            return rows, None
        last = self._access.run(f"SELECT at, id {window} OFFSET {_LOOKED_AT - 1} LIMIT 1", _values(part.leading))
        if not last:
            return rows, None
        # What was written between the two may have moved it up; what stands behind it comes with the next page.
        return [row for row in rows if (row[2], row[0]) >= last[0]], last[0]

    def story(self, machine: str, key: StoryKey) -> KeptStory | None:
        """Return one story with its sources; None if nothing is known of the question."""
        rows = self._access.run(_KEPT, (machine, [_digest(key)]))
        return _whole(rows[0]) if rows else None

    def counts(self, first_day: int) -> list[Count]:
        """Return what was counted on this day and later on all machines."""
        return [Count(*row) for row in self._access.run(_COUNTED, (first_day,))]

    def prune(self) -> int:
        """Remove what is older than ``keep_days`` by the server's clock; return how many.

        Nothing if another process does that now.
        """
        settings, removed = self._access.connections.settings, 0
        while True:
            with self._access.connections.together():
                ((may_prune, now),) = self._access.run(_MAY_PRUNE, (settings.schema,))
                if not may_prune:
                    return removed
                earliest = now.replace(tzinfo=UTC) - timedelta(days=settings.keep_days)
                gone = len(self._access.run(_PRUNE, (earliest.replace(tzinfo=None), earliest)))
                removed += gone
                if gone < _PRUNED_AT_ONCE:
                    self._access.run(_PRUNE_COUNTS, ((earliest - _EPOCH).days,))
                    return removed


def _parts(query: StoryQuery, before: tuple[datetime, int] | None) -> list[_Part]:
    """Return the parts of all stories, newest first, that are looked through for a query."""
    given = {name: _plain(getattr(query, name)) for name in _COLUMNS if getattr(query, name)}
    equal: list[_Condition] = [(f"{_column(name)} = %s", value) for name, value in given.items()]
    words: list[_Condition] = [("strpos(words, %s) > 0", _plain(word, None)) for word in query.words.casefold().split()]
    until = None if query.until is None else _moment(query.until)
    order = _BY_MOMENT if equal else _BY_NEWEST
    leading = [*equal[:1], *_between(order, None, until, before)]
    if query.since is None:
        return [_Part(order, leading, [*equal[1:], *words])]
    floor = _moment(query.since - _LASTING)
    since: _Condition = (f"(latest >= %s OR outcome = '{OPEN}')", _moment(query.since))
    recent = _Part(order, [*equal[:1], *_between(order, floor, until, before)], [*equal[1:], *words, since])
    # Few enough that no other index is needed, and what has another index would be looked through for them.
    older: list[_Condition] = [("lasting", ()), ("at < %s", floor), *_between(_BY_MOMENT, None, until, before)]
    lasting = _Part(_BY_MOMENT, older, [*equal, *words, since])
    return [recent, lasting] if before is None or before[0] >= floor else [lasting]


def _between(
    order: str, first: datetime | None, until: datetime | None, before: tuple[datetime, int] | None
) -> list[_Condition]:
    """Return the conditions by which only a stretch of an index is looked at."""
    found: list[_Condition] = []
    if first is not None:
        found.append((f"{order} >= %s", _in_order(order, first)))
    if until is not None:
        found.append((f"{order} < %s", _in_order(order, until)))
    if before is not None:
        found.append((f"({order}, id) < (%s, %s)", (_in_order(order, before[0]), before[1])))
    return found


def _in_order(order: str, at: datetime) -> datetime:
    return at.replace(tzinfo=None) if order == _BY_NEWEST else at


def _where(conditions: list[_Condition]) -> str:
    return f" WHERE {' AND '.join(text for text, _ in conditions)}" if conditions else ""


def _values(conditions: list[_Condition]) -> list[object]:
    found: list[object] = []
    for _, value in conditions:
        found += value if isinstance(value, tuple) else (value,)
    return found


def _column(name: str) -> str:
    return "ended_by" if name == "by" else name


def _row(kept: KeptStory) -> tuple[object, ...]:
    story = kept.story
    names = (story["session"], story["kind"], story["outcome"], story["by"] or "")
    lasting = story["outcome"] == OPEN or kept.latest - kept.at > _LASTING
    texts = (_plain(kept.words, None), fastjson.dumps(dict(story)), fastjson.dumps(dict(kept.sources)))
    return (_digest(kept.key), *map(_plain, names), _moment(kept.at), _moment(kept.latest), lasting, *texts)


def _whole(row: tuple[Any, ...]) -> KeptStory:
    machine, story, sources, at, latest, words = row
    return KeptStory(machine, _object(story), _object(sources), *_times(at, latest), words)


def _object(text: str) -> dict[str, Any]:
    found: Any = fastjson.loads(text)
    return dict(found)


def _times(at: datetime, latest: datetime) -> tuple[float, float]:
    return at.timestamp(), latest.timestamp()


def _digest(key: StoryKey) -> bytes:
    return hashlib.sha256(fastjson.dumps(list(key)).encode("ascii")).digest()


def _plain(text: str, most: int | None = _LONGEST_NAME) -> str:
    """Return a text as a column can hold it: without U+0000 and lone surrogates, and cut if it is for an index."""
    return text[:most].replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _moment(at: float) -> datetime:
    """Return a time in seconds since 1970; one that the calendar lacks becomes its first or last."""
    try:
        return _EPOCH + timedelta(seconds=at)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC) if at > 0 else datetime.min.replace(tzinfo=UTC)


def _after(at: datetime, number: int) -> str:
    return f"{(at - _EPOCH) // timedelta(microseconds=1)}.{number}"


def _before(after: str) -> tuple[datetime, int] | None:
    if not after:
        return None
    found = _AFTER.fullmatch(after)
    if found is None:
        raise ValueError(f"{after!r} is not a place in the history")
    try:
        return _EPOCH + timedelta(microseconds=int(found[1])), int(found[2])
    except OverflowError:
        raise ValueError(f"{after!r} is not a place in the history") from None
