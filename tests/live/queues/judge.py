"""Compares what the queue says of its items with what the client was seen to be given."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.queue.items import DONE, PROMPT, STARTED, kind_of
from hookrouter.util.clock import seconds
from live.queues.items import Made, marks_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.queue.items import Item
    from live.queues.seen import Seen

__all__ = ["Judged", "Verdict", "judge"]


_IN_DOUBT = ("may have", "was submitted by", "before anything proved")
"""What the reason of an item says that may have been submitted."""


class Verdict:
    """How an item ended: the values of ``Judged.verdict``."""

    PROVEN = "proven"
    """The queue says that it was submitted, and the client was given it, once."""
    UNDELIVERED = "undelivered"
    """The queue says why it was not, and the client was not given it."""
    UNPROVEN = "unproven"
    """The queue says that it may have been submitted, and the client was given it, once."""
    WAITS = "waits"
    """It is still in the queue, and the client was not given it."""
    FAULT = "fault"
    """Anything else."""


class Judged(NamedTuple):
    """What became of one item."""

    made: Made
    state: str
    """What the queue says: a state of an item; empty if it knows none."""
    reason: str
    """The reason that the queue gives."""
    hooks: int
    """How often hooks were called with it."""
    transcript: int
    """How often it stands in the transcripts."""
    model: int
    """How often its number stands in a request to the model, at most."""
    verdict: str
    """One of the values of Verdict."""
    fault: str
    """What is wrong; empty for nothing."""
    seconds: float = 0.0
    """From the beginning of its delivery to its proof."""

    def document(self) -> dict[str, Any]:
        """Return it as one line of results."""
        document = self._asdict()
        made = document.pop("made")
        return {"number": made.number, "kind": made.kind, "text": made.text[:120], **document}


def judge(made: Sequence[Made], items: Mapping[int, Item], seen: Seen) -> list[Judged]:
    """Return what became of each item. ``items`` is what the queue says, by the number of the item."""
    hooks, transcript = collections.Counter(seen.by_hooks), collections.Counter(seen.by_transcript)
    altered = _altered(made, seen)
    late = _out_of_order(made, seen.by_transcript)
    judged = []
    used: collections.Counter[str] = collections.Counter()
    for one in made:
        text, item = one.text, items.get(one.number)
        same = [other for other in made if other.text == text]
        if one.mark:
            counts = hooks[text], transcript[text]
            model = seen.in_requests.get(one.mark, 0) if kind_of(text) == PROMPT else 0
        else:
            counts, model = _share(one, same, items, (hooks[text], transcript[text]), used), 0
        fault = _fault(item, counts, model) or altered.get(one.number, "") or late.get(one.number, "")
        judged.append(_judged(one, item, counts, model, fault))
    return judged


def _share(
    one: Made, same: Sequence[Made], items: Mapping[int, Item], counts: tuple[int, int], used: collections.Counter[str]
) -> tuple[int, int]:
    """Return which part of the sightings of a text that several items have is this item's.

    Those that the queue calls submitted come first; what is more than there are items is the last one's.
    """
    order = sorted(same, key=lambda made: (not _is_taken(items.get(made.number)), made.number))
    place = order.index(one)
    is_last = place == len(order) - 1
    used[one.text] += 1
    shares = (max(0, count - place) if is_last else min(1, max(0, count - place)) for count in counts)
    first, second = shares
    return first, second


def _is_taken(item: Item | None) -> bool:
    if item is not None and item.proof.get("record") in ("unknown command", "not for users"):
        # The client has said so, and did nothing.
        return False
    return item is not None and (item.state in (DONE, STARTED) or bool(item.started_at))


def _fault(item: Item | None, counts: tuple[int, int], model: int) -> str:
    most = max(*counts, model)
    if item is None:
        return "the queue does not know it any more"
    if most > 1:
        return "the client was given it more than once"
    if _is_taken(item) and not most:
        return "the queue says that it was submitted, and the client was not given it"
    if item.is_ended and not _is_taken(item) and not item.reason:
        return "it was not submitted, and the queue does not say why"
    if item.is_ended and not _is_taken(item) and most and not any(words in item.reason for words in _IN_DOUBT):
        return f"the client was given it, and the queue says that it failed because: {item.reason}"
    if not item.is_ended and most:
        return "the client was given it, and the queue does not say so"
    return ""


def _judged(one: Made, item: Item | None, counts: tuple[int, int], model: int, fault: str) -> Judged:
    is_given = max(*counts, model) > 0
    if fault:
        verdict = Verdict.FAULT
    elif _is_taken(item):
        verdict = Verdict.PROVEN
    elif item is not None and not item.is_ended:
        verdict = Verdict.WAITS
    else:
        verdict = Verdict.UNPROVEN if is_given else Verdict.UNDELIVERED
    state, reason = (item.state, item.reason) if item is not None else ("", "")
    return Judged(one, state, reason, *counts, model, verdict, fault, _delay(item))


def _delay(item: Item | None) -> float:
    begun, started = (seconds(item.delivering_at), seconds(item.started_at)) if item is not None else (None, None)
    return 0.0 if begun is None or started is None else round(started - begun, 3)


def _altered(made: Sequence[Made], seen: Seen) -> dict[int, str]:
    """Return the items whose number was seen in another text than theirs."""
    by_mark = {one.mark: one for one in made if one.mark}
    found = {}
    for text in (*seen.by_hooks, *seen.by_transcript):
        for mark in marks_in(text):
            one = by_mark.get(mark)
            if one is not None and text != one.text.strip():
                found[one.number] = f"the client was given something else than its text: {text[:300]!r}"
    return found


def _out_of_order(made: Sequence[Made], taken: Sequence[str]) -> dict[int, str]:
    """Return the items that the client was given before one that stands before them in the queue."""
    found: dict[int, str] = {}
    missed, rest = list[Made](), list(made)
    for text in taken:
        place = next((at for at, one in enumerate(rest) if one.text == text), None)
        if place is not None:
            missed += rest[:place]
            rest = rest[place + 1 :]
        elif late := next((one for one in missed if one.text == text), None):
            missed.remove(late)
            found[late.number] = "the client was given it after one that stands behind it in the queue"
    return found
