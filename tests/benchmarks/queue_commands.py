"""What commands about very many items of a queue cost, in seconds.

    python tests/benchmarks/queue_commands.py [--items N] [--write]

A queue of so many items; then the installed program as a person calls it: ``queue drop`` of 50 ids and of 1,000,
``queue clear`` of what is left, and ``queue clear`` of a whole one. ``--write`` puts the seconds into
docs/evidence/speed.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.hook_run import UNWANTED
from hookrouter.queue.documents import Queue, change_queue, read_queue
from hookrouter.queue.editing import added, new_items
from hookrouter.storage.engine import open_store
from hookrouter.storage.home import Home
from hookrouter.util.program import script_argv
from support.manual import write_part

SESSION = "night"


def main() -> int:
    """Fill queues, run the commands, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--write", action="store_true", help="put the seconds into docs/evidence/speed.md")
    given = parser.parse_args()
    lines = [f"| command, {given.items:,} items in the queue | seconds |", "|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        first = fill(Home.in_folder(str(Path(folder) / "first")), given.items)
        ids = [item.id for item in queue_in(first).items]
        lines.append(f"| `queue drop` of 50 ids | {seconds(first, ['drop', *ids[:50]]):.1f} |")
        lines.append(f"| `queue drop` of 1,000 ids | {seconds(first, ['drop', *ids[50:1050]]):.1f} |")
        assert len(queue_in(first).items) == given.items - 1050
        every = fill(Home.in_folder(str(Path(folder) / "every")), given.items)
        ids = [item.id for item in queue_in(every).items]
        lines.append(f"| `queue drop` of every id | {seconds(every, ['drop', *ids]):.1f} |")
        assert not queue_in(every).items
        cleared = fill(Home.in_folder(str(Path(folder) / "cleared")), given.items)
        lines.append(f"| `queue clear` | {seconds(cleared, ['clear', '--session', SESSION]):.1f} |")
        assert not queue_in(cleared).items
    print("\n".join(lines))
    if given.write:
        write_part("docs/evidence/speed.md", "queue-commands", "\n".join(lines))
    return 0


def fill(home: Home, count: int) -> Home:
    """Put so many items into the queue of a home, and return the home."""
    items = new_items([f"work on part {number}" for number in range(count)], by="person")
    change_queue(open_store(home, print), SESSION, lambda queue: added(queue, items))
    return home


def queue_in(home: Home) -> Queue:
    """Return the queue of a home as it is saved."""
    return read_queue(open_store(home, print), SESSION)


def seconds(home: Home, words: list[str]) -> float:
    """Run ``hookrouter queue`` with these words in a home; return what it took, process and all."""
    clean = {key: value for key, value in os.environ.items() if key not in UNWANTED}
    started = time.monotonic()
    subprocess.run(
        [*script_argv(), "queue", *words, "--json"],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**clean, "HOOKROUTER_HOME": home.root},
    )
    return time.monotonic() - started


if __name__ == "__main__":
    sys.exit(main())
