"""What machines that share PostgreSQL cost: hooks, questions, waits, and the database.

    python tests/benchmarks/fleet.py [hook] [life] [load] [idle] [commits] [--write]

- ``hook``: AskUserQuestion's PreToolUse through the resident router, with the engine and without, in turn;
- ``life``: the rows and bytes of log that one question means for the database, from asked to verified, and what a
  machine asks of it while nothing happens;
- ``load``: 1, 50 and 500 sessions that ask again as soon as their question is seen elsewhere: how many in a second, and
  how long each took, beside the bare statements for the same rows on one connection;
- ``idle``: 10,000 questions that wait on ten machines;
- ``commits``: how many transactions of one row PostgreSQL takes in a second, with and without a notification in each.

Without a name all are measured. The server is one of its own, with ``fsync`` on. ``--write`` puts the tables into
docs/evidence/fleet.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from hook_run import CALL, QUESTION, UNWANTED, forget, one_run, private_tmux, wait_for_deliverer
from resident import native_front

from hookrouter.dialogs import documents
from hookrouter.dialogs.documents import Dialog
from hookrouter.sharing import STAY, WORDS
from hookrouter.storage.engine import open_store
from hookrouter.storage.home import Home
from hookrouter.testing import wait_until
from hookrouter.util.program import script_argv
from hookrouter_fleet.locks import is_sharing
from hookrouter_postgresql.engine import PostgresqlEngine, PostgresqlStorage
from hookrouter_postgresql.settings import PostgresqlSettings
from support.fleet import Engine, Machine
from support.machine import machine
from support.manual import write_part
from support.postgres import Server, postgres_server
from support.resident import Resident

VARIABLE = "FLEET_DATABASE"
SESSIONS = (1, 50, 500)
MACHINES, WAITS = 10, 1000
RIGHT = '[{"action": "select", "optionIndex": 1}]'

FIGURES = """
SELECT d.xact_commit + d.xact_rollback, pg_snapshot_xmax(pg_current_snapshot())::text, s.rows,
  pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'),
  (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hookrouter')
FROM pg_stat_database d,
  (SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) AS rows FROM pg_stat_user_tables) s
WHERE d.datname = 'postgres'
"""


class Figures(NamedTuple):
    """What the server has done by now."""

    transactions: int
    written: int
    """How many transactions had a number, which those have that write or notify."""
    rows: int
    bytes: int
    connections: int

    @classmethod
    def now(cls, server: Server) -> Figures:
        """Ask the server, once all that has ended is counted."""
        server.ask("SELECT pg_stat_force_next_flush()")
        time.sleep(1.5)
        (figures,) = server.ask(FIGURES)
        return cls(*(int(str(one)) for one in figures))


def main() -> int:
    """Measure what is named, and print the tables."""
    parts: dict[str, Callable[[Server, Path], list[str]]] = {
        "hook": hook,
        "life": life,
        "load": load,
        "idle": idle,
        "commits": commits,
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(parts))
    parser.add_argument("--write", action="store_true", help="put the tables into docs/evidence/fleet.md")
    given = parser.parse_args()
    for name in given.names or parts:
        if name not in parts:
            parser.error(f"{name}: allowed: {', '.join(parts)}")
        with postgres_server() as server, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            server.ask("ALTER SYSTEM SET fsync = on")
            server.ask("SELECT pg_reload_conf()")
            os.environ[VARIABLE] = server.dsn()
            lines = parts[name](server, Path(folder))
        text = "\n".join(
            [*lines, "", f"On {machine()}, with a load of {os.getloadavg()[1]:.1f}; PostgreSQL on it too."]
        )
        print(f"\n{name}\n{text}", flush=True)
        if given.write:
            write_part("docs/evidence/fleet.md", name, text)
    return 0


def table(name: str, schema: str) -> str:
    """Return the ``[storage]`` table of a machine."""
    return f'[storage]\nengine = "postgresql"\nmachine = "{name}"\ndsn_env = "{VARIABLE}"\nschema = "{schema}"\n'


def opened(name: str, folder: Path, schema: str) -> PostgresqlStorage:
    """Return the documents as a machine sees them; the tables are made."""
    settings = PostgresqlSettings(dsn_env=VARIABLE, schema=schema)
    storage = PostgresqlEngine().open(settings, name, str(folder / f"state of {name}"))
    storage.init()
    return storage


@contextmanager
def sharing(folder: Path, name: str, schema: str) -> Iterator[Home]:
    """Yield a home whose documents a process brings to the engine."""
    home = Home.in_folder(str(folder / name))
    Path(home.root).mkdir(parents=True)
    Path(home.config_file).write_text(table(name, schema))
    environ = {**os.environ, "HOOKROUTER_HOME": home.root}
    with subprocess.Popen([*script_argv(), *WORDS, STAY], env=environ) as process:
        try:
            wait_until(lambda: is_sharing(home), 60, "the process that shares")
            yield home
        finally:
            process.kill()


def asked(session: str, number: int) -> Dialog:
    """Return a question as a hook keeps it."""
    return Dialog(
        session=session,
        session_id=f"id-{session}",
        tool_use_id=f"toolu_{session}_{number}",
        questions=[QUESTION],
        terminal=None,
        agent="boss",
        gateway="inbox",
        client_pid=0,
    )


def hook(server: Server, folder: Path) -> list[str]:
    """Return the table of AskUserQuestion's hook, whole, with the native front."""
    clean = {key: value for key, value in os.environ.items() if key not in UNWANTED}
    front = native_front(folder)
    assert front is not None
    data = json.dumps({**CALL, "tool_name": "AskUserQuestion", "tool_input": {"questions": [QUESTION]}}).encode()
    times: dict[str, list[float]] = {"files": [], "engine": []}
    with private_tmux(folder) as tmux, ExitStack() as stack:
        once = {}
        schema = server.schema()
        opened("engine", folder, schema).close()
        for name in times:
            home = folder / name
            home.mkdir()
            (home / "config.toml").write_text(table(name, schema) if name == "engine" else "")
            environ = {**clean, **tmux, "HOOKROUTER_HOME": str(home)}
            router = stack.enter_context(Resident(environ))
            argv = [front, router.folder, *script_argv(), "run", "pre-tool-use"]
            once[name] = home, argv, environ
        wait_until(lambda: is_sharing(Home.in_folder(str(folder / "engine"))), 60, "the process that shares")
        for number in range(63):
            for name in times if number % 2 else reversed(times):
                home, argv, environ = once[name]
                taken, _ = one_run(name, argv, data, environ)
                wait_for_deliverer(home)
                forget(home)
                # What the process that shares has to do is not part of the next run, of whichever home.
                time.sleep(0.3)
                if number >= 3:
                    times[name].append(taken)
        (folder / "engine" / "config.toml").write_text("")
    files, engine = (statistics.median(times[name]) * 1000 for name in ("files", "engine"))
    pairs = zip(times["engine"], times["files"], strict=True)
    return [
        "| AskUserQuestion, whole, native front | ms |",
        "|---|---|",
        f"| files | {files:.2f} |",
        f"| with the engine | {engine:.2f} |",
        f"| ratio | {statistics.median(one / other for one, other in pairs):.2f} |",
    ]


def life(server: Server, folder: Path) -> list[str]:
    """Return the table of what one question and one idle machine cost the database."""
    schema, count = server.schema(), 20
    keys = f'engine = "postgresql"\ndsn_env = "{VARIABLE}"\nschema = "{schema}"\n'
    one = Machine(folder, "one", Engine(keys, {VARIABLE: server.dsn()}))
    one.ask()
    one.told("answer", "--any", RIGHT)
    wait_until(lambda: is_sharing(one.stage.home), 60, "the process that shares")
    time.sleep(10)
    begun, at = Figures.now(server), time.monotonic()
    for _ in range(count):
        one.ask()
        one.told("answer", "--any", RIGHT)
    time.sleep(6)
    ended, lasted = Figures.now(server), time.monotonic() - at
    seconds = 30
    time.sleep(seconds)
    rested = Figures.now(server)
    one.close()
    idle_rate = (rested.transactions - ended.transactions) / (seconds + 1.5)
    idle_writes = (rested.written - ended.written) / (seconds + 1.5)
    of_questions = ended.transactions - begun.transactions - idle_rate * lasted
    rows = [
        ("rows written by one question, from asked to verified", (ended.rows - begun.rows) / count),
        ("transactions by one question, beside those of rest", of_questions / count),
        ("transactions that write, by one question", (ended.written - begun.written - idle_writes * lasted) / count),
        ("bytes of the database's log by one question", (ended.bytes - begun.bytes) / count),
        ("transactions a second of one machine that rests", idle_rate),
        ("rows written a second by one machine that rests", (rested.rows - ended.rows) / (seconds + 1.5)),
        ("connections of one machine", float(rested.connections)),
    ]
    return ["| what | |", "|---|---|", *(f"| {name} | {value:,.1f} |" for name, value in rows)]


def load(server: Server, folder: Path) -> list[str]:
    """Return the table of questions per second and of how long each took."""
    lines = ["| sessions | questions a second | median ms | 95 % below ms | bare statements a second | ratio |"]
    lines.append("|---|---|---|---|---|---|")
    for sessions in SESSIONS:
        schema = server.schema()
        looking = opened("desk", folder / str(sessions), schema)
        with sharing(folder / str(sessions), "worker", schema) as home:
            times, seconds = rounds(home, looking, sessions)
        looking.close()
        bare = bare_rate(server, len(times))
        rate = len(times) / seconds
        times.sort()
        median, high = statistics.median(times) * 1000, times[int(len(times) * 0.95)] * 1000
        lines.append(f"| {sessions} | {rate:,.0f} | {median:.0f} | {high:.0f} | {bare:,.0f} | {rate / bare:.2f} |")
    return lines


def rounds(home: Home, looking: PostgresqlStorage, sessions: int, seconds: float = 20.0) -> tuple[list[float], float]:
    """Have sessions ask, each again when its question is seen; return how long each took, and all together."""
    store, there = open_store(home, print), looking.store("", print, "worker")
    open_ones: dict[str, tuple[Dialog, float]] = {}
    times: list[float] = []
    numbers = iter(range(1_000_000))
    begun = time.perf_counter()
    with there.watch(documents.QUESTION) as watch:
        for number in range(sessions):
            ask_again(store, open_ones, f"s{number}", next(numbers))
        while time.perf_counter() - begun < seconds:
            watch.wait(1.0)
            seen = {str(document["tool_use_id"]) for _, document in there.entries(documents.QUESTION)}
            now = time.perf_counter()
            for session, (question, at) in list(open_ones.items()):
                if question.tool_use_id in seen:
                    times.append(now - at)
                    documents.delete_question(store, session, question.tool_use_id)
                    ask_again(store, open_ones, session, next(numbers))
    return times, time.perf_counter() - begun


def ask_again(store: object, open_ones: dict[str, tuple[Dialog, float]], session: str, number: int) -> None:
    """Keep the next question of a session."""
    question = asked(session, number)
    open_ones[session] = question, time.perf_counter()
    documents.save_question(store, question)  # type: ignore[arg-type]


def bare_rate(server: Server, count: int) -> float:
    """Return how many questions a second the bare statements for their rows are: written, and marked as gone."""
    body = json.dumps({"questions": [QUESTION], "session": "s", "cwd": "/tmp", "agent": "boss"})
    name = server.schema()
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {name} (name text PRIMARY KEY, body text, at timestamptz)".encode())
        begun = time.perf_counter()
        for number in range(count):
            connection.execute(f"INSERT INTO {name} VALUES (%s, %s, now())".encode(), (f"q{number}", body))
            connection.execute(f"UPDATE {name} SET body = NULL, at = now() WHERE name = %s".encode(), (f"q{number}",))
        return count / (time.perf_counter() - begun)


def idle(server: Server, folder: Path) -> list[str]:
    """Return the table of ten machines on each of which a thousand questions wait."""
    schema, seconds = server.schema(), 60
    looking = opened("desk", folder, schema)
    with ExitStack() as stack:
        homes = [stack.enter_context(sharing(folder, f"m{number}", schema)) for number in range(MACHINES)]
        begun = time.monotonic()
        for home in homes:
            store = open_store(home, print)
            for number in range(WAITS):
                documents.save_question(store, asked(f"s{number}", number))
        wait_until(lambda: len(looking.everywhere().entries("", documents.QUESTION)) == MACHINES * WAITS, 600, "all")
        brought = time.monotonic() - begun
        time.sleep(10)
        pids = [int(pid) for pid in subprocess.check_output(["pgrep", "-f", "storage --share --stay"]).split()]
        before, used = Figures.now(server), processor_time(pids)
        time.sleep(seconds)
        after, used_after = Figures.now(server), processor_time(pids)
        memory = [int(resident(pid)) for pid in pids]
        looking.close()
    rows = [
        (f"seconds until all {MACHINES * WAITS:,} were in the engine", f"{brought:.0f}"),
        ("connections of all machines", f"{after.connections}"),
        (
            "transactions a second of all machines",
            f"{(after.transactions - before.transactions) / (seconds + 1.5):.1f}",
        ),
        ("rows written a second", f"{(after.rows - before.rows) / (seconds + 1.5):.1f}"),
        (
            "processor time of one machine's process, % of a core",
            f"{(used_after - used) / (seconds + 1.5) / MACHINES * 100:.2f}",
        ),
        ("memory of one, MB", f"{statistics.median(memory) / 1024:.0f}"),
    ]
    return [
        "| 10,000 questions wait on ten machines | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in rows),
    ]


def processor_time(pids: list[int]) -> float:
    """Return the seconds of processor time that processes have used."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> str:
    """Return a process's resident memory in kB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("VmRSS"))


def commits(server: Server, folder: Path) -> list[str]:
    """Return the table of transactions a second, by connections, without and with a notification in each."""
    server.ask("CREATE TABLE committed (name text PRIMARY KEY, n bigint)")
    plain = "INSERT INTO committed VALUES (%s, 1) ON CONFLICT (name) DO UPDATE SET n = committed.n + 1"
    telling = f"WITH changed AS ({plain} RETURNING n) SELECT pg_notify('told', n::text) FROM changed"
    lines = ["| connections | transactions a second | with a notification | ratio |", "|---|---|---|---|"]
    for connections in (1, 4, 16):
        rates = [committed(server, statement, connections) for statement in (plain, telling)]
        lines.append(f"| {connections} | {rates[0]:,.0f} | {rates[1]:,.0f} | {rates[1] / rates[0]:.2f} |")
    return lines


def committed(server: Server, statement: str, connections: int, seconds: float = 6.0) -> float:
    """Return how many transactions a second so many connections make, each on a row of its own."""
    counts = [0] * connections
    end = time.monotonic() + seconds

    def work(number: int) -> None:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            while time.monotonic() < end:
                connection.execute(statement.encode(), (f"row {number}",))
                counts[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


if __name__ == "__main__":
    sys.exit(main())
