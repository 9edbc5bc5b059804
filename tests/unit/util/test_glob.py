"""Patterns are taken as :mod:`fnmatch` takes them."""

from __future__ import annotations

from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st

from hookrouter.util.glob import fits_glob, has_wildcard, may_fit_glob

LETTERS = st.text(alphabet="ab*?[]!-\n", max_size=8)


@given(LETTERS, LETTERS)
def test_a_text_fits_as_fnmatch_says(text: str, pattern: str) -> None:
    assert fits_glob(text, pattern) is fnmatchcase(text, pattern)


@given(LETTERS, LETTERS)
def test_a_pattern_without_wildcards_is_itself(text: str, pattern: str) -> None:
    if not has_wildcard(pattern):
        assert fnmatchcase(text, pattern) is (text == pattern)


@given(LETTERS, LETTERS, st.integers(0, 8), st.integers(0, 8))
def test_what_fits_may_fit_by_its_beginning_and_end(text: str, pattern: str, begin: int, end: int) -> None:
    if fits_glob(text, pattern):
        assert may_fit_glob(pattern, text[:begin], text[max(begin, len(text) - end) :])
