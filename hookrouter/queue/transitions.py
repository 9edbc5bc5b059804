"""What becomes of a queue when something happens: each function returns the queue as it is then.

Pure: no clock but the time of day for what it notes, no store, no terminal. Whoever has seen the event calls one of
these under the queue's lock (:func:`hookrouter.queue.documents.change_queue`). What keeps an item from being submitted
twice is in here: from ``delivering`` it comes back to ``queued`` only if nothing of it can have been submitted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.queue.items import COMMAND, DELIVERING, DONE, FAILED, QUEUED, STARTED, Item, command_of
from hookrouter.queue.proof import (
    CLEARING,
    COMPACTING,
    is_altered,
    is_wake,
    proof_by_compaction,
    proof_by_prompt,
    proof_by_start,
)
from hookrouter.util.clock import iso

if TYPE_CHECKING:
    from hookrouter.queue.documents import Queue
    from hookrouter.queue.proof import Proof

__all__ = [
    "ASKED",
    "CLIENT_ENDED",
    "EARLIER_CLIENT",
    "ESCAPE",
    "FAILED_TURN",
    "PERSON",
    "RESUMED",
    "UNDELIVERED",
    "UNPROVEN",
    "begun",
    "client_began",
    "client_ended",
    "client_lost",
    "compaction_began",
    "endless",
    "interrupted",
    "not_now",
    "phase_saved",
    "prompt_submitted",
    "proven",
    "reason_over",
    "refused",
    "session_cleared",
    "session_parked",
    "session_resumed",
    "turn_ended",
    "undelivered",
    "unproven",
]

PERSON, ESCAPE, RESUMED, CLIENT_ENDED = "person", "escape", "resumed", "client_ended"
EARLIER_CLIENT, UNPROVEN, FAILED_TURN, ASKED = "earlier_client", "unproven", "failed", "asked"
UNDELIVERED = "undelivered"
"""Causes of holds, see :class:`hookrouter.queue.documents.Hold`."""

_SHOWN = 500
"""Characters of what a person submitted that are kept."""


def begun(queue: Queue, name: str, *, boot: str, channel: str, exact: bool = False) -> Queue:
    """The delivery of the next item begins, by a channel, for a client (see ``Item.boot`` and ``Item.exact``)."""
    item = queue.item(name)
    if item is None or item.state != QUEUED or queue.under_way is not None or queue.hold is not None:
        return queue
    # What the same channel has left in the session, it takes up again.
    phase = item.phase if item.channel == channel else ""
    return queue.with_item(
        item._replace(
            state=DELIVERING, delivering_at=iso(), boot=boot, channel=channel, exact=exact, phase=phase, reason=""
        )
    )


def phase_saved(queue: Queue, name: str, phase: str) -> Queue:
    """The channel saves a word before an act. The same queue if the item is not being delivered any more."""
    item = queue.item(name)
    if item is None or item.state != DELIVERING:
        return queue
    return queue.with_item(item._replace(phase=phase))


def not_now(queue: Queue, name: str, reason: str) -> Queue:
    """The channel has submitted nothing: the item is the next one again. What the channel has saved stays."""
    item = queue.item(name)
    if item is None or item.state != DELIVERING:
        return queue
    return queue.with_item(item._replace(state=QUEUED, delivering_at="", boot="", reason=reason))


def reason_over(queue: Queue, name: str) -> Queue:
    """What kept a waiting item back is over: the session does something else now."""
    item = queue.item(name)
    return queue if item is None or item.state != QUEUED else queue.with_item(item._replace(reason=""))


def refused(queue: Queue, name: str, reason: str) -> Queue:
    """No channel carries the item into this session, whatever the time."""
    item = queue.item(name)
    if item is None or item.state not in (QUEUED, DELIVERING):
        return queue
    return queue.ended(name, FAILED, reason=reason).held(FAILED_TURN, reason)


def undelivered(queue: Queue, name: str, reason: str) -> Queue:
    """No channel can bring the item into the session as it is now: it stays the next one, until somebody resumes."""
    item = queue.item(name)
    if item is None or item.state != QUEUED:
        return queue
    return queue.with_item(item._replace(reason=reason)).held(UNDELIVERED, reason)


def unproven(queue: Queue, name: str, reason: str) -> Queue:
    """The act was done, or may have been, and nothing has proven it in time: nobody tries it again."""
    item = queue.item(name)
    if item is None or item.state != DELIVERING:
        return queue
    return queue.ended(name, FAILED, reason=reason).held(UNPROVEN, reason)


def proven(queue: Queue, name: str, proof: Proof) -> Queue:
    """An event or a record has proven something of an item that is under way."""
    item = queue.item(name)
    if item is None or not item.is_under_way:
        return queue
    said = {**item.proof, **proof.said}
    if item.state == DELIVERING:
        item = item._replace(state=STARTED, started_at=iso(), reason="")
    queue = queue.with_item(item._replace(proof=said))
    if proof.state == DONE:
        return queue.ended(name, DONE)
    if proof.state == FAILED:
        return queue.ended(name, FAILED, reason=proof.reason).held(
            FAILED_TURN, f"{_named(item)} failed: {proof.reason}"
        )
    return queue


def prompt_submitted(queue: Queue, prompt: str) -> Queue:
    """UserPromptSubmit in the session itself: our item, a prompt that the client gave itself, or a person's."""
    item = queue.under_way
    if item is not None and item.state == DELIVERING and (proof := proof_by_prompt(item, prompt)) is not None:
        return proven(queue, item.id, proof)
    if is_wake(prompt) or (item is not None and _is_again(item, prompt)):
        return queue
    is_typed = item is not None and item.state == DELIVERING and item.phase != "" and not item.exact
    if item is not None and is_typed and is_altered(item.text, prompt):
        reason = "it was submitted, but not as it is: the client drops or changes some of its characters"
        submitted = {"submitted": prompt.strip()[:_SHOWN]}
        return queue.ended(item.id, FAILED, reason=reason, proof=submitted).held(FAILED_TURN, reason)
    return _taken_over(queue, prompt.strip())


def compaction_began(queue: Queue, instructions: str | None) -> Queue:
    """PreCompact with the trigger ``manual``: our item, or a person's."""
    item = queue.under_way
    if item is not None and (proof := proof_by_compaction(item, instructions)) is not None:
        return proven(queue, item.id, proof) if item.state == DELIVERING else queue
    return _taken_over(queue, f"/{COMPACTING} {instructions or ''}".strip())


def session_cleared(queue: Queue, session_id: str, pid: int) -> Queue:
    """SessionStart(clear) in the same client: our item, or a person's. The queue goes on under the new id."""
    item = queue.under_way
    queue = queue._replace(session_id=session_id, client_pid=pid or queue.client_pid)
    if item is not None and (proof := proof_by_start(item, session_id)) is not None:
        return proven(queue, item.id, proof)
    return _taken_over(queue, f"/{min(CLEARING)}")


def session_resumed(queue: Queue, session_id: str, pid: int) -> Queue:
    """SessionStart(resume or fork) in the same client: another session has taken the place of this one."""
    queue = queue._replace(session_id=session_id, client_pid=pid or queue.client_pid)
    return _cut_off(queue, RESUMED, "another session was opened in this client")


def session_parked(queue: Queue) -> Queue:
    """The client has handed its session to the background, where it goes on in another process."""
    return _cut_off(queue, RESUMED, "the session continues in the background, because its view of agents was opened")


def client_began(queue: Queue, session_id: str, pid: int, *, left_until: str = "") -> Queue:
    """SessionStart(startup or resume) of a client that was not there before.

    A queue that another client has left is held; one that no client has seen yet is this one's. ``left_until`` is until
    when, in ISO 8601, another client had this session: what was put in before is what it has left, though it may have
    died before any event has told of the queue.
    """
    if not queue.items and queue.hold is not None and queue.hold.cause != ASKED:
        # What it was held for ended with that client.
        queue = queue._replace(hold=None)
    was_seen = queue.client_pid > 0 or queue.session_id != "" or queue.under_way is not None
    is_left = any(was_seen or item.queued_at < left_until for item in queue.items)
    if is_left and (queue.client_pid, queue.session_id) != (pid, session_id):
        queue = _cut_off(queue, EARLIER_CLIENT, "an earlier client left this queue")
    return queue._replace(session_id=session_id, client_pid=pid)


def client_ended(queue: Queue, reason: str) -> Queue:
    """SessionEnd for good, or the client's process is gone."""
    return _cut_off(queue, CLIENT_ENDED, reason)


def turn_ended(queue: Queue) -> Queue:
    """Stop, with nothing of the turn left running."""
    item = queue.under_way
    if item is None or item.state != STARTED or _ends_by_itself(item):
        return queue
    return queue.ended(item.id, DONE)


def client_lost(queue: Queue, reason: str) -> Queue:
    """The delivery of an item was begun for another client than the one that is there."""
    return _cut_off(queue, EARLIER_CLIENT, reason)


def endless(queue: Queue, name: str, reason: str) -> Queue:
    """An item has started, and what it began is over without a word."""
    item = queue.item(name)
    if item is None or item.state != STARTED:
        return queue
    return queue.ended(name, FAILED, reason=reason).held(UNPROVEN, reason)


def interrupted(queue: Queue, reason: str) -> Queue:
    """The turn has ended and no hook has said so: a person pressed Escape."""
    item = queue.under_way
    if item is not None and item.state == STARTED:
        queue = queue.ended(item.id, FAILED, reason=reason)
        return queue.held(ESCAPE, reason)
    return _held(queue, ESCAPE, reason)


def _taken_over(queue: Queue, submitted: str) -> Queue:
    """Somebody else has submitted something. An item of which nothing can have been submitted is the next one again.

    What a channel types may have become a part of what was submitted; then the item has failed.
    """
    item, reason = queue.under_way, f"something else was submitted: {submitted[:_SHOWN]}"
    if item is not None and item.state == DELIVERING:
        if not item.phase:
            return queue.with_item(_as_new(item)).held(PERSON, reason)
        if item.exact:
            # It is on its way, and comes behind what was submitted, or not at all: a proof decides.
            return queue.held(PERSON, reason)
        return queue.ended(item.id, FAILED, reason=reason, proof={"submitted": submitted}).held(PERSON, reason)
    return _held(queue, PERSON, reason)


def _cut_off(queue: Queue, cause: str, reason: str) -> Queue:
    """What was under way has lost its session, and so has what channels have left there."""
    waiting = (one._replace(channel="", phase="") if one.state == QUEUED else one for one in queue.items)
    queue = queue._replace(items=tuple(waiting))
    item = queue.under_way
    if item is None:
        return _held(queue, cause, reason)
    if item.state == DELIVERING and not item.phase:
        return queue.with_item(_as_new(item)).held(cause, reason)
    known = "before it was done" if item.state == STARTED else "before anything proved that it was submitted"
    return queue.ended(item.id, FAILED, reason=f"{reason}, {known}").held(cause, reason)


def _held(queue: Queue, cause: str, reason: str) -> Queue:
    """Hold a queue if something waits in it: one that is empty needs nobody to resume it."""
    return queue.held(cause, reason) if queue.items else queue


def _as_new(item: Item) -> Item:
    return item._replace(state=QUEUED, delivering_at="", boot="", channel="", exact=False, phase="")


def _is_again(item: Item, prompt: str) -> bool:
    """Whether a prompt is that of an item that has started already: hooks may run twice for one event."""
    return item.state == STARTED and proof_by_prompt(item, prompt) is not None


def _ends_by_itself(item: Item) -> bool:
    """Whether an item's end is not the end of a turn: a compaction may run when an earlier turn's Stop comes late."""
    return item.kind == COMMAND and command_of(item.text)[0] == COMPACTING


def _named(item: Item) -> str:
    return item.text.splitlines()[0][:60]
