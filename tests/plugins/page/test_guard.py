"""Which names and origins the page answers to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter_page.security.guard import Guard
from hookrouter_page.settings import PageSettings

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


def asked(page: PageSettings, host: str, origin: str = "", path: str = "/") -> tuple[int, Any]:
    """Return the status of an answer, and what the application was told of the path."""
    seen: list[Any] = []

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        seen.append((scope.get("root_path", ""), scope["path"]))
        await send({"type": "http.response.start", "status": 200, "headers": []})

    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", host.encode()), (b"content-length", b"0")]
    headers += [(b"origin", origin.encode())] if origin else []
    scope = {"type": "http", "method": "POST" if origin else "GET", "path": path, "headers": headers}
    asyncio.run(Guard(app, page, lambda: "/~root")(scope, receive, send))
    return sent[0]["status"], seen[0] if seen else None


@pytest.mark.parametrize(
    ("page", "host", "origin"),
    [
        (PageSettings(url="https://host.example"), "host.example", "https://host.example"),
        (PageSettings(url="https://host.example"), "Host.Example:443", "https://host.example"),
        (PageSettings(address="127.0.0.1:80"), "127.0.0.1", "http://127.0.0.1"),
        (PageSettings(address="127.0.0.1:80"), "localhost:80", "http://localhost"),
        (PageSettings(address="localhost:443", certificate="/c", private_key="/k"), "localhost", "https://localhost"),
        (PageSettings(), "127.0.0.1:8790", "http://127.0.0.1:8790"),
    ],
)
def test_a_default_port_may_be_said_and_left_out(page: PageSettings, host: str, origin: str) -> None:
    assert asked(page, host)[0] == 200
    assert asked(page, host, origin)[0] == 200


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("host.example:80", "", 421),
        ("host.example:8443", "", 421),
        ("127.0.0.1", "", 421),
        ("host.example", "http://host.example", 403),
        ("host.example", "https://host.example:8443", 403),
    ],
)
def test_other_ports_and_schemes_are_others(host: str, origin: str, status: int) -> None:
    assert asked(PageSettings(url="https://host.example"), host, origin)[0] == status


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/~root/sessions", ("/~root", "/~root/sessions")),
        ("/~root", ("/~root", "/~root/")),
        ("/~rooted/x", ("", "/~rooted/x")),
        ("/sessions", ("", "/sessions")),
    ],
)
def test_the_path_of_logins_is_told_apart(path: str, told: tuple[str, str]) -> None:
    assert asked(PageSettings(), "127.0.0.1:8790", path=path) == (200, told)
