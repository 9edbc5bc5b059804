"""What is remembered of plugins that fail, and which are switched off for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._isolation import circuit_breaker
from hookrouter._isolation.circuit_breaker import COOL_DOWN, WINDOW, Health
from hookrouter.config import Config, PluginConfig
from hookrouter.storage.home import Home
from hookrouter.util import fastjson


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_800_000_000.0
        monkeypatch.setattr("hookrouter._isolation.circuit_breaker.time.time", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.in_folder(str(tmp_path))


def record(outcome: str = "failed", plugin: str = "shaky", **more: Any) -> dict[str, Any]:
    error = {"error": "ValueError: boom"} if outcome in circuit_breaker.FAILURES else {}
    return {"plugin": plugin, "hook": "stop", "ms": 1.0, "outcome": outcome, **error, **more}


def run(home: Home, *records: dict[str, Any], config: Config | None = None) -> Health:
    """Note one run as `hookrouter run` does, and return what is known then."""
    circuit_breaker.note(home, circuit_breaker.read(home), records, config or Config())
    return circuit_breaker.read(home).get("shaky", Health())


def is_off(home: Home, config: Config | None = None) -> bool:
    return "shaky" in circuit_breaker.open_circuits(circuit_breaker.read(home), config or Config())


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
    assert (found.until, found.isolated) == (clock.now + COOL_DOWN, True)
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
    assert not circuit_breaker.claim_trial(home, "shaky")
    clock.now += COOL_DOWN + 1
    assert circuit_breaker.claim_trial(home, "shaky")
    assert not circuit_breaker.claim_trial(home, "shaky"), "another run at the same time must not try it too"
    run(home, record(), config=config)
    assert is_off(home, config)
    assert not circuit_breaker.claim_trial(home, "shaky")
    clock.now += COOL_DOWN + 1
    assert circuit_breaker.claim_trial(home, "shaky")
    found = run(home, record("replied"), config=config)
    assert not is_off(home, config)
    assert (found.failures, "boom" in found.error) == (0, True)


def test_a_plugin_that_fails_closed_is_never_switched_off_and_none_is_where_the_config_says_so(home: Home) -> None:
    for table in (PluginConfig(on_error="closed"), PluginConfig(breaker=0)):
        config = Config(plugins={"shaky": table})
        for _ in range(7):
            run(home, record(), config=config)
        assert not is_off(home, config)
        assert not circuit_breaker.will_trip(circuit_breaker.read(home), "shaky", config)


def test_it_is_foretold_which_failure_switches_it_off(home: Home) -> None:
    for number in range(5):
        assert circuit_breaker.will_trip(circuit_breaker.read(home), "shaky", Config()) is (number == 4)
        run(home, record())


def test_a_reset_makes_it_called_again(home: Home) -> None:
    for _ in range(5):
        run(home, record())
    assert circuit_breaker.reset(home, "shaky")
    assert not circuit_breaker.reset(home, "shaky")
    assert circuit_breaker.read(home) == {}


def test_what_was_put_right_is_remembered_and_written_once_a_day(home: Home, clock: Clock) -> None:
    left = ["changed the environment (SECRET)", "wrote to stdout or stderr"]
    found = run(home, record("none", left=left))
    assert found.side_effects == {"changed the environment": clock.now, "wrote to stdout or stderr": clock.now}
    assert len(found.trouble()) == 2
    file = Path(home.state) / "plugins-health.json"
    before = file.stat().st_ino
    clock.now += 3600
    run(home, record("none", left=left))
    assert file.stat().st_ino == before
    clock.now += 24 * 3600
    assert set(run(home, record("none", left=left)).side_effects.values()) == {clock.now}


def test_a_clock_that_is_set_back_does_not_keep_it_off(home: Home, clock: Clock) -> None:
    for _ in range(5):
        run(home, record())
    clock.now -= 24 * 3600
    assert circuit_breaker.claim_trial(home, "shaky")


def test_the_document_is_for_this_user_alone(home: Home) -> None:
    run(home, record())
    assert (Path(home.state) / "plugins-health.json").stat().st_mode & 0o777 == 0o600


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
        (Path(damaged.state) / "plugins-health.json").write_bytes(data)
        assert circuit_breaker.read(damaged) == {}
        assert run(damaged, record()).failures == 1


@given(st.dictionaries(st.sampled_from(["shaky", "other"]), JSON | ENTRIES))
def test_entries_that_something_else_has_written_do_no_harm(tables):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        damaged = Home.in_folder(folder)
        os.mkdir(damaged.state, 0o700)
        try:
            text = fastjson.dumps({"plugins": tables})
        except ValueError:
            return
        (Path(damaged.state) / "plugins-health.json").write_text(text)
        for health in circuit_breaker.read(damaged).values():
            assert isinstance(health.trouble(), list)
        circuit_breaker.open_circuits(circuit_breaker.read(damaged), Config())
        circuit_breaker.claim_trial(damaged, "shaky")
        run(damaged, record())
        assert circuit_breaker.read(damaged)["shaky"].error


CLOSED = Config(plugins={"shaky": PluginConfig(on_error="closed")})


def test_what_failed_closed_does_not_count_once_it_fails_open(home: Home) -> None:
    for _ in range(7):
        run(home, record(), config=CLOSED)
    assert not is_off(home)
    assert not circuit_breaker.will_trip(circuit_breaker.read(home), "shaky", Config())
    assert run(home, record()).failures == 1
    assert not is_off(home)
    assert run(home, record(), config=CLOSED).failures == 1


def test_trouble_says_since_when_a_plugin_works_again_and_ends_a_day_later(home: Home, clock: Clock) -> None:
    run(home, record())
    clock.now += 60
    assert "works since" in run(home, record("none")).trouble()[0]
    clock.now += 60
    file = Path(home.state) / "plugins-health.json"
    before = file.stat().st_ino
    assert run(home, record("none")).recovered == clock.now - 60
    assert file.stat().st_ino == before, "a good run writes nothing if the one before was good"
    clock.now += 24 * 3600
    assert circuit_breaker.read(home)["shaky"].trouble() == []
    assert "works since" not in run(home, record()).trouble()[0]


def test_why_a_plugin_has_a_process_of_its_own_is_kept_beside_later_failures(home: Home) -> None:
    run(home, record("died", error="it was ended by signal 9 (Killed)"))
    found = run(home, record("failed", hook="import", error="ImportError: gone"))
    assert "import" in found.error
    assert found.isolated_by == "died in stop: it was ended by signal 9 (Killed)"
    circuit_breaker.isolate(home, {"other": "stop"})
    assert "left no record" in circuit_breaker.read(home)["other"].isolated_by
    run(home, record("none", "third", left=["closed descriptors that are not its own"]))
    assert circuit_breaker.read(home)["third"].isolated_by == "closed descriptors that are not its own in stop"


def test_plugins_of_one_name_in_two_projects_and_the_home_are_told_apart(home: Home, clock: Clock) -> None:
    first, second, own = (
        Config(project_plugins={"guard": "guard of /first"}),
        Config(project_plugins={"guard": "guard of /second"}),
        Config(),
    )

    def known(config: Config) -> dict[str, Health]:
        return circuit_breaker.of_run(circuit_breaker.read(home), config)

    failed = {"plugin": "guard", "hook": "pre_tool_use", "outcome": "failed", "error": "a bug"}
    for _ in range(5):
        circuit_breaker.note(home, known(first), [failed], first)
    circuit_breaker.note(home, known(second), [failed], second)
    assert {name: health.failures for name, health in circuit_breaker.read(home).items()} == {
        "guard of /first": 5,
        "guard of /second": 1,
    }
    off = [config for config in (first, second, own) if "guard" in circuit_breaker.open_circuits(known(config), config)]
    assert off == [first]
    assert "guard" not in known(own)
    # The command that the user is told names the plugin as it is called.
    assert "`hookrouter plugins enable guard`" in circuit_breaker.switched_off("guard of /first")
    circuit_breaker.note(home, known(second), [{**failed, "outcome": "none"}], second)
    assert (known(second)["guard"].failures, known(first)["guard"].failures) == (0, 5)
    assert circuit_breaker.reset(home, "guard")
    assert circuit_breaker.read(home) == {}
