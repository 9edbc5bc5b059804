"""Queues on the real client: ``python tests/live/queues kinds --channel keys --count 30 --seed 1``."""

from __future__ import annotations

import argparse
import collections
import os
import sys

_TESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:1] = [os.path.dirname(_TESTS), _TESTS]

from hookrouter._sandbox.client import ClientError  # noqa: E402
from hookrouter._sandbox.processes import ending_on_signals  # noqa: E402
from live.queues import disturbed, killed, kinds, results, speed  # noqa: E402
from live.queues.judge import Judged  # noqa: E402
from live.queues.place import client_version  # noqa: E402
from support.manual import write_part  # noqa: E402

CHANNELS = ("keys", "stop", "mod", "doorbell", "mod+keys")
PAGE = "docs/evidence/queues.md"


def main() -> int:
    options = _arguments()
    if options.program == "table":
        written = results.table(results.read(options.files))
        print(written)
        if options.write:
            write_part(PAGE, "queues-kinds", written)
        return 0
    try:
        with ending_on_signals():
            return int(not _RUNS[options.program](options))
    except ClientError as error:
        print(f"queues: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("queues: stopped", file=sys.stderr)
        return 130


def _kinds(options: argparse.Namespace) -> bool:
    judged, stuck = kinds.run(options.channel, options.count, options.seed)
    for one in judged:
        results.emit({**_common(options), **one.document()}, options.results)
    return results.summary(judged, stuck)


def _disturbed(options: argparse.Namespace) -> bool:
    judged, faults, done, stuck = list[Judged](), list[str](), collections.Counter[str](), ""
    for some, stuck, wrong, acts in disturbed.run(options.channel, options.count, options.seed):
        judged += some
        faults += wrong
        done.update(acts)
        for one in some:
            results.emit({**_common(options), **one.document()}, options.results)
        if stuck:
            break
    print("done meanwhile:", ", ".join(f"{name} {count}" for name, count in sorted(done.items())), file=sys.stderr)
    return results.summary(judged, stuck, faults)


def _killed(options: argparse.Namespace) -> bool:
    judged, stuck, faults, done = killed.run(options.channel, options.count, options.seed)
    for one in judged:
        results.emit({**_common(options), **one.document()}, options.results)
    print("killed:", ", ".join(f"{name} {count}" for name, count in sorted(done.items())), file=sys.stderr)
    return results.summary(judged, stuck, faults)


def _speed(options: argparse.Namespace) -> bool:
    gaps, judged, stuck = speed.run(options.channel, options.count)
    for gap in gaps:
        results.emit({**_common(options), **gap._asdict()}, options.results)
    print(speed.table(gaps), file=sys.stderr)
    return results.summary(judged, stuck)


def _common(options: argparse.Namespace) -> dict[str, object]:
    return {
        "program": options.program,
        "version": client_version(),
        "channel": options.channel,
        "seed": options.seed,
    }


_RUNS = {"kinds": _kinds, "disturbed": _disturbed, "killed": _killed, "speed": _speed}


_PROGRAMS = (
    ("kinds", 30, "items of every kind, mixed"),
    ("disturbed", 200, "items while a person is at the keyboard, and the client asks, compacts and wants permissions"),
    ("killed", 100, "kill -9 of every process involved, so many times"),
    ("speed", 40, "the time from Stop to the next item, and that of a blind sender of keys; wants a quiet machine"),
)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Have a queue delivered on the real Claude Code client, with a scripted model. What the client was "
        "given, as its hooks, transcripts and requests show, is compared with what the queue says. Results are JSON "
        "lines; ends with 1 if anything was submitted twice, lost, altered, or reported wrongly.",
        epilog="The client is HOOKROUTER_CLAUDE, the one in .live/, or `claude` on PATH.",
    )
    programs = parser.add_subparsers(dest="program", required=True)
    for name, count, words in _PROGRAMS:
        program = programs.add_parser(name, help=words, description=words)
        program.add_argument("--channel", choices=CHANNELS, default="keys", help="the prompt channel (keys)")
        program.add_argument("--count", type=int, default=count, metavar="N", help=f"how many ({count})")
        program.add_argument("--seed", type=int, default=1, metavar="S", help="which series (1)")
        program.add_argument("--results", default="", metavar="FILE", help="add the results to this file, too")
    program = programs.add_parser("table", help="the table of the manual, from the results of `kinds`")
    program.add_argument("files", nargs="+", metavar="FILE")
    program.add_argument("--write", action="store_true", help=f"put it into {PAGE}")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
