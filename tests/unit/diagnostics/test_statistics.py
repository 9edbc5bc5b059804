"""What ``hookrouter stats`` counts and shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._diagnostics.statistics import Figures, Times
from hookrouter.cli.bar_chart import bar_chart, sparkline
from hookrouter.cli.main import main
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal
from hookrouter.util.clock import iso, now

AT = 1_790_000_000.0


def run(at: float = AT, **more: Any) -> dict[str, Any]:
    return {"at": iso(at), "event": "Stop", "session_id": "s-1", "ms": 10.0, "pid": 1, "outcome": "routed", **more}


def figures(*records: dict[str, Any], plugin: str | None = None) -> Figures:
    counted = Figures(plugin)
    for record in records:
        counted.add(record)
    return counted


def test_times_are_the_usual_ones() -> None:
    assert Times.of([4, 1, 3, 2]) == Times(2.5, 4, 4)
    assert Times.of(range(1, 101)) == Times(50.5, 95, 100)
    assert Times.of([]) == Times(None, None, None)


def test_runs_are_counted_by_event_and_tool() -> None:
    counted = figures(
        run(ms=1.0),
        run(ms=3.0, level="error", session_id="s-2"),
        run(event="PreToolUse", tool="Bash"),
        {"at": iso(AT), "event": "delivery", "ms": 5.0, "pid": 1},
        {"at": iso(AT), "level": "warning", "reason": "no run"},
    )

    assert (counted.runs.count, counted.runs.failed, counted.sessions) == (3, 1, {"s-1", "s-2"})
    assert counted.by_event[("Stop", "")].document() == {
        "calls": 2,
        "failed": 1,
        "outcomes": {"routed": 1, "failed": 1},
        "median_ms": 2.0,
        "p95_ms": 3.0,
        "longest_ms": 3.0,
    }
    assert counted.by_event[("PreToolUse", "Bash")].count == 1


def test_calls_of_plugins_are_counted_unless_they_were_not_made() -> None:
    def call(plugin: str, outcome: str, ms: float) -> dict[str, Any]:
        return {"plugin": plugin, "hook": "stop", "outcome": outcome, "ms": ms}

    record = run(plugins=[call("a", "none", 1.0), call("b", "timed out", 2.0), call("c", "not needed", 0.0)])

    both = figures(record, run(plugins=[call("a", "failed", 3.0)]))
    assert {key: (found.count, found.failed) for key, found in both.by_plugin.items()} == {
        ("a", "stop"): (2, 1),
        ("b", "stop"): (1, 1),
    }
    assert list(figures(record, plugin="b").by_plugin) == [("b", "stop")]


def asked(number: int, at: float = AT) -> dict[str, Any]:
    return run(at, event="PreToolUse", tool="AskUserQuestion", outcome="asked", tool_use_id=f"toolu_{number}")


def ended(number: int, at: float, outcome: str) -> dict[str, Any]:
    return run(at, event="PostToolUse", tool="AskUserQuestion", outcome=outcome, tool_use_id=f"toolu_{number}")


def test_the_timeline_puts_everything_in_its_stretch() -> None:
    counted = figures(
        run(AT, ms=1.0),
        run(AT + 9, ms=5.0),
        run(AT + 11, ms=7.0),
        run(AT + 39),
        run(AT + 39),
    )

    timeline = counted.timeline(4, AT, AT + 40, {"verified": [AT + 39], "mismatch": []})

    assert timeline is not None
    assert (timeline.start, timeline.seconds) == (iso(AT), 10.0)
    assert timeline.calls == [2, 1, 0, 2]
    assert timeline.median_ms == [3.0, 7.0, None, 10.0]
    assert timeline.rows == {"verified": [0, 0, 0, 1], "mismatch": [0, 0, 0, 0]}
    assert figures().timeline(4) is None


@given(
    values=st.lists(st.none() | st.floats(0, 1e9, allow_nan=False, allow_subnormal=False), max_size=30),
    height=st.integers(1, 6),
    blocks=st.booleans(),
)
def test_a_plot_has_its_size_and_every_value_above_nothing_shows(
    values: list[float | None], height: int, blocks: bool
) -> None:
    rows = bar_chart(values, height, blocks=blocks)

    assert [len(row) for row in rows] == [len(values)] * height
    assert [character != " " for character in rows[-1]] == [bool(value) for value in values]
    assert blocks or "".join(rows).isascii()


def test_plots_rise_with_the_values() -> None:
    assert sparkline([0, 1, 2, 4, 8, None], blocks=True) == " ▁▂▄█ "
    assert bar_chart([1, 2], 2, blocks=False) == [" #", "##"]


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    monkeypatch.setenv("HOOKROUTER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "100")
    return Journal(Home.in_folder(str(tmp_path / "home")).logs)


def test_the_command_shows_counts_times_and_plots(journal: Journal, capsys: pytest.CaptureFixture[str]) -> None:
    call = {"plugin": "guard", "hook": "stop", "outcome": "failed", "ms": 4.0}
    journal.write(run(now() - 60, plugins=[call], level="error"), "s-1")
    journal.write(asked(1, now() - 120), "s-1")
    journal.write(ended(1, now() - 60, "mismatch"), "s-1")
    journal.write(run(now() - 30 * 86400), "s-1")

    assert main(["stats"]) == 0

    out = capsys.readouterr().out
    assert out.startswith("3 hook runs in 1 session since ")
    assert "1 failed\ntime of a run: median 10 ms, 95 % 10 ms, longest 10 ms\n" in out
    assert "guard stop           1       1          4        4           4" in out
    assert "questions: 1; 1 mismatch" in out
    assert "time to answer: median 60 s" in out
    assert "█" in out
    assert max(map(len, out.splitlines())) <= 100


def test_without_unicode_the_plots_are_ascii(
    journal: Journal, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookrouter.cli.stats.has_unicode", lambda: False)
    journal.write(run(now() - 60), "s-1")

    main(["stats"])

    out = capsys.readouterr().out
    assert out.isascii()
    assert "#" in out


def test_programs_get_all_of_it(journal: Journal, capsys: pytest.CaptureFixture[str]) -> None:
    journal.write(run(now() - 60), "s-1")
    journal.write(run(now() - 60, session_id="other"), "other")

    assert main(["stats", "--session", "s-1", "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["runs"]["calls"] == 1
    assert document["events"][0]["event"] == "Stop"
    assert sum(document["timeline"]["calls"]) == 1
    assert document["questions"]["asked"] == 0


def test_an_empty_journal_has_no_figures(journal: Journal, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--since", "1h"]) == 0
    assert capsys.readouterr().out.startswith("no hook run since ")


@pytest.mark.parametrize("since", ["soon", "2999-01-01"])
def test_a_time_that_makes_no_sense_is_refused(journal: Journal, since: str) -> None:
    assert main(["stats", "--since", since]) == 2


def test_what_was_waited_for_is_no_part_of_a_runs_time() -> None:
    waited = {
        "plugin": "hook-reply",
        "hook": "permission_request_ask_user_question",
        "outcome": "answered",
        "ms": 4800.0,
    }
    guard = {"plugin": "guard", "hook": "permission_request", "outcome": "none", "ms": 4.0}
    counted = Figures(waiting={("hook-reply", "permission_request_ask_user_question")})
    counted.add(run(AT, ms=4814.0, plugins=[waited, guard]))
    assert counted.runs.document()["longest_ms"] == 14.0
    assert list(counted.by_plugin) == [("guard", "permission_request")]
    (waits,) = counted.waits.values()
    assert waits.document()["median_ms"] == 4800.0
