"""The gateway that wakes OpenClaw agents, on a real connection, and what a process of it imports."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

import hookrouter_openclaw
from hookrouter.messaging.gateway import Message
from hookrouter_openclaw import posting
from support.tabled_gateway import TabledGateway


def test_an_answer_that_trickles_in_ends_with_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "ADMISSION", 0.0)
    monkeypatch.setenv("HOOK_TOKEN", "a-token")
    message = Message("question", "a", "claw", "my session", "sid", "toolu_1", "Claude asks", "go", "17-1-0", "2026")
    server = (
        "import socket, time\n"
        "listener = socket.create_server(('127.0.0.1', 0))\n"
        "print(listener.getsockname()[1], flush=True)\n"
        "connection = listener.accept()[0]\n"
        "connection.recv(65536)\n"
        "connection.sendall(b'HTTP/1.1 200 OK\\r\\nX: ')\n"
        "while True: connection.sendall(b'a'); time.sleep(0.05)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", server], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    with process:
        port = int(process.stdout.readline())
        started = time.monotonic()
        settings = {"url": f"http://127.0.0.1:{port}", "agent": "main", "token_env": "HOOK_TOKEN", "timeout": 1}
        woken = TabledGateway(hookrouter_openclaw.gateway()).deliver(message, settings)
        elapsed = time.monotonic() - started
        process.kill()

    assert (woken.delivered, woken.retry) == (False, True)
    assert "did not answer within 1 s" in woken.reason
    assert elapsed < 30, "the server sends for ever"


def test_requests_is_not_imported_before_a_message_is_sent() -> None:
    script = (
        "import sys; from hookrouter_openclaw import gateway;"
        "from hookrouter._plugins.gateway_settings import read_gateway_settings as read;"
        "read(gateway(), 'g', {'agent': 'a', 'token_env': 'HOOK_TOKEN'}); assert 'requests' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
