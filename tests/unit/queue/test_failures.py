"""What becomes of a queue after an error: when it goes on, what is sent again, and what the client does itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.queue.documents import Queue, change_queue
from hookrouter.queue.failures import (
    PAUSES,
    FailedTurn,
    broken,
    continued,
    decide_after_failure,
    failed,
    failure_in,
    failures_in_a_row,
    goes_on_by_itself,
    is_untouched,
)
from hookrouter.queue.items import DONE, FAILED, QUEUED, STARTED, Item, new_item
from hookrouter.sessions.limits import LATER, LIMIT, NEVER, Failure
from hookrouter.sessions.records import SessionRecord
from hookrouter.util.clock import iso, seconds
from support.memory_storage import MemoryStore

AT = 1795558424.0
CONTINUATION = (
    "Your claude.ai usage limit has reset. Continue the task you were working on when the limit was reached; "
    "do not repeat work that is already complete."
)


def started(text: str = "build it") -> Item:
    return new_item(text, by="agent", who="").__class__(
        **{**new_item(text, by="agent")._asdict(), "state": STARTED, "started_at": iso(AT)}
    )


def limit(until: float | None = AT + 1800) -> Failure:
    return Failure("rate_limit", "You've hit your 5-hour limit · resets 10:43pm (UTC)", LIMIT, until, "five_hour")


SERVER = Failure("server_error", "API Error: 529 Overloaded.", LATER)
LOGIN = Failure("authentication_failed", "Invalid API key", NEVER)


@pytest.mark.parametrize(
    ("failure", "untouched", "earlier", "cause", "until", "again"),
    [
        (limit(), True, 0, "limited", AT + 1800, True),
        (limit(), False, 0, "limited", AT + 1800, False),
        (limit(None), True, 0, "limited", None, True),
        (SERVER, True, 0, "failed", AT + PAUSES[0], True),
        (SERVER, True, 1, "failed", AT + PAUSES[1], True),
        (SERVER, True, len(PAUSES) - 1, "failed", AT + PAUSES[-1], True),
        (SERVER, True, len(PAUSES), "failed", None, False),
        (SERVER, False, 0, "failed", None, False),
        (LOGIN, True, 0, "failed", None, False),
    ],
)
def test_what_becomes_of_a_queue(
    failure: Failure, untouched: bool, earlier: int, cause: str, until: float | None, again: bool
) -> None:
    decision = decide_after_failure(failure, started(), untouched=untouched, earlier=earlier, at=AT)
    assert (decision.cause, decision.until, decision.sends_again) == (cause, until, again)
    assert failure.text[:20] in decision.reason


def test_pauses_grow() -> None:
    assert list(PAUSES) == sorted(set(PAUSES))


@pytest.mark.parametrize("failure", [limit(), SERVER])
def test_a_prompt_that_was_none_of_the_queues_is_not_sent(failure: Failure) -> None:
    decision = decide_after_failure(failure, None, untouched=True, earlier=0, at=AT)
    assert not decision.sends_again
    assert decision.until is not None


def test_a_shell_command_has_run_and_is_not_sent_again() -> None:
    decision = decide_after_failure(limit(), started("!make"), untouched=True, earlier=0, at=AT)
    assert not decision.sends_again


def test_the_repeat_is_the_next_item_and_names_what_it_repeats() -> None:
    item, second = started(), new_item("then this", by="person", who="ana")
    queue = Queue("work", (item, second))
    after = failed(queue, decide_after_failure(limit(), item, untouched=True, earlier=0, at=AT))
    first, repeat, last = after.items
    assert (first.id, first.state) == (item.id, FAILED)
    assert (repeat.text, repeat.by, repeat.repeats, repeat.state) == (item.text, "agent", item.id, QUEUED)
    assert last == second
    assert after.hold is not None
    assert (after.hold.cause, seconds(after.hold.until)) == ("limited", AT + 1800)


def test_what_was_half_done_is_not_sent_again_and_the_rest_waits() -> None:
    item, second = started(), new_item("then this", by="agent")
    after = failed(
        Queue("work", (item, second)), decide_after_failure(limit(), item, untouched=False, earlier=0, at=AT)
    )
    assert [one.state for one in after.items] == [FAILED, QUEUED]
    assert after.hold is not None
    assert after.hold.until


def test_a_queue_with_nothing_left_is_not_held() -> None:
    item = started()
    after = failed(Queue("work", (item,)), decide_after_failure(LOGIN, item, untouched=True, earlier=0, at=AT))
    assert after.hold is None
    assert [one.state for one in after.items] == [FAILED]


def test_a_hold_of_somebody_stays() -> None:
    queue = Queue("work", (started(), new_item("x", by="agent"))).held("asked", "wait")
    after = failed(queue, decide_after_failure(limit(), queue.items[0], untouched=True, earlier=0, at=AT))
    assert after.hold is not None
    assert after.hold.cause == "asked"


def test_an_end_that_was_seen_before_from_another_side_changes_nothing() -> None:
    item = started()
    decision = decide_after_failure(limit(), item, untouched=True, earlier=0, at=AT)
    held = failed(Queue("work", (item,)), decision)
    held = held._replace(items=tuple(one for one in held.items if not one.is_ended))
    assert failed(held, decide_after_failure(limit(), None, untouched=True, earlier=0, at=AT + 1)) == held


def test_a_failed_turn_decides_by_what_is_under_way_then() -> None:
    store, item = MemoryStore(), started()
    turn = FailedTurn(store, SERVER, untouched=True, at=AT)
    assert not turn.decision.sends_again
    after = turn(Queue("work", (item,)))
    assert turn.decision.sends_again
    assert [one.state for one in after.items] == [FAILED, QUEUED]


@pytest.mark.parametrize(("failure", "state", "until"), [(limit(), "limited", iso(AT + 1800)), (SERVER, "stopped", "")])
def test_what_the_sessions_record_says(failure: Failure, state: str, until: str) -> None:
    record = broken(SessionRecord("work", "s-1", "busy", iso(AT)), failure)
    assert (record.state, record.error, record.limited_until) == (state, failure.error, until)
    assert record.last_message == failure.text


def test_the_clients_own_continuation_is_the_repeat() -> None:
    item = started()
    held = failed(Queue("work", (item,)), decide_after_failure(limit(), item, untouched=True, earlier=0, at=AT))
    held = held._replace(items=tuple(one for one in held.items if not one.is_ended))
    after = continued(held, CONTINUATION)
    assert after is not None
    assert after.hold is None
    (repeat,) = after.items
    assert (repeat.state, repeat.channel, repeat.repeats) == (STARTED, "client", item.id)
    assert repeat.proof["continued_by"] == "client"


def test_a_continuation_of_what_was_half_done_starts_no_other_item() -> None:
    waiting = new_item("next", by="agent")
    after = continued(Queue("work", (waiting,)).held("limited", "x", until=iso(AT)), CONTINUATION)
    assert after == Queue("work", (waiting,))


def test_another_prompt_is_no_continuation() -> None:
    assert continued(Queue("work"), "continue") is None


def test_a_hold_of_another_cause_outlasts_the_continuation() -> None:
    queue = Queue("work", (new_item("x", by="agent"),)).held("person", "typed")
    assert continued(queue, CONTINUATION) == queue


def test_failures_in_a_row_are_those_that_an_item_repeats() -> None:
    store = MemoryStore()
    item = started()
    for earlier in range(len(PAUSES) + 2):
        assert failures_in_a_row(store, item) == min(earlier, len(PAUSES))
        ended = item
        change_queue(store, "work", lambda _queue, one=ended: Queue("work", (one,)).ended(one.id, FAILED))
        item = started()._replace(repeats=item.id)
    assert failures_in_a_row(store, None) == 0


def lines(*entries: dict[str, Any]) -> list[bytes]:
    return [json.dumps({"isSidechain": False, "timestamp": iso(AT), **entry}).encode() for entry in entries]


PROMPT = {"type": "user", "message": {"content": "build it"}}
EXPANDED = {"type": "user", "isMeta": True, "message": {"content": [{"type": "text", "text": "what it means"}]}}
ERROR = {
    "type": "assistant",
    "isApiErrorMessage": True,
    "error": "server_error",
    "message": {"model": "<synthetic>", "content": [{"type": "text", "text": "API Error: 529"}]},
}
THOUGHT = {"type": "assistant", "message": {"content": [{"type": "thinking", "thinking": "hm"}]}}
SAID = {"type": "assistant", "message": {"content": [{"type": "text", "text": "I begin."}]}}
CALLED = {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {}}]}}
RESULT = {"type": "user", "message": {"content": [{"type": "tool_result", "content": "x"}]}}
NOTE = {"type": "system", "subtype": "informational", "content": "hm"}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([PROMPT, ERROR], True),
        ([PROMPT, EXPANDED, NOTE, ERROR], True),
        ([PROMPT, THOUGHT, ERROR], True),
        ([SAID, PROMPT, ERROR, NOTE], True),
        ([PROMPT, {**SAID, "isSidechain": True}, ERROR], True),
        ([PROMPT, SAID, ERROR], False),
        ([PROMPT, CALLED, ERROR], False),
        ([PROMPT, CALLED, RESULT, ERROR], False),
        ([RESULT, ERROR], False),
        ([ERROR], False),
        ([], False),
    ],
)
def test_whether_nothing_was_done(entries: list[dict[str, Any]], expected: bool) -> None:
    assert is_untouched(lines(*entries)) is expected


def test_the_error_that_ended_the_newest_turn() -> None:
    found = failure_in(lines(PROMPT, ERROR, NOTE), AT)
    assert found is not None
    assert (found.error, found.policy) == ("server_error", LATER)
    assert failure_in(lines(PROMPT, ERROR, PROMPT), AT) is None
    assert failure_in(lines(PROMPT, SAID), AT) is None
    assert failure_in(lines(PROMPT, ERROR), AT + 1) is None
    assert failure_in([], AT) is None


ARMED = {
    "type": "system",
    "subtype": "informational",
    "content": "Usage limit reached · set to continue automatically at 1am",
}
OFF = {"type": "system", "subtype": "informational", "content": "Automatic continue cancelled · /rate-limit-options"}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([PROMPT, ERROR, ARMED], True),
        ([PROMPT, ERROR, ARMED, NOTE], True),
        ([PROMPT, ERROR, ARMED, OFF], False),
        ([PROMPT, ERROR, ARMED, PROMPT], False),
        ([PROMPT, ERROR], False),
        ([], False),
    ],
)
def test_whether_the_client_goes_on_itself(entries: list[dict[str, Any]], expected: bool) -> None:
    assert goes_on_by_itself(lines(*entries)) is expected


@given(st.lists(st.binary(max_size=80)), st.lists(st.sampled_from([PROMPT, ERROR, SAID, ARMED, NOTE])))
def test_any_lines_are_read_without_an_error(noise: list[bytes], entries: list[dict[str, Any]]) -> None:
    for text in (noise, [*noise, *lines(*entries)], [b'{"type": ' + one for one in noise]):
        failure_in(text, AT)
        is_untouched(text)
        goes_on_by_itself(text)


@given(st.sampled_from([limit(), limit(None), SERVER, LOGIN]), st.booleans(), st.integers(0, 9), st.integers(0, 3))
def test_nothing_is_sent_twice_and_nothing_is_lost(
    failure: Failure, untouched: bool, earlier: int, behind: int
) -> None:
    """The cut-off item has at most one repeat, and all behind it stays in its order."""
    item = started()
    rest = tuple(new_item(f"next {number}", by="agent") for number in range(behind))
    decision = decide_after_failure(failure, item, untouched=untouched, earlier=earlier, at=AT)
    after = failed(Queue("work", (item, *rest)), decision)
    again = failed(after, decision)
    assert [one for one in after.items if one.repeats == item.id].__len__() == int(decision.sends_again)
    assert tuple(one for one in after.items if one in rest) == rest
    assert [one.id for one in again.items] == [one.id for one in after.items]
    assert not [one for one in after.items if one.state == DONE]
