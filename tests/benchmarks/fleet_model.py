"""What a fleet asks of one PostgreSQL, simulated: where the first limit is, up to 100,000 sessions and more.

    python tests/benchmarks/fleet_model.py [--write] [--questions N] [--turns N] [--per-machine N] [--cores N] ...

What is simulated is the database alone: transactions of machines arrive at random, each needs one of its cores, the
longer the more rows it writes, and, if it writes, then the one lane in which transactions with notifications are
committed, one after the other (PostgreSQL holds one lock for all of them until such a commit is on the disk).
Machines at rest ask as well: for what others want of them, and for what they may have missed. What a question, a rest
and a commit cost is measured by ``fleet.py`` and stands in the defaults of the options; what is supposed is said there.
``--write`` puts the table into docs/evidence/fleet.md.
"""

from __future__ import annotations

import argparse
import heapq
import random
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.manual import write_part

COLUMNS = (
    "sessions",
    "machines",
    "connections",
    "questions/s",
    "rows/s",
    "notifying commits/s",
    "reads/s",
    "cores used",
    "commit lane used",
    "median ms",
    "99 % below ms",
)
SIZES = (1_000, 10_000, 30_000, 100_000, 300_000)


class Costs(NamedTuple):
    """What is measured, and what is supposed; see the options."""

    questions: float
    turns: float
    per_machine: int
    cores: int
    writes: float
    rows: float
    reads: float
    row_ms: float
    read_ms: float
    commit_ms: float
    rest: float
    connections: float


class Load(NamedTuple):
    """What so many sessions mean for the database, in a second."""

    machines: int
    asked: float
    writes: float
    rows: float
    reads: float
    cores: float
    """The share of the cores that is used."""
    lane: float
    """The share of the time in which a transaction with a notification is committed."""
    write_ms: float
    """What a writing transaction takes of a core, in ms."""


def load_of(sessions: int, costs: Costs) -> Load:
    """Return what so many sessions mean."""
    machines = max(1, sessions // costs.per_machine)
    asked = sessions * costs.questions / 3600
    # A turn changes what is known of its session when it begins and when it ends: a row, and the transaction's count.
    of_turns = sessions * costs.turns * 2 / 3600
    writes = asked * costs.writes + of_turns
    rows = asked * costs.rows + of_turns * 2
    # A machine reads as much around each transaction that it writes, whatever that is of.
    reads = writes * costs.reads / costs.writes + machines * costs.rest
    busy = (rows * costs.row_ms + reads * costs.read_ms) / 1000 / costs.cores
    lane = writes * costs.commit_ms / 1000
    return Load(machines, asked, writes, rows, reads, busy, lane, rows * costs.row_ms / writes)


def waits(load: Load, costs: Costs, chance: random.Random, count: int = 100_000) -> tuple[float, float]:
    """Return the median and the 99th percentile, in ms, of how long a writing transaction takes, of so many."""
    rate = load.writes + load.reads
    share = load.writes / rate
    now, lane_free = 0.0, 0.0
    cores = [0.0] * costs.cores
    taken = []
    ready: list[tuple[float, float]] = []
    for _ in range(count):
        now += chance.expovariate(rate)
        is_write = chance.random() < share
        service = chance.expovariate(1000 / (load.write_ms if is_write else costs.read_ms))
        done = max(now, heapq.heappop(cores)) + service
        heapq.heappush(cores, done)
        if is_write:
            heapq.heappush(ready, (done, now))
    # The lane is taken in the order in which the transactions come to their commits.
    while ready:
        done, begun = heapq.heappop(ready)
        lane_free = max(done, lane_free) + chance.expovariate(1000 / costs.commit_ms)
        taken.append((lane_free - begun) * 1000)
    taken.sort()
    return taken[len(taken) // 2], taken[int(len(taken) * 0.99)]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=float, default=4, help="questions of a session in an hour (supposed)")
    parser.add_argument("--turns", type=float, default=20, help="turns of a session in an hour (supposed)")
    parser.add_argument("--per-machine", type=int, default=50, help="sessions of a machine (supposed)")
    parser.add_argument("--cores", type=int, default=8, help="cores of the database (supposed)")
    parser.add_argument("--writes", type=float, default=WRITES, help="writing transactions of a question")
    parser.add_argument("--rows", type=float, default=ROWS, help="rows written by a question")
    parser.add_argument("--reads", type=float, default=READS, help="reading transactions of a question")
    parser.add_argument("--row-ms", type=float, default=ROW_MS, help="ms of a core by a row that is written")
    parser.add_argument("--read-ms", type=float, default=READ_MS, help="ms of a core by one that reads")
    parser.add_argument("--commit-ms", type=float, default=COMMIT_MS, help="ms of a commit with a notification")
    parser.add_argument("--rest", type=float, default=REST, help="transactions a second of a machine at rest")
    parser.add_argument("--connections", type=float, default=CONNECTIONS, help="connections of a machine")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="put the table into docs/evidence/fleet.md")
    given = vars(parser.parse_args())
    is_written, seed = given.pop("write"), given.pop("seed")
    costs = Costs(**given)
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for sessions in SIZES:
        load = load_of(sessions, costs)
        is_full = max(load.cores, load.lane) >= 1
        median, high = (
            ("grows", "grows") if is_full else (f"{one:.0f}" for one in waits(load, costs, random.Random(seed)))
        )
        lines.append(
            f"| {sessions:,} | {load.machines:,} | {load.machines * costs.connections:,.0f} | {load.asked:,.1f} "
            f"| {load.rows:,.0f} | {load.writes:,.0f} | {load.reads:,.0f} | {load.cores:.0%} | {load.lane:.0%} "
            f"| {median} | {high} |"
        )
    supposed = ", ".join(f"{name} {value:g}" for name, value in costs._asdict().items())
    lines += ["", f"With {supposed}."]
    text = "\n".join(lines)
    print(text)
    if is_written:
        write_part("docs/evidence/fleet.md", "model", text)
    return 0


ROWS, WRITES, READS, REST, CONNECTIONS = 46.4, 5.8, 51.2, 2.1, 2.0
"""As ``fleet.py life`` and ``idle`` have measured them; what does not write reads."""
COMMIT_MS = 0.21
"""As ``fleet.py commits`` has, with 16 connections and notifications."""
ROW_MS = 0.25
"""No more than that: as ``commits`` has with 4 connections and without notifications, the client's work included."""
READ_MS = 0.15
"""Supposed."""


if __name__ == "__main__":
    sys.exit(main())
