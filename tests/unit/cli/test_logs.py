"""``hookrouter logs``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hookrouter.cli.main import main
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    monkeypatch.setenv("HOOKROUTER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TZ", "UTC")
    return Journal(Home.in_folder(str(tmp_path / "home")).logs)


def test_a_record_is_one_line_with_what_matters(journal: Journal, capsys: pytest.CaptureFixture[str]) -> None:
    call = {"plugin": "guard", "hook": "pre_tool_use", "ms": 2.25, "outcome": "failed", "error": "ValueError: no"}
    record = {"at": "2026-11-22T05:06:07.891Z", "level": "error", "event": "PreToolUse", "tool": "Bash"}
    record |= {"session": "work", "outcome": "deny", "by": "guard", "ms": 12.5, "pid": 1}
    journal.write({**record, "plugins": [call], "reason": "why", "warnings": ["odd", "too"]}, "s-1")

    assert main(["logs"]) == 0

    (line,) = capsys.readouterr().out.splitlines()
    assert " error    PreToolUse  Bash  work  deny by guard  12.5 ms  guard failed 2.2 ms (ValueError: no)" in line
    assert line.endswith("why  odd  too")


def test_the_last_records_of_all_sessions_are_shown_in_order(
    journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (2, 1, 3):
        journal.write({"at": f"2026-11-22T05:06:0{number}.000Z", "event": f"E{number}"}, f"s-{number}")

    main(["logs", "--limit", "2"])

    assert [line.split()[4] for line in capsys.readouterr().out.splitlines()] == ["E2", "E3"]


def test_json_is_one_document_for_each_record(journal: Journal, capsys: pytest.CaptureFixture[str]) -> None:
    journal.write({"event": "Stop", "level": "info"}, "s-1")
    journal.write({"event": "Stop", "level": "debug"}, "s-1")

    main(["logs", "--json", "--level", "info"])

    (document,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (document["event"], len(document["id"])) == ("Stop", 10)


def test_control_characters_of_a_record_never_reach_the_terminal(
    journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    journal.write({"event": "Stop\x1b[31m", "session": "\x07", "reason": "a\nb\x9b", "level": "\x1b[2J"}, "s-1")

    main(["logs"])

    out = capsys.readouterr().out
    assert all(character.isprintable() for character in out.rstrip("\n"))
    assert "\\x1b[31m" in out


@pytest.mark.parametrize("arguments", [["--limit", "-1"], ["--since", "soon"], ["--level", "loud"]])
def test_wrong_arguments_are_refused(journal: Journal, arguments: list[str]) -> None:
    assert main(["logs", *arguments]) == 2


def test_an_empty_journal_is_no_error(journal: Journal, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", "--session", "x"]) == 0
    assert capsys.readouterr().out == ""
