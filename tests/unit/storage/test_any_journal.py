"""Whatever a journal's files hold, the commands that read it show what there is and break at nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._diagnostics.replay import ReplayError, choose
from hookrouter.cli.logs import logs
from hookrouter.cli.stats import stats
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal
from hookrouter.storage.journal_query import Selection, entries, find, latest
from hookrouter.util.text import printable

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["at", "level", "event", "session", "session_id", "plugins", "ms", "outcome", "by", "reason", "warnings"]
) | st.sampled_from(["pid", "tool", "tool_use_id", "swept", "payload"])
CALLS = st.lists(
    st.dictionaries(st.sampled_from(["plugin", "hook", "ms", "outcome", "error"]), JSON) | JSON, max_size=3
)
RECORDS = st.dictionaries(KEYS, JSON | st.just("2026-11-22T05:00:00.000Z") | CALLS)
LINES = st.lists(st.binary(max_size=60) | RECORDS.map(lambda record: json.dumps(record).encode()), max_size=8)
"""Lines that are in no order, of no shape, and now and then a journal's."""


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    monkeypatch.setenv("HOOKROUTER_HOME", str(tmp_path / "home"))
    return Journal(Home.in_folder(str(tmp_path / "home")).logs)


def fill(journal: Journal, lines: list[bytes]) -> None:
    os.makedirs(journal.folder, exist_ok=True)
    Path(journal.folder, "s-1.jsonl").write_bytes(b"\n".join(lines))


@given(lines=LINES)
def test_any_lines_can_be_read_and_chosen_from(journal: Journal, lines: list[bytes]) -> None:
    fill(journal, lines)
    choices: list[Callable[[], Selection]] = [
        lambda: Selection(journal),
        lambda: Selection(journal, session="s", level="info", plugin="p", event="Stop"),
        lambda: Selection(journal, session="s"),
        lambda: Selection(journal, plugin="p"),
    ]

    for choice in choices:
        selection = choice()
        found = [entry for entry in entries(journal) if entry in selection]
        assert len(latest(found, 2)) == min(2, len(found))
    assert len(find(journal, "last")) <= 1


@given(lines=LINES)
def test_any_journal_can_be_shown(journal: Journal, capsys: pytest.CaptureFixture[str], lines: list[bytes]) -> None:
    fill(journal, lines)
    capsys.readouterr()

    assert logs(limit=0) == 0
    shown = capsys.readouterr().out
    assert printable(shown, keep_newlines=True) == shown
    assert logs(limit=0, as_json=True) == 0
    assert shown.count("\n") == len([json.loads(line) for line in capsys.readouterr().out.splitlines()])


@given(lines=LINES)
def test_any_journal_can_be_counted(journal: Journal, capsys: pytest.CaptureFixture[str], lines: list[bytes]) -> None:
    fill(journal, lines)
    capsys.readouterr()

    assert stats(since=None) == 0
    shown = capsys.readouterr().out
    assert printable(shown, keep_newlines=True) == shown
    assert stats(since=None, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["runs"]["calls"] <= len(lines)


@given(lines=LINES)
def test_of_any_journal_a_run_is_replayed_or_refused_with_a_reason(journal: Journal, lines: list[bytes]) -> None:
    fill(journal, lines)
    home = Home.in_folder(os.path.dirname(journal.folder))
    app: Any = SimpleNamespace(journal=journal, home=home)

    for name in ["last", *(entry.id for entry in entries(journal))]:
        with pytest.raises(ReplayError, match=r"[a-z]"):
            choose(app, name)
