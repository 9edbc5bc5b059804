"""What a front and the router say to each other: see "The protocol" in ``docs/how/resident.md``.

A front says hello with all that makes a hook what it is, but for its descriptors. The router's child says that it is
ready, or that the call must run cold. Only then the front gives its descriptors away; from that moment the call is the
child's, which says at the end with what exit code.
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

from hookrouter.util.value import Value

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping, Sequence

__all__ = [
    "COLD",
    "ENDED",
    "END_BYTES",
    "EXIT",
    "GIVEN",
    "GO",
    "HEAD_BYTES",
    "KILLED",
    "MAX_HELLO",
    "READY",
    "Hello",
    "decode_hello",
    "encode_hello",
    "receive_hello",
]

MAGIC = b"HKR3"
"""How a hello begins. The number changes with whatever else changes here."""

READY, COLD = b"R", b"C"
"""What the router's child says to a hello: give your descriptors; or run cold."""

GO = b"G"
"""What the front says with :data:`GIVEN` descriptors: stdin (a file, from its beginning), stdout, stderr, its working
folder, and the reading end of a pipe into which nothing is written and whose other end only the front has. A front
gives files for stdout and stderr too, because what a lost call has written must not get to Claude Code."""

GIVEN = 5
"""How many descriptors go with it. The pipe tells that the front has ended, in the moment that it does. Its connection
could not: the system may tell of a message that has long been read, and that would end a call."""

EXIT, KILLED, ENDED = b"X", b"K", b"E"
"""How a call ends, each with two bytes more: written, with this exit code; the child was killed by this signal; it
ended with this exit code, and nothing is said of what was written. The last byte is the exit code of a front that
cannot write stdout where it belongs."""

END_BYTES = 3
"""Bytes that tell how a call ends."""

MAX_HELLO = 16 * 1024 * 1024
"""Bytes of the longest hello: an environment may have some MB."""

_HEAD = struct.Struct("!4sI")

HEAD_BYTES = _HEAD.size
"""Bytes of a hello before its body."""

_MAX_WORDS = 64
_MAX_ID = 1 << 31


class Hello(Value):
    """What a front says first."""

    parent: int
    """The process that started the front; 0 if that says nothing."""
    umask: int
    words: tuple[str, ...]
    """The command line of the cold run: the program, ``run``, and the event's word."""
    environ: Mapping[str, str]


def encode_hello(parent: int, umask: int, words: Sequence[str], environ: Mapping[str, str]) -> bytes:
    """Return a hello as it is sent. Raises ValueError if a text holds a NUL or it all is too long."""
    variables = [f"{name}={value}" for name, value in environ.items()]
    fields = [str(parent), f"{umask:o}", str(len(words)), *words, *variables]
    if any("\0" in field for field in fields):
        raise ValueError("a word or variable holds a NUL")
    body = b"".join(os.fsencode(field) + b"\0" for field in fields)
    if len(body) > MAX_HELLO:
        raise ValueError(f"a hello of {len(body)} bytes; allowed: {MAX_HELLO}")
    return _HEAD.pack(MAGIC, len(body)) + body


def decode_hello(body: bytes) -> Hello:
    """Return what the body of a hello says. Raises ValueError for anything but what :func:`encode_hello` makes."""
    *fields, rest = body.split(b"\0")
    if rest or len(fields) < 3:
        raise ValueError("a hello is fields that end with a NUL, three at least")
    parent, umask, count = _number(fields[0], 10, _MAX_ID), _number(fields[1], 8, 0o1000), _number(fields[2], 10, 65)
    if not 0 < count <= min(_MAX_WORDS, len(fields) - 3):
        raise ValueError(f"a hello of {count} words")
    texts = os.fsdecode(b"\0".join(fields[3:])).split("\0")
    environ: dict[str, str] = {}
    for text in texts[count:]:
        name, sign, value = text.partition("=")
        # What has no name or value is no variable for Python either.
        if name and sign:
            environ.setdefault(name, value)
    return Hello(parent, umask, tuple(texts[:count]), environ)


def receive_hello(connection: socket.socket) -> Hello:
    """Read a hello. Raises OSError, TimeoutError by the connection's time limit, or ValueError."""
    magic, size = _HEAD.unpack(_exactly(connection, _HEAD.size))
    if magic != MAGIC:
        raise ValueError("another protocol")
    if size > MAX_HELLO:
        raise ValueError(f"a hello of {size} bytes; allowed: {MAX_HELLO}")
    return decode_hello(_exactly(connection, size))


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 20))
        if not part:
            raise ConnectionError("the caller left in the middle of its hello")
        data += part
    return bytes(data)


def _number(field: bytes, base: int, limit: int) -> int:
    if not field.isdigit() or len(field) > 10:
        raise ValueError("a number of a hello is not a number")
    number = int(field, base)
    if number >= limit:
        raise ValueError(f"a number of a hello is {number}; allowed: below {limit}")
    return number
