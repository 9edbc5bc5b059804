from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.util.clock import iso, now

TIMES = st.floats(min_value=-6e10, max_value=2.5e11, allow_nan=False)


def test_a_moment_is_written_in_utc_with_milliseconds():
    assert iso(1795301654.1239) == "2026-11-21T22:54:14.123Z"


def test_without_a_time_it_is_now():
    before = iso(now())
    assert before <= iso() <= iso(now() + 1)


@given(TIMES)
def test_other_programs_read_the_same_moment(ts):
    assert abs(datetime.fromisoformat(iso(ts)).timestamp() - ts) < 0.002
    assert datetime.fromisoformat(iso(ts)).tzinfo == UTC


@given(TIMES, TIMES)
def test_strings_sort_as_their_times(one, other):
    assert (iso(one) <= iso(other)) or one > other


def test_a_time_out_of_range_is_refused():
    with pytest.raises((ValueError, OverflowError)):
        iso(1e15)
