"""What a hook run costs with 1, 10 and 50 installed plugins of which one listens: it must not grow with the others.

    python tests/benchmarks/many_plugins.py [--rounds N] [--write]

The plugins are real packages with entry points on the path of the process; all but one implement another event.
Printed are medians as a ratio to `python -c pass` in the same run; exits 1 where 50 plugins cost more than LIMIT times
what one costs. ``--write`` puts the ratios into docs/evidence/speed.md, if
they are within the limit: else the machine had other work.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from hook_run import CALL, LOOKER, UNWANTED, measure, transposed

from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.machine import machine
from support.manual import write_part

COUNTS = (1, 10, 50)
LIMIT = 1.15

SLEEPER = """\
from hookrouter import hookimpl


@hookimpl
def session_end(event, context):
    return None
"""


def main() -> int:
    """Run the cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--write", action="store_true", help="put the ratios into docs/evidence/speed.md")
    parsed = parser.parse_args()
    rounds: int = parsed.rounds
    clean = {key: value for key, value in os.environ.items() if key not in UNWANTED}
    call = json.dumps(CALL).encode()
    cases = {"python -c pass": ([sys.executable, "-c", "pass"], b"", clean)}
    with tempfile.TemporaryDirectory() as folder:
        for count in COUNTS:
            site = Path(folder) / f"plugins-{count}"
            write_plugin(site, "looker", LOOKER)
            for number in range(1, count):
                write_plugin(site, f"sleeper_{number}", SLEEPER)
            environ = {"PYTHONPATH": str(site), "HOOKROUTER_HOME": str(Path(folder) / f"home-{count}")}
            cases[plural(count)] = ([*script_argv(), "run", "pre-tool-use"], call, {**clean, **environ})
        times = measure(cases, rounds)
    wall, cpu = ({name: statistics.median(column) for name, column in table.items()} for table in transposed(times))
    print(f"{'case':24} {'wall ms':>8} {'ratio':>6} {'cpu ms':>8} {'ratio':>6}   ({rounds} rounds)")
    for name in cases:
        ratio, cpu_ratio = wall[name] / wall["python -c pass"], cpu[name] / cpu["python -c pass"]
        print(f"{name:24} {wall[name] * 1000:8.1f} {ratio:6.2f} {cpu[name] * 1000:8.1f} {cpu_ratio:6.2f}")
    growth = wall[plural(COUNTS[-1])] / wall[plural(COUNTS[0])]
    print(f"{COUNTS[-1]} plugins cost {growth:.2f} times what one costs (limit {LIMIT})")
    if parsed.write and growth <= LIMIT:
        base = "python -c pass"
        ratios = {count: (wall[plural(count)] / wall[base], cpu[plural(count)] / cpu[base]) for count in COUNTS}
        write_part("docs/evidence/speed.md", "many-plugins", written(ratios, rounds))
    return int(growth > LIMIT)


def written(ratios: dict[int, tuple[float, float]], rounds: int) -> str:
    """Return the table of the manual."""
    lines = ["| installed, of which one listens | ratio (wall) | ratio (processor time) |", "|---|---|---|"]
    lines += [f"| {plural(count)} | {wall:.1f} | {cpu:.1f} |" for count, (wall, cpu) in ratios.items()]
    return "\n".join([*lines, "", f"Medians of {rounds} on {machine()}."])


def plural(count: int) -> str:
    """Return a number of plugins in words."""
    return "1 plugin" if count == 1 else f"{count} plugins"


if __name__ == "__main__":
    sys.exit(main())
