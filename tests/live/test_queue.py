"""A session's queue on the real client: each item goes in once, in order, and proven, whoever else acts or dies."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import Say, ScriptedModel, ask, bash
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from hookrouter.queue.documents import change_queue, read_queue
from hookrouter.queue.items import new_item
from hookrouter.queue.spawn import is_delivering
from hookrouter.sessions.records import SessionRecord, list_records
from support.cleared import ForgetfulModel
from support.forms import FORM
from support.managed_client import press_until
from support.matrix import mostly_long
from support.queued import SESSION, Queued
from support.resident import Resident
from support.safety import safety
from support.shared import Shared
from support.tested_client import VERSION, kill_client

pytestmark = pytest.mark.live

IS_OLD = VERSION < (2, 1, 330)


sharing = pytest.mark.xdist_group("queue")

SCRIPT = {"long": bash("tail -f /dev/null"), "form": ask(FORM)}


@contextlib.contextmanager
def _queued(folder: Path, server: PrivateTmux, channel: str) -> Iterator[Queued]:
    with ScriptedModel(SCRIPT) as model, contextlib.closing(Queued(folder, server, model, channel)) as queued:
        yield queued


@pytest.fixture
def queued(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[Queued]:
    """Return a managed client whose items the channel ``keys`` submits."""
    with _queued(tmp_path, tmux_server, "keys") as queued:
        yield queued


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared[tuple[Queued, ForgetfulModel]]]:
    @contextlib.contextmanager
    def make() -> Iterator[tuple[Queued, ForgetfulModel]]:
        folder = tmp_path_factory.mktemp("queue")
        with (
            PrivateTmux() as server,
            ForgetfulModel(SCRIPT) as model,
            contextlib.closing(Queued(folder, server, model, "keys")) as queued,
        ):
            yield queued, model

    with Shared(make, lambda lent: lent[0].begin(lent[1])) as shared:
        yield shared


@pytest.fixture
def lent(clients: Shared[tuple[Queued, ForgetfulModel]], request: pytest.FixtureRequest) -> Iterator[Queued]:
    """Return what ``queued`` returns, with a conversation of the test's own: one client for all such tests."""
    with clients.lent(request.session) as (queued, _model):
        yield queued


@pytest.fixture
def stepwise(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[Queued]:
    """Return one whose items a channel submits that can be stopped before each act."""
    with _queued(tmp_path, tmux_server, "typing") as queued:
        yield queued


def test_items_of_every_kind_are_submitted_in_order_once_and_proven(queued: Queued) -> None:
    texts = [
        "first prompt",
        "/phase:next one two",
        "!true",
        "/context",
        "after the context",
        "/clear",
        "after the clearing",
        "/rename a-name",
        "/compact keep the plan",
        "after the compaction",
        "/nope no such command",
        "held back",
    ]
    queued.send(*texts)
    hold = queued.held()

    ended = queued.ended()
    assert list(ended) == texts[:-1], queued.state()
    assert [item.state for item in ended.values()] == ["done"] * 10 + ["failed"]
    assert "Unknown command: /nope" in ended[texts[10]].reason
    assert hold.cause == "failed"
    proofs = [next(iter(item.proof.values())) for item in ended.values()]
    prompt = "UserPromptSubmit"
    assert proofs == [
        *(prompt, prompt, "shell", "command", prompt, "SessionStart", prompt),
        *("command", "PreCompact", prompt, "unknown command"),
    ]
    assert queued.prompts() == [texts[0], texts[1], texts[4], texts[6], texts[9]]
    starts = [item.started_at for item in ended.values()][:-1]
    assert starts == sorted(starts)
    assert [one["source"] for one in queued.stage.payloads("SessionStart")] == ["startup", "clear", "compact"]

    queued.resume()
    queued.wait_done()
    assert queued.prompts()[-1] == "held back"


def test_a_switch_of_the_model_that_the_client_asks_about_is_confirmed(queued: Queued) -> None:
    queued.send("first prompt", "/model sonnet", "after the switch")
    queued.wait("end or hold", lambda: not queued.queue.items or queued.queue.hold is not None)
    assert queued.queue.hold is None, queued.state()
    switch = queued.ended()["/model sonnet"]
    assert (switch.state, switch.proof["record"]) == ("done", "command"), queued.state()
    models = [request.body["model"] for request in queued.model.requests if request.body.get("tools")]
    assert ["sonnet" in model for model in (models[0], models[-1])] == [False, True], models


@sharing
def test_a_prompt_of_a_person_holds_the_queue_until_it_is_resumed(lent: Queued) -> None:
    lent.put("an item")
    lent.client.submit("a person's own words")
    hold = lent.held()
    assert (hold.cause, "a person's own words" in hold.reason) == ("person", True)
    lent.deliver().wait(30)
    lent.stage.wait_payload("Stop")
    assert lent.prompts() == ["a person's own words"]
    lent.resume()
    lent.wait_done()
    assert lent.prompts() == ["a person's own words", "an item"]


@sharing
def test_a_half_typed_text_is_waited_for(lent: Queued) -> None:
    lent.client.pane.type("half typed")
    lent.client.pane.wait_for("half typed", 10)
    lent.send("an item")
    lent.wait("look at the box", lambda: lent.queue.items[0].reason)
    assert lent.prompts() == []
    lent.client.pane.press("Enter")
    assert lent.held().cause == "person"
    lent.stage.wait_payload("Stop")
    lent.resume()
    lent.wait_done()
    assert lent.prompts() == ["half typed", "an item"]


@sharing
def test_escape_holds_the_queue_and_nothing_is_sent_afterwards(lent: Queued) -> None:
    lent.send("RUN long", "never before it is resumed")
    lent.client.pane.wait_for("tail -f", 20)
    lent.client.pane.press("Escape")
    assert lent.held().cause == "escape"
    item = lent.ended()["RUN long"]
    assert (item.state, "Escape" in item.reason) == ("failed", True)
    lent.wait("end of the deliverer", lambda: not is_delivering(lent.store, SESSION))
    assert lent.prompts() == ["RUN long"]


@sharing
def test_a_question_in_the_middle_keeps_the_next_item_back(lent: Queued) -> None:
    lent.send("ASK form", "after the answer")
    lent.client.wait_dialog("Which way?", 30)
    lent.wait("item under way", lambda: lent.queue.under_way)
    assert lent.prompts() == ["ASK form"]
    lent.press_on_dialog("Enter")
    lent.wait("end of the queue", lambda: not lent.queue.items, 60)
    assert lent.prompts() == ["ASK form", "after the answer"]


@sharing
def test_a_question_that_escape_has_closed_keeps_nothing_back_after_the_queue_is_resumed(lent: Queued) -> None:
    lent.send("ASK form", "after the question")
    lent.client.wait_dialog("Which way?", 30)
    lent.wait("item under way", lambda: lent.queue.under_way)
    lent.press_on_dialog("Escape")
    assert lent.held().cause == "escape"
    lent.resume()
    lent.wait("end or hold", lambda: not lent.queue.items or lent.queue.hold is not None)
    assert lent.prompts() == ["ASK form", "after the question"], lent.state()


@pytest.mark.skipif(IS_OLD, reason="this client has no view of agents")
@pytest.mark.long
def test_a_session_that_goes_on_in_the_background_holds_its_queue(queued: Queued) -> None:
    queued.model.script("some", [bash("sleep 4"), Say("Done.")])
    queued.send("RUN some", "never in another session")
    queued.client.pane.wait_for("sleep 4", 20)
    # For a moment after Enter no other keys get in.
    wait_until(queued.client.pane.takes_keys, 20, "input of the pane", queued.client.pane.state)
    queued.client.pane.press("Left")
    hold = queued.held()
    assert (hold.cause, "background" in hold.reason) == ("resumed", True), hold
    assert queued.ended()["RUN some"].state == "failed"
    queued.resume()
    assert queued.held().cause == "resumed"
    assert queued.prompts() == ["RUN some"]


def test_a_client_that_is_killed_holds_its_queue_also_for_the_next_one(queued: Queued) -> None:
    queued.send("RUN long", "for later")
    queued.client.pane.wait_for("tail -f", 20)
    record = queued.record
    assert record is not None
    kill_client(record.client_pid)
    assert queued.held().cause == "client_ended"
    queued.client.stop()
    queued.client = queued.start_client()
    assert queued.queue.hold is not None
    queued.deliver().wait(30)
    assert queued.prompts() == ["RUN long"]
    queued.resume()
    queued.wait_done()
    assert queued.prompts() == ["RUN long", "for later"]


@pytest.mark.parametrize("where", mostly_long(["paste", "enter"], "enter"))
def test_a_deliverer_that_is_killed_between_two_acts_is_followed_by_one_that_goes_on(
    stepwise: Queued, where: str
) -> None:
    stepwise.stop_at(where)
    stepwise.send("only once")
    stepwise.wait("stop", lambda: (stepwise.folder / "stopped").exists())
    assert stepwise.kill_deliverers()
    (stepwise.folder / "go").touch()
    stepwise.wait("end of the deliverer", lambda: not is_delivering(stepwise.store, SESSION))
    assert stepwise.queue.under_way is not None
    stepwise.deliver()
    stepwise.wait_done()
    with safety("no prompt is submitted twice"):
        assert stepwise.prompts() in ([], ["only once"])
    assert stepwise.prompts() == ["only once"]
    assert stepwise.ended()["only once"].state == "done"


@pytest.mark.long
def test_deliverers_that_are_killed_again_and_again_submit_nothing_twice_and_lose_nothing(queued: Queued) -> None:
    chance = random.Random(14)
    texts = [f"prompt number {number}" for number in range(8)]
    queued.send(*texts)
    killed = 0
    while queued.queue.items and killed < 25:
        time.sleep(chance.uniform(0.02, 0.7))
        killed += bool(queued.kill_deliverers())
        if (hold := queued.queue.hold) is not None:
            assert hold.cause == "unproven", queued.state()
            queued.resume()
        else:
            queued.deliver()
    while queued.queue.items:
        queued.wait("end or hold", lambda: not queued.queue.items or queued.queue.hold is not None, 60)
        if queued.queue.hold is not None:
            queued.resume()
    assert killed > 3
    prompts = [prompt for prompt in queued.prompts() if prompt in texts]
    with safety("no prompt is submitted twice or out of order"):
        assert prompts == [text for text in texts if text in prompts], queued.state()
    assert set(queued.ended()) == set(texts)
    for text, item in queued.ended().items():
        assert item.state == "done" or item.reason, item
        if item.state == "done":
            assert text in prompts


def fed_back(model: ScriptedModel) -> list[str]:
    """Return what Stop hooks have fed back to the model, each once; since 2.1.332 it stands in a reminder."""
    found: dict[str, None] = {}
    for message in (each for request in model.requests for each in request.body.get("messages", [])):
        content = message["content"]
        blocks = [content] if isinstance(content, str) else [str(block.get("text", "")) for block in content]
        for text in blocks if message["role"] == "user" else ():
            _, title, given = text.partition("Stop hook feedback:\n")
            if title:
                found.setdefault(given.removesuffix("\n</system-reminder>"))
    return list(found)


def test_the_reply_to_a_turns_end_is_the_item_and_nothing_else(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    with _queued(tmp_path, tmux_server, "stop") as queued:
        queued.model.script("begin", [bash("sleep 1"), Say("Begun.")])
        queued.stage.client_home.write_settings(
            {**queued.stage.client_home.read_settings(), "permissions": {"allow": ["Bash"]}}
        )
        queued.put("first by reply", "second\nby reply")
        queued.client.submit("RUN begin")
        assert queued.held().cause == "person"
        queued.resume()
        queued.wait("end or hold", lambda: not queued.queue.items or queued.queue.hold is not None)
        assert {text: item.state for text, item in queued.ended().items()} == {
            "first by reply": "done",
            "second\nby reply": "done",
        }, queued.state()
        assert fed_back(queued.model) == ["first by reply", "second\nby reply"]


@pytest.mark.parametrize("front", mostly_long(["python", "native"], "native"))
def test_a_queue_whose_hooks_a_router_serves(tmp_path: Path, tmux_server: PrivateTmux, front: str) -> None:
    def prepare(stage: Stage) -> None:
        stage.install("--front", front)

    with ScriptedModel() as model:
        queued = Queued(tmp_path, tmux_server, model, "keys", prepare=prepare, start=False)
        with contextlib.closing(queued), Resident(queued.stage.environ) as router:
            queued.client = queued.start_client()
            queued.send("first", "/phase:next one", "/clear", "last")
            queued.wait_done()
            assert router.status()["calls"] >= 8, router.status()
            assert queued.prompts() == ["first", "/phase:next one", "last"]
            assert [item.state for item in queued.ended().values()] == ["done"] * 4


def test_another_session_that_a_person_opens_holds_the_queue(queued: Queued) -> None:
    queued.send("an early prompt", "/clear", "a later prompt")
    queued.wait_done()
    # One that still looks whether there is more would submit it.
    queued.wait("end of the deliverer", lambda: not is_delivering(queued.store, SESSION))
    queued.put("for the later session")
    pane = queued.client.pane
    # A busy client loses an Enter of the moment after the last letter.
    queued.client.submit("/resume")
    # Old clients list sessions by a title that the model gives.
    pane.wait_for("an early prompt" if not IS_OLD else "Resume session", 20)
    pane.wait_for("Enter to resume" if not IS_OLD else "Esc", 20)
    press_until(queued.client, "Enter", lambda: queued.queue.hold is not None, pane.capture)
    assert queued.held().cause == "resumed", queued.state()
    assert [item.text for item in queued.queue.items] == ["for the later session"]
    assert queued.prompts() == ["an early prompt", "a later prompt"]


def test_a_clearing_outside_terminals_takes_the_queue_to_the_new_name(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    with ScriptedModel() as model:
        queued = Queued(tmp_path, tmux_server, model, "stop", start=False)
        program = find_client()
        assert program is not None
        words = ("-u", "TMUX", "-u", "TMUX_PANE", program)
        client = queued.stage.client("/usr/bin/env", tmux_server, model, words=words)
        with client:
            wait_until(lambda: list_records(queued.store), 20, "record of the session")
            (before,) = list_records(queued.store)
            assert before.terminal is None
            item = new_item("for later", by="agent")
            change_queue(queued.store, before.session, lambda queue: queue._replace(items=(item,)))
            client.submit("/clear")

            def renamed() -> SessionRecord | None:
                return next((one for one in list_records(queued.store) if one.session != before.session), None)

            after = wait_until(renamed, 30, "new name")
            wait_until(lambda: read_queue(queued.store, after.session).hold, 30, "hold", lambda: str(renamed()))
            queue = read_queue(queued.store, after.session)
            assert [one.text for one in queue.items] == ["for later"]
            assert queue.hold is not None
            assert queue.hold.cause == "person"
            assert not read_queue(queued.store, before.session).items


@sharing
def test_several_senders_at_once_have_one_deliverer(lent: Queued) -> None:
    first, second = lent.put("from one"), lent.put("from another")
    processes = [lent.deliver() for _ in range(4)]
    lent.wait_done()
    for process in processes:
        process.wait(30)
    assert lent.prompts() == [first[0].text, second[0].text]
