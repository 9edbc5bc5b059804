"""A queue of items of every kind, mixed, through one channel."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookrouter._sandbox.client import prompt_box
from hookrouter._sandbox.scripted_model import Reply, Say, bash
from live.queues.items import KINDS, mixed, prompt_kinds
from live.queues.place import Place, opened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.queue.documents import Hold
    from live.queues.judge import Judged

__all__ = ["CARRIED", "run"]

_NOT_BY_MOD = ("!command", "/model")
CARRIED = {
    "stop": prompt_kinds(),
    "doorbell": prompt_kinds(),
    "mod": tuple(kind for kind in KINDS if kind not in _NOT_BY_MOD),
}
"""What a channel is given, if that is not every kind: two bring nothing but prompts, and the mod no shell command, nor
one that opens a panel."""

_BEGIN = "RUN begin"
"""The prompt of a person who begins a turn for a channel that begins none."""
_NEEDS_TURNS = ("stop",)


def run(channel: str, count: int, seed: int) -> tuple[list[Judged], str]:
    """Have ``count`` items delivered; return what became of each, and why it was given up, if it was."""
    script: dict[str, Reply | Sequence[Reply]] = {"begin": [bash("sleep 3"), Say("Begun.")]}
    settings = {"permissions": {"allow": ["Bash"]}}
    with opened(channel, script, settings=settings) as place:
        place.put(mixed(count, seed, CARRIED.get(channel, tuple(KINDS))))
        begin = _Beginner(place) if channel in _NEEDS_TURNS else None

        def go_on(_hold: Hold) -> None:
            """Close what an item has left open, as the person does who is told of the hold."""
            if prompt_box(place.queued.client.screen()) is None:
                place.queued.client.pane.press("Escape")

        place.deliver(go_on, begin or int)
        return place.judged(), place.stuck


class _Beginner:
    """A person who begins a turn whenever the session has been idle for a while with items that wait."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._since = time.monotonic()

    def __call__(self) -> None:
        record = self._place.queued.record
        if record is None or record.state != "idle" or not self._place.first_waits():
            self._since = time.monotonic()
        elif time.monotonic() - self._since > 1.0:
            self._place.queued.client.submit(_BEGIN)
            self._since = time.monotonic()
