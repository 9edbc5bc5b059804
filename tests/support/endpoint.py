"""An HTTP endpoint of a test, which keeps what it gets and answers what the test says."""

from __future__ import annotations

import contextlib
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

__all__ = ["Endpoint", "Request"]


class Request(NamedTuple):
    """One request that came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Endpoint:
    """A server that keeps what it gets and answers what the test says."""

    def __init__(
        self, server: type[ThreadingHTTPServer] = ThreadingHTTPServer, context: ssl.SSLContext | None = None
    ) -> None:
        """Listen at a free port of this machine, or wherever ``server`` does; with a context it speaks TLS."""
        self.requests: list[Request] = []
        self.status, self.body = 200, b""
        self.headers: dict[str, str] = {}
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *arguments: object) -> None:
                pass

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                endpoint.requests.append(Request(self.command, self.path, headers, body))
                status, more, said = endpoint.status, endpoint.headers, endpoint.body
                if self.path == "/next":
                    status, more, said = 200, {}, b""
                self.send_response(status)
                for name, value in {"Content-Length": str(len(said)), **more}.items():
                    self.send_header(name, value)
                # A test of what is too long or too late is about a client that hangs up before it has read this.
                with contextlib.suppress(ConnectionError):
                    self.end_headers()
                    self.wfile.write(said)

            do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815

        self.server = server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.scheme = "http"
        if context is not None:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.scheme = "https"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Endpoint:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    @property
    def origin(self) -> str:
        """Scheme, host and port of its addresses."""
        return f"{self.scheme}://127.0.0.1:{self.server.server_address[1]}"
