"""Items are sent and delivered while every process that has to do with it is killed at random moments."""

from __future__ import annotations

import random
import subprocess
import time
from typing import TYPE_CHECKING

from hookrouter._sandbox.client import ClientError
from hookrouter._sandbox.scripted_model import Reply, Say, bash
from hookrouter._sandbox.waiting import WaitTimeoutError
from hookrouter.queue.documents import ended_items
from hookrouter.util.program import script_argv
from live.queues.items import COMPACT, PLAIN, Made, mixed
from live.queues.kills import Killer
from live.queues.place import Place, Router, opened, told
from support.queued import SESSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.queue.documents import Hold
    from live.queues.judge import Judged

__all__ = ["run"]

_KINDS = (*PLAIN, "works", *PLAIN, COMPACT, "!command")
_SCRIPT: dict[str, Reply | Sequence[Reply]] = {"work": [bash("sleep 1"), Say("Worked.")]}
_WAITING = 4
"""How many items are kept in the queue, at least."""


def run(channel: str, count: int, seed: int) -> tuple[list[Judged], str, list[str], dict[str, int]]:
    """Kill ``count`` processes; return what became of the items, why it was given up, other faults, and the kills."""
    settings = {"permissions": {"allow": ["Bash"]}}
    with opened(channel, _SCRIPT, settings=settings) as place:
        sender = _Sender(place, seed)
        router = Router(place.queued)
        with Killer(place.queued.stage.home.root, count, seed, lambda: _client_pid(place)) as killer:

            def beside() -> None:
                router.keep_up()
                if not killer.is_done:
                    sender.keep_full()
                if not place.queued.queue.hold and not place.queued.is_delivering:
                    # In an installation the next hook, or the watcher, does this.
                    place.queued.deliver()

            def go_on(_hold: Hold) -> None:
                _revive(place, killer)

            while not killer.is_done and not place.stuck:
                beside()
                place.deliver(go_on, beside)
                _revive(place, killer)
                time.sleep(0.05)
        place.deliver(go_on, beside)
        sender.wait()
        router.end()
        return place.judged(), place.stuck, sender.faults(), dict(killer.done)


def _client_pid(place: Place) -> int:
    record = place.queued.record
    return 0 if record is None else record.client_pid


def _revive(place: Place, killer: Killer) -> None:
    """Start the client anew if it is dead, as a person does."""
    queued = place.queued
    if not queued.client.pane.dead():
        return
    with killer.waiting():
        for _ in range(3):
            queued.client.stop()
            try:
                queued.client = queued.start_client()
            except (ClientError, WaitTimeoutError) as error:
                told(f"the client did not start: {str(error)[:200]}")
                continue
            return


class _Sender:
    """Sends items by the real program, which may be killed: then they are in the queue, or they are not."""

    def __init__(self, place: Place, seed: int) -> None:
        self._place = place
        self._random = random.Random(seed)
        self._made = mixed(2000, seed, _KINDS, 0, {"works": "RUN work"})
        self._sent: list[tuple[Made, subprocess.Popen[bytes]]] = []

    def keep_full(self) -> None:
        """Send what is missing, one at a time."""
        if self._sent and self._sent[-1][1].poll() is None:
            return
        self._adopt()
        if len(self._place.queued.queue.items) < _WAITING:
            made = self._made.pop(0)
            command = [*script_argv(), "send", "--session", SESSION, "--", made.text]
            process = subprocess.Popen(
                command,
                env=self._place.queued.stage.environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            self._sent.append((made, process))

    def wait(self) -> None:
        """Wait for the last one."""
        for _, process in self._sent:
            process.wait(60)
        self._adopt()

    def _adopt(self) -> None:
        """Have the place know the items that have arrived."""
        known = {made.number for made in self._place.made}
        there = [*self._place.queued.queue.items, *(item for _session, item in ended_items(self._place.queued.store))]
        for made, process in self._sent:
            if made.number in known:
                continue
            found = [item for item in there if item.text == made.text and item.id not in self._place.numbers]
            if found:
                self._place.numbers[min(found, key=lambda item: item.id).id] = made.number
                self._place.made.append(made)
            elif process.poll() == 0:
                # Said to be queued, and it is not: the judge finds that nobody knows it.
                self._place.made.append(made)

    def faults(self) -> list[str]:
        """Return what the program said, other than that it was killed or has sent."""
        said = []
        for made, process in self._sent:
            if process.returncode not in (0, -9):
                error = process.stderr.read().decode(errors="replace") if process.stderr else ""
                said.append(f"hookrouter send of {made.text[:40]!r} ended with {process.returncode}: {error[:300]}")
        return said
