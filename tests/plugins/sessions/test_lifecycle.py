"""What each hook notes of a session, and what it does to the session's queue."""

from __future__ import annotations

from typing import Any

import pytest

from hookrouter.config import Agent, Config, SessionsConfig
from hookrouter.queue.delivery.sight import client_mark
from hookrouter.queue.documents import change_queue, read_queue, remove_queue
from hookrouter.queue.editing import edited
from hookrouter.queue.items import DELIVERING, DONE, FAILED, QUEUED, STARTED, Item
from hookrouter.sessions.records import SessionRecord, change_record, list_records, read_record, remove_record
from hookrouter.terminals import TerminalAddress
from hookrouter.util.clock import iso
from hookrouter_sessions.channels.offers import MOST_IN_A_ROW, make_offer
from support.queue_world import World

TURN_OVER: dict[str, Any] = {"stop_hook_active": False, "last_assistant_message": "done", "background_tasks": []}


def record(world: World) -> SessionRecord:
    found = read_record(world.store, world.session)
    assert found is not None
    return found


def under_way(world: World, text: str, state: str, *, phase: str = "entered") -> Item:
    """Have an item in this state, as if a channel had brought it so far: later than all before."""
    item = world.send(text)
    begun = _next_moment(item.queued_at)
    changed = item._replace(state=state, phase=phase, delivering_at=begun, channel="model", boot="b 1")
    change_queue(world.store, world.session, lambda queue: queue.with_item(changed))
    _next_moment(begun)
    return item


def in_a_terminal(world: World) -> Item:
    """Have the session be known as ``managed``, with an item in its queue, as one in a terminal is."""
    item = world.send("an item")
    change_record(world.store, "managed", lambda _there: record(world)._replace(session="managed"))
    change_queue(world.store, "managed", lambda queue: queue._replace(items=(item,)))
    remove_record(world.store, world.session)
    remove_queue(world.store, world.session)
    return item


def _next_moment(moment: str) -> str:
    """Wait until the time, to the millisecond, is another one; return it."""
    while (now := iso()) == moment:
        pass
    return now


def test_a_session_is_known_from_its_first_hook_on(world: World) -> None:
    known = record(world)
    assert (known.state, known.event, known.client_pid) == ("idle", "SessionStart", world.pid)
    world.fire("UserPromptSubmit", prompt="x", prompt_id="p1", permission_mode="plan")
    known = record(world)
    assert (known.state, known.event, known.prompt_id, known.permission_mode) == (
        *("busy", "UserPromptSubmit"),
        *("p1", "plan"),
    )
    world.fire("Stop", **TURN_OVER)
    known = record(world)
    assert (known.state, known.last_message) == ("idle", "done")
    world.fire("SessionEnd", reason="other")
    assert record(world).state == "gone"


@pytest.mark.parametrize(
    ("environ", "fields"),
    [
        ({}, {"agent_id": "a1"}),
        ({"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, {}),
        ({"CLAUDE_PID": "77"}, {}),
        ({"CLAUDE_PID": "77", "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, {}),
    ],
)
def test_events_that_are_not_the_sessions_own_change_nothing(
    world: World, environ: dict[str, str], fields: dict[str, Any]
) -> None:
    item = world.send("an item")
    before = dict(world.store.documents)
    for event, own in (
        ("SessionStart", {"source": "resume"}),
        ("UserPromptSubmit", {"prompt": "of another client"}),
        ("Stop", TURN_OVER),
        ("PreCompact", {"trigger": "manual", "custom_instructions": None}),
        ("SessionEnd", {"reason": "other"}),
    ):
        world.fire(event, environ, **own, **fields)
    assert world.store.documents == before
    assert world.queue.items == (item,)


def test_a_client_that_ends_with_its_terminal_leaves_the_queue_its_name(world: World) -> None:
    # Of a terminal that is gone nobody can say how its session was called.
    item = in_a_terminal(world)
    world.fire("SessionEnd", reason="other")
    known = read_record(world.store, "managed")
    assert known is not None
    assert (known.state, list_records(world.store)) == ("gone", [known])
    queue = read_queue(world.store, "managed")
    assert (queue.items, queue.hold and queue.hold.cause) == ((item,), "client_ended")
    assert read_queue(world.store, world.session).items == ()


def test_a_client_in_the_background_takes_no_queue_from_the_one_in_the_terminal(world: World) -> None:
    item = in_a_terminal(world)
    known = read_record(world.store, "managed")
    world.fire("UserPromptSubmit", {"CLAUDE_PID": "77"}, prompt="to the one in the background")
    assert list_records(world.store) == [known]
    assert read_queue(world.store, "managed").items == (item,)
    # The terminal's client is gone: the one in the background is the session's then, and the queue stays.
    world.dead.add(world.pid)
    world.fire("UserPromptSubmit", {"CLAUDE_PID": "77"}, prompt="to the one in the background")
    assert read_queue(world.store, "managed").items == (item,)


def test_a_prompt_that_is_the_item_proves_it_and_the_turns_end_ends_it(world: World) -> None:
    item = under_way(world, "an item", DELIVERING)
    world.send("the next one")
    world.fire("UserPromptSubmit", prompt="an item\n")
    assert world.items()[item.id].state == STARTED
    world.fire("UserPromptSubmit", prompt="an item\n")
    assert world.queue.hold is None
    world.fire("Stop", **TURN_OVER)
    assert world.items()[item.id].state == DONE
    assert [one.state for one in world.queue.items] == [QUEUED]


def test_the_turns_end_ends_an_item_of_which_no_hook_has_told(world: World) -> None:
    # UserPromptSubmit's hook was killed: the transcript has it, and the deliverer may not have looked yet.
    item = under_way(world, "one", DELIVERING)
    world.record("user", content="one")
    world.fire("Stop", **TURN_OVER)
    assert world.items()[item.id].state == DONE


def test_an_item_is_done_whose_turn_was_over_before_the_transcript_had_proven_it(world: World) -> None:
    item = under_way(world, "one", DELIVERING)
    world.fire("Stop", **TURN_OVER)
    world.record("user", content="one")
    mark = client_mark(record(world))
    change_queue(world.store, world.session, lambda queue: queue.with_item(queue.items[0]._replace(boot=mark)))
    world.deliver()
    assert world.items()[item.id].state == DONE


def test_a_session_works_on_an_item_of_which_the_transcript_alone_tells(world: World) -> None:
    item = under_way(world, "one", DELIVERING)
    world.record("user", content="one")
    mark = client_mark(record(world))
    change_queue(world.store, world.session, lambda queue: queue.with_item(queue.items[0]._replace(boot=mark)))
    world.deliver()
    assert (world.items()[item.id].state, record(world).state) == (STARTED, "busy")
    world.fire("Stop", **TURN_OVER)
    assert world.items()[item.id].state == DONE


def test_another_prompt_fails_the_item_and_says_what_was_submitted(world: World) -> None:
    item = under_way(world, "an item", DELIVERING)
    world.fire("UserPromptSubmit", prompt="half typed an item")
    failed = world.items()[item.id]
    assert (failed.state, failed.proof) == (FAILED, {"submitted": "half typed an item"})
    assert world.queue.hold is not None
    assert world.queue.hold.cause == "person"


def test_another_prompt_leaves_an_item_under_way_that_its_channel_can_only_bring_exactly(world: World) -> None:
    item = under_way(world, "an item", DELIVERING)
    change_queue(world.store, world.session, lambda queue: queue.with_item(queue.items[0]._replace(exact=True)))
    world.fire("UserPromptSubmit", prompt="a person's")
    assert world.items()[item.id].state == DELIVERING
    assert world.queue.hold is not None
    assert world.queue.hold.cause == "person"
    world.fire("UserPromptSubmit", prompt="an item")
    assert world.items()[item.id].state == STARTED


def test_another_prompt_before_any_act_only_holds_the_queue(world: World) -> None:
    item = under_way(world, "an item", DELIVERING, phase="")
    world.fire("UserPromptSubmit", prompt="a person's")
    assert world.items()[item.id].state == QUEUED
    assert world.queue.hold is not None


def test_a_prompt_in_a_session_without_a_queue_leaves_nothing(world: World) -> None:
    world.fire("UserPromptSubmit", prompt="a person's")
    assert world.queue == read_queue(world.store, "another")._replace(session=world.session)


def test_a_prompt_that_the_client_gives_itself_is_no_persons(world: World) -> None:
    world.send("an item")
    world.fire("UserPromptSubmit", prompt="<task-notification>\n<task-id>b1</task-id>\n</task-notification>")
    assert world.queue.hold is None
    assert record(world).state == "busy"


def test_a_turn_lasts_as_long_as_its_subagents(world: World) -> None:
    item = under_way(world, "an item", STARTED)
    task = {"id": "a1", "type": "subagent", "status": "running", "description": "looks", "agent_type": "Explore"}
    world.fire("Stop", **{**TURN_OVER, "background_tasks": [task]})
    assert (record(world).state, record(world).background) == ("busy", ("subagent: looks",))
    assert world.items()[item.id].state == STARTED
    world.fire("Stop", **TURN_OVER)
    assert world.items()[item.id].state == DONE


def test_a_shell_in_the_background_lets_the_queue_go_on(world: World) -> None:
    item = under_way(world, "an item", STARTED)
    task = {"id": "b1", "type": "shell", "status": "running", "description": "serves", "command": "x"}
    world.fire("Stop", **{**TURN_OVER, "background_tasks": [task]})
    assert record(world).state == "idle"
    assert world.items()[item.id].state == DONE


def test_a_persons_clear_takes_the_queue_along_and_holds_it(world: World) -> None:
    item, former = world.send("an item"), world.session
    world.fire("SessionEnd", reason="clear")
    assert record(world).state == "busy"
    world.new_session()
    world.fire("SessionStart", source="clear")
    assert world.session != former
    assert [one.session for one in list_records(world.store)] == [world.session]
    assert world.queue.items == (item,)
    assert world.queue.hold is not None
    assert (world.queue.hold.cause, world.queue.session_id) == ("person", world.session_id)
    assert not read_queue(world.store, former).items


def test_a_queue_whose_move_was_cut_off_is_found_by_the_next_start(world: World) -> None:
    world.send("an item")
    change_queue(world.store, world.session, lambda queue: queue._replace(client_pid=world.pid))
    former = world.session
    world.store.delete("session", former)
    world.new_session()
    world.fire("SessionStart", source="clear")
    assert [one.text for one in world.queue.items] == ["an item"]
    assert not read_queue(world.store, former).items


def test_of_a_renamed_session_the_old_name_goes_to_the_client_that_has_it_now(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    item, first = in_a_terminal(world), world.pid
    name = "managed"
    monkeypatch.setattr(
        "hookrouter.queue.names.locate",
        lambda *_: (TerminalAddress("fake", session=name, target="%1", server=""), ""),
    )

    at = TerminalAddress("fake", session="managed", target="%1", server="")
    change_record(world.store, "managed", lambda there: there and there._replace(terminal=at))
    world.terminal = at._replace(target="%2")

    def second_client_starts() -> None:
        world.fire("SessionStart", {"CLAUDE_PID": "77"}, session_id="second", source="startup", model="m")

    second_client_starts()
    assert [(one.session, one.client_pid) for one in list_records(world.store)] == [("managed", first)]
    name = "renamed"
    second_client_starts()
    assert [(one.session, one.client_pid, one.former_names) for one in list_records(world.store)] == [
        ("managed", 77, ()),
        ("renamed", first, ("managed",)),
    ]
    assert read_queue(world.store, "managed").items == ()
    assert read_queue(world.store, "renamed").items == (item,)


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_another_session_in_the_same_client_holds_the_queue(world: World, source: str) -> None:
    world.send("an item")
    world.fire("SessionEnd", reason="resume")
    world.new_session()
    world.fire("SessionStart", source=source)
    assert world.queue.hold is not None
    assert world.queue.hold.cause == "resumed"


def test_a_queue_that_an_earlier_client_has_left_is_held(world: World) -> None:
    first, second = under_way(world, "an item", DELIVERING), world.send("the next one")
    change_queue(world.store, world.session, lambda queue: queue._replace(client_pid=world.pid, session_id="x"))
    world.dead.add(world.pid)
    world.pid += 1
    world.fire("SessionStart", source="startup")
    assert world.queue.hold is not None
    assert world.queue.hold.cause == "earlier_client"
    assert world.items()[first.id].state == FAILED
    assert [one.id for one in world.queue.items] == [second.id]


def test_a_queue_from_before_any_client_is_the_first_ones(world: World) -> None:
    world.send("an item")
    world.store.delete("session", world.session)
    world.fire("SessionStart", source="startup")
    assert world.queue.hold is None


def test_the_end_of_the_client_holds_the_queue(world: World) -> None:
    item = under_way(world, "an item", STARTED)
    world.send("the next one")
    world.fire("SessionEnd", reason="prompt_input_exit")
    assert world.queue.hold is not None
    assert world.queue.hold.cause == "client_ended"
    assert world.items()[item.id].state == FAILED


def test_a_compaction_of_the_clients_own_is_no_persons(world: World) -> None:
    world.send("an item")
    world.fire("PreCompact", trigger="auto", custom_instructions=None)
    assert world.queue.hold is None
    world.fire("PreCompact", trigger="manual", custom_instructions=None)
    assert world.queue.hold is not None


def with_stop_channel(world: World) -> None:
    world.config = Config(agents=(Agent(id="night"),), sessions=SessionsConfig(channels=("stop",)))


def test_an_offered_prompt_is_the_reply_to_the_end_of_a_turn_and_proven_by_the_next(world: World) -> None:
    with_stop_channel(world)
    item = world.send("go on with this")
    make_offer(world.store, world.session, item.id)
    reply = world.fire("Stop", **TURN_OVER)
    assert reply is not None
    assert world.items()[item.id].state == DELIVERING
    assert record(world).state == "busy"
    assert world.fire("Stop", **{**TURN_OVER, "stop_hook_active": True}) is None
    done = world.items()[item.id]
    assert (done.state, done.proof["event"]) == (DONE, "Stop")


@pytest.mark.parametrize("text", ["/clear", "!ls"])
def test_an_offered_prompt_that_was_edited_into_a_command_is_no_reply(world: World, text: str) -> None:
    with_stop_channel(world)
    item = world.send("go on with this")
    make_offer(world.store, world.session, item.id)
    change_queue(world.store, world.session, lambda queue: edited(queue, item.id, text, by="agent"))
    assert world.fire("Stop", **TURN_OVER) is None
    assert (world.items()[item.id].state, world.items()[item.id].text) == (QUEUED, text)


@pytest.mark.parametrize(
    ("text", "given", "state"),
    [
        ("go on", "go on", DONE),
        # As 2.1.332 writes its own tags.
        ("a </system-reminder> b", "a &lt;/system-reminder> b", DONE),
        ("go on", "another hook's words\ngo on", DONE),
        ("go on " * 20_000, "go on " * 8000 + "\n...\n</persisted-output>", FAILED),
        ("go on", "go off", FAILED),
    ],
)
def test_a_reply_is_compared_with_what_the_client_recorded(world: World, text: str, given: str, state: str) -> None:
    with_stop_channel(world)
    item, behind = world.send(text), world.send("the next one")
    make_offer(world.store, world.session, item.id)
    assert world.fire("Stop", **TURN_OVER) is not None
    world.record("user", content=f"Stop hook feedback:\n{given}")
    world.fire("Stop", **{**TURN_OVER, "stop_hook_active": True})
    assert world.items()[item.id].state == state
    assert [one.id for one in world.queue.items] == [behind.id]
    assert (world.queue.hold is not None) is (state == FAILED)
    if world.queue.hold is not None:
        assert "the client has cut or changed this one" in world.queue.hold.reason


def test_no_more_replies_are_given_in_a_row_than_the_client_takes(world: World) -> None:
    with_stop_channel(world)
    for item in [world.send(f"prompt {number}") for number in range(MOST_IN_A_ROW + 2)]:
        make_offer(world.store, world.session, item.id)
    replies = [world.fire("Stop", **{**TURN_OVER, "stop_hook_active": number > 0}) for number in range(12)]
    assert [reply is not None for reply in replies] == [True] * MOST_IN_A_ROW + [False] * 4
    assert len(world.queue.items) == 2
    assert world.fire("Stop", **TURN_OVER) is not None


@pytest.mark.parametrize("why", ["held", "another is next", "no offer"])
def test_a_prompt_is_no_reply_if_something_keeps_it(world: World, why: str) -> None:
    with_stop_channel(world)
    if why == "another is next":
        world.send("the first one")
    item = world.send("go on with this")
    if why != "no offer":
        make_offer(world.store, world.session, item.id)
    if why == "held":
        change_queue(world.store, world.session, lambda queue: queue.held("asked", "wait"))
    assert world.fire("Stop", **TURN_OVER) is None
    assert world.items()[item.id].state == QUEUED


def test_a_session_that_begins_has_those_forgotten_that_ended_long_ago(world: World) -> None:
    fresh = record(world)._replace(session="yesterday", state="gone")
    old = fresh._replace(session="long-ago", since="2020-01-01T00:00:00.000Z")
    for one in (fresh, old):
        change_record(world.store, one.session, lambda _before, one=one: one)  # type: ignore[misc]
    world.pid += 1
    world.new_session()
    world.fire("SessionStart", source="startup")
    assert {one.session for one in list_records(world.store)} >= {"yesterday"}
    assert read_record(world.store, "long-ago") is None
