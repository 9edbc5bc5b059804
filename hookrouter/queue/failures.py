"""What becomes of a queue after a turn that ended in an error: when it goes on, and what is sent again.

- After a usage limit it goes on by itself once that is over; after an error that passes, after a pause that grows with
  each failure in a row; after any other it is held until somebody resumes it.
- The prompt that was cut off is sent again, once, as an item of its own that names it, if nothing of it had been done:
  Claude had said nothing and called no tool. Otherwise nobody but a reader of what was done can say what to send. Then
  the queue waits for the end of a limit, which leaves time to put something first, and is held after all else.
- Claude Code (2.1.250 to 2.1.332) goes on by itself after a limit, unless Esc was pressed: with a prompt of its own, a
  minute or more late. That is the repeat then, and nothing is sent beside it.

The deciding functions are pure; the reading ones take lines of a transcript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.queue.documents import ended_items
from hookrouter.queue.items import FAILED, SHELL, STARTED, Item, new_item
from hookrouter.queue.transitions import FAILED_TURN
from hookrouter.sessions.limits import LATER, LIMIT, Failure, arms_continuation, failure_of_record, is_continuation
from hookrouter.sessions.records import LIMITED as LIMITED_SESSION
from hookrouter.sessions.records import LONGEST_MESSAGE, STOPPED
from hookrouter.util.clock import iso, seconds
from hookrouter.util.regular_file import parsed
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hookrouter.queue.documents import Queue
    from hookrouter.sessions.records import SessionRecord
    from hookrouter.storage.interface import DocumentStore

__all__ = [
    "CONTINUATION_SECONDS",
    "LIMITED",
    "PAUSES",
    "AfterFailure",
    "FailedTurn",
    "broken",
    "continued",
    "decide_after_failure",
    "failed",
    "failure_in",
    "failures_in_a_row",
    "goes_on_by_itself",
    "is_untouched",
]

PAUSES = (30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)
"""Seconds of the pause after the first, second, ... failure in a row; after as many the queue is held. The client has
tried for minutes itself by then."""

CONTINUATION_SECONDS = 300.0
"""Seconds after the end of a limit for which the client's own continuation is awaited; it came after 47 s (2.1.330)."""

LIMITED = "limited"
"""A cause of holds, see :class:`hookrouter.queue.documents.Hold`."""

_SHOWN = 500


class AfterFailure(NamedTuple):
    """What becomes of a queue."""

    cause: str
    """The cause of its hold: ``limited`` or ``failed``."""
    reason: str
    """Why, in one sentence."""
    until: float | None
    """When it goes on by itself, in seconds since 1970; None if somebody has to resume it."""
    sends_again: bool
    """Whether the prompt that was cut off is sent again then."""
    failure: Failure
    """What has happened."""

    @property
    def until_iso(self) -> str:
        """When it goes on by itself, ISO 8601 in UTC; empty if it does not."""
        return "" if self.until is None else iso(self.until)


class FailedTurn:
    """What a turn that ended in an error makes of a queue: a change for ``change_queue`` of the documents."""

    def __init__(self, store: DocumentStore, failure: Failure, *, untouched: bool, at: float) -> None:
        """Arguments: as :func:`decide_after_failure` has them."""
        self._store = store
        self._failure = failure
        self._untouched = untouched
        self._at = at
        self.decision = self._decided(None)
        """What becomes of the queue; as long as none was changed, of one that holds nothing."""

    def __call__(self, queue: Queue) -> Queue:
        """Return the queue as it is then. Raises StoreError."""
        self.decision = self._decided(queue.under_way)
        return failed(queue, self.decision)

    def _decided(self, item: Item | None) -> AfterFailure:
        earlier = failures_in_a_row(self._store, item)
        return decide_after_failure(self._failure, item, untouched=self._untouched, earlier=earlier, at=self._at)


def broken(record: SessionRecord, failure: Failure) -> SessionRecord:
    """Return the record of a session whose turn has ended in an error."""
    is_limit, until = failure.policy == LIMIT, failure.until
    return record._replace(
        state=LIMITED_SESSION if is_limit else STOPPED,
        error=failure.error,
        limited_until=iso(until) if is_limit and until is not None else "",
        last_message=failure.text[-LONGEST_MESSAGE:],
    )


def decide_after_failure(
    failure: Failure, item: Item | None, *, untouched: bool, earlier: int, at: float
) -> AfterFailure:
    """Return what becomes of a queue after a failure at a time in seconds since 1970.

    ``item`` is what was under way, None for a prompt that was none of the queue's; ``untouched`` says that nothing of
    it had been done; ``earlier`` is how many failures in a row came before this one.
    """
    was_sent = item is not None and item.state == STARTED and item.kind != SHELL
    may_repeat = was_sent and untouched
    said = printable(" ".join(failure.text.split()))[:_SHOWN]
    if failure.policy == LIMIT:
        until = failure.until
        name = failure.limit.replace("_", " ") or "usage limit"
        when = f"until {iso(until)}" if until is not None else "and Claude Code does not say for how long"
        reason = f"a usage limit ({name}) holds {when}{f': {said}' if said else ''}"
        return AfterFailure(LIMITED, reason, until, may_repeat, failure)
    reason = f"the turn ended in an error ({printable(failure.error)}){f': {said}' if said else ''}"
    if failure.policy == LATER and earlier < len(PAUSES) and (may_repeat or not was_sent):
        return AfterFailure(FAILED_TURN, reason, at + PAUSES[max(0, earlier)], may_repeat, failure)
    return AfterFailure(FAILED_TURN, reason, None, False, failure)


def failed(queue: Queue, decision: AfterFailure) -> Queue:
    """Return the queue as it is then: the item that was under way has failed, and its repeat is the next one."""
    item, hold = queue.under_way, queue.hold
    if item is None and hold is not None and hold.cause == decision.cause:
        # The end of this turn was seen before, from another side.
        return queue
    if item is not None and item.state == STARTED:
        again = "; it is sent again, because nothing of it had been done" if decision.sends_again else ""
        queue = queue.ended(item.id, FAILED, reason=f"{decision.reason}{again}")
        if decision.sends_again:
            repeat = new_item(item.text, by=item.by, who=item.who, repeats=item.id)
            place = next(number for number, one in enumerate(queue.items) if one.id == item.id) + 1
            queue = queue._replace(items=(*queue.items[:place], repeat, *queue.items[place:]))
    if not any(not one.is_ended for one in queue.items):
        # Nothing waits, so nobody needs to resume it.
        return queue
    return queue.held(decision.cause, decision.reason, until=decision.until_iso)


def continued(queue: Queue, prompt: str) -> Queue | None:
    """Return the queue after a prompt by which the client goes on itself after a limit; None if it is another prompt.

    It stands for the repeat that was to be sent: that has begun, and its turn's end is the item's.
    """
    if not is_continuation(prompt):
        return None
    held = queue.hold
    if held is not None and held.cause == LIMITED:
        queue = queue._replace(hold=None)
    first = queue.next
    if queue.under_way is not None or first is None or not first.repeats:
        return queue
    proof = {"event": "UserPromptSubmit", "continued_by": "client"}
    return queue.with_item(first._replace(state=STARTED, started_at=iso(), channel="client", proof=proof, reason=""))


def failures_in_a_row(store: DocumentStore, item: Item | None) -> int:
    """Return how many failures came before that of an item: those that it repeats. Raises StoreError."""
    count = 0
    while item is not None and item.repeats and count < len(PAUSES):
        count += 1
        found = ended_items(store, [item.repeats])
        item = found[0][1] if found else None
    return count


def failure_in(lines: Sequence[bytes], begun: float) -> Failure | None:
    """Return the error in which the newest turn has ended, by the transcript's lines; None if they show none.

    ``begun`` is when the turn began, in seconds since 1970: an error of before is another turn's. Beside what
    ``StopFailure`` says, they know the second of a limit's end (2.1.330), and beside the ``Stop`` of clients before
    2.1.78 that there was an error.
    """
    for entry in _main(lines):
        if entry.get("type") == "assistant":
            written = seconds(entry.get("timestamp"))
            return None if written is None or written < begun else failure_of_record(entry, written)
        if _is_prompt(entry):
            return None
    return None


def is_untouched(lines: Sequence[bytes]) -> bool:
    """Whether nothing of the newest prompt was done: Claude has said nothing after it, and called no tool.

    False also if the lines do not reach back to the prompt.
    """
    for entry in _main(lines):
        if entry.get("type") == "assistant" and _has_work(entry):
            return False
        if entry.get("type") == "user" and any(block.get("type") == "tool_result" for block in _blocks(entry)):
            return False
        if _is_prompt(entry):
            return True
    return False


def goes_on_by_itself(lines: Sequence[bytes]) -> bool:
    """Whether the client has said that it will go on after a limit, and nobody has stopped that since (2.1.330)."""
    for entry in _main(lines):
        armed = arms_continuation(entry)
        if armed is not None:
            return armed
        if entry.get("type") == "user" and not entry.get("isMeta"):
            return False
    return False


def _main(lines: Sequence[bytes]) -> Iterable[dict[str, Any]]:
    """Yield the records of the main conversation, the newest first."""
    for line in reversed(lines):
        if b'"type"' not in line:
            continue
        entry = parsed(line)
        if entry and entry.get("isSidechain") is not True:
            yield entry


def _is_prompt(entry: Mapping[str, Any]) -> bool:
    """Whether a record is what a turn begins with; not what the client has added to it, nor a tool's result."""
    if entry.get("type") != "user" or entry.get("isMeta") or entry.get("isCompactSummary"):
        return False
    return not any(block.get("type") == "tool_result" for block in _blocks(entry))


def _has_work(entry: Mapping[str, Any]) -> bool:
    """Whether a record of Claude's shows words or a tool; the client's own word of an error is none."""
    if entry.get("isApiErrorMessage") is True:
        return False
    return any(
        block.get("type") not in ("text", "thinking", "redacted_thinking")
        or (block.get("type") == "text" and isinstance(block.get("text"), str) and block["text"].strip())
        for block in _blocks(entry)
    )


def _blocks(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
