"""Messages that are closed while a process delivers them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrouter.messaging.delivery.workers import Processes
from hookrouter.messaging.gateway import Message, SendResult
from hookrouter.messaging.outbox import Outbox
from hookrouter.storage.home import Home
from hookrouter.testing import wait_until
from support.phone_bench import Bench

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.messaging.delivery.scheduler import Lane


class Looking(Processes):
    """Has the outbox looked through once the folder has a file ``ended``, and puts ``looked`` there afterwards."""

    def __init__(self, outbox: Outbox, folder: Path) -> None:
        super().__init__(outbox)
        self._folder = folder
        self._looks = False

    def wait(self, timeout: float) -> list[tuple[Lane, list[list[str]]]]:
        if self._looks:
            (self._folder / "looked").touch()
        return super().wait(min(timeout, 0.01))

    def changed(self) -> bool:
        self._looks = (self._folder / "ended").exists()
        return True


@pytest.fixture
def bench(hookrouter_home: Path) -> Bench:
    return Bench(Home.in_folder(str(hookrouter_home)))


def test_a_question_that_ends_while_its_message_is_being_delivered_is_not_called_dropped(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its agent answers before it has ended, so the document goes first; only the worker knows what came of it."""
    bench.put()
    shows = bench.phone.deliver

    def answers(message: Message, settings: Mapping[str, object]) -> SendResult:
        bench.end()
        (tmp_path / "ended").touch()
        wait_until((tmp_path / "looked").exists, 10, "a look of the deliverer")
        return shows(message, settings)

    monkeypatch.setattr(bench.phone, "deliver", answers)
    bench.run(Looking(bench.outbox, tmp_path))
    assert ("question", "delivered") in bench.outcomes()
    assert ("question", "dropped") not in bench.outcomes()
