"""A stand-in for an OpenClaw gateway in a thread, which answers as openclaw 2026.9.6 was measured to.

The live tests send it and the real gateway the same requests and compare the answers. It runs no agent: what it admits
is in :attr:`FakeOpenClaw.runs`.
"""

from __future__ import annotations

import contextlib
import json
import threading
import uuid
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

__all__ = ["FakeOpenClaw", "FakeReply", "FakeRequest", "FakeRun"]

VERSION = "2026.9.6"

_LOCKOUT = 20
_LARGEST = 256 * 1024
_DRAINING = {
    "error": {
        "message": "Gateway is temporarily unavailable while suspending or restarting",
        "type": "service_unavailable",
        "code": "gateway_unavailable",
    }
}
_UNAUTHORIZED = {"error": {"message": "Unauthorized", "type": "unauthorized"}}


class FakeReply(NamedTuple):
    """An answer."""

    status: int
    body: Mapping[str, Any] | str
    """JSON, or plain text."""
    headers: Mapping[str, str] = {}


class FakeRequest(NamedTuple):
    """One request that came in, whatever was answered."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


class FakeRun(NamedTuple):
    """One turn, or system event, that was admitted."""

    route: str
    agent: str
    text: str
    key: str
    """The idempotency key, empty for none."""


class FakeOpenClaw:
    """The gateway; use it as a context manager. All members may be used from any thread."""

    hook_token = "hook-token-of-the-tests"
    gateway_token = "gateway-token-of-the-tests"
    agents = ("main", "helper")
    mapping = "claude"

    def __init__(self) -> None:
        """Admit everything that is right."""
        self.runs: list[FakeRun] = []
        self.requests: list[FakeRequest] = []
        self.replies: deque[FakeReply] = deque()
        """Answers that the next POST requests get, whatever they hold."""
        self.draining = False
        self._port = 0
        self._known: dict[tuple[str, str, bytes], str] = {}
        self._wrong = 0
        self._pending = ""
        self._lock = threading.Lock()
        self._thawed = threading.Event()
        self._thawed.set()

    def __enter__(self) -> FakeOpenClaw:
        """Start serving."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop serving."""
        self.stop()

    def start(self) -> None:
        """Start serving, on the same port as before."""
        fake = self

        class Handler(_Handler):
            gateway = fake

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, name="fake-openclaw", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop serving: connections are refused until the next :meth:`start`, and what was admitted is forgotten."""
        self._thawed.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._known.clear()

    @property
    def url(self) -> str:
        """The address, also while it is stopped."""
        return f"http://127.0.0.1:{self._port}"

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Take requests and answer nothing until the block ends; they are handled then."""
        self._thawed.clear()
        try:
            yield
        finally:
            self._thawed.set()

    def handle(self, request: FakeRequest) -> FakeReply:
        """Return the answer to a request, and keep both the request and what it brought about."""
        with self._lock:
            self.requests.append(request)
        self._thawed.wait(60)
        path, _, query = request.path.partition("?")
        with self._lock:
            if path in ("/startupz", "/healthz", "/readyz"):
                return self._health(path)
            if request.method == "POST" and self.replies:
                return self.replies.popleft()
            if self.draining:
                return FakeReply(503, _DRAINING, {"Retry-After": "1"})
            if path.startswith("/hooks/"):
                return self._hook(path.removeprefix("/hooks/"), query, request)
            if path == "/v1/chat/completions":
                return self._chat(request)
            return FakeReply(404, "Not Found")

    def _health(self, path: str) -> FakeReply:
        if self.draining and path != "/healthz":
            return FakeReply(503, {"ok": False, "status": "draining"})
        known: dict[str, dict[str, Any]] = {
            "/startupz": {"ok": True, "status": "started", "version": VERSION, "uptimeMs": 1},
            "/healthz": {"ok": True, "status": "live"},
            "/readyz": {"ready": True, "failing": []},
        }
        return FakeReply(200, known[path])

    def _hook(self, route: str, query: str, request: FakeRequest) -> FakeReply:
        if "token=" in query:
            return FakeReply(
                400,
                "Hook token must be provided via Authorization: Bearer <token> or X-OpenClaw-Token header "
                "(query parameters are not allowed).",
            )
        if request.method != "POST":
            return FakeReply(405, "Method Not Allowed", {"Allow": "POST"})
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.hook_token not in (given, request.headers.get("x-openclaw-token")):
            self._wrong += 1
            if self._wrong > _LOCKOUT:
                return FakeReply(429, "Too Many Requests", {"Retry-After": "60"})
            return FakeReply(401, "Unauthorized")
        self._wrong = 0
        if len(request.body) > _LARGEST:
            return _refused(413, "payload too large")
        try:
            body = json.loads(request.body or b"{}")
        except ValueError:
            return _refused(400, "Expected property name or '}' in JSON at position 1 (line 1 column 2)")
        fields = body if isinstance(body, dict) else {}
        if route == "agent":
            return self._agent(fields, request)
        if route == "wake":
            return self._wake(fields)
        if route == self.mapping:
            return self._admit("mapping", "main", str(fields.get("message", "")), request)
        return FakeReply(404, "Not Found")

    def _agent(self, fields: Mapping[str, Any], request: FakeRequest) -> FakeReply:
        message, agent, key = fields.get("message"), fields.get("agentId"), fields.get("sessionKey")
        if not isinstance(message, str) or not message.strip():
            return _refused(400, "message required")
        if agent is None:
            return _refused(400, "agentId is required when multiple agents are configured")
        if agent not in self.agents:
            return _refused(400, f'unknown agentId "{agent}"')
        if fields.get("sessionMode") == "persistent" and not key:
            return _refused(400, "sessionKey is required when sessionMode is persistent")
        if key is not None and not str(key).startswith("hook:"):
            return _refused(400, "sessionKey must start with one of: hook:")
        return self._admit("agent", str(agent), message, request)

    def _wake(self, fields: Mapping[str, Any]) -> FakeReply:
        text, agent = fields.get("text"), fields.get("agentId")
        if not isinstance(text, str) or not text.strip():
            return _refused(400, "text required")
        if agent is None:
            return _refused(400, "agentId is required when multiple agents are configured")
        if agent not in self.agents:
            return _refused(400, f'unknown agentId "{agent}"')
        outcome = "coalesced" if self._pending == text else "queued"
        if outcome == "queued":
            self._pending = text
            self.runs.append(FakeRun("wake", str(agent), text, ""))
        return FakeReply(200, {"ok": True, "mode": str(fields.get("mode", "now")), "eventOutcome": outcome})

    def _admit(self, route: str, agent: str, text: str, request: FakeRequest) -> FakeReply:
        key = request.headers.get("idempotency-key", "")
        known = (route, key, request.body)
        run = self._known.get(known) if key else None
        if run is None:
            run = self._known[known] = str(uuid.uuid4())
            self.runs.append(FakeRun(route, agent, text, key))
        return FakeReply(200, {"ok": True, "runId": run})

    def _chat(self, request: FakeRequest) -> FakeReply:
        if request.method != "POST":
            return FakeReply(405, "Method Not Allowed", {"Allow": "POST"})
        if request.headers.get("authorization") != f"Bearer {self.gateway_token}":
            return FakeReply(401, _UNAUTHORIZED)
        body = json.loads(request.body or b"{}")
        agent = str(body.get("model", "")).removeprefix("openclaw/")
        if agent not in self.agents:
            return _invalid(f"Unknown agent '{agent}'.")
        texts = [str(message["content"]) for message in body.get("messages", []) if message.get("role") == "user"]
        if not texts:
            return _invalid("Missing user message in `messages`.")
        self.runs.append(FakeRun("operator", agent, texts[-1], ""))
        choice = {"index": 0, "message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}
        return FakeReply(200, {"id": "1", "object": "chat.completion", "choices": [choice]})


def _refused(status: int, error: str) -> FakeReply:
    return FakeReply(status, {"ok": False, "error": error})


def _invalid(message: str) -> FakeReply:
    return FakeReply(400, {"error": {"message": message, "type": "invalid_request_error"}})


class _Handler(BaseHTTPRequestHandler):
    gateway: FakeOpenClaw

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""

    def do_GET(self) -> None:
        """Answer."""
        self._answer()

    def do_POST(self) -> None:
        """Answer."""
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.gateway.handle(FakeRequest(self.command, self.path, headers, body))
        is_text = isinstance(reply.body, str)
        data = str(reply.body).encode() if is_text else json.dumps(reply.body).encode()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.send_response(reply.status)
            self.send_header("Content-Type", "text/plain; charset=utf-8" if is_text else "application/json")
            self.send_header("Content-Length", str(len(data)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
