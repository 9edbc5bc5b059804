"""Machines whose roles see their own rows alone, as the manual sets it up: all works, and nothing else is read."""

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
DOCUMENT = "hookrouter.document (machine, area, kind, digest, name)"
TABLE = 'engine = "postgresql"\ndsn_env = "FLEET_DATABASE"\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with the roles build_3 and build_4 of two machines, and page of an operator."""
    with postgres_server() as running:
        Machine(tmp_path_factory.mktemp("owner"), "owner", Engine(TABLE, {"FLEET_DATABASE": running.dsn()})).close()
        *_, once, again, roles = (block.text for block in blocks("docs/guides/fleets.md", "sql"))
        for statement in (once, again, again, roles):
            running.ask(statement)
        running.ask("CREATE ROLE build_4 LOGIN IN ROLE hookrouter_machine")
        running.ask("INSERT INTO hookrouter.machine_role VALUES ('build_4', 'build-4')")
        yield running


@pytest.fixture
def machines(server: Server, tmp_path: Path) -> Iterator[tuple[Machine, Machine, Machine]]:
    """Two machines of their own roles, and an operator's."""
    made: list[Machine] = []
    try:
        for name, role in (("build-3", "build_3"), ("build-4", "build_4"), ("operator", "page")):
            made.append(Machine(tmp_path, name, Engine(TABLE, {"FLEET_DATABASE": server.dsn(role)})))
        yield made[0], made[1], made[2]
    finally:
        for one in made:
            one.close()


def of_others(server: Server, role: str, machine: str) -> list[str]:
    """Return the tables in which a role reads or changes rows of other machines than its own."""
    tables = server.ask(
        "SELECT table_name FROM information_schema.columns WHERE table_schema = 'hookrouter' "
        "AND column_name = 'machine' AND table_name <> 'machine_role' ORDER BY 1"
    )
    assert len(tables) == 7
    found = []
    with psycopg.connect(server.dsn(role)) as connection:
        for (table,) in tables:
            for statement in (
                f"SELECT 1 FROM hookrouter.{table} WHERE machine <> %s",
                f"UPDATE hookrouter.{table} SET machine = machine WHERE machine <> %s RETURNING 1",
                f"DELETE FROM hookrouter.{table} WHERE machine <> %s RETURNING 1",
            ):
                if connection.execute(statement.encode(), (machine,)).fetchall():
                    found.append(statement)
        connection.rollback()
    return found


def test_machines_bring_and_answer_and_read_nothing_of_each_other(
    server: Server, machines: tuple[Machine, Machine, Machine]
) -> None:
    three, four, operator = machines
    three.ask("A secret of three?")
    four.ask("A secret of four?")
    both = ["build-3", "build-4"]
    wait_until(lambda: operator.machines_of("questions", "questions") == both, 30, "both questions at the operator's")
    wait_until(lambda: operator.machines_of("history", "questions") == both, 30, "both stories at the operator's")
    assert three.machines_of("questions", "questions") == ["build-3"]
    assert three.machines_of("history", "questions") == ["build-3"]
    assert of_others(server, "build_3", "build-3") == []
    assert of_others(server, "page", "build-3") != []
    with psycopg.connect(server.dsn("build_3")) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("UPDATE hookrouter.document SET machine = 'build-4'")
    refused = three.stage.run("answer", "--machine=build-4", "--any", RIGHT)
    assert (refused.returncode, "there is no machine 'build-4'" in refused.stderr) == (2, True)
    for machine in both:
        assert operator.told("answer", f"--machine={machine}", "--any", RIGHT)["outcome"] == "verified"
    ended = [("build-3", "verified"), ("build-4", "verified")]

    def told() -> bool:
        found = operator.told("history")["questions"]
        return sorted((story["machine"], story["outcome"]) for story in found) == ended

    wait_until(told, 30, "the ends of both at the operator's")
    for machine in machines:
        assert machine.told("storage", "check")["problems"] == []


def test_a_machine_of_another_name_than_its_role_has_is_told_so(server: Server, tmp_path: Path) -> None:
    wrong = Machine(tmp_path, "build-9", Engine(TABLE, {"FLEET_DATABASE": server.dsn("build_3")}))
    try:
        (problem,) = wrong.told("storage", "check", code=1)["problems"]
        assert "[storage] machine is 'build-9', but row-level security gives the user of the DSN" in problem
        assert "the rows of the machine 'build-3'; correct the one or the other" in problem
        wrong.ask()
        said = wrong.stage.run("storage", "copy", "--from", "files").stderr
        assert "[storage] machine must be the name that its role has in the table machine_role" in said
    finally:
        wrong.close()


def test_a_role_that_is_of_no_machine_writes_and_reads_nothing(server: Server, tmp_path: Path) -> None:
    server.ask("CREATE ROLE nobodys LOGIN IN ROLE hookrouter_machine")
    with psycopg.connect(server.dsn("nobodys"), autocommit=True) as connection:
        assert connection.execute("SELECT 1 FROM hookrouter.document").fetchall() == []
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"INSERT INTO {DOCUMENT} VALUES ('build-3', '', 'a', '', '')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO hookrouter.machine_role VALUES ('nobodys', 'build-3')")
