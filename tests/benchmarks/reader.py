#!/usr/bin/env python3
"""Prints how much processor time the reader of commands takes: ``python tests/benchmarks/reader.py``.

The lines are the routine ones of ``tests/data/shell`` and the hostile ones of ``tests/unit/shell/test_bounds.py``;
it is the best of several readings. A hostile line should take at most 100 ms.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS), str(TESTS / "unit" / "shell")]

from test_bounds import LONG, TOO_MUCH  # noqa: E402

from hookrouter.shell.reader import read  # noqa: E402
from support.shell_corpus import blocks  # noqa: E402

REPEATS = 5


def milliseconds(line: str) -> float:
    """Return the processor time of the quickest reading."""
    taken = []
    for _ in range(REPEATS):
        begun = time.process_time()
        read(line)
        taken.append((time.process_time() - begun) * 1000)
    return min(taken)


def main() -> None:
    begun = time.process_time()
    read("ls")
    print(f"the first reading, with its imports: {(time.process_time() - begun) * 1000:.1f} ms")
    routine = [milliseconds(block.line) for block in blocks("routine.txt")]
    print(f"{len(routine)} routine lines: {sum(routine) / len(routine):.2f} ms each, at most {max(routine):.2f} ms")
    for name, line in sorted({**TOO_MUCH, **LONG}.items(), key=lambda item: -milliseconds(item[1])):
        print(f"{milliseconds(line):7.1f} ms  {'certain' if read(line).certain else 'not certain':11}  {name}")


if __name__ == "__main__":
    main()
