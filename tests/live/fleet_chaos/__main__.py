#!/usr/bin/env python3
"""A fleet in trouble: ``python tests/live/fleet_chaos --questions 1000 --items 200 --seed 7``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

_TESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.dirname(_TESTS), _TESTS]

from live.fleet_chaos.run import Size, run  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Three machines on one PostgreSQL, with scripted clients and the real hooks and commands, to which "
        "everything happens that can happen. Ends with 1 if a question was not answered once by what somebody meant, a "
        "message did not come or came under several ids, an item came twice or not, or anything came out of order.",
    )
    parser.add_argument("--questions", type=int, default=10_000, metavar="N", help="how many questions (10000)")
    parser.add_argument("--items", type=int, default=2_000, metavar="N", help="how many queue items (2000)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of what is done and what happens (1)")
    parser.add_argument("--minutes", type=float, default=0, metavar="M", help="ask nothing more after so many (0: all)")
    parser.add_argument("--sessions", type=int, default=24, metavar="N", help="how many sessions at once (24)")
    parser.add_argument("--events", metavar="FILE", default="", help="write what was seen into a file")
    parser.add_argument(
        "--keep", metavar="FOLDER", default="", help="copy the machines' homes there if anything is wrong"
    )
    options = parser.parse_args()
    size = Size(options.questions, options.items, options.sessions, options.minutes)
    result = run(
        size,
        options.seed,
        lambda text: print(text, file=sys.stderr, flush=True),
        Path(options.keep) if options.keep else None,
    )
    if options.events:
        Path(options.events).write_text("\n".join(result.events.lines()), encoding="utf-8")
    print("\n".join(result.breaches), end="\n" if result.breaches else "")
    print(result.line)
    return int(bool(result.breaches))


if __name__ == "__main__":
    sys.exit(main())
