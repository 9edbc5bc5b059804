"""What is checked of every request, and said with every answer.

A web page in the user's browser may send requests to this port, and another user of the machine may connect to it. So
the Host must be one of the page's own, whoever writes must come from the page itself (Origin, and a token in the form),
and a browser is told to run, load and frame nothing that is not the page's.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

from hookrouter.serving.readiness import LIVE, READY
from hookrouter_page.addresses import DEFAULT_PORTS, origin_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from hookrouter_page.settings import PageSettings

__all__ = ["CSP", "Guard", "is_own_form", "user_of"]

CSP = "; ".join(
    [
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
"""The Content-Security-Policy: nothing inline, nothing from elsewhere."""

_HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SAFE = ("GET", "HEAD")
_LONGEST = 1024 * 1024
"""Bytes of the longest body of a request."""

_LONGEST_NAME = 100


class Guard:
    """The outermost layer of the page."""

    def __init__(self, app: ASGIApp, page: PageSettings, root: Callable[[], str]) -> None:
        """``page`` says under which names the page is reached, ``root`` under which path what needs a login stands.

        ``root`` may raise OSError: nobody is logged in then.
        """
        self._app = app
        self._root = root
        self._user_header = page.user_header
        port = page.address.rpartition(":")[2]
        scheme = "https" if page.certificate else "http"
        own = (page.address, f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}")
        self._origins = {*(origin_at(scheme, host) for host in own), page.base_url}
        # A default port goes without saying, and may be said.
        hosts = {origin.partition("://")[::2] for origin in self._origins}
        self._hosts = {host for _, host in hosts} | {f"{host}:{DEFAULT_PORTS[scheme]}" for scheme, host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            # The server's own begin and end; there are no web sockets.
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        # A load balancer's probe names the page as it likes, and no user; it is told whether all is well, and no more.
        is_probe = scope["path"] in (LIVE, READY) and scope["method"] in _SAFE
        refusal = None if is_probe else self._refusal(scope["method"], headers)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    said[name] = value
                said.setdefault("Cache-Control", "no-store")
            await send(message)

        if refusal is None:
            await self._app({**scope, **self._below(scope["path"])}, receive, with_headers)
        else:
            await refusal(scope, receive, with_headers)

    def _below(self, path: str) -> dict[str, str]:
        """Return what the application is told of a path under the one for logins; nothing for another one."""
        try:
            root = self._root()
        except OSError:
            return {}
        if path == root:
            return {"root_path": root, "path": f"{root}/"}
        return {"root_path": root} if path.startswith(f"{root}/") else {}

    def _refusal(self, method: str, headers: Headers) -> PlainTextResponse | None:
        if headers.get("host", "").lower() not in self._hosts:
            return _refused(421, "This name is not the page's: it is reached by what `hookrouter open` prints.")
        # Of two names one may be the browser's own, which a proxy has added its header to.
        if self._user_header and [bool(name.strip()) for name in headers.getlist(self._user_header)] != [True]:
            return _refused(403, f"The proxy in front of this page has to name the user, once, in {self._user_header}.")
        if method in _SAFE:
            return None
        if headers.get("origin", "").lower() not in self._origins:
            return _refused(403, "Only the page itself may send this.")
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return _refused(403, "Only the page itself may send this.")
        length = headers.get("content-length", "")
        if not length.isdigit() or int(length) > _LONGEST:
            return _refused(413, f"At most {_LONGEST} bytes are taken.")
        return None


def is_own_form(token: str, given: object) -> bool:
    """Whether a form brought the token that the page has put into it."""
    return isinstance(given, str) and hmac.compare_digest(token.encode(), given.encode("utf-8", "replace"))


def user_of(request: Request, page: PageSettings, otherwise: str) -> str:
    """Return who sits at the browser: whom the proxy names, else ``otherwise``."""
    named = request.headers.get(page.user_header, "") if page.user_header else ""
    shown = "".join(character for character in named if character.isprintable()).strip()
    return shown[:_LONGEST_NAME] or otherwise


def _refused(status: int, text: str) -> PlainTextResponse:
    return PlainTextResponse(f"{text}\n", status, {"Connection": "close"})
