"""What a scrape of ``/metrics`` costs: processor time of the monitor, with nothing open and with much.

    python tests/benchmarks/monitor.py [--rounds N]

Two homes are each served by a real router: an empty one, and one with 200 open questions, 500 sessions and 20,000
questions of the past. Each is scraped ``--rounds`` times; printed is the processor time of the monitor's process for a
scrape, as milliseconds and as a ratio to that of ``python -c pass``, its memory, and the lines of an answer.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.big_home import make_big_home
from support.machine import machine
from support.monitor import Monitor
from support.page import Home
from support.resident import Resident, eventually

PLAIN_RUNS = 20


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    rounds = parser.parse_args().rounds
    plain = _plain_ms()
    print(machine())
    print(f"{'home':8} {'ms':>8} {'x plain':>8} {'MB':>6} {'lines':>6}")
    for name, questions, sessions, stories in (("empty", 0, 0, 0), ("big", 200, 500, 20_000)):
        with tempfile.TemporaryDirectory() as folder:
            monitor = Monitor()
            home = Home(Path(folder), monitor.config)
            make_big_home(Path(folder), questions=questions, sessions=sessions, stories=stories)
            with Resident(home.environ) as router:
                eventually(monitor.lives)
                lines = monitor.get("/metrics").text.count("\n")
                pid = int(router.status()["monitor"]["pid"])
                before = _cpu_ms(pid)
                for _ in range(rounds):
                    monitor.get("/metrics")
                each = (_cpu_ms(pid) - before) / rounds
                print(f"{name:8} {each:8.1f} {each / plain:8.2f} {_megabytes(pid):6.0f} {lines:6}")
    return 0


def _plain_ms() -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(PLAIN_RUNS):
        subprocess.run([sys.executable, "-c", "pass"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / PLAIN_RUNS


def _cpu_ms(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _megabytes(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024


if __name__ == "__main__":
    sys.exit(main())
