"""A machine that was gone asks what others have sent for it before it sends that itself, and waits no longer for it."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hookrouter.messaging.gateway import Message
from hookrouter.messaging.message import new_document
from hookrouter.messaging.outbox import Outbox
from hookrouter.storage.home import Home
from hookrouter.util.clock import iso
from hookrouter_fleet import returning as module
from hookrouter_fleet.progress import ProgressNotes
from hookrouter_fleet.replica import Brought
from hookrouter_fleet.returning import GONE_SECONDS, wait_until_looked
from support.stepped_time import SteppedTime


class Place:
    """A home with an outbox, and a process that begins when it is started."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = Home.in_folder(str(folder))
        self.outbox = Outbox(self.home, pytest.fail, lambda: "")
        self.started = 0
        self.says = True
        monkeypatch.setattr(module, "start_sharing", self._start)
        monkeypatch.setattr(module, "WAIT_SECONDS", 0.2)
        monkeypatch.setattr(module, "time", SteppedTime())

    def _start(self, *_given: object) -> None:
        self.started += 1
        # As the process does: what others have sent is left, and then it tells of itself.
        if self.says:
            self.outbox.remove("sent")
            ProgressNotes(self.home).reached(Brought(), 0)

    def put(self, name: str, age: float) -> None:
        message = Message("question", "boss", "phone", "work", "s1", "t1", "A question", "text")
        created = iso(time.time() - age)
        self.outbox.take_in(name, new_document(message._replace(id=name, created_at=created)))

    def wait(self) -> list[str]:
        services: Any = SimpleNamespace(home=self.home, outbox=self.outbox, environ={}, plugins=None)
        wait_until_looked(services)
        return self.outbox.ids()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


def test_what_others_have_sent_is_left_before_it_is_sent_here(place: Place) -> None:
    place.put("other", GONE_SECONDS + 60)
    place.put("sent", GONE_SECONDS + 50)
    assert (place.wait(), place.started) == (["other"], 1)
    # It has just been asked.
    assert (place.wait(), place.started) == (["other"], 1)


def test_what_is_new_cannot_have_been_sent_by_others(place: Place) -> None:
    assert (place.wait(), place.started) == ([], 0)
    place.put("new", 1)
    assert (place.wait(), place.started) == (["new"], 0)


def test_an_engine_that_is_away_holds_nothing_up(place: Place) -> None:
    place.put("old", GONE_SECONDS + 60)
    place.says = False
    assert (place.wait(), place.started) == (["old"], 1)
    ProgressNotes(place.home).failed()
    assert (place.wait(), place.started) == (["old"], 1)
