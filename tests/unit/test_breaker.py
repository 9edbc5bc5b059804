"""What is remembered of plugins that fail, and which are switched off for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter import _json, breaker
from hookrouter.breaker import COOL_DOWN, WINDOW, Health
from hookrouter.config import Config, PluginConfig
from hookrouter.home import Home
from hookrouter.run import HEALTH


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_800_000_000.0
        monkeypatch.setattr("hookrouter.breaker.time.time", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.in_folder(str(tmp_path))


def record(outcome: str = "failed", plugin: str = "shaky", **more: Any) -> dict[str, Any]:
    error = {"error": "ValueError: boom"} if outcome in breaker.FAILURES else {}
    return {"plugin": plugin, "hook": "stop", "ms": 1.0, "outcome": outcome, **error, **more}


def run(home: Home, *records: dict[str, Any], config: Config | None = None) -> Health:
    """Note one run as `hookrouter run` does, and return what is known then."""
    breaker.note(home, breaker.read(home), records, config or Config())
    return breaker.read(home).get("shaky", Health())


def is_off(home: Home, config: Config | None = None) -> bool:
    return "shaky" in breaker.off(breaker.read(home), config or Config())


def test_a_good_run_leaves_no_trace(home: Home) -> None:
    run(home, record("none"), record("replied", "other"))
    assert not os.path.exists(home.state)


def test_five_runs_in_a_row_switch_it_off_and_one_good_run_in_between_does_not(home: Home, clock: Clock) -> None:
    for _ in range(4):
        run(home, record())
    assert run(home, record("none")).failures == 0
    for number in range(1, 5):
        # A run counts once, however many of its calls fail.
        assert run(home, record(), record("timed out")).failures == number
        assert not is_off(home)
    found = run(home, record("died"))
    assert is_off(home)
    assert (found.until, found.apart) == (clock.now + COOL_DOWN, True)
    assert "died in stop" in found.describe("shaky")
    assert "hookrouter plugins enable shaky" in found.describe("shaky")


def test_failures_that_are_long_ago_do_not_count(home: Home, clock: Clock) -> None:
    for _ in range(8):
        clock.now += WINDOW + 1
        assert run(home, record()).failures == 1


def test_one_run_tries_it_again_and_decides(home: Home, clock: Clock) -> None:
    config = Config(plugins={"shaky": PluginConfig(breaker=2)})
    for _ in range(2):
        run(home, record(), config=config)
    assert not breaker.claim_trial(home, "shaky")
    clock.now += COOL_DOWN + 1
    assert breaker.claim_trial(home, "shaky")
    assert not breaker.claim_trial(home, "shaky"), "another run at the same time must not try it too"
    run(home, record(), config=config)
    assert is_off(home, config)
    assert not breaker.claim_trial(home, "shaky")
    clock.now += COOL_DOWN + 1
    assert breaker.claim_trial(home, "shaky")
    found = run(home, record("replied"), config=config)
    assert not is_off(home, config)
    assert (found.failures, "boom" in found.error) == (0, True)


def test_a_plugin_that_fails_closed_is_never_switched_off_and_none_is_where_the_config_says_so(home: Home) -> None:
    for table in (PluginConfig(on_error="closed"), PluginConfig(breaker=0)):
        config = Config(plugins={"shaky": table})
        for _ in range(7):
            run(home, record(), config=config)
        assert not is_off(home, config)
        assert not breaker.will_trip(breaker.read(home), "shaky", config)


def test_it_is_foretold_which_failure_switches_it_off(home: Home) -> None:
    for number in range(5):
        assert breaker.will_trip(breaker.read(home), "shaky", Config()) is (number == 4)
        run(home, record())


def test_a_reset_makes_it_called_again(home: Home) -> None:
    for _ in range(5):
        run(home, record())
    assert breaker.reset(home, "shaky")
    assert not breaker.reset(home, "shaky")
    assert breaker.read(home) == {}


def test_what_was_put_right_is_remembered_and_written_once_a_day(home: Home, clock: Clock) -> None:
    left = ["changed the environment (SECRET)", "wrote to stdout or stderr"]
    found = run(home, record("none", left=left))
    assert found.left == {"changed the environment": clock.now, "wrote to stdout or stderr": clock.now}
    assert len(found.trouble()) == 2
    file = Path(home.state) / HEALTH
    before = file.stat().st_ino
    clock.now += 3600
    run(home, record("none", left=left))
    assert file.stat().st_ino == before
    clock.now += 24 * 3600
    assert set(run(home, record("none", left=left)).left.values()) == {clock.now}


def test_a_clock_that_is_set_back_does_not_keep_it_off(home: Home, clock: Clock) -> None:
    for _ in range(5):
        run(home, record())
    clock.now -= 24 * 3600
    assert breaker.claim_trial(home, "shaky")


def test_the_document_is_for_this_user_alone(home: Home) -> None:
    run(home, record())
    assert (Path(home.state) / HEALTH).stat().st_mode & 0o777 == 0o600


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)
ENTRIES = st.dictionaries(st.sampled_from([*Health.__slots__, "new"]), JSON | st.just({}), max_size=7)


@given(st.binary(max_size=30) | st.builds(lambda table: str(table).encode(), JSON))
def test_a_damaged_document_is_as_good_as_none(data):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        damaged = Home.in_folder(folder)
        os.mkdir(damaged.state, 0o700)
        (Path(damaged.state) / HEALTH).write_bytes(data)
        assert breaker.read(damaged) == {}
        assert run(damaged, record()).failures == 1


@given(st.dictionaries(st.sampled_from(["shaky", "other"]), JSON | ENTRIES))
def test_entries_that_something_else_has_written_do_no_harm(tables):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        damaged = Home.in_folder(folder)
        os.mkdir(damaged.state, 0o700)
        try:
            text = _json.dumps({"plugins": tables})
        except ValueError:
            return
        (Path(damaged.state) / HEALTH).write_text(text)
        for health in breaker.read(damaged).values():
            assert isinstance(health.trouble(), list)
        breaker.off(breaker.read(damaged), Config())
        breaker.claim_trial(damaged, "shaky")
        run(damaged, record())
        assert breaker.read(damaged)["shaky"].error
