from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.util.filenames import MAX_ENCODED, decode_name, encode_name

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("name", "encoded"),
    [
        ("warden-main", "warden-main"),
        ("../../x", "%2E.%2F..%2Fx"),
        (".", "%2E"),
        ("a/b c", "a%2Fb%20c"),
        ("", "%"),
        ("100%", "100%25"),
        ("ü", "%C3%BC"),
    ],
)
def test_names_become_safe_and_come_back(name, encoded):
    assert encode_name(name) == encoded
    assert decode_name(encoded) == name


@given(ANY_TEXT)
def test_every_name_is_one_file_and_comes_back(name):
    encoded = encode_name(name)
    assert encoded.isascii()
    assert os.path.basename(encoded) == encoded
    assert not encoded.startswith(".")
    assert 0 < len(encoded) <= MAX_ENCODED
    assert encoded.isprintable()
    assert decode_name(encoded) == (None if "%~" in encoded else name)


@given(ANY_TEXT, ANY_TEXT)
def test_two_names_are_never_one_file(one, other):
    assert (encode_name(one) == encode_name(other)) == (one == other)


def test_long_names_are_cut_and_still_differ():
    one, other = encode_name("x" * 500), encode_name("x" * 501)
    assert one != other
    assert len(one) <= MAX_ENCODED
    assert decode_name(one) is None


@pytest.mark.parametrize("encoded", ["%zz", "a%2", "%2e", ".a", "%41", "a b", "%FF", "%+1", "a%", "ü"])
def test_what_is_never_made_is_not_decoded(encoded):
    assert decode_name(encoded) is None


@given(ANY_TEXT)
def test_decoding_anything_is_harmless(text):
    name = decode_name(text)
    assert name is None or encode_name(name) == text
