"""The documents and the history that an older version left in PostgreSQL go on."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg

from hookrouter.testing import wait_until
from support.postgres import Server
from support.recorded_home import RECORDED, RecordedHome, carry_on, same

SCHEMA = "recorded"
STORIES = f"SELECT machine, key, story FROM {SCHEMA}.story ORDER BY key"


def test_the_home_of_58df749_goes_on(server: Server, tmp_path: Path) -> None:
    with (
        RecordedHome(RECORDED / "postgresql", tmp_path, "keep_days = 36500\n", HOOKS_DATABASE=server.dsn()) as home,
        psycopg.connect(server.dsn(), autocommit=True) as connection,
    ):
        connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        connection.execute(home.here((RECORDED / "postgresql" / "dump.sql").read_text()).encode())
        before = server.ask(STORIES)
        carry_on(home)
        # Of the questions that have ended meanwhile, the history of all machines tells it; of the others as before.
        ended = f"SELECT count(*) FROM {SCHEMA}.story WHERE outcome <> 'open'"
        wait_until(lambda: server.ask(ended) == [(8,)], 60, "the history in the database")
        after = server.ask(STORIES)
    assert [row[:2] for row in after] == [row[:2] for row in before]
    told = [(json.loads(str(now)), json.loads(str(then))) for (*_, now), (*_, then) in zip(after, before, strict=True)]
    changed = {then["tool_use_id"]: now["outcome"] for now, then in told if not same(now, then)}
    verified, unanswered = ("toolu_d1", "toolu_f1"), ("toolu_e1", "toolu_e2")
    assert changed == {**dict.fromkeys(verified, "verified"), **dict.fromkeys(unanswered, "unanswered")}
