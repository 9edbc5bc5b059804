"""The prompt channel ``doorbell`` by the contract of all prompt channels, on a model of the client and its hook."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookrouter.queue.channels import PromptOutcome, PromptRequest
from hookrouter.queue.items import Item, new_item
from hookrouter.storage.home import Home
from hookrouter.testing.contracts import PromptChannelContract
from hookrouter.testing.contracts.prompt_channel import ITEMS
from hookrouter_sessions.channels.bells import hand_out, take
from hookrouter_sessions.channels.ringing import DoorbellChannel
from support.memory_storage import MemoryStore

SESSION_ID = "11111111-2222-3333-4444-555555555555"


class Client:
    """A session that watches its bell, and whose hook takes what is on offer each time that it rings."""

    def __init__(self, folder: Path) -> None:
        self.store = MemoryStore()
        self.bell = Path(hand_out(Home.in_folder(str(folder)), self.store, SESSION_ID, "work"))
        self.items: dict[str, Item] = {}
        self.given: list[str] = []
        self._seen = b""
        self._looked = threading.Condition()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def request(self) -> PromptRequest:
        return PromptRequest(
            item=new_item("any", by="agent"),
            session="work",
            session_id=SESSION_ID,
            client_pid=0,
            client_version=(2, 1, 330),
            folder="/project",
            transcript_path="",
            address=None,
            terminal=None,
            store=self.store,
            deadline=time.monotonic() + 60,
            save_phase=lambda _phase: None,
            is_proven=lambda: False,
        )

    def submitted(self) -> list[str]:
        with self._looked:
            self._looked.wait_for(lambda: self._seen == self.bell.read_bytes(), 10)
        return self.given

    def end(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(0.001):
            rung = self.bell.read_bytes()
            if rung != self._seen:
                name = take(self.store, SESSION_ID, lambda _item: True)
                if name:
                    self.given.append(self.items[name].text)
                with self._looked:
                    self._seen = rung
                    self._looked.notify_all()


class _Channel(DoorbellChannel):
    """The channel, whose items the client is to know: its hook finds them in the queue."""

    def __init__(self, client: Client) -> None:
        super().__init__(patience=5)
        self._client = client

    def submit(self, request: PromptRequest) -> PromptOutcome:
        self._client.items[request.item.id] = request.item
        return super().submit(request)


class TestDoorbell(PromptChannelContract):
    refused = {name: "plain prompts only" for name, text in ITEMS.items() if text[0] in "/!"}

    @pytest.fixture
    def client(self, tmp_path: Path) -> Iterator[Client]:
        client = Client(tmp_path)
        yield client
        client.end()

    @pytest.fixture
    def channel(self, client: Client) -> DoorbellChannel:
        return _Channel(client)
