"""The stand-in for the service that agents hear by: notes each message, and now and then says that it did not."""

from __future__ import annotations

import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from live.fleet_chaos.events import Told

if TYPE_CHECKING:
    from live.fleet_chaos.events import Events

__all__ = ["Gateway"]

_LOST = 0.02
"""The part of messages that are not taken, and as large a part of those whose taking is not said."""


class Gateway:
    """Takes messages at :attr:`url`, for one ``with`` block."""

    def __init__(self, events: Events, seed: int) -> None:
        chances = random.Random(f"gateway {seed}")

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                message: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                chance = chances.random()
                if chance >= _LOST:
                    events.add(
                        Told(message["id"], message["kind"], message["session_id"], message.get("tool_use_id") or "")
                    )
                if chance >= 2 * _LOST:
                    self.send_response(204)
                    self.end_headers()
                elif chance < _LOST:
                    self.send_error(503)
                # Otherwise the connection ends without a word.

            def log_message(self, *_arguments: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_arguments: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> Gateway:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
