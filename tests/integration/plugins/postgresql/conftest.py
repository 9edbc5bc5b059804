"""One server for all tests of a worker, and a schema of its own for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hookrouter_postgresql.engine import PostgresqlEngine, PostgresqlStorage
from hookrouter_postgresql.settings import PostgresqlSettings
from support.postgres import Server, postgres_server

OpenStorage = Callable[..., PostgresqlStorage]


@pytest.fixture(scope="session")
def shared_server() -> Iterator[Server]:
    with postgres_server() as running:
        yield running


@pytest.fixture
def server(shared_server: Server) -> Iterator[Server]:
    """The server of this worker; it runs again for the next test, whatever this one does to it."""
    yield shared_server
    shared_server.restore()


@pytest.fixture
def schema(server: Server) -> str:
    return server.schema()


@pytest.fixture
def open_storage(server: Server, schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenStorage]:
    """Return a function that opens the documents of this test, as any process or machine would."""
    monkeypatch.setenv("TEST_DATABASE", server.dsn())
    opened: list[PostgresqlStorage] = []

    def open_one(machine: str = "one", dsn_env: str = "TEST_DATABASE", **settings: object) -> PostgresqlStorage:
        chosen = PostgresqlSettings(dsn_env=dsn_env, **{"schema": schema, **settings})  # type: ignore[arg-type]
        storage = PostgresqlEngine().open(chosen, machine, str(tmp_path / machine))
        opened.append(storage)
        return storage

    yield open_one
    for storage in opened:
        storage.close()


@pytest.fixture
def storage(open_storage: OpenStorage) -> PostgresqlStorage:
    """The documents of the machine ``one``, whose tables are there."""
    made = open_storage()
    made.init()
    return made
