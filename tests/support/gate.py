"""A stand-in for the router's gate: its HTTP interface on a Unix socket, each call a cold ``hookrouter run``."""

from __future__ import annotations

import json
import os
import socketserver
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.storage.home import ensure
from hookrouter.util.program import script_argv

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Gate", "Seen"]


class Seen(NamedTuple):
    """One call that the gate was brought."""

    identifier: str
    event: str
    payload: dict[str, Any]
    environ: dict[str, str]


class Gate:
    """The gate of one home; :meth:`start` and :meth:`kill` may be called again and again."""

    def __init__(self, path: str, answer: Callable[[Seen], dict[str, Any] | None] | None = None) -> None:
        """Take the socket's path. ``answer`` may answer a call in hookrouter's place, with stdout and so on."""
        self.path = path
        self.seen: list[Seen] = []
        self.deleted: list[str] = []
        self.late: dict[str, float] = {}
        """Event -> seconds by which its next call, which has begun, is answered late."""
        self._answer = answer
        self._calls: dict[str, _Call] = {}
        self._lock = threading.Lock()
        self._server: _Server | None = None
        self._may_answer = threading.Event()
        self._may_answer.set()

    def __enter__(self) -> Gate:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        ensure(os.path.dirname(self.path))
        if os.path.lexists(self.path):
            os.unlink(self.path)
        self._may_answer.set()
        self._server = _Server(self.path, _handler(self))
        os.chmod(self.path, 0o600)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def kill(self) -> None:
        """End it as SIGKILL does: the socket's file stays, connections are closed, its programs die."""
        self._may_answer.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.close_all()
            self._server = None
        for call in self._calls.values():
            call.kill()
        self._calls.clear()

    def hang(self) -> None:
        """Take connections and answer nothing, from now on."""
        self._may_answer.clear()

    def recover(self) -> None:
        self._may_answer.set()

    def events(self) -> list[str]:
        """Return the events that were brought, each call once."""
        return [one.event for one in self.seen]

    def reply(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self._may_answer.wait()
        if path == "/health":
            return 200, {"name": "hookrouter", "version": "0", "boot": "test", "home": ""}
        if path == "/v1/calls":
            if body["id"] not in self._calls and body["before"] < time.time() * 1000:
                return 200, {"state": "failed", "reason": "the call was given up"}
            state = self._brought(body).state(body["wait"])
            time.sleep(self.late.pop(body["event"], 0))
            return 200, state
        call = self._calls.get(path.rpartition("/")[2])
        if call is None:
            return 404, {"error": "unknown"}
        if method == "DELETE":
            self.deleted.append(call.seen.identifier)
            call.kill()
            return 200, {}
        return 200, call.state(body["wait"])

    def _brought(self, body: dict[str, Any]) -> _Call:
        with self._lock:
            call = self._calls.get(body["id"])
            if call is None:
                seen = Seen(body["id"], body["event"], body["payload"], body["environ"])
                self.seen.append(seen)
                said = None if self._answer is None else self._answer(seen)
                call = self._calls[body["id"]] = _Call(seen, body["cwd"], said)
            return call


class _Call:
    """One call: a program that runs, or what was said in its place."""

    def __init__(self, seen: Seen, cwd: str, said: dict[str, Any] | None) -> None:
        self.seen = seen
        self._ended = threading.Event()
        self._result: dict[str, Any] = {"exit_code": 0, "stdout": "", "stderr": "", **(said or {})}
        self._process: subprocess.Popen[str] | None = None
        if said is not None:
            self._ended.set()
            return
        self._process = subprocess.Popen(
            [*script_argv(), "run", seen.event],
            env=seen.environ,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._follow, args=(self._process,), daemon=True).start()

    def _follow(self, process: subprocess.Popen[str]) -> None:
        stdout, stderr = process.communicate(json.dumps(self.seen.payload))
        self._result = {"exit_code": process.returncode, "stdout": stdout, "stderr": stderr}
        self._ended.set()

    def state(self, seconds: float) -> dict[str, Any]:
        return {"state": "done", **self._result} if self._ended.wait(seconds) else {"state": "waiting"}

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 50

    def __init__(self, path: str, handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: set[Any] = set()
        super().__init__(path, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent: a client that goes away is part of the tests."""

    def close_all(self) -> None:
        self.server_close()
        for request in list(self._open):
            self.shutdown_request(request)


def _handler(gate: Gate) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Stay silent."""

        def address_string(self) -> str:
            return "local"

        def _reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, said = gate.reply(self.command, self.path, json.loads(body or b"{}"))
            data = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = _reply  # noqa: N815

    return Handler
