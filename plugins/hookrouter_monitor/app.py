"""The monitor as an ASGI application: three paths, each of which is only read.

Probes need no token and are told states alone. ``/metrics`` asks for the token of ``[monitor]``, if there is one.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from typing import TYPE_CHECKING, Any

from hookrouter.messaging.secrets import SecretError, read_secret
from hookrouter.serving import readiness
from hookrouter.serving.http import headers_of, path_of, send_json
from hookrouter.serving.resident import Place
from hookrouter_monitor.counts import Journalled
from hookrouter_monitor.settings import MonitorSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrouter.cli.application import Application
    from hookrouter.serving.http import Receive, Send

__all__ = ["MonitorApp"]

_METRICS = "/metrics"
_TEXT = b"text/plain; version=0.0.4; charset=utf-8"
_FRESH_SECONDS = 1.0
"""For how long config and plugins are taken to be as they were read."""


class MonitorApp:
    """The monitor of one home."""

    def __init__(self, make: Callable[[], Application], boot: str) -> None:
        """``make`` reads config and plugins as they are now; ``boot`` is the router's.

        Raises HookrouterError if ``[monitor]`` is wrong.
        """
        self._make = make
        self._services = make()
        # Those of the start: the router begins it anew when they change, and a wrong table asks for no token.
        self._settings = self._services.checked_settings(MonitorSettings)
        self._read_at = time.monotonic()
        self._journalled = Journalled(self._services.home)
        self._journalled.began(boot)
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Mapping[str, Any], _receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = path_of(scope)
        if scope["method"] not in ("GET", "HEAD"):
            await _say(send, 405, "only read\n")
        elif path == readiness.LIVE:
            await _say(send, 200, "ok\n")
        elif path == readiness.READY:
            await self._ready(scope, send)
        elif path == _METRICS:
            await self._metrics(scope, send)
        else:
            await _say(send, 404, "there are /metrics, /healthz and /readyz\n")

    async def _ready(self, scope: Mapping[str, Any], send: Send) -> None:
        is_required = scope.get("query_string", b"").decode("latin-1") == readiness.ENGINE_REQUIRED
        async with self._turn:
            status, document = await asyncio.to_thread(readiness.probed, self._place, engine_required=is_required)
        await send_json(send, status, document)

    async def _metrics(self, scope: Mapping[str, Any], send: Send) -> None:
        try:
            from hookrouter_monitor.exposition import metrics
        except ImportError:
            await _say(send, 501, "the package prometheus-client is missing: pip install 'hookrouter[serve]'\n")
            return
        if not await asyncio.to_thread(self._is_allowed, headers_of(scope).get("authorization", [])):
            await _say(send, 401, "a token is needed\n", [(b"www-authenticate", b"Bearer")])
            return
        async with self._turn:
            found = await asyncio.to_thread(lambda: metrics(self._now(), self._journalled, self._look()))
        await _say(send, 200, found, [(b"content-type", _TEXT)])

    def _look(self) -> readiness.Readiness:
        services = self._now()
        return readiness.look(services.home, services.config)

    def _place(self) -> Place:
        services = self._now()
        return Place(home=services.home, config=services.config)

    def _now(self) -> Application:
        if time.monotonic() - self._read_at >= _FRESH_SECONDS:
            self._services, self._read_at = self._make(), time.monotonic()
        return self._services

    def _is_allowed(self, given: list[str]) -> bool:
        """Whether a request has brought the token. Without one that can be read, nobody has."""
        monitor = self._settings
        if not monitor.asks_for_token:
            return True
        try:
            token = read_secret(monitor, "token", self._services.environ)
        except SecretError as error:
            self._services.warn(f"[monitor] {error}")
            return False
        return len(given) == 1 and hmac.compare_digest(given[0].encode(), f"Bearer {token}".encode())


async def _say(send: Send, status: int, text: str | bytes, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    data = text.encode("ascii") if isinstance(text, str) else text
    given = headers or []
    kind = [] if any(name == b"content-type" for name, _ in given) else [(b"content-type", b"text/plain")]
    length = (b"content-length", str(len(data)).encode("ascii"))
    common = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
    await send({"type": "http.response.start", "status": status, "headers": [*kind, *given, length, *common]})
    await send({"type": "http.response.body", "body": data})
