"""What an agent hears of its sessions: once, at the right time, and with what it needs to go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hookrouter.cli.main import main
from hookrouter.composing import Composing
from hookrouter.config import SESSION_KINDS, Agent, Config, SessionsConfig
from hookrouter.messaging.gateway import Message
from hookrouter.messaging.pauses import begin
from hookrouter.queue.documents import Queue, change_queue
from hookrouter.queue.items import DONE, STARTED, new_item
from hookrouter.queue.messages import outgoing
from hookrouter.queue.messages.composer import MOST_DONE, SessionComposer
from hookrouter.queue.messages.data import News, session_data
from hookrouter.queue.messages.formatting import message_text
from hookrouter.sessions.records import SessionRecord, read_record
from hookrouter.util.clock import iso, now
from hookrouter.util.text import printable
from support.queue_world import World

SCHEMA = json.loads(files("hookrouter.queue").joinpath("schemas/session_message.json").read_text("utf-8"))
ALL = tuple(kind for kind in SESSION_KINDS if kind != "subagent_ended")
LIMIT_TEXT = "You've hit your 5-hour limit · resets 10:43pm (UTC)"
CONTINUATION = (
    "Your claude.ai usage limit has reset. Continue the task you were working on when the limit was reached; "
    "do not repeat work that is already complete."
)

Tell = Callable[..., World]


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tell]:
    """Return what makes a world with a started client, whose agent hears of some kinds."""
    worlds: list[World] = []

    def make(*wake_on: str, kind: str = "agent") -> World:
        world = World(tmp_path)
        worlds.append(world)
        for module in ("records", "running_clients"):
            monkeypatch.setattr(f"hookrouter.sessions.{module}.is_gone", lambda pid: pid in world.dead)
        agent = Agent(id="night", wake_on=wake_on or ALL, kind=kind)
        world.config = Config(agents=(agent,), sessions=SessionsConfig(channels=("model",), proof_wait=0.03))
        world.start_client()
        world.run_hooks()
        forget(world)
        return world

    yield make
    for world in worlds:
        world.close()


def forget(world: World) -> None:
    """Let everything that waits be delivered."""
    for message in world.messages():
        world.app.outbox.remove(message.id)


def kinds(world: World) -> list[str]:
    """Return the kinds of what would go out now."""
    outbox = world.app.outbox
    return [one.kind for one in world.messages() if outbox.tries.is_wanted(one)]


def composed(world: World, number: int = 0, attempt: int = 1) -> Message:
    """Return what would go out now, checked by the schema."""
    waiting = world.messages()[number]
    message = Composing({"sessions": SessionComposer()}, world.app)(waiting.for_gateway(waiting.gateway), attempt)
    assert not [error.message for error in Draft202012Validator(SCHEMA).iter_errors(message.data)]
    return message


def turn(world: World, prompt: str = "hello", words: str = "done") -> None:
    """A person has Claude do something."""
    world.box = prompt
    world.press_enter()
    world.run_hooks()
    world.say(words)
    world.is_busy = False
    world.hook("Stop", stop_hook_active=False, last_assistant_message=words, background_tasks=[])
    world.run_hooks()


def run_queue(world: World) -> None:
    """Deliver all that waits, and let each turn end."""
    for _ in range(20):
        world.deliver()
        world.run_hooks()
        world.end_turn()
        world.run_hooks()
        if not world.queue.items or world.queue.hold is not None:
            return


# --- turns and queues


def test_the_end_of_a_turn_is_told_with_what_is_needed(told: Tell) -> None:
    world = told()
    turn(world, words="Phase 2 is planned.\n\nNext: /clear, then /gsd:execute-phase 2")
    assert kinds(world) == ["turn_ended"]
    message = composed(world)
    assert [one["text"] for one in message.data["suggestions"]] == ["/clear", "/gsd:execute-phase 2"]
    assert "> Phase 2 is planned." in message.text
    assert f"send --session={world.session} --as=agent --json --file=-" in message.text
    assert message.data["commands"]["send"][-4:] == ["send", f"--session={world.session}", "--as=agent", "--json"]
    assert message.data["id"] == message.id


def test_by_default_only_a_queue_is_told_of(told: Tell) -> None:
    world = told(*Agent(id="x").wake_on)
    turn(world)
    world.hook("Notification", notification_type="idle_prompt", message="Claude is waiting for your input")
    world.run_hooks()
    assert kinds(world) == []
    world.send("build it")
    run_queue(world)
    assert kinds(world) == ["queue_done"]


def test_nothing_is_told_while_an_item_follows_and_one_thing_when_the_queue_is_done(told: Tell) -> None:
    world = told()
    for text in ("one", "two", "three"):
        world.send(text)
    run_queue(world)
    assert kinds(world) == ["queue_done"]
    done = composed(world).data["done"]
    assert sorted((one["text"], one["state"]) for one in done) == [("one", "done"), ("three", "done"), ("two", "done")]


def test_what_was_done_is_told_since_the_last_message_and_again_if_that_is_tried_again(told: Tell) -> None:
    world = told()
    world.send("one")
    run_queue(world)
    for attempt in (1, 2):
        assert [one["text"] for one in composed(world, attempt=attempt).data["done"]] == ["one"]
    forget(world)
    world.send("two")
    run_queue(world)
    assert [one["text"] for one in composed(world).data["done"]] == ["two"]


def test_a_queue_that_ends_in_a_local_command_is_done_once(told: Tell) -> None:
    world = told()
    world.send("one")
    world.send("/rename two")
    run_queue(world)
    run_queue(world)
    assert kinds(world) == ["queue_done"]
    assert sorted(one["text"] for one in composed(world).data["done"]) == ["/rename two", "one"]


def test_a_queue_that_ends_in_clear_is_done(told: Tell) -> None:
    world = told("queue_done")
    world.send("/clear")
    run_queue(world)
    assert [one.kind for one in world.messages()] == ["queue_done"]


def test_a_message_that_is_overtaken_is_dropped_unsent(told: Tell) -> None:
    world = told()
    turn(world)
    assert kinds(world) == ["turn_ended"]
    world.box = "more"
    world.press_enter()
    world.run_hooks()
    assert kinds(world) == []


def test_a_turn_with_subagents_at_work_is_told_when_it_is_over(told: Tell) -> None:
    world = told()
    running = [{"id": "a", "type": "subagent", "status": "running", "description": "look"}]
    world.hook("Stop", stop_hook_active=False, last_assistant_message="started one", background_tasks=running)
    world.run_hooks()
    assert kinds(world) == []
    world.hook("UserPromptSubmit", prompt="<task-notification>\n<summary>done</summary>\n</task-notification>")
    world.hook("Stop", stop_hook_active=False, last_assistant_message="all done", background_tasks=[])
    world.run_hooks()
    assert kinds(world) == ["turn_ended"]
    assert composed(world).data["message"] == "all done"


def test_if_no_other_end_comes_the_idle_notice_tells_that_the_turn_is_over(told: Tell) -> None:
    world = told()
    running = [{"id": "a", "type": "subagent", "status": "running", "description": "look"}]
    world.hook("Stop", stop_hook_active=False, last_assistant_message="started one", background_tasks=running)
    world.hook("Notification", notification_type="idle_prompt", message="Claude is waiting for your input")
    world.run_hooks()
    assert kinds(world) == ["turn_ended"]


def test_a_shell_in_the_background_is_told_and_keeps_nothing_back(told: Tell) -> None:
    world = told()
    running = [{"id": "b", "type": "shell", "status": "running", "description": "dev server", "command": "npm run dev"}]
    world.hook("Stop", stop_hook_active=False, last_assistant_message="it runs", background_tasks=running)
    world.run_hooks()
    assert composed(world).data["background"] == ["shell: dev server"]


def test_idle_is_told_once_and_not_after_the_turns_end_was(told: Tell) -> None:
    notice = {"notification_type": "idle_prompt", "message": "Claude is waiting for your input"}
    world = told()
    turn(world)
    world.hook("Notification", **notice)
    world.run_hooks()
    assert kinds(world) == ["turn_ended"]


def test_idle_is_told_to_an_agent_that_hears_of_no_turns(told: Tell) -> None:
    world = told("idle")
    turn(world)
    for _ in range(2):
        world.hook("Notification", notification_type="idle_prompt", message="Claude is waiting for your input")
    world.hook("Notification", notification_type="permission_prompt", message="Claude needs your permission")
    world.run_hooks()
    assert kinds(world) == ["idle"]


def test_a_hook_that_runs_twice_tells_once(told: Tell) -> None:
    world = told()
    turn(world)
    known = read_record(world.store, world.session)
    assert known is not None
    outgoing.turn_ended(world.app, known, world.queue)
    assert kinds(world) == ["turn_ended"]


def test_a_paused_session_tells_of_no_turns(told: Tell) -> None:
    world = told()
    begin(world.store, world.session)
    turn(world)
    assert world.messages() == []


def test_an_unmanaged_session_tells_nothing(told: Tell) -> None:
    world = told()
    world.config = world.config._with(agents=(Agent(id="night", sessions=("other",), wake_on=ALL),))
    turn(world)
    assert world.messages() == []


# --- holds


def test_a_person_who_takes_over_holds_the_queue_and_the_agent_hears_of_it(told: Tell) -> None:
    world = told()
    world.send("one")
    world.send("two")
    world.deliver()
    world.run_hooks()
    world.box = "I do it myself"
    world.press_enter()
    world.run_hooks()
    assert kinds(world) == ["queue_held"]
    message = composed(world)
    assert message.data["queue"]["hold"]["cause"] == "person"
    assert "queue resume --session=" in message.text
    world.resume()
    assert kinds(world) == []


def test_an_unproven_item_is_told_with_the_registry_and_the_screen(told: Tell) -> None:
    world = told()
    record = SessionRecord(world.session, world.session_id, "idle", iso(), cwd=str(world.home.root))
    queue = Queue(world.session, (new_item("two", by="agent"),)).held("unproven", "nothing has proven it")
    change_queue(world.store, world.session, lambda _queue: queue)
    outgoing.queue_held(world.app, record, queue, status="idle", screen=("❯ two", "\x1b[2J"))
    message = composed(world)
    assert (message.data["status"], message.data["screen"]) == ("idle", ["❯ two", "\\x1b[2J"])
    assert "> ❯ two" in message.text


# --- errors and limits


def start(world: World, text: str = "build it") -> None:
    world.send(text)
    world.deliver()
    world.run_hooks()
    assert world.queue.items[0].state == STARTED


def test_a_limit_is_told_with_its_end_and_the_prompt_is_sent_again_once(told: Tell) -> None:
    world = told()
    start(world)
    until = int(now()) + 1800
    limits = {"status": "rejected", "resetsAt": until, "rateLimitType": "five_hour"}
    world.fail_turn("rate_limit", LIMIT_TEXT, apiError="usage_limit_reached", quotaLimits=limits)
    world.run_hooks()
    assert kinds(world) == ["limited"]
    data = composed(world).data
    assert (data["state"], data["until"], data["error"]["limit"]) == ("limited", iso(until), "five_hour")
    assert data["error"]["sent_again"] is True
    (repeat,) = world.queue.items
    assert (repeat.text, repeat.state) == ("build it", "queued")
    assert world.queue.hold is not None
    assert world.queue.hold.until == iso(until)


def test_the_clients_own_continuation_ends_the_hold_and_is_no_persons_prompt(told: Tell) -> None:
    world = told()
    start(world)
    limits = {"status": "rejected", "resetsAt": int(now()) + 1800, "rateLimitType": "five_hour"}
    world.fail_turn("rate_limit", LIMIT_TEXT, apiError="usage_limit_reached", quotaLimits=limits)
    world.run_hooks()
    world.box = CONTINUATION
    world.press_enter()
    world.run_hooks()
    assert world.queue.hold is None
    assert world.queue.items[0].state == STARTED
    assert kinds(world) == []
    world.end_turn()
    world.run_hooks()
    assert world.queue.items == ()
    assert kinds(world) == ["queue_done"]
    assert sorted(one["state"] for one in composed(world).data["done"]) == ["done", "failed"]


def test_after_the_limit_the_queue_goes_on_by_itself(told: Tell) -> None:
    world = told()
    start(world)
    limits = {"status": "rejected", "resetsAt": now() + 0.2, "rateLimitType": "five_hour"}
    world.fail_turn("rate_limit", LIMIT_TEXT, apiError="usage_limit_reached", quotaLimits=limits)
    world.run_hooks()
    for _ in range(200):
        world.deliver()
        world.run_hooks()
        if world.queue.items and world.queue.items[0].state == STARTED:
            break
    world.end_turn()
    world.run_hooks()
    assert world.submitted == ["build it", "build it"]
    assert sorted((item.state, bool(item.repeats)) for item in world.items().values()) == [
        ("done", True),
        ("failed", False),
    ]


def test_what_was_half_done_is_not_sent_again(told: Tell) -> None:
    world = told()
    start(world)
    world.send("next")
    world.say("I begin.")
    world.fail_turn("rate_limit", LIMIT_TEXT)
    world.run_hooks()
    assert [item.text for item in world.queue.items] == ["next"]
    assert composed(world).data["error"]["sent_again"] is False


def test_an_error_of_the_server_pauses_the_queue_and_one_of_the_login_holds_it(told: Tell) -> None:
    world = told()
    start(world)
    world.fail_turn("server_error", "API Error: 529 Overloaded.")
    world.run_hooks()
    assert kinds(world) == ["failed"]
    assert world.queue.hold is not None
    assert world.queue.hold.until
    world.resume()
    run_queue(world)
    start(world, "again")
    world.send("next")
    world.fail_turn("authentication_failed", "Invalid API key · Fix external API key")
    world.run_hooks()
    assert world.queue.hold is not None
    assert world.queue.hold.until == ""
    assert [item.text for item in world.queue.items] == ["next"]


def test_without_the_kinds_of_errors_a_held_queue_is_told_as_such(told: Tell) -> None:
    world = told(*Agent(id="x").wake_on)
    start(world)
    world.fail_turn("server_error", "API Error: 529 Overloaded.")
    world.run_hooks()
    assert kinds(world) == ["queue_held"]
    assert composed(world).data["error"]["kind"] == "server_error"


def test_a_forks_error_is_nobodys(told: Tell) -> None:
    world = told()
    start(world)
    world.hook("StopFailure", error="invalid_request", last_assistant_message="Prompt is too long", agent_id="abc")
    world.run_hooks()
    assert world.messages() == []
    assert world.queue.items[0].state == STARTED


def test_an_older_client_says_stop_after_an_error_too(told: Tell) -> None:
    """2.0.76 has no StopFailure."""
    world = told()
    start(world)
    content = [{"type": "text", "text": "You've hit your session limit · resets 10:54pm (UTC)"}]
    message = {"role": "assistant", "model": "<synthetic>", "content": content}
    world.record("assistant", message=message, error="rate_limit", isApiErrorMessage=True, version="2.0.76")
    world.hook("Stop", stop_hook_active=False)
    world.run_hooks()
    assert kinds(world) == ["limited"]
    assert [item.text for item in world.queue.items] == ["build it"]


# --- sessions and subagents


def test_beginning_and_end_of_a_session_are_told(told: Tell) -> None:
    world = told("session_started", "session_ended")
    world.hook("SessionEnd", reason="prompt_input_exit")
    world.run_hooks()
    assert [one.kind for one in world.messages()] == ["session_ended"]
    forget(world)
    world.start_client()
    world.run_hooks()
    assert [one.kind for one in world.messages()] == ["session_started"]


def test_a_session_that_goes_on_after_clear_has_not_ended(told: Tell) -> None:
    world = told("session_ended")
    world.hook("SessionEnd", reason="clear")
    world.run_hooks()
    assert world.messages() == []


def test_a_subagents_end_is_told_if_it_is_named_and_a_forks_never(told: Tell) -> None:
    ended = {
        "agent_id": "a1",
        "stop_hook_active": False,
        "agent_transcript_path": "",
        "last_assistant_message": "found",
    }
    world = told("subagent_ended")
    world.hook("SubagentStop", agent_type="", **ended)
    world.run_hooks()
    assert world.messages() == []
    world.hook("SubagentStop", agent_type="Explore", **ended)
    world.run_hooks()
    assert [one.kind for one in world.messages()] == ["subagent_ended"]
    assert composed(world).data["message"] == "found"


def test_a_subagents_end_is_not_told_unless_it_is_named(told: Tell) -> None:
    world = told()
    world.hook("SubagentStop", agent_type="Explore", agent_id="a1", stop_hook_active=False, agent_transcript_path="")
    world.run_hooks()
    assert world.messages() == []


# --- what goes out


def test_the_advice_comes_once_for_each_session_and_with_gsd_its_cycle(told: Tell, tmp_path: Path) -> None:
    (tmp_path / ".planning").mkdir()
    (tmp_path / ".planning" / "ROADMAP.md").write_text("x")
    world = told()
    turn(world)
    first = composed(world).text
    assert "# How to judge a finished turn" in first
    assert "/gsd:plan-phase N" in first
    assert composed(world, attempt=2).text == first
    forget(world)
    turn(world)
    assert "# How to judge a finished turn" not in composed(world).text


def test_a_person_gets_no_advice_and_no_json(told: Tell) -> None:
    world = told(kind="person")
    turn(world)
    message = composed(world)
    assert message.data["answer_from"] == "person"
    assert "--json" not in message.text
    assert "How to judge" not in message.text


def test_the_context_that_is_used_is_told(told: Tell) -> None:
    world = told()
    usage = {"input_tokens": 1200, "cache_creation_input_tokens": 20000, "cache_read_input_tokens": 130000}
    message = {"role": "assistant", "model": "claude-opus-5-5", "content": [], "usage": usage}
    world.record("assistant", message=message, version="2.1.330")
    turn(world)
    used = composed(world).data["context"]["used"]
    assert used == {"tokens": 151200, "window": 1_000_000, "percent": 15}
    assert "Context used: 151,200 of 1,000,000 tokens (15 %)" in composed(world).text


def test_no_more_than_the_last_items_are_told(told: Tell) -> None:
    world = told()
    for number in range(MOST_DONE + 5):
        item = new_item(f"item {number}", by="agent")
        change_queue(
            world.store, world.session, lambda _queue, one=item: Queue(world.session, (one,)).ended(one.id, DONE)
        )
    turn(world)
    assert len(composed(world).data["done"]) == MOST_DONE


def test_what_the_composer_does_not_know_is_left_alone(told: Tell) -> None:
    app = told().app
    other = Message("question", "a", "g", "s", "i", "", "x", "y")
    assert SessionComposer().compose(other, 1, app) is None
    assert SessionComposer().compose(other._replace(kind="turn_ended"), 1, app) is None


@given(st.text(max_size=200), st.text(max_size=200), st.sampled_from(SESSION_KINDS), st.booleans())
def test_no_text_leaves_its_quotation_or_steers_a_terminal(
    message: str, reason: str, kind: str, to_person: bool
) -> None:
    record = SessionRecord("work", "i-1", "idle", iso(), last_message=message, background=(message,))
    queue = Queue("work", (new_item("x", by="agent")._replace(text=message, reason=reason),)).held("person", reason)
    news = News(reason=reason, status=message, screen=(message,))
    data = session_data(kind, "night", record, queue, news, ["/bin/hookrouter"], {}, to_person=to_person)
    text = message_text({**data, "suggestions": []})
    assert text == printable(text, keep_newlines=True)
    assert not [error.message for error in Draft202012Validator(SCHEMA).iter_errors(data)]
    plain = message_text(
        session_data(
            kind,
            "night",
            record._replace(last_message="m", background=("m",)),
            Queue("work", (new_item("m", by="agent"),)).held("person", "m"),
            News(reason="m", status="m", screen=("m",)),
            ["/bin/hookrouter"],
            {},
            to_person=to_person,
        )
    )
    own = {line for line in plain.split("\n") if not line.startswith(">")}
    assert {line for line in text.split("\n") if not line.startswith(">")} <= own | {""}


def test_the_advice_can_be_read_again(hookrouter_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "--guidance"]) == 0
    assert "# How to judge a finished turn" in capsys.readouterr().out
