"""History and statistics of all machines, from an engine that keeps them; of this machine alone while it is away."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from hookrouter.cli.application import Application
from hookrouter.storage.history import HistoryBatch, KeptStory, StoryQuery
from hookrouter.storage.history_counts import DAY, day_of
from hookrouter.storage.hook_runs import Called, Run
from hookrouter.storage.interface import StoreError
from hookrouter.util.clock import iso, now
from hookrouter_fleet import others as module
from hookrouter_fleet.counts import Counts
from hookrouter_page.app import make_app
from hookrouter_page.reading.waiting import key_of
from hookrouter_page.security.logins import COOKIE, FULL
from support.memory_history import MemoryHistoryStorage
from support.resident import PATIENCE
from support.threads import join_threads

ATTEMPT = {"at": iso(), "outcome": "delivered", "channel": "keys", "reason": "", "steps": ["Enter: to submit"]}
REMINDER = f'{{"at":"{iso()}","event":"delivery","outcome":"delivered","kind":"reminder","agent":"night"}}'


def kept(machine: str, number: int, ago: float = 0.0, **other: Any) -> KeptStory:
    story: dict[str, Any] = {
        "kind": "question",
        "session": "work",
        "session_id": "s1",
        "tool_use_id": f"t{number}",
        "agent": "night",
        "asked_at": iso(now() - ago),
        "ended_at": iso(now() - ago),
        "seconds": 20.0,
        "outcome": "verified",
        "by": "agent",
        "who": "",
        "channel": "keys",
        "verified": True,
        "reason": "",
        "missed": False,
        "reminders": 1,
        "escalated": False,
        "questions": [{"header": "Way", "question": f"Which way, {number}?"}],
        "chat": None,
        "attempts": [ATTEMPT],
        **other,
    }
    at = now() - ago
    return KeptStory(machine, story, {"records": [REMINDER, "no JSON"]}, at, at, f"which way, {number}?")


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> MemoryHistoryStorage:
    storage = MemoryHistoryStorage("one")
    storage.kept = type(storage.kept)("one", looked_at=1000)
    monkeypatch.setattr(module, "open_engine", lambda *_: storage)
    return storage


@pytest.fixture
def app(tmp_path: Path) -> Starlette:
    (tmp_path / "config.toml").write_text('[storage]\nengine = "memory"\nmachine = "one"\n')
    services = Application.from_environ({**os.environ, "HOOKROUTER_HOME": str(tmp_path)}, share=False)
    own = {"at": iso(), "event": "PreToolUse", "tool": "AskUserQuestion", "outcome": "asked", "session": "work"}
    own |= {"session_id": "s1", "tool_use_id": "own", "ms": 1.0, "pid": 1}
    services.journal.write({**own, "questions": [{"header": "", "question": "Which own way?"}]}, "s1")
    return make_app(lambda: services)


def get(app: Starlette, address: str) -> tuple[int, str]:
    page = app.state.page
    _, cookie = page.logins.enter(page.logins.link_token(FULL), "anna", "")
    headers = [(b"host", page.page.address.encode()), (b"cookie", f"{COOKIE}={cookie}".encode())]
    path, _, query = f"{page.logins.root}{address}".partition("?")
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": headers}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(asyncio.wait_for(app({**scope, "client": None}, receive, send), PATIENCE))
    return sent[0]["status"], b"".join(one.get("body", b"") for one in sent[1:]).decode()


def test_all_machines_are_shown_page_by_page_with_their_names(app: Starlette, engine: MemoryHistoryStorage) -> None:
    engine.kept.append(HistoryBatch(0, {}, [kept("one", number, 3.0 * number) for number in range(30)], []))
    engine.kept.of("<two>").append(
        HistoryBatch(0, {}, [kept("<two>", number, 3.0 * number) for number in range(30)], [])
    )
    status, first = get(app, "/history")
    assert status == 200
    assert (first.count("Which way"), first.count("&lt;two&gt;</bdi>: ")) == (50, 25)
    assert "50 found on all machines" in first
    assert "Newest" not in first
    after = first.partition("after=")[2].partition('"')[0]
    _, second = get(app, f"/history?after={after}")
    assert (second.count("Which way"), "Older" in second, "Newest" in second) == (10, False, True)
    _, filtered = get(app, "/history?machine=%3Ctwo%3E&words=WAY,%207?")
    assert (filtered.count("Which way"), "<option selected>&lt;two&gt;</option>" in filtered) == (3, True)
    for made_up in ("x", "%00", "1/2/3"):
        assert get(app, f"/history?after={made_up}")[1].count("Which way") == 50


def test_where_the_engine_has_looked_so_far_is_told(app: Starlette, engine: MemoryHistoryStorage) -> None:
    engine.kept._looked_at = 5
    engine.kept.append(HistoryBatch(0, {}, [kept("one", number, number) for number in range(9)], []))
    _, text = get(app, "/history?words=8")
    assert ("0 found on all machines since " in text, "Older" in text) == (True, True)


def test_a_story_of_another_machine_has_its_steps(app: Starlette, engine: MemoryHistoryStorage) -> None:
    engine.kept.of("two").append(HistoryBatch(0, {}, [kept("two", 7)], []))
    address = f"/history/{key_of('work', 's1', 't7')}?machine=two"
    assert address in get(app, "/history")[1].replace("&amp;", "&")
    status, text = get(app, address)
    assert status == 200
    for words in (
        "<bdi>two</bdi>",
        "Which way, 7?",
        "asked of night",
        "reminder night",
        "Enter: to submit",
        "verified",
    ):
        assert words in text.replace("reminded night", "reminder night")
    assert get(app, address.replace("two", "three"))[0] == 404


def test_while_the_engine_is_away_this_machine_is_shown_and_why(
    app: Starlette, engine: MemoryHistoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> Any:
        raise StoreError("the <database> is away")

    monkeypatch.setattr(engine.kept, "stories", away)
    monkeypatch.setattr(engine.kept, "story", away)
    _, text = get(app, "/history")
    assert "Only this machine is shown: the &lt;database&gt; is away" in text
    assert ("Which own way?" in text, "1 found" in text) == (True, True)
    status, text = get(app, f"/history/{key_of('work', 's1', 't7')}?machine=two")
    assert (status, "the &lt;database&gt; is away" in text) == (503, True)
    assert "Which own way?" in get(app, f"/history/{key_of('work', 's1', 'own')}?machine=one")[1]
    get(app, "/statistics")
    join_threads("figures")
    assert "Only this machine was counted: " in get(app, "/statistics")[1]


def test_figures_are_those_of_all_machines(app: Starlette, engine: MemoryHistoryStorage) -> None:
    for machine, ms in (("one", 10.0), ("two", 40.0), ("three", 1000.0)):
        counts = Counts()
        called = Called("guard", "pre_tool_use", "ok", ms, is_wait=False)
        counts.add_run(iso(), Run("Stop", "", "passed", ms, "s1", [called]), ())
        counts.add_run(iso(now() - 40 * DAY), Run("Old", "", "passed", ms, "s1", []), ())
        counts.add_session(now())
        counts.add_story(None, kept(machine, 1).story)
        engine.kept.of(machine).append(HistoryBatch(0, {}, [], counts.rows()))
    get(app, "/statistics")
    join_threads("figures")
    assert "3 hook runs of 3 sessions on 3 machines" in get(app, "/statistics")[1]
    counted = app.state.page.counting.counted
    assert (counted.calls[-1], sum(counted.calls), counted.outcomes) == (3, 3, {"verified": [0] * 29 + [3]})
    assert counted.waited == [0, 3, 0, 0, 0, 0, 0, 0]
    assert [(row.name, row.calls) for row in counted.events] == [("Stop", 3)]
    assert counted.events[0].times.median == pytest.approx(40.0, rel=0.1)
    assert counted.plugins[0].times.longest == 1000.0
    assert day_of(now()) * DAY <= now()


@pytest.mark.parametrize("limit", [0, 3, 250])
def test_a_command_has_the_last_ones_of_each_other_machine(
    app: Starlette, engine: MemoryHistoryStorage, limit: int
) -> None:
    for machine, count in (("one", 3), ("two", 260), ("three", 1)):
        stories = [kept(machine, number, 1000.0 - number) for number in range(count)]
        engine.kept.of(machine).append(HistoryBatch(0, {}, stories, []))
    machines = app.state.page.services.machines()
    found = machines.stories("work", now() - 3600, limit)
    assert sorted(found) == ["three", "two"]
    newest = [f"t{number}" for number in range(260)][-limit:]
    assert [story["tool_use_id"] for story in found["two"]] == newest
    assert machines.stories("other", None, limit) == {"three": [], "two": []}
    assert machines.stories("other", None, limit, "two") == {"two": []}
    assert len(engine.kept.stories(StoryQuery(), 1000).stories) == 264
