"""The other sides of gateways, as the contract looks at them: what arrives there, and how they fail."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hookrouter.messaging import notices
from hookrouter.messaging.gateway import Gateway, Message, SendResult
from hookrouter.storage.documents import Store
from hookrouter.storage.home import Home
from hookrouter.testing.contracts import Arrived

__all__ = ["FORKING", "SECRET", "Good", "Inbox", "Memory"]

SECRET = "a-secret-that-nobody-may-see"

FORKING = ("test_four_processes_may_deliver_at_once",)
"""The tests of the contract that start processes."""


class Inbox:
    """The state folder of this test's home."""

    settings: dict[str, object] = {}
    secrets: Sequence[str] = ()

    def __init__(self) -> None:
        self.folder = Path(Home.from_environ(os.environ).state)

    def arrived(self) -> list[Arrived]:
        return [Arrived(notice["id"], notice["text"]) for notice in notices.listing(Store(str(self.folder), print))]

    def fail(self) -> None:
        self.folder.parent.mkdir(exist_ok=True)
        if self.folder.exists():
            self.folder.rename(self.folder.with_name("aside"))
        self.folder.write_text("in the way")

    def work(self) -> None:
        self.folder.unlink()


class Memory:
    """Another side that only bad gateways deliver to."""

    settings: dict[str, object] = {"place": "here"}
    secrets = (SECRET,)

    def __init__(self) -> None:
        self.got: list[Arrived] = []
        self.broken = False

    def arrived(self) -> list[Arrived]:
        return self.got

    def fail(self) -> None:
        self.broken = True

    def work(self) -> None:
        self.broken = False


class Good(Gateway):
    type = "good"

    def __init__(self, host: Memory) -> None:
        self.host = host

    def check(self, settings: Any) -> list[str]:
        return [f"{key}: unknown key" for key in settings if key != "place"]

    def deliver(self, wake: Message, settings: Any) -> SendResult:
        if self.host.broken:
            return SendResult(delivered=False, reason="out of order")
        self.host.got.append(Arrived(wake.id, wake.text))
        return SendResult(delivered=True, reason="done")
