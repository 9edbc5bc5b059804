"""What the page costs with a long history: the server's time for each page, and what open pages cost the hooks.

    python tests/benchmarks/page.py [--rounds N]

A home with 200 open questions, 500 sessions and 20,000 questions of the past is served by a real router. Each page is
asked for ``--rounds`` times on a connection that is kept; printed are median and longest, in milliseconds: of the first
page while the page's process still reads the history, and of all once it has. Then a hook that one plugin looks at is
run, in turns without and with 50 pages that listen, as a ratio to ``python -c pass``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import requests

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from hook_run import CALL

from hookrouter.util.program import script_argv
from support.big_home import make_big_home
from support.page import Home, Served

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT_MS = 100.0
LISTENERS = 50
HOOKS = 5
"""Hook runs in a turn, with or without the pages."""
PAGES = ("/", "/waiting/list", "/sessions", "/history", "/history?words=color", "/history?outcome=mismatch&page=40",
         "/statistics", "/health")  # fmt: skip


def main() -> int:
    """Print the table; exits 1 if a page's median is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        home = Home(Path(folder))
        make_big_home(Path(folder), questions=200, sessions=500, stories=20_000)
        served = stack.enter_context(Served(home.environ))
        visitor = _visitor(served)
        print(f"{'page':40} {'first':>8} {'median':>8} {'longest':>8} ms {'kB':>6}")
        slow = _measure_pages(served.base, visitor, rounds, PAGES[:1])
        _wait_idle(served.pid)
        slow += _measure_pages(served.base, visitor, rounds, PAGES)
        _measure_hooks(served, home, visitor, rounds)
    return 1 if slow else 0


def _visitor(served: Served) -> requests.Session:
    visitor = requests.Session()
    base, token = served.base, served.link()["url"].rpartition("/")[2]
    visitor.post(
        f"{base}/login", data={"token": token}, headers={"Origin": base.rpartition("/")[0]}, timeout=60
    ).raise_for_status()
    return visitor


def _measure_pages(base: str, visitor: requests.Session, rounds: int, pages: Sequence[str]) -> list[str]:
    slow = []
    for page in pages:
        times = []
        for _ in range(rounds + 1):
            began = time.perf_counter()
            found = visitor.get(base + page, timeout=120)
            times.append(1000 * (time.perf_counter() - began))
            found.raise_for_status()
        first, *others = times
        median = statistics.median(others)
        size = len(found.content) // 1024
        print(f"{page:40} {first:8.1f} {median:8.1f} {max(others):8.1f}    {size:6}")
        slow += [page] if median > LIMIT_MS else []
    return slow


def _measure_hooks(served: Served, home: Home, visitor: requests.Session, rounds: int) -> None:
    found: dict[str, list[float]] = {"without": [], "with": [], "pass": []}
    base, hook = served.base, [*script_argv(), "run", "pre-tool-use"]
    for _ in range(rounds):
        for name in ("without", "with"):
            with ExitStack() as stack:
                for _ in range(LISTENERS if name == "with" else 0):
                    # What comes is little, and waits in the socket: nobody has to read it.
                    stack.enter_context(visitor.get(f"{base}/live", stream=True, timeout=120))
                _wait_idle(served.pid)
                for _ in range(HOOKS):
                    found["pass"].append(_took([sys.executable, "-c", "pass"], "", home))
                    found[name].append(_took(hook, json.dumps(CALL), home))
    bare = statistics.median(found["pass"])
    for name in ("without", "with"):
        print(f"a hook {name} {LISTENERS} pages that listen: {statistics.median(found[name]) / bare:.2f}")


def _wait_idle(pid: int) -> None:
    """Wait until a process has used no time for half a second: to be opened costs a page's process more than to be."""

    def used() -> list[str]:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]

    before = None
    while (now := used()) != before:
        before = now
        time.sleep(0.5)


def _took(words: list[str], given: str, home: Home) -> float:
    began = time.perf_counter()
    subprocess.run(words, input=given, env=home.environ, capture_output=True, text=True, check=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
