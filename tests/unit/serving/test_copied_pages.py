"""Which pages of memory a call writes to: read from the system, kept in bounds, copied before the next call."""

from __future__ import annotations

import mmap
import sys
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._serving.copied_pages import MOST_PAGES, CopiedPages, copy_runs

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells of copied pages")


def pages_of(runs: list[tuple[int, int]]) -> set[int]:
    return set(chain.from_iterable(range(first, first + count) for first, count in runs))


@linux
def test_pages_that_are_not_there_are_left_alone() -> None:
    copy_runs([(1, 1), ((1 << 47) // mmap.PAGESIZE, 3), (0, 0)])


@given(st.sets(st.integers(0, 3000)))
def test_runs_hold_exactly_the_pages_that_were_told(pages: set[int]) -> None:
    known = CopiedPages()
    told = [[page, 1] for page in sorted(pages, key=lambda page: page % 7)]
    known.add([*told, [5000, 7]])
    assert known.runs == []
    known.add(told)
    assert pages_of(known.runs) <= pages
    if len(pages) <= MOST_PAGES:
        assert pages_of(known.runs) == pages
    assert all(one[0] + one[1] < other[0] for one, other in zip(known.runs, known.runs[1:], strict=False))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=12,
)


@given(json_values)
def test_nothing_that_a_child_tells_harms_the_router(told: object) -> None:
    known = CopiedPages()
    known.add(told)
    assert len(pages_of(known.runs)) <= MOST_PAGES
    known.forget()
    assert known.runs == []
