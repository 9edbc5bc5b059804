"""What every engine must do that keeps the history of machines, compared with a plain list in memory."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrouter.storage.history import Count, HistoryBatch, HistoryMoved, HistoryPlace, KeptStory, StoryQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.storage.history import HistoryStore

__all__ = ["HistoryMaker", "HistoryStorageContract"]

_STORIES = st.lists(
    st.fixed_dictionaries(
        {
            "machine": st.sampled_from(["one", "two"]),
            "session": st.sampled_from(["work", "Ä日👍", "\x00\ud800", "x" * 4000]),
            "kind": st.sampled_from(["question", "plan"]),
            "outcome": st.sampled_from(["open", "verified", "mismatch"]),
            "by": st.sampled_from([None, "agent", "person"]),
            "words": st.sampled_from(["which colour?", "wh_ch % 日", "\x00\ud800 k"]),
            "at": st.integers(0, 30).map(lambda number: 1_700_000_000.0 + number * 20_000),
            "lasts": st.sampled_from([0.0, 0.125, 90_000.0, 300_000.0]),
        }
    ),
    max_size=40,
)
_QUERIES = st.builds(
    StoryQuery,
    words=st.sampled_from(["", "COLOUR which", "_", "%", "日"]),
    session=st.sampled_from(["", "", "work", "Ä日👍", "x" * 4000]),
    kind=st.sampled_from(["", "", "plan"]),
    outcome=st.sampled_from(["", "", "open", "mismatch"]),
    by=st.sampled_from(["", "", "agent"]),
    machine=st.sampled_from(["", "", "two"]),
    since=st.sampled_from([None, 0.0, 1_700_000_000.0, 1_700_300_000.0, 1e18]),
    until=st.sampled_from([None, 1_700_300_000.0]),
)


class HistoryMaker(Protocol):
    """What an author gives to the contract: makes objects over one and the same history."""

    def __call__(self, machine: str) -> HistoryStore:
        """Return the history as this machine sees it."""


def _kept(machine: str, number: int, **other: Any) -> KeptStory:
    known: dict[str, Any] = {
        "session": "work",
        "kind": "question",
        "outcome": "verified",
        "by": None,
        "at": 1_700_000_000.0,
    }
    known |= {"lasts": 0.0, "words": "", **other}
    story = {name: known[name] for name in ("session", "kind", "outcome", "by")}
    story |= {"session_id": "s-1", "tool_use_id": f"toolu_{number}", "chat": 'Ä日 \x00\x1b \ud800 "\\\n'}
    at = float(known["at"])
    return KeptStory(machine, story, {"records": ['{"a":"\\u0000"}']}, at, at + float(known["lasts"]), known["words"])


def _batch(number: int, stories: Sequence[KeptStory] = (), counts: Sequence[Count] = (), **files: Any) -> HistoryBatch:
    return HistoryBatch(number, files, stories, counts)


def _all(history: HistoryStore, query: StoryQuery, limit: int) -> list[KeptStory]:
    found: list[KeptStory] = []
    after = ""
    while True:
        page = history.stories(query, limit, after)
        assert len(page.stories) <= limit
        assert (page.looked_until is None) == (not page.after)
        found += page.stories
        if not (after := page.after):
            return found


def _identity(kept: KeptStory) -> tuple[str, str]:
    return kept.machine, kept.key[1]


class HistoryStorageContract:
    """Subclass it, and give one fixture, in the class or its module: ``make_history``, a :class:`HistoryMaker`.

    The history is empty at first. Nothing in the tests is older than the engine is to keep, and none calls ``prune``.
    """

    @pytest.fixture
    def history(self, make_history: HistoryMaker) -> HistoryStore:
        return make_history("one")

    def test_it_begins_with_nothing(self, history: HistoryStore) -> None:
        assert history.place() == HistoryPlace(0, {})
        assert history.machines() == []
        assert list(history.stories(StoryQuery(), 10).stories) == []
        assert history.story("one", ("s-1", "toolu_1")) is None
        assert list(history.counts(0)) == []

    def test_a_story_comes_back_as_it_was_with_its_sources(
        self, history: HistoryStore, make_history: HistoryMaker
    ) -> None:
        story = _kept("one", 1, words="some words", lasts=0.125)
        history.append(_batch(0, [story]))
        assert make_history("two").story("one", story.key) == story
        assert history.kept([story.key, ("s-1", "toolu_2")]) == {story.key: story}
        assert make_history("two").kept([story.key]) == {}
        (shown,) = make_history("two").stories(StoryQuery(), 10).stories
        assert (shown.machine, shown.story, shown.at, shown.latest) == ("one", story.story, story.at, story.latest)

    def test_a_story_that_is_told_anew_takes_the_place_of_the_former(self, history: HistoryStore) -> None:
        history.append(_batch(0, [_kept("one", 1, outcome="open")]))
        history.append(_batch(1, [_kept("one", 1, outcome="verified", at=1_700_000_500.0)]))
        assert list(history.stories(StoryQuery(outcome="open"), 10).stories) == []
        (story,) = history.stories(StoryQuery(outcome="verified"), 10).stories
        assert story.at == 1_700_000_500.0

    def test_how_far_the_journal_was_brought_is_kept_with_what_was(
        self, history: HistoryStore, make_history: HistoryMaker
    ) -> None:
        history.append(_batch(0, a=10, b=20))
        history.append(_batch(1, a=15, b=None))
        assert make_history("one").place() == HistoryPlace(2, {"a": 15})
        assert make_history("two").place() == HistoryPlace(0, {})
        make_history("two").append(_batch(0, a=1))
        assert history.machines() == ["one", "two"]

    @pytest.mark.parametrize("number", [0, 2])
    def test_what_does_not_follow_the_last_batch_is_refused_as_a_whole(
        self, history: HistoryStore, make_history: HistoryMaker, number: int
    ) -> None:
        count = Count(20_000, "run", "Stop", "", 3, 2)
        history.append(_batch(0, [_kept("one", 1)], [count], a=10))
        with pytest.raises(HistoryMoved):
            make_history("one").append(_batch(number, [_kept("one", 2)], [count], a=20))
        assert history.place() == HistoryPlace(1, {"a": 10})
        assert history.story("one", ("s-1", "toolu_2")) is None
        assert list(history.counts(0)) == [count]

    def test_counts_of_all_batches_and_machines_are_one_sum(
        self, history: HistoryStore, make_history: HistoryMaker
    ) -> None:
        run = Count(20_000, "run", "PreToolUse", "Bash", 7, 3, 1, 5.5)
        ended = Count(20_001, "ended", "open\x00", "", -1, 1)
        history.append(_batch(0, counts=[run, ended]))
        history.append(_batch(1, counts=[run._replace(calls=1, failed=0, longest=9.25), ended._replace(calls=-1)]))
        make_history("two").append(_batch(0, counts=[run, run._replace(day=19_999), run._replace(bucket=8)]))
        found = sorted(history.counts(20_000))
        assert found == [run._replace(calls=7, failed=2, longest=9.25), run._replace(bucket=8)]

    @pytest.mark.parametrize("after", ["x", "1.2.3", "'", "9" * 40 + ".1"])
    def test_what_is_no_place_is_refused(self, history: HistoryStore, after: str) -> None:
        history.append(_batch(0, [_kept("one", 1)]))
        with pytest.raises(ValueError):  # noqa: PT011 - each engine has words of its own
            history.stories(StoryQuery(), 10, after)

    @settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=40)
    @given(rows=_STORIES, queries=st.lists(_QUERIES, min_size=1, max_size=6), limit=st.integers(1, 12))
    def test_all_pages_of_any_query_are_what_a_list_in_memory_has(
        self, make_history: HistoryMaker, rows: list[dict[str, Any]], queries: list[StoryQuery], limit: int
    ) -> None:
        stories = [_kept(row.pop("machine"), number, **row) for number, row in enumerate(rows)]
        for machine in ("one", "two"):
            history = make_history(machine)
            former = _all(history, StoryQuery(machine=machine), 50)
            hidden = [one._replace(story={**one.story, "session": "former"}, at=1.0, latest=1.0) for one in former]
            of_machine = [one for one in stories if one.machine == machine]
            keys = {one.key for one in of_machine}
            history.append(
                _batch(history.place().number, [*of_machine, *(one for one in hidden if one.key not in keys)])
            )
        for query in queries:
            found = [one for one in _all(history, query, limit) if one.story["session"] != "former"]
            wanted = [one for one in stories if one.fits(query)]
            assert Counter(map(_identity, found)) == Counter(map(_identity, wanted))
            times = [one.at for one in found]
            assert times == sorted(times, reverse=True)
