"""The doorbell in a model: whoever is killed between any two steps, Claude is woken with an item once at most."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.queue import transitions
from hookrouter.queue.documents import change_queue
from hookrouter.queue.items import DONE, FAILED, QUEUED
from hookrouter.replies import FileChangedReply
from hookrouter.storage.interface import StoreError
from hookrouter_sessions.channels import bells
from hookrouter_sessions.channels.bells import TAKEN, bell_of, make_offer, prune_bells, read_offer, take, withdraw
from support.doorbell_world import LATE, LOST, ONCE, RINGS, DoorbellWorld

MakeWorld = Callable[[Path], DoorbellWorld]


@pytest.fixture
def make_world(monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeWorld]:
    made: list[DoorbellWorld] = []

    def make(folder: Path) -> DoorbellWorld:
        folder.mkdir(exist_ok=True)
        world = DoorbellWorld(folder, monkeypatch)
        made.append(world)
        for module in ("records", "running_clients"):
            monkeypatch.setattr(f"hookrouter.sessions.{module}.is_gone", lambda pid: pid in world.dead)
        world.start_client()
        world.run_hooks()
        return world

    yield make
    for world in reversed(made):
        world.close()


@pytest.fixture
def world(make_world: MakeWorld, tmp_path: Path) -> DoorbellWorld:
    return make_world(tmp_path)


def turns(world: DoorbellWorld, count: int = 3) -> None:
    """Let Claude's turns end, and have delivered what waits."""
    for _ in range(count):
        world.run_hooks()
        world.end_turn()
        world.run_hooks()
        world.deliver()


@pytest.mark.parametrize("ring", [ONCE, "twice"])
def test_items_wake_claude_one_by_one(world: DoorbellWorld, ring: str) -> None:
    world.ring_is = ring
    items = [world.send("first\nlines"), world.send("second")]
    world.deliver()
    assert world.submitted == ["first\nlines"]
    turns(world)
    assert world.submitted == ["first\nlines", "second"]
    assert world.joined == []
    assert [world.items()[item.id].state for item in items] == [DONE, DONE]


def test_the_bell_is_a_private_file_that_is_there_before_it_is_named(world: DoorbellWorld) -> None:
    bell = Path(world.watched)
    assert (bell.name, bell.parent.name) == ("hookrouter-bell", world.session_id)
    assert bell.stat().st_mode & 0o777 == 0o600
    assert bell.parent.stat().st_mode & 0o777 == bell.parents[1].stat().st_mode & 0o777 == 0o700
    assert bell_of(world.store, world.session_id) == world.watched


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact"])
def test_it_is_named_for_every_source(world: DoorbellWorld, source: str) -> None:
    world.watched = ""
    world.fire("SessionStart", source=source, model=None)
    assert world.watched == bell_of(world.store, world.session_id) != ""


@pytest.mark.parametrize(
    ("environ", "channels", "is_given"),
    [({}, ("doorbell",), True), ({"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, ("doorbell",), False), ({}, ("stop",), False)],
)
def test_no_bell_is_given_that_nobody_rings(
    world: DoorbellWorld, environ: dict[str, str], channels: tuple[str, ...], is_given: bool
) -> None:
    world.new_session()
    world.config = world.config._with(sessions=world.config.sessions._with(channels=channels))
    world.fire("SessionStart", environ, source="startup", model=None)
    assert (bell_of(world.store, world.session_id) != "", world.watched != "") == (is_given, is_given)


def test_a_home_that_cannot_be_written_gives_no_bell_and_breaks_no_session(
    world: DoorbellWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(bells, "ensure", fail)
    world.new_session()
    world.fire("SessionStart", source="startup", model=None)
    assert world.watched == ""


def test_after_clear_the_new_session_has_a_bell_of_its_own(world: DoorbellWorld) -> None:
    before = world.watched
    world.box = "/clear"
    world.press_enter()
    world.run_hooks()
    assert world.watched not in ("", before)
    world.send("after the clearing")
    world.deliver()
    assert world.submitted[-1] == "after the clearing"


def test_bells_of_sessions_that_have_ended_are_removed(world: DoorbellWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    before, session_id = Path(world.watched), world.session_id
    world.start_client()
    world.run_hooks()
    assert before.exists(), "it may have been handed out a moment ago"
    monkeypatch.setattr(bells, "_KEPT_SECONDS", -1.0)
    prune_bells(world.home, world.store)
    assert not before.parent.exists()
    assert bell_of(world.store, session_id) == ""
    assert Path(world.watched).exists()


@pytest.mark.parametrize("ring", [LOST, LATE])
def test_an_offer_that_nobody_takes_is_withdrawn(world: DoorbellWorld, ring: str) -> None:
    world.ring_is = ring
    item = world.send("nobody takes it")
    world.deliver_for(60.0)
    kept = world.items()[item.id]
    assert (kept.state, kept.phase) == (QUEUED, "")
    assert "has started no hook that takes it" in kept.reason
    assert world.queue.hold is not None
    world.come_late()
    assert world.submitted == []


def test_a_bell_that_is_gone_is_made_anew(world: DoorbellWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    bell = Path(world.watched)
    bell.unlink()
    bells.ring(str(bell))
    assert bell.stat().st_mode & 0o777 == 0o600
    bell.unlink()
    bell.parent.rmdir()
    with pytest.raises(OSError, match="No such file"):
        bells.ring(str(bell))


def test_an_item_is_not_taken_while_a_person_s_turn_runs(world: DoorbellWorld) -> None:
    world.ring_is = LATE
    item = world.send("an item")
    change_queue(
        world.store,
        world.session,
        lambda queue: transitions.begun(queue, item.id, boot="", channel="doorbell"),
    )
    make_offer(world.store, world.session_id, item)
    world.box = "a person's words"
    world.press_enter()
    world.run_hooks()
    reply = world.fire("FileChanged", file_path=world.watched, event="change")
    assert reply is None
    assert world.joined == []


def test_a_hook_of_another_session_or_client_takes_nothing(world: DoorbellWorld) -> None:
    item = world.send("an item")
    change_queue(
        world.store,
        world.session,
        lambda queue: transitions.begun(queue, item.id, boot="", channel="doorbell"),
    )
    make_offer(world.store, world.session_id, item)
    # A second client that has opened the same session.
    assert world.fire("FileChanged", {"CLAUDE_PID": "77"}, file_path=world.watched, event="change") is None
    assert read_offer(world.store, world.session_id, item.id) == "offered"
    session_id = world.session_id
    world.session_id = "99999999-1111-4111-8111-111111111111"
    assert world.fire("FileChanged", file_path=world.watched, event="change") is None
    world.session_id = session_id
    assert isinstance(world.fire("FileChanged", file_path=world.watched, event="change"), FileChangedReply)
    assert world.fire("FileChanged", file_path=world.watched, event="change") is None


def test_an_offer_is_taken_or_withdrawn_and_never_both(world: DoorbellWorld) -> None:
    store, item, other = world.store, world.send("one"), world.send("other")
    assert take(store, "s", lambda _item: True) == ""
    make_offer(store, "s", item)
    assert take(store, "s", lambda _item: False) == ""
    assert withdraw(store, "s", item.id)
    assert take(store, "s", lambda _item: True) == ""
    make_offer(store, "s", item)
    assert withdraw(store, "s", other.id)
    assert take(store, "s", lambda name: name == item.id) == item.id
    assert take(store, "s", lambda _item: True) == ""
    assert not withdraw(store, "s", item.id)
    assert (read_offer(store, "s", item.id), read_offer(store, "s", other.id)) == (TAKEN, "")


KILLED = [(None, None), (2, None), (5, None), (None, 0), (None, 1), (None, 2), (3, 1)]
"""After how many steps the second deliverer, and the first hook, are killed."""


@pytest.mark.parametrize("ring", RINGS)
@given(first=st.integers(0, 9), others=st.sampled_from(KILLED))
def test_two_deliverers_and_a_hook_that_are_killed_at_any_step(
    make_world: MakeWorld, tmp_path: Path, ring: str, first: int, others: tuple[int | None, int | None]
) -> None:
    second, hook = others
    world = make_world(Path(tempfile.mkdtemp(dir=tmp_path)))
    world.ring_is, world.hook_killed_after = ring, hook
    sent = [world.send("only once"), world.send("the next one")]
    for killed_after in (first, second, None):
        world.deliver(killed_after)
        world.run_hooks()
    world.come_late()
    world.ring_is, world.hook_killed_after = ONCE, None
    for _ in range(3):
        world.resume()
        turns(world)
    texts = [item.text for item in sent]
    assert world.submitted == [text for text in texts if text in world.submitted]
    assert world.joined == []
    for item in sent:
        ended = world.items()[item.id]
        assert ended.state == DONE or ended.reason, ended
        assert item.text in world.submitted or ended.state == FAILED, ended
    # Whatever became of the first, the queue goes on.
    assert texts[1] in world.submitted or ring in (LOST, LATE), (first, second, hook, world.items())
    world.close()


def test_a_store_that_fails_in_the_middle_is_never_taken_for_a_no(
    world: DoorbellWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> bool:
        raise StoreError("the disk is full")

    monkeypatch.setattr("hookrouter_sessions.channels.ringing.withdraw", fail)
    item = world.send("perhaps")
    world.deliver()
    ended = world.items()[item.id]
    # The hook had taken it, and its prompt has proven that.
    assert world.submitted == ["perhaps"]
    assert ended.state != QUEUED


def test_the_files_are_this_user_s_alone(world: DoorbellWorld) -> None:
    folder = os.path.dirname(world.watched)
    assert os.stat(folder).st_mode & 0o077 == 0
