"""The gate's letter box for mods: who is there, what is given again, and what is forgotten."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._serving.gate.messages import BadRequest, Handing, asking, ended, handing, session_of
from hookrouter._serving.gate.prompt_api import answer_prompts
from hookrouter._serving.gate.prompts import FORGOTTEN, MAX_HANDED, PRESENT, Mods

LOOP = asyncio.Runner()
FIRST = Handing("one", "prompt", "go on", "")


class Stage:
    """Mods by a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.mods = Mods(lambda: self.now)

    def ask(self, mod: str = "m", session: str = "s", has: frozenset[str] = frozenset()) -> Handing | None:
        return run(self.mods.ask(mod, session, has, 0))


def run(what: Coroutine[Any, Any, Any]) -> Any:
    """Run it in the one loop that events of all tests belong to."""
    return LOOP.run(what)


def test_a_mod_is_there_for_a_while_after_it_has_asked() -> None:
    stage = Stage()
    assert stage.mods.of_session("s") is None
    assert stage.ask() is None
    assert stage.mods.of_session("s") == "m"
    assert stage.mods.of_session("other") is None
    stage.now += PRESENT
    assert stage.mods.of_session("s") == "m"
    stage.now += 0.1
    assert stage.mods.of_session("s") is None


def test_a_mod_that_waits_is_there_however_long() -> None:
    async def main() -> None:
        stage = Stage()
        asked = asyncio.ensure_future(stage.mods.ask("m", "s", frozenset(), 60))
        await asyncio.sleep(0)
        stage.now += 10 * FORGOTTEN
        stage.mods.sweep()
        assert stage.mods.of_session("s") == "m"
        assert stage.mods.hand("m", FIRST) is not None
        assert await asked == FIRST

    run(main())


def test_of_two_mods_of_a_session_the_last_to_begin_counts() -> None:
    stage = Stage()
    stage.ask("old")
    stage.ask("new")
    stage.ask("old")
    assert stage.mods.of_session("s") == "new"


def test_a_mod_whose_client_shows_another_session_is_that_one_s() -> None:
    stage = Stage()
    stage.ask(session="before")
    stage.ask(session="behind")
    assert stage.mods.of_session("before") is None
    assert stage.mods.of_session("behind") == "m"


def test_what_a_mod_has_not_is_given_again_until_it_has_ended() -> None:
    stage = Stage()
    stage.ask()
    handed = stage.mods.hand("m", FIRST)
    assert handed is not None
    assert stage.ask() == FIRST
    assert stage.ask() == FIRST
    assert stage.ask(has=frozenset(["one"])) is None
    assert stage.mods.ended("m", "one", {"outcome": "submitted"})
    assert stage.ask() is None
    assert run(handed.wait(0)) == {"outcome": "submitted"}


def test_the_same_id_is_the_same_prompt_and_its_first_end_counts() -> None:
    stage = Stage()
    stage.ask()
    handed = stage.mods.hand("m", FIRST)
    assert stage.mods.hand("m", Handing("one", "prompt", "something else", "")) is handed
    assert stage.ask() == FIRST
    stage.mods.ended("m", "one", {"outcome": "submitted"})
    stage.mods.ended("m", "one", {"outcome": "busy"})
    assert handed is not None
    assert handed.outcome == {"outcome": "submitted"}


def test_nothing_is_handed_to_a_mod_that_is_not_known() -> None:
    stage = Stage()
    assert stage.mods.hand("m", FIRST) is None
    assert not stage.mods.ended("m", "one", {})
    stage.ask()
    assert not stage.mods.ended("m", "one", {})
    stage.now += FORGOTTEN + 1
    stage.mods.sweep()
    assert stage.mods.hand("m", FIRST) is None


def test_only_so_many_are_remembered() -> None:
    stage = Stage()
    stage.ask()
    for number in range(MAX_HANDED + 1):
        stage.mods.hand("m", Handing(f"n{number}", "prompt", "x", ""))
    first = stage.ask()
    assert first is not None
    assert first.id == "n1"


def test_who_asks_is_let_go_when_the_gate_ends() -> None:
    async def main() -> None:
        mods = Mods()
        asked = asyncio.ensure_future(mods.ask("m", "s", frozenset(), 60))
        await asyncio.sleep(0)
        mods.end_all()
        assert await asked is None
        # No other prompt is given to anybody.
        mods.hand("m", FIRST)
        assert await mods.ask("m", "s", frozenset(), 60) is None

    run(main())


def post(mods: Mods, path: str, **fields: object) -> Any:
    return run(answer_prompts(mods, path, json.dumps(fields).encode()))


def test_the_paths() -> None:
    mods = Mods()
    asked = {"session_id": "s", "has": [], "wait": 0}
    assert post(mods, "/v1/mods", session_id="s") == (200, {"mod": None})
    assert post(mods, "/v1/mods/m", **asked) == (200, {"state": "waiting"})
    assert post(mods, "/v1/mods", session_id="s") == (200, {"mod": "m"})
    handed = {"mod": "m", "id": "one", "kind": "command", "text": "clear", "arguments": "", "wait": 0}
    assert post(mods, "/v1/prompts", **handed) == (200, {"state": "waiting"})
    given = {"state": "prompt", "id": "one", "kind": "command", "text": "clear", "arguments": ""}
    assert post(mods, "/v1/mods/m", **asked) == (200, given)
    assert post(mods, "/v1/mods/m/ended", id="one", outcome="refused", reason="no") == (200, {})
    assert post(mods, "/v1/prompts", **handed) == (200, {"state": "ended", "outcome": "refused", "reason": "no"})
    assert post(mods, "/v1/prompts", **{**handed, "mod": "other"})[0] == 404
    assert post(mods, "/v1/mods/m/ended", id="two", outcome="refused", reason="no")[0] == 404
    for path in ("/v1/mods/", "/v1/mods/m/other", "/v1/modsm", "/v1/other"):
        assert run(answer_prompts(mods, path, b"{}")) is None


BAD = [
    (session_of, {}),
    (session_of, {"session_id": "a b"}),
    (asking, {"session_id": "s", "has": "one", "wait": 0}),
    (asking, {"session_id": "s", "has": [1], "wait": 0}),
    (asking, {"session_id": "s", "has": [], "wait": 61}),
    (ended, {"id": "one"}),
    (ended, {"id": "one", "outcome": 1}),
    (handing, {"mod": "m", "id": "one", "kind": "shell", "text": "x", "arguments": ""}),
    (handing, {"mod": "m", "id": "one", "kind": "prompt", "arguments": ""}),
]


@pytest.mark.parametrize(("read", "fields"), BAD)
def test_what_is_wrong_is_refused(read: Any, fields: dict[str, object]) -> None:
    with pytest.raises(BadRequest):
        read(json.dumps(fields).encode())


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=5
)
NAMES = ("session_id", "has", "wait", "id", "outcome", "reason", "mod", "kind", "text", "arguments")


@given(
    st.one_of(st.binary(), st.dictionaries(st.sampled_from(NAMES), JSON).map(lambda one: json.dumps(one).encode())),
    st.sampled_from(["/v1/mods", "/v1/prompts", "/v1/mods/m/ended"]),
)
def test_any_body_is_taken_or_refused(body: bytes, path: str) -> None:
    try:
        answer = run(answer_prompts(Mods(), path, body))
    except BadRequest:
        return
    assert answer is not None
    assert answer[0] in (200, 404)
