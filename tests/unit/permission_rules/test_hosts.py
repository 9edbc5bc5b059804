"""Hosts of addresses, as a browser reads them."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.permission_rules.hosts import host_of, is_plain

HOST = "evil.com"
SPELLINGS = st.sampled_from(
    [
        "evil.com",
        "EVIL.com",
        "evil%2ecom",
        "evil.com.",
        "evil\u3002com",
        "\uff45vil.com",
        "ev\u00adil.com",
        "%65vil.com",
        "e\tvil.com",
        "evil.\ncom",
        "user@evil.com",
        "good.org:80@evil.com",
        "evil.com:443",
    ]
)


@given(
    st.sampled_from(["http", "https", "HTTPS", "ht\ntps"]),
    st.sampled_from(["//", "/", "", "///", "\\\\", "/\\", "\t//"]),
    SPELLINGS,
    st.sampled_from(["", "/", "/x", "?q", "#f", "\\x", "/@good.org"]),
    st.sampled_from(["", " ", "\x00", "\x1f"]),
)
def test_every_spelling_of_a_host_is_found(scheme: str, slashes: str, host: str, rest: str, around: str) -> None:
    assert host_of(f"{around}{scheme}:{slashes}{host}{rest}{around}") == HOST


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://[::1]:80/", "::1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://2130706433", "127.0.0.1"),
        ("http://b\u00fccher.example/", "xn--bcher-kva.example"),
        ("ftp://a", "a"),
        ("file:///etc/passwd", None),
        ("evil.com", None),
        ("", None),
        ("https://", None),
        ("https://%ff", None),
    ],
)
def test_a_host_is_read(address: str, host: str | None) -> None:
    assert host_of(address) == host


@given(st.text(max_size=40))
def test_no_text_breaks_it(text: str) -> None:
    host_of(text)
    host_of(f"https://{text}")
    if is_plain(text):
        assert host_of(text) == urlsplit(text).hostname
