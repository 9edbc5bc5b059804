"""The history of machines that share a database: brought once, read anywhere, from the rows of one's own alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hookrouter.samples import sample
from hookrouter.storage.engine import open_store
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal
from hookrouter.testing import wait_until
from hookrouter_fleet.locks import SHARING, is_sharing
from support.postgres import Server, postgres_server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres_server() as running:
        yield running


TOOLS = {"PreToolUse": "AskUserQuestion", "PostToolUse": "AskUserQuestion"}


class Machine:
    """A home of its own, as a machine has it."""

    def __init__(self, folder: Path, name: str, schema: str, dsn: str) -> None:
        self.name = name
        self._home = folder / name
        self._home.mkdir(mode=0o700)
        self._environ = {**os.environ, "HOOKROUTER_HOME": str(self._home), "FLEET_DATABASE": dsn}
        table = (
            f'[storage]\nengine = "postgresql"\nmachine = "{name}"\ndsn_env = "FLEET_DATABASE"\nschema = "{schema}"\n'
        )
        (self._home / "config.toml").write_text(table)

    def run(self, *words: str, given: object = None) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "hookrouter", *words]
        return subprocess.run(
            argv, input=json.dumps(given), env=self._environ, capture_output=True, text=True, check=False
        )

    def told(self, *words: str) -> Any:
        done = self.run(*words, "--json")
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    def history(self, *words: str) -> list[tuple[str, str, str]]:
        found = self.told("history", *words)["questions"]
        return [(story["machine"], story["tool_use_id"], story["outcome"]) for story in found]

    def hook(self, event: str, identifier: str) -> None:
        named = {"tool_use_id": identifier, "session_id": f"session-{self.name}"}
        done = self.run("run", event, given={**sample(event, TOOLS.get(event)), **named})
        assert done.returncode == 0, done

    def close(self) -> None:
        (self._home / "config.toml").write_text("")
        wait_until(lambda: not is_sharing(Home.in_folder(str(self._home))), 30, "the end of its process")


Make = Callable[..., Machine]


@pytest.fixture
def schema(server: Server) -> str:
    return server.schema()


@pytest.fixture
def machine(tmp_path: Path, server: Server, schema: str) -> Iterator[Make]:
    made: list[Machine] = []

    def make(name: str, dsn: str = "") -> Machine:
        made.append(Machine(tmp_path, name, schema, dsn or server.dsn()))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_what_a_machine_that_has_gone_was_asked_is_told_by_the_others(
    machine: Make, server: Server, schema: str
) -> None:
    one, two = machine("one"), machine("two")
    one.run("storage", "init")
    one.hook("PreToolUse", "toolu_1")
    one.hook("PostToolUse", "toolu_1")
    one.hook("PreToolUse", "toolu_2")
    told = [("one", "toolu_1", "answered_by_person"), ("one", "toolu_2", "open")]
    wait_until(lambda: two.history() == told, 30, "both stories on the other machine", lambda: str(two.history()))
    one.close()
    assert two.history() == told
    assert two.history("--limit", "1") == told[1:]
    assert two.told("history")["machines"] == [{"machine": "two", "problem": ""}, {"machine": "one", "problem": ""}]
    text = two.run("history").stdout
    assert text.index("Machine one:") < text.index("(toolu_1)") < text.index("(toolu_2)")
    runs = "SELECT sum(calls) FROM {}.history_count WHERE subject = 'run'"
    wait_until(lambda: server.ask(runs.format(schema)) == [(3,)], 30, "three hook runs")


def test_what_is_left_of_long_ago_is_removed_by_the_process_of_its_machine(
    machine: Make, server: Server, schema: str, tmp_path: Path
) -> None:
    one = machine("one")
    one.run("storage", "init")
    ages = "(VALUES ('', 25), ('outbox', 25), ('fleet', 25), ('fleet', 23)) AS a (area, hours)"
    server.ask(
        f"INSERT INTO {schema}.document (machine, area, kind, digest, name, written_at) "
        "SELECT machine, area, 'errand', decode(md5(hours::text), 'hex'), '', "
        "clock_timestamp() - make_interval(hours => hours) "
        f"FROM {ages}, (VALUES ('one'), ('two')) AS m (machine)"
    )
    server.ask(
        f"INSERT INTO {schema}.lock SELECT 'one', 'fleet', 'asking', '', gen_random_uuid(), 'host', 'another start', "
        "1, '', now(), now() - interval '31 days'"
    )
    marker = tmp_path / "one" / "state" / "changes" / "ab" / f"{'ab' * 16}"
    marker.parent.mkdir(parents=True)
    marker.write_text("{}\n")
    one.hook("PreToolUse", "toolu_1")
    rows = (
        "SELECT machine, area, extract(epoch FROM clock_timestamp() - written_at)::int / 3600 "
        f"FROM {schema}.document WHERE kind = 'errand' ORDER BY 1, 2, 3 DESC"
    )
    # What others have left is theirs to remove.
    two = [("two", "", 25), ("two", "fleet", 25), ("two", "fleet", 23), ("two", "outbox", 25)]
    wait_until(lambda: server.ask(rows) == [("one", "fleet", 23), *two], 30, "the rows of the deleted to be gone")
    wait_until(lambda: server.ask(f"SELECT FROM {schema}.lock WHERE kind = 'asking'") == [], 30, "the lock to be gone")
    wait_until(lambda: not marker.exists(), 30, "the marker to be gone")


def test_a_machine_whose_journal_is_not_brought_is_asked_itself(machine: Make, server: Server, schema: str) -> None:
    one, two = machine("one"), machine("two")
    one.run("storage", "init")
    one.run("storage", "migrate", "--to", "2")
    one.hook("PreToolUse", "toolu_1")
    wait_until(lambda: two.history() == [("one", "toolu_1", "open")], 30, "what the machine says")
    one.run("storage", "migrate")
    assert server.ask(f"SELECT count(*) FROM {schema}.history_machine")[0][0] in (0, 1)
    assert two.history() == [("one", "toolu_1", "open")]


def test_while_the_database_is_away_this_machine_is_told_and_the_rest_comes_once(
    machine: Make, server: Server, schema: str
) -> None:
    one, two = machine("one"), machine("two")
    one.run("storage", "init")
    one.hook("PreToolUse", "toolu_1")
    wait_until(lambda: two.history() == [("one", "toolu_1", "open")], 30, "the story on the other machine")
    server.stop()
    one.hook("PostToolUse", "toolu_1")
    told = two.told("history")
    assert (told["questions"], "only this machine is shown" in told["machines"][1]["problem"]) == ([], True)
    server.restore()
    done = [("one", "toolu_1", "answered_by_person")]
    wait_until(lambda: two.history() == done, 60, "how it ended")
    ended = f"SELECT name, sum(calls) FROM {schema}.history_count WHERE subject = 'ended' GROUP BY name"
    wait_until(lambda: server.ask(ended) == [("answered_by_person", 1)], 30, "that it is counted once")


def test_a_process_that_is_killed_in_between_again_and_again_brings_each_line_once(
    machine: Make, server: Server, schema: str, tmp_path: Path
) -> None:
    one = machine("one")
    one.run("storage", "init")
    home = Home.in_folder(str(tmp_path / "one"))
    journal, lines = Journal(home.logs, max_bytes=2_500_000, backups=10), 30_000
    for number in range(lines):
        journal.write({"event": "Stop", "outcome": "passed", "ms": 5.0, "pid": number, "reason": "x" * 300}, "s1")

    def brought() -> int:
        rows = server.ask(f"SELECT coalesce(sum(calls), 0)::int FROM {schema}.history_count WHERE subject = 'run'")
        return int(str(rows[0][0]))

    def is_waiting() -> bool:
        found = server.ask("SELECT count(*)::int FROM pg_locks WHERE NOT granted")
        return found != [(0,)]

    for _ in range(3):
        # Its transaction has written what comes before, and waits for the table of what was counted.
        with psycopg.connect(server.dsn()) as connection:
            connection.execute(f"LOCK TABLE {schema}.history_count IN ACCESS EXCLUSIVE MODE".encode())
            one.run("sessions")
            wait_until(is_waiting, 60, "a transaction that waits")
            holder = open_store(home, pytest.fail).lock_holder(*SHARING) or ""
            os.kill(int(holder.split()[1].rstrip(",")), signal.SIGKILL)
        wait_until(lambda: not is_waiting(), 60, "the end of its transaction")
    one.run("sessions")
    wait_until(lambda: brought() == lines, 60, "all of it")
    one.hook("Stop", "toolu_1")
    wait_until(lambda: brought() > lines, 30, "what was written since")
    assert brought() == lines + 1
