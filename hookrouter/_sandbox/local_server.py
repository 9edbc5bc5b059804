"""A small HTTP server on 127.0.0.1, in threads of the test's own process."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

__all__ = ["LocalServer"]


class LocalServer:
    """Serves on a free port as long as it is used as a context manager; a subclass says what."""

    def handler(self) -> type[BaseHTTPRequestHandler]:
        """Return the class of the request handlers, which is to know this object."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Start serving."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name=type(self).__name__, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def address(self) -> str:
        """Scheme, host and port, while the server runs."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"
