"""The little of HTTP that resident processes need which are no web applications, over raw ASGI."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hookrouter.util import fastjson
from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    Receive = Callable[[], Awaitable[Mapping[str, Any]]]
    Send = Callable[[dict[str, Any]], Awaitable[None]]

__all__ = ["Gone", "TooLong", "body_of", "gone", "headers_of", "path_of", "send_json", "send_nothing", "start_json"]

BODY_SECONDS = 30.0
"""Seconds within which the whole of a request must have come."""


class TooLong(HookrouterError):
    """A body that is longer than allowed."""


class Gone(HookrouterError):
    """The client left, or did not say in time what it wants."""


def path_of(scope: Mapping[str, Any]) -> str:
    """Return a request's path as it was sent, without the query."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
    return raw.decode("latin-1").partition("?")[0]


def headers_of(scope: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return a request's headers by their names in lower case."""
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


async def body_of(scope: Mapping[str, Any], receive: Receive, limit: int) -> bytes:
    """Return a request's body of at most ``limit`` bytes. Raises TooLong and Gone."""
    declared = headers_of(scope).get("content-length", ["0"])[0]
    if declared.isdigit() and int(declared) > limit:
        raise TooLong
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Gone
                data += message.get("body", b"")
                if len(data) > limit:
                    raise TooLong
                if not message.get("more_body"):
                    return bytes(data)
    except TimeoutError:
        raise Gone from None


async def gone(receive: Receive) -> None:
    """Wait until the client of a request, whose body was read, leaves."""
    while (await receive())["type"] != "http.disconnect":
        continue


async def send_json(send: Send, status: int, value: object) -> None:
    """Answer a request with JSON."""
    data = fastjson.dumps(value).encode("ascii")
    await start_json(send, status, [(b"content-length", str(len(data)).encode("ascii"))])
    await send({"type": "http.response.body", "body": data})


async def start_json(send: Send, status: int, headers: list[tuple[bytes, bytes]]) -> None:
    """Begin an answer of JSON."""
    common = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": [*common, *headers]})


async def send_nothing(send: Send, status: int, *, close: bool = False) -> None:
    """Answer a request with a status alone, and perhaps close its connection."""
    headers = [(b"content-length", b"0"), *([(b"connection", b"close")] if close else [])]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
