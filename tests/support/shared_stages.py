"""Every stage shares its documents through PostgreSQL: the tests of sessions run as on one machine of a fleet."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from hookrouter._sandbox.stage import Stage
from hookrouter.storage.engine import open_store
from hookrouter.testing import wait_until
from hookrouter_postgresql.engine import PostgresqlEngine, PostgresqlStorage
from hookrouter_postgresql.settings import PostgresqlSettings
from support.postgres import Server
from support.shared_kinds import SHARED

__all__ = ["shared_stages"]

_numbers = count()


class _Shared(NamedTuple):
    """A stage's part in the engine."""

    table: str
    storage: PostgresqlStorage


@contextmanager
def shared_stages(server: Server) -> Iterator[None]:
    """Give each stage that is made in the block a ``[storage]`` table, and see in the end that its documents came."""
    configure, made = Stage.configure, dict[Stage, _Shared]()

    def shared(stage: Stage, config: str) -> None:
        if "[storage]" not in config:
            if stage not in made:
                made[stage] = _shared(stage, server)
            config = f"{config}\n{made[stage].table}"
        configure(stage, config)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stage, "configure", shared)
        yield
    for stage, one in made.items():
        try:
            _wait_brought(stage, one)
        finally:
            one.storage.close()
            configure(stage, "")


def _shared(stage: Stage, server: Server) -> _Shared:
    machine, schema = f"stage-{next(_numbers)}", server.schema()
    dsn = os.path.join(stage.folder, "dsn")
    with open(os.open(dsn, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(server.dsn())
    keys = {"engine": "postgresql", "machine": machine, "dsn_file": dsn, "schema": schema}
    table = "[storage]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    settings = PostgresqlSettings(dsn_file=dsn, schema=schema)
    storage = PostgresqlEngine().open(settings, machine, os.path.join(stage.folder, "looking"))
    storage.init()
    return _Shared(table, storage)


def _wait_brought(stage: Stage, one: _Shared) -> None:
    config = Path(stage.home.config_file)
    if not config.exists() or one.table not in config.read_text(encoding="utf-8"):
        # The test has taken it out, or the whole home away.
        return

    def differing() -> list[tuple[str, str]]:
        return [
            (area, kind)
            for area, kinds in SHARED.items()
            for kind in kinds
            if open_store(stage.home, lambda _text: None, area).entries(kind)
            != one.storage.store(area, pytest.fail).entries(kind)
        ]

    if differing():
        stage.run("sessions")
        wait_until(lambda: not differing(), 60, "the documents in the engine", lambda: f"{differing()}")
