"""The programs that people and Claude Code start, on machines that share a database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hookrouter.samples import sample
from hookrouter.storage.documents import Store
from hookrouter.storage.home import Home
from hookrouter.testing import wait_until
from hookrouter_fleet.locks import is_sharing
from hookrouter_fleet.state import read
from support.postgres import PASSWORD, Server


class Machine:
    """A home of its own, as a machine has it."""

    def __init__(self, folder: Path, name: str, schema: str) -> None:
        self._home = folder / name
        self._home.mkdir(mode=0o700)
        self._config = f'[storage]\nengine = "postgresql"\nmachine = "{name}"\ndsn_env = "HOOKS_DATABASE"\n'
        self._config += f'schema = "{schema}"\n'

    def use_files(self) -> None:
        (self._home / "config.toml").write_text("")

    def use_database(self) -> None:
        (self._home / "config.toml").write_text(self._config)

    def run(self, *words: str, given: object = None, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "hookrouter", *words],
            input=json.dumps(given),
            env={**os.environ, "HOOKROUTER_HOME": str(self._home)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, (words, done.stdout, done.stderr)
        assert PASSWORD not in done.stdout + done.stderr
        return done.stdout + done.stderr

    def told(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))

    def asks(self, identifier: str) -> None:
        self.run("run", "PreToolUse", given={**sample("PreToolUse", "AskUserQuestion"), "tool_use_id": identifier})

    def own_questions(self) -> list[str]:
        found = self.told("questions")["questions"]
        return sorted(one["tool_use_id"] for one in found if one.get("machine") in (None, self._home.name))

    def problem(self) -> str:
        """Return why its documents are not brought; empty if they are."""
        return read(Store(str(self._home / "state"), pytest.fail)).problem

    def close(self) -> None:
        self.use_files()
        wait_until(lambda: not is_sharing(Home.in_folder(str(self._home))), 30, "the end of its process")


@pytest.fixture
def machine(
    server: Server, schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Machine]]:
    monkeypatch.setenv("HOOKS_DATABASE", server.dsn())
    made: list[Machine] = []

    def make(name: str) -> Machine:
        made.append(Machine(tmp_path, name, schema))
        return made[-1]

    yield make
    for one in made:
        one.close()


def rows(server: Server, schema: str, kind: str = "question") -> list[object]:
    statement = f"SELECT machine FROM {schema}.document WHERE kind = '{kind}' AND body IS NOT NULL"
    return [machine for (machine,) in server.ask(statement)]


def test_what_a_machine_asks_is_in_the_database_under_its_name(
    machine: Callable[[str], Machine], server: Server, schema: str
) -> None:
    one = machine("one")
    one.use_database()
    assert "its tables are missing; run: hookrouter storage init" in one.run("storage", "check", code=1)
    assert "applied migration 1" in one.run("storage", "init")
    one.asks("toolu_1")
    wait_until(lambda: rows(server, schema) == ["one"], 20, "the question")
    assert "nothing is wrong; this machine is one; there are documents of: one" in one.run("storage", "check")


def test_a_home_is_brought_with_what_is_open(machine: Callable[[str], Machine], server: Server, schema: str) -> None:
    one = machine("one")
    one.asks("toolu_1")
    one.asks("toolu_2")
    one.use_database()
    one.run("storage", "init")
    # The process that a deliverer has started may have been quicker.
    brought = one.told("storage", "copy", "--from", "files")
    assert brought["written"] + brought["same"] > 2
    assert rows(server, schema) == ["one", "one"]
    assert one.own_questions() == ["toolu_1", "toolu_2"]


@pytest.mark.parametrize("how", ["stop", "pause"])
def test_a_machine_whose_database_is_away_goes_on_and_brings_all_once_it_is_back(
    machine: Callable[[str], Machine], server: Server, schema: str, how: str
) -> None:
    one = machine("one")
    one.use_database()
    one.run("storage", "init")
    one.asks("toolu_1")
    wait_until(lambda: rows(server, schema) == ["one"], 20, "the first question")
    getattr(server, how)()
    one.asks("toolu_2")
    assert one.own_questions() == ["toolu_1", "toolu_2"]
    wait_until(one.problem, 30, "what is said of the database")
    server.restore()
    wait_until(lambda: rows(server, schema) == ["one", "one"], 60, "the second question")
    wait_until(lambda: not one.problem(), 30, "that all is well again")


def test_a_release_that_does_not_know_the_tables_says_so_and_the_machine_goes_on(
    machine: Callable[[str], Machine], server: Server, schema: str
) -> None:
    one = machine("one")
    one.use_database()
    one.asks("toolu_1")
    wait_until(one.problem, 30, "what is said of the tables")
    assert "hookrouter storage init" in one.problem()
    assert one.own_questions() == ["toolu_1"]
    one.run("storage", "init")
    wait_until(lambda: rows(server, schema) == ["one"], 60, "the question")


def test_a_machine_that_is_gone_for_good_is_forgotten(
    machine: Callable[[str], Machine], server: Server, schema: str
) -> None:
    one, two = machine("one"), machine("two")
    for each in (one, two):
        each.use_database()
    one.run("storage", "init")
    one.asks("toolu_1")
    two.asks("toolu_2")
    wait_until(lambda: sorted(rows(server, schema)) == ["one", "two"], 30, "both questions")
    assert "the machine 'two' is at work" in one.run("storage", "forget", "two", code=2)

    two.close()
    would = one.told("storage", "forget", "two", "--dry-run")["removed"]
    assert would["question"] == 1
    assert sorted(rows(server, schema)) == ["one", "two"]
    assert one.told("storage", "forget", "two")["removed"] == would
    assert rows(server, schema) == ["one"]
    assert "there are documents of: one\n" in one.run("storage", "check")
    assert [found["tool_use_id"] for found in one.told("questions")["questions"]] == ["toolu_1"]
    assert "no machine 'two' has documents in the engine" in one.run("storage", "forget", "two", code=2)

    two.use_database()
    two.asks("toolu_3")
    wait_until(lambda: sorted(rows(server, schema)) == ["one", "two", "two"], 30, "what it brings when it comes back")
