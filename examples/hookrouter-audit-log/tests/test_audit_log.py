"""The log with hookrouter's fixtures: events come in, lines are kept."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from hookrouter.events import EVENT_CLASSES

from hookrouter_audit_log import AuditLog, append

if TYPE_CHECKING:
    from pathlib import Path

    from hookrouter.testing import Hooks


def lines(path: Path | str) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_every_event_is_kept_whole_and_for_the_owner_only(hooks: Hooks) -> None:
    hooks.add(AuditLog)
    payloads = [hooks.fire(name, session="work").payload for name in EVENT_CLASSES]
    path = os.path.join(hooks.home.logs, "audit", "events.jsonl")
    kept = lines(path)
    assert [line["hook_event_name"] for line in kept] == [*EVENT_CLASSES]
    for line, payload in zip(kept, payloads, strict=True):
        assert line.items() >= {**payload, "session": "work"}.items()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


def test_settings_choose_file_events_and_fields(hooks: Hooks, tmp_path: Path) -> None:
    hooks.add(AuditLog)
    hooks.configure(f"[plugins.audit-log.settings]\nfile = '{tmp_path}/log'\nevents = ['Stop']\nleave_out = ['cwd']\n")
    hooks.fire("SessionStart")
    hooks.fire("Stop")
    (line,) = lines(tmp_path / "log")
    assert line["hook_event_name"] == "Stop"
    assert "cwd" not in line


def test_a_file_that_is_full_becomes_the_newest_of_the_older_ones(tmp_path: Path) -> None:
    for number in range(5):
        append(str(tmp_path / "log"), b"%d\n" % number, max_bytes=4, backups=1)
    assert (tmp_path / "log").read_bytes() == b"4\n"
    assert (tmp_path / "log.1").read_bytes() == b"2\n3\n"
    assert sorted(os.listdir(tmp_path)) == ["log", "log.1", "log.lock"]


def test_writers_at_once_lose_no_line(tmp_path: Path) -> None:
    def write(number: int) -> None:
        append(str(tmp_path / "log"), b"%03d\n" % number, max_bytes=100, backups=10)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(200)))
    files = [file for file in tmp_path.iterdir() if not file.name.endswith(".lock")]
    kept = sorted(int(line) for file in files for line in file.read_text().split())
    assert kept == list(range(200))
