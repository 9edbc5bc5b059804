"""Roles with no more rights than they need, as the manual makes them: one for init and migrate, one for all else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from hookrouter.testing import wait_until
from support.fleet import Engine, Machine
from support.manual import blocks
from support.postgres import Server, postgres_server

RIGHT = json.dumps([{"action": "select", "optionIndex": 1}])
TABLE = 'engine = "postgresql"\ndsn_env = "FLEET_DATABASE"\n'


@pytest.fixture
def server() -> Iterator[Server]:
    with postgres_server() as running:
        yield running


def run_as(server: Server, role: str, statement: str) -> None:
    with psycopg.connect(server.dsn(role), autocommit=True) as connection:
        connection.execute(statement.encode())


def test_with_the_rights_of_the_manual_all_works(server: Server, tmp_path: Path) -> None:
    made, granted = (block.text for block in blocks("docs/guides/fleets.md", "sql")[:2])
    server.ask("CREATE ROLE head LOGIN CREATEROLE")
    server.ask("GRANT CREATE ON DATABASE postgres TO head")
    run_as(server, "head", made)
    owner = Machine(tmp_path, "owner", Engine(TABLE, {"FLEET_DATABASE": server.dsn("hookrouter_owner")}))
    machines = [owner]
    try:
        assert owner.told("storage", "check")["problems"] == []
        assert len(owner.told("storage", "migrate", "--to", "2")["done"]) == 1
        run_as(server, "hookrouter_owner", granted)
        assert len(owner.told("storage", "migrate")["done"]) == 1
        daily = Engine(TABLE, {"FLEET_DATABASE": server.dsn("hookrouter_daily")})
        one, two = (Machine(tmp_path, name, daily) for name in ("one", "two"))
        machines += [one, two]
        lacks = (
            "the user of the DSN lacks SELECT, INSERT, UPDATE, DELETE on history_count, history_file, history_machine"
        )
        assert lacks in one.told("storage", "check", code=1)["problems"][0]
        run_as(server, "hookrouter_owner", granted)
        for machine in (one, two):
            assert machine.told("storage", "check")["problems"] == []
        one.ask()
        wait_until(
            lambda: two.machines_of("questions", "questions") == ["one"], 30, "the question on the other machine"
        )
        assert two.told("answer", "--machine=one", "--any", RIGHT)["outcome"] == "verified"
        told = [("one", "verified")]
        wait_until(
            lambda: [(row["machine"], row["outcome"]) for row in two.told("history")["questions"]] == told,
            30,
            "its end in the history",
        )
        refused = two.stage.run("storage", "migrate", "--to", "2")
        assert (refused.returncode, "lacks CREATE on the schema" in refused.stderr) == (2, True)
    finally:
        for machine in machines:
            machine.close()
