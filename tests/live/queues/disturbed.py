"""Items are delivered while a person is at the keyboard, and while the client compacts, asks and wants permissions."""

from __future__ import annotations

import collections
import random
from typing import TYPE_CHECKING

from hookrouter._sandbox.scripted_model import Reply, Say, ask, bash
from live.queues.items import COMPACT, PLAIN, Made, marks_in, mixed
from live.queues.person import Person
from live.queues.place import Place, opened
from live.queues.seen import look
from support.forms import FORM

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrouter.queue.documents import Hold
    from live.queues.judge import Judged

__all__ = ["run"]

PER_CLIENT = 50
"""How many items one client is given before the next is started."""
_SCRIPT: dict[str, Reply | Sequence[Reply]] = {
    "form": [ask(FORM), Say("Thank you.")],
    "permission": [bash("touch wanted"), Say("Done.")],
    "work": [bash("sleep 2"), Say("Worked.")],
}
_KINDS = (*PLAIN, "asks", "wants a permission", "works", COMPACT, "/context", "!command", *PLAIN)
_MADE = {"asks": "ASK form", "wants a permission": "RUN permission", "works": "RUN work"}


def run(channel: str, count: int, seed: int) -> Iterator[tuple[list[Judged], str, list[str], dict[str, int]]]:
    """Deliver items client by client; yield what became of them, why it was given up, other faults, and what was done.

    Each second client is in vim mode.
    """
    for place_of, first in enumerate(range(0, count, PER_CLIENT)):
        many = min(PER_CLIENT, count - first)
        vim = bool(place_of % 2)
        settings: dict[str, object] = {"permissions": {"allow": ["Bash(sleep 2)"], "ask": ["Bash(touch:*)"]}}
        if vim:
            settings["editorMode"] = "vim"
        with opened(channel, _SCRIPT, settings=settings) as place:
            place.vim = vim
            place.put(_made(many, seed + place_of, first))
            holds, person = _disturb(place, seed + place_of)
            done = collections.Counter(person.done)
            done.update({f"held: {cause}": number for cause, number in holds.items()})
            yield place.judged(), place.stuck, [*person.faults, *_mixed_in(place)], dict(done)


def _made(count: int, seed: int, first: int) -> list[Made]:
    return mixed(count, seed, _KINDS, first, _MADE)


def _disturb(place: Place, seed: int) -> tuple[dict[str, int], Person]:
    holds: collections.Counter[str] = collections.Counter()
    chance = random.Random(seed)
    with Person(place, seed) as person:

        def go_on(hold: Hold) -> None:
            holds[hold.cause] += 1
            with person.resting():
                # Whoever resumes does not know when the person comes back.
                person.wait(chance.uniform(0.0, 1.0))
                if hold.cause == "resumed":
                    # The session has gone elsewhere, and the terminal shows what nobody manages.
                    place.queued.client.stop()
                    place.queued.client = place.queued.start_client()

        place.deliver(go_on)
    return holds, person


def _mixed_in(place: Place) -> list[str]:
    """Return the person's texts that the client was given together with an item's."""
    seen = look(place.queued.stage, place.model)
    texts = [*seen.by_hooks, *seen.by_transcript]
    return [f"a person's text with an item's: {text[:300]!r}" for text in texts if "by hand" in text and marks_in(text)]
