"""What gateways share about HTTP: addresses that are told what is wrong with them, and pauses that are asked for."""

from __future__ import annotations

import time
from email.utils import formatdate
from typing import Any

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.messaging.http import (
    HttpError,
    Response,
    address_secrets,
    failed,
    origin,
    redact,
    retry_after,
    send,
    url_faults,
)
from hookrouter.util.text import printable


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost",
        "http://LOCALHOST.:80/x",
        "http://127.8.9.1:1",
        "http://[::1]:5/",
        "https://example.org/a?b=c",
    ],
)
def test_a_good_address_has_no_faults(url: str) -> None:
    assert url_faults(url) == []


@pytest.mark.parametrize(
    "url",
    ["", "/x", "http://", "http:///x", "http://a b", "http://a\n", "file:///x", "http://localhost#x", "http://a\\@b"],
)
def test_a_bad_address_is_told(url: str) -> None:
    [fault] = url_faults(url, "address", allow_http=True)
    assert fault.startswith("address: ")


@pytest.mark.parametrize("host", ["localhost.example.org", "127.0.0.1.example.org", "10.0.0.1", "0.0.0.0", "[fe80::1]"])
def test_plain_http_stays_on_this_machine(host: str) -> None:
    assert "plain http" in url_faults(f"http://{host}/x")[0]
    assert url_faults(f"http://{host}/x", allow_http=True) == []


@given(st.text() | st.from_regex(r"https?://[^/]{0,9}(/.*)?", fullmatch=True))
def test_an_address_that_passes_has_an_origin(url: str) -> None:
    if not url_faults(url, allow_http=True):
        assert origin(url).startswith(("http://", "https://"))


def test_an_origin_shows_no_path() -> None:
    assert origin("https://Example.org/secret?key=1") == "https://example.org:443"
    assert origin("http://[::1]/x") == "http://[::1]:80"


def test_a_pause_is_a_number_or_a_date() -> None:
    assert retry_after({"retry-after": " 7 "}) == 7.0
    assert retry_after({"retry-after": formatdate(time.time() + 100, usegmt=True)}) == pytest.approx(100, abs=30)
    assert retry_after({"retry-after": formatdate(0, usegmt=True)}) == 0.0
    assert retry_after({}) is None


@given(st.text())
def test_no_pause_raises_or_is_negative(value: str) -> None:
    assert (retry_after({"retry-after": value}) or 0.0) >= 0.0


HEADERS = st.dictionaries(
    st.sampled_from(["location", "retry-after"]),
    st.text() | st.sampled_from(["http://[::1", "/x", "//h/x", "http://h:x"]),
)


@given(st.integers(100, 999), st.text(), HEADERS)
def test_every_answer_means_something(status: int, text: str, headers: dict[str, str]) -> None:
    woken = failed(Response(status, text, headers), "it")

    assert not woken.delivered
    assert printable(woken.reason) == woken.reason
    assert len(woken.reason) < 5000


def test_no_secret_stays() -> None:
    assert redact("a secret, another", ["secret", "", "another"]) == "a ***, ***"


def test_what_another_side_quotes_of_an_address_is_taken_out() -> None:
    url = "https://hooks.example.com/services/T0/B0/s3cr3tPathToken12345?key=another%20secret"
    told = "Cannot POST /services/T0/B0/s3cr3tPathToken12345 with another secret of s3cr3tPathToken12345"
    assert redact(told, address_secrets(url)) == "Cannot POST *** with *** of ***"
    assert redact(f"nothing at {url}", address_secrets(url)) == "nothing at ***"


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://127.0.0.1:9/", "http://127.0.0.1:9/wake"])
def test_an_address_without_a_secret_leaves_texts_alone(url: str) -> None:
    told = "http://127.0.0.1:9 answered 404: wake is unknown"
    assert redact(told, address_secrets(url)) == told


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        # The system is not asked for its own: that ends a forked process of macOS.
        ({}, {}),
        ({"HTTPS_PROXY": "http://proxy:3128"}, {"https": "http://proxy:3128"}),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "example.org"}, {}),
        ({"NO_PROXY": "elsewhere"}, {"no": "elsewhere"}),
    ],
)
def test_the_proxies_are_those_of_the_environment_alone(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: dict[str, str]
) -> None:
    found: list[dict[str, str]] = []

    def request(session: requests.Session, *_words: Any, **_options: Any) -> None:
        found.append(dict(session.proxies))
        raise ConnectionRefusedError

    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if not variables:
        monkeypatch.setattr(requests.utils, "get_environ_proxies", lambda *_: {"https": "the system's"})
    monkeypatch.setattr(requests.Session, "request", request)
    with pytest.raises(HttpError):
        send("GET", "https://example.org/x", timeout=5)
    assert found == [expected]
