"""The gateway contract on every gateway that comes with hookrouter, as far as processes and servers take part."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

import hookrouter_command
import hookrouter_inbox
import hookrouter_openclaw
import hookrouter_webhook
from hookrouter._sandbox.local_server import LocalServer
from hookrouter.messaging.gateway import Gateway, Message, SendResult
from hookrouter.testing.contracts import Arrived, GatewayContract
from support.contracts import only
from support.fake_openclaw import FakeOpenClaw
from support.gateway_sides import FORKING, SECRET, Good, Inbox, Memory


@only(FORKING)
class TestInbox(GatewayContract):
    kept_elsewhere = ("question", "reminder")

    @pytest.fixture
    def gateway(self) -> Gateway:
        return hookrouter_inbox.gateway()

    @pytest.fixture
    def host(self) -> Inbox:
        return Inbox()


PROGRAM = """
import json, os, sys
if os.path.exists({broken!r}):
    sys.exit("out of order")
message = json.load(sys.stdin)
with open({got!r}, "a") as file:
    file.write(json.dumps([os.environ["HOOKROUTER_WAKE_ID"], message["text"]]) + "\\n")
"""


class Program:
    """A program that keeps what it gets on stdin."""

    secrets = (SECRET,)

    def __init__(self, folder: Path) -> None:
        self.got, self.broken = folder / "got", folder / "broken"
        source = PROGRAM.format(got=str(self.got), broken=str(self.broken))
        self.settings = {"argv": [sys.executable, "-c", source], "format": "json", "set": {"TOKEN_env": "A_TOKEN"}}

    def arrived(self) -> list[Arrived]:
        return [Arrived(*json.loads(line)) for line in self.got.read_text().splitlines()] if self.got.exists() else []

    def fail(self) -> None:
        self.broken.touch()

    def work(self) -> None:
        self.broken.unlink()


class TestCommand(GatewayContract):
    @pytest.fixture
    def gateway(self) -> Gateway:
        return hookrouter_command.gateway()

    @pytest.fixture
    def host(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
        monkeypatch.setenv("A_TOKEN", SECRET)
        return Program(tmp_path)


class Endpoint(LocalServer):
    """An HTTP server that keeps what is posted to it."""

    secrets = (SECRET,)

    def __init__(self) -> None:
        self._got: list[Arrived] = []
        self._down = threading.Event()

    @property
    def settings(self) -> dict[str, object]:
        return {"url": f"{self.address}/hook", "headers": {"Authorization_env": "A_TOKEN"}, "secret_env": "A_TOKEN"}

    def handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *arguments: object) -> None:
                pass

            def do_POST(self) -> None:
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if not endpoint._down.is_set():
                    endpoint._got.append(Arrived(self.headers["Idempotency-Key"], message["text"]))
                self.send_response(503 if endpoint._down.is_set() else 204)
                self.send_header("Content-Length", "0")
                self.end_headers()

        return Handler

    def arrived(self) -> list[Arrived]:
        return list(self._got)

    def fail(self) -> None:
        self._down.set()

    def work(self) -> None:
        self._down.clear()


class TestWebhook(GatewayContract):
    @pytest.fixture
    def gateway(self) -> Gateway:
        return hookrouter_webhook.gateway()

    @pytest.fixture
    def host(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
        monkeypatch.setenv("A_TOKEN", SECRET)
        with Endpoint() as endpoint:
            yield endpoint


class EditedEndpoint(Endpoint):
    """One that shows what it was told last of each message."""

    @property
    def settings(self) -> dict[str, object]:
        return {**super().settings, "closed": {}}

    def arrived(self) -> list[Arrived]:
        latest = {one.id.removesuffix("-closed"): one.text for one in self._got}
        return [Arrived(name, text) for name, text in latest.items()]


class TestClosingWebhook(TestWebhook):
    @pytest.fixture
    def host(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
        monkeypatch.setenv("A_TOKEN", SECRET)
        with EditedEndpoint() as endpoint:
            yield endpoint


class OpenClaw:
    """The stand-in for an OpenClaw gateway."""

    secrets = (FakeOpenClaw.hook_token,)

    def __init__(self, fake: FakeOpenClaw) -> None:
        self._fake = fake
        self.settings = {"url": fake.url, "agent": "main", "token_env": "A_TOKEN"}

    def arrived(self) -> list[Arrived]:
        return [Arrived(run.key, run.text) for run in self._fake.runs]

    def fail(self) -> None:
        self._fake.draining = True

    def work(self) -> None:
        self._fake.draining = False


class TestOpenClaw(GatewayContract):
    @pytest.fixture
    def gateway(self) -> Gateway:
        return hookrouter_openclaw.gateway()

    @pytest.fixture
    def host(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenClaw]:
        monkeypatch.setenv("A_TOKEN", FakeOpenClaw.hook_token)
        with FakeOpenClaw() as fake:
            yield OpenClaw(fake)


class Folder(Memory):
    """Another side that processes share."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def arrived(self) -> list[Arrived]:
        return [Arrived(*file.read_text().split(" ", 1)) for file in sorted(self.path.glob("*.md"))]


class Files(Good):
    host: Folder

    def deliver(self, wake: Message, settings: Any) -> SendResult:
        self.host.path.joinpath(f"{wake.id}.md").write_text(f"{wake.id} {wake.text}")
        return SendResult(delivered=True, reason="kept")


class OneAtATime(Files):
    def deliver(self, wake: Message, settings: Any) -> SendResult:
        lock = self.host.path / "lock"
        lock.touch(exist_ok=False)
        while len(list(self.host.path.glob("*.md"))) < 1:
            super().deliver(wake, settings)
        return SendResult(delivered=True, reason="kept")


def test_the_contract_catches_a_gateway_that_takes_one_message_at_a_time(tmp_path: Path) -> None:
    GatewayContract().test_four_processes_may_deliver_at_once(Files(Folder(tmp_path)), Folder(tmp_path))
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(AssertionError, match="FileExistsError"):
        GatewayContract().test_four_processes_may_deliver_at_once(OneAtATime(Folder(other)), Folder(other))
