"""What fronts say: whatever comes, it is read as what was sent, or refused."""

from __future__ import annotations

import contextlib
import os
import socket
import threading

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hookrouter._serving.protocol import MAX_HELLO, Hello, decode_hello, encode_hello, receive_hello

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=30)
NAMES = TEXTS.filter(lambda text: text and "=" not in text)
HELLOS = st.builds(
    Hello,
    st.integers(0, 2**31 - 1),
    st.integers(0, 0o777),
    st.lists(TEXTS, min_size=1, max_size=8).map(tuple),
    st.dictionaries(NAMES, TEXTS, max_size=8),
)


def encoded(hello: Hello) -> bytes:
    return encode_hello(hello.parent, hello.umask, hello.words, hello.environ)


@given(HELLOS)
def test_a_hello_is_read_as_it_was_sent(hello: Hello) -> None:
    assert decode_hello(encoded(hello)[8:]) == hello


@given(st.binary(max_size=200))
@example(b"1\x000\x001\x00")
@example(b"-1\x000\x001\x00w\x00")
@example(b"1\x009\x001\x00w\x00")
@example(b"1\x000\x0099\x00w\x00")
@example(b"\xb2\x000\x001\x00w\x00")
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with contextlib.suppress(ValueError):
        hello = decode_hello(body)
        assert 0 < len(hello.words) <= 64
        assert 0 <= hello.umask < 0o1000
        assert "" not in hello.environ


@given(HELLOS, st.data())
def test_a_hello_with_a_changed_byte_is_read_or_refused(hello: Hello, data: st.DataObject) -> None:
    body = bytearray(encoded(hello)[8:])
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        decode_hello(bytes(body))


@pytest.mark.parametrize(
    ("words", "environ"), [(("a\0b",), {}), (("a",), {"N": "x\0"}), (("a",), {"N": "x" * MAX_HELLO})]
)
def test_what_cannot_be_said_is_not_said(words: tuple[str, ...], environ: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"NUL|allowed"):
        encode_hello(1, 0, words, environ)


def test_bytes_that_are_no_text_stay_what_they_are() -> None:
    odd = os.fsdecode(b"\xff\xfe")
    assert decode_hello(encode_hello(0, 0, [odd], {odd: odd})[8:]).environ == {odd: odd}


@given(st.binary(max_size=40))
def test_a_caller_that_says_anything_and_leaves_is_refused_or_heard(data: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(20)
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ValueError, OSError):
            receive_hello(ours)


def test_a_hello_in_pieces_is_one_hello() -> None:
    hello = encode_hello(1, 0o22, ["run", "stop"], {"A": "b" * 1_000_000})
    ours, theirs = socket.socketpair()
    with ours, theirs:
        thread = threading.Thread(target=theirs.sendall, args=(hello,))
        thread.start()
        assert receive_hello(ours).environ == {"A": "b" * 1_000_000}
        thread.join()
