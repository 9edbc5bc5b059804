"""A client of the gate's own socket."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping
from typing import Any

from hookrouter._serving import address
from hookrouter.util import unix_socket
from support.resident import PATIENCE, Resident, eventually

__all__ = ["GateClient"]


class GateClient:
    """Asks the gate of a home, one connection for each request."""

    def __init__(self, router: Resident) -> None:
        """Take the router whose gate it is."""
        self.router = router

    def request(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Return the status, and the JSON that was answered; None for nothing."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = _Connection(self.router.folder)
        try:
            connection.request(method, path, data)
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text else None
        finally:
            connection.close()

    def wait(self) -> dict[str, Any]:
        """Wait until it answers; return what it says of its health."""
        eventually(lambda: self.health() is not None)
        health = self.health()
        assert health is not None
        return health

    def health(self) -> dict[str, Any] | None:
        """Return what it says of its health; None if it does not answer."""
        try:
            return dict(self.request("GET", "/health")[1])
        except (OSError, http.client.HTTPException):
            return None

    def message(
        self, identifier: str, event: str, payload: object, environ: Mapping[str, str] | None = None, **more: object
    ) -> dict[str, object]:
        """Return the body of a request to make a call."""
        variables = self.router.environ if environ is None else environ
        call = {"id": identifier, "event": event, "cwd": "/", "environ": dict(variables), "payload": payload}
        return {**call, "wait": PATIENCE, **more}

    def call(self, identifier: str, event: str, payload: object, **more: Any) -> dict[str, Any]:
        """Have a call made; return the answer."""
        status, answer = self.request("POST", "/v1/calls", self.message(identifier, event, payload, **more))
        assert status == 200, answer
        return dict(answer)


class _Connection(http.client.HTTPConnection):
    def __init__(self, folder: str) -> None:
        super().__init__("hookrouter")
        self._folder = folder

    def connect(self) -> None:
        self.sock: socket.socket = unix_socket.connect(self._folder, address.HTTP, 3 * PATIENCE)
