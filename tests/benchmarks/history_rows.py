"""What the history in PostgreSQL costs with a million questions, against a thousand, in milliseconds.

    python tests/benchmarks/history_rows.py [--rounds N] [--rows N] [--write]

Two schemas of one server of its own are filled, with a thousand stories and with so many (a million by default), of ten
machines and 15 sessions, over 90 days. Every query of the page and of ``hookrouter history`` is asked of both in turn
by one process with an open connection; and so is, of the larger one, the bare statement that reads the same rows, with
its JSON parsed. ``--write`` puts the table into docs/evidence/speed.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hookrouter.storage.history import StoryQuery
from hookrouter.storage.history_counts import DAY
from hookrouter_postgresql import history as engine_history
from hookrouter_postgresql.engine import PostgresqlEngine
from hookrouter_postgresql.history import PostgresqlHistory
from hookrouter_postgresql.settings import PostgresqlSettings
from support.manual import write_part
from support.postgres import Server, postgres_server

FEW = 1000
PAGE = 50

STORY = """'{"kind":"question","session":"' || session || '","session_id":"s-' || n || '","tool_use_id":"toolu_' || n
|| '","agent":"night","asked_at":"2026-11-25T07:00:00.000Z","ended_at":"2026-11-25T07:00:20.000Z","seconds":20.0,
"outcome":"' || outcome || '","by":"agent","who":"","channel":"keys","verified":true,"reason":"","missed":false,
"reminders":0,"escalated":false,"questions":[{"header":"Way","question":"Which way, ' || n || '?",
"recorded":"Left","intended":"Left","result":"match"}],"chat":null,"attempts":[{"at":"2026-11-25T07:00:10.000Z",
"outcome":"delivered","channel":"keys","reason":"","steps":["1: the cursor","Enter: to submit"]}]}'"""

KEY = """sha256(convert_to('["s-' || n || '","toolu_' || n || '"]', 'UTF8'))"""

FILL = f"""
INSERT INTO SCHEMA.story
  (machine, key, session, kind, outcome, ended_by, at, latest, lasting, words, story, sources)
SELECT machine, {KEY}, session, kind, outcome, 'agent', at, at + interval '20 seconds', false,
       'which way, ' || n || '?', {STORY}, '{{"records":["' || repeat(md5(n::text), 12) || '"]}}'
FROM (
  SELECT n, 'machine-' || n % 10 AS machine, 'work-' || n % 15 AS session,
         CASE n % 20 WHEN 0 THEN 'plan' ELSE 'question' END AS kind,
         CASE WHEN n > ROWS * 0.8 THEN 'mismatch'
              ELSE (ARRAY['verified', 'answered_by_person', 'unanswered'])[1 + (n / 10) % 3] END AS outcome,
         now() - n * interval '90 days' / ROWS AS at
  FROM generate_series(1, ROWS) AS n
) AS made
"""
FILL_COUNTS = """
INSERT INTO SCHEMA.history_count (day, machine, subject, name, part, bucket, calls, failed, longest)
SELECT TODAY - d, 'machine-' || m, 'run', 'event-' || e, '', b, 7, 0, 900
FROM generate_series(0, 29) AS d, generate_series(0, 9) AS m, generate_series(0, 11) AS e, generate_series(20, 27) AS b
"""
"""The figures of a day and machine are the same rows, however many runs they count."""

Ask = Callable[[PostgresqlHistory], object]


class Case(NamedTuple):
    """One query, and the bare statement for the same rows."""

    name: str
    ask: Ask
    bare: str
    values: tuple[object, ...]


def main() -> int:
    """Fill the schemas, ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--write", action="store_true", help="put the table into docs/evidence/speed.md")
    given = parser.parse_args()
    with postgres_server() as server, tempfile.TemporaryDirectory() as folder:
        os.environ["BENCHMARK_DATABASE"] = server.dsn()
        few, many = (filled(server, folder, name, rows) for name, rows in (("few", FEW), ("many", given.rows)))
        with psycopg.connect(server.dsn(), autocommit=True, prepare_threshold=None) as connection:
            table = measured(few, many, connection, given.rounds)
    lines = [f"| query | ms, {FEW:,} | ms, {given.rows:,} | ratio | ms, bare statement | ratio to that |"]
    lines += ["|---|---|---|---|---|---|", *table]
    busy = f"{os.cpu_count()} cores with a load of {os.getloadavg()[1]:.0f}"
    lines += ["", f"Medians of {given.rounds} rounds on {busy}; ratios are the medians of those of each round."]
    print("\n".join(lines))
    if given.write:
        write_part("docs/evidence/speed.md", "history-rows", "\n".join(lines))
    return 0


def filled(server: Server, folder: str, schema: str, rows: int) -> PostgresqlHistory:
    """Make a schema with so many stories, and return its history."""
    settings = PostgresqlSettings(dsn_env="BENCHMARK_DATABASE", schema=schema, statement_timeout=60)
    storage = PostgresqlEngine().open(settings, "machine-0", folder)
    storage.init()
    begun = time.monotonic()
    for statement in (FILL, FILL_COUNTS):
        text = statement.replace("SCHEMA", schema).replace("ROWS", str(rows))
        server.ask(text.replace("TODAY", str(int(time.time() // DAY))))
    server.ask(f"VACUUM ANALYZE {schema}.story")
    server.ask(f"VACUUM ANALYZE {schema}.history_count")
    print(f"{rows:,} stories written in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    history = storage.history()
    assert history is not None
    return history


def cases() -> list[Case]:
    """Return all queries of the page and the commands."""
    now = time.time()
    month, half = now - 30 * DAY, now - 45 * DAY
    middle = f"{int(half * 1e6)}.0"
    utc = "timezone('UTC', at)"
    looked = f"(SELECT * FROM SCHEMA.story ORDER BY {utc} DESC, id DESC LIMIT {engine_history._LOOKED_AT}) AS looked"
    columns = "SELECT id, machine, at, latest, story FROM"

    def moment(at: float) -> datetime:
        return datetime.fromtimestamp(at, UTC).replace(tzinfo=None)

    def page(query: StoryQuery, after: str = "") -> Ask:
        return lambda history: history.stories(query, PAGE, after)

    def newest(order: str) -> str:
        return f"ORDER BY {order} DESC, id DESC LIMIT {PAGE + 1}"

    def plain(name: str, query: StoryQuery, where: str, *values: object, after: str = "") -> Case:
        order = "at" if "= %s" in where else utc
        return Case(name, page(query, after), f"{columns} SCHEMA.story {where} {newest(order)}", values)

    return [
        plain("the newest 50", StoryQuery(), ""),
        plain("50 of the middle", StoryQuery(), f"WHERE {utc} < %s", moment(half), after=middle),
        plain("of a machine", StoryQuery(machine="machine-3"), "WHERE machine = %s", "machine-3"),
        plain("of a session", StoryQuery(session="work-7"), "WHERE session = %s", "work-7"),
        plain("of an outcome", StoryQuery(outcome="unanswered"), "WHERE outcome = %s", "unanswered"),
        plain("of an outcome that old ones have", StoryQuery(outcome="mismatch"), "WHERE outcome = %s", "mismatch"),
        plain("of an outcome that nothing has", StoryQuery(outcome="chat"), "WHERE outcome = %s", "chat"),
        plain("of a kind", StoryQuery(kind="plan"), "WHERE kind = %s", "plan"),
        plain("ended by an agent", StoryQuery(by="agent"), "WHERE ended_by = %s", "agent"),
        plain("asked before a day", StoryQuery(until=month), f"WHERE {utc} < %s", moment(month)),
        plain("asked or ended since a day", StoryQuery(since=month), f"WHERE {utc} > %s", moment(month)),
        plain(
            "of a machine and an outcome",
            StoryQuery(machine="machine-3", outcome="verified"),
            "WHERE machine = %s AND outcome = %s",
            "machine-3",
            "verified",
        ),
        Case(
            "with words that nothing has",
            page(StoryQuery(words="elephants")),
            f"{columns} {looked} WHERE strpos(words, %s) > 0 {newest('at')}",
            ("elephants",),
        ),
        Case(
            "one story",
            lambda history: history.story("machine-0", ("s-500", "toolu_500")),
            f"SELECT * FROM SCHEMA.story WHERE machine = %s AND key = {KEY.replace('|| n ||', '|| 500 ||')}",
            ("machine-0",),
        ),
        Case(
            "the figures of 30 days",
            lambda history: history.counts(int(now // DAY) - 29),
            "SELECT day, subject, name, part, bucket, sum(calls), sum(failed), max(longest) FROM SCHEMA.history_count "
            "WHERE day >= %s GROUP BY day, subject, name, part, bucket",
            (int(now // DAY) - 29,),
        ),
    ]


def measured(
    few: PostgresqlHistory, many: PostgresqlHistory, connection: psycopg.Connection[tuple[Any, ...]], rounds: int
) -> list[str]:
    """Return the rows of the table; every case is asked of both in turn."""
    lines = []
    for case in cases():
        bare = case.bare.replace("SCHEMA", "many").encode()

        def ask_bare(case: Case = case, bare: bytes = bare) -> None:
            for row in connection.execute(bare, case.values).fetchall():
                for value in row:
                    if isinstance(value, str) and value.startswith("{"):
                        json.loads(value)

        asked = {"few": lambda case=case: case.ask(few), "many": lambda case=case: case.ask(many), "bare": ask_bare}
        times: dict[str, list[float]] = {name: [] for name in asked}
        for _ in range(rounds + 5):
            for name, ask in asked.items():
                begun = time.perf_counter()
                ask()
                times[name].append((time.perf_counter() - begun) * 1000)
        few_ms, many_ms, bare_ms = (statistics.median(times[name][5:]) for name in ("few", "many", "bare"))
        to_few, to_bare = (ratio(times["many"][5:], times[name][5:]) for name in ("few", "bare"))
        lines.append(f"| {case.name} | {few_ms:.2f} | {many_ms:.2f} | {to_few:.2f} | {bare_ms:.2f} | {to_bare:.2f} |")
    return lines


def ratio(ones: list[float], others: list[float]) -> float:
    """Return the median of the ratios of each round: what else runs on the machine slows both of a round."""
    return statistics.median(one / other for one, other in zip(ones, others, strict=True))


if __name__ == "__main__":
    sys.exit(main())
