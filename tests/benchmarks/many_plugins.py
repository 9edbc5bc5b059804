"""What a hook run costs with 1, 10 and 50 plugins of which one listens: it must not grow with the others.

    python tests/benchmarks/many_plugins.py [--rounds N] [--write]

The plugins are real packages with entry points on the path of the process, or single files in the home; all but one
implement another event. To a call of Read nobody listens. Printed are medians as a ratio to `python -c pass` in the
same run; exits 1 where 50 plugins take more than LIMIT times the processor time of one package. ``--write`` puts the
ratios into docs/evidence/speed.md, if they are within the limit: else the machine had other work.
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
KINDS = ("package", "file")
LIMIT = 1.15
READ = {**CALL, "tool_name": "Read", "tool_input": {"file_path": "/etc/hosts"}}
BASE = "python -c pass"

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
    cases = {BASE: ([sys.executable, "-c", "pass"], b"", clean)}
    with tempfile.TemporaryDirectory() as folder:
        for count in COUNTS:
            for kind in KINDS:
                environ = {**clean, **place(Path(folder) / f"{kind}-{count}", kind, count)}
                for listens, call in ((True, CALL), (False, READ)):
                    run = [*script_argv(), "run", "pre-tool-use"]
                    cases[words(count, kind, listens=listens)] = (run, json.dumps(call).encode(), environ)
        times = measure(cases, rounds)
    wall, cpu = ({name: statistics.median(column) for name, column in table.items()} for table in transposed(times))
    print(f"{'case':40} {'wall ms':>8} {'ratio':>6} {'cpu ms':>8} {'ratio':>6}   ({rounds} rounds)")
    ratios = {name: (wall[name] / wall[BASE], cpu[name] / cpu[BASE]) for name in cases}
    for name, (ratio, cpu_ratio) in ratios.items():
        print(f"{name:40} {wall[name] * 1000:8.1f} {ratio:6.2f} {cpu[name] * 1000:8.1f} {cpu_ratio:6.2f}")
    worst = 0.0
    for listens in (True, False):
        one = cpu[words(1, "package", listens=listens)]
        for kind in KINDS:
            growth = cpu[words(COUNTS[-1], kind, listens=listens)] / one
            worst = max(worst, growth)
            name = words(COUNTS[-1], kind, listens=listens)
            print(f"{name}: {growth:.2f} times the processor time of one package (limit {LIMIT})")
    if parsed.write and worst <= LIMIT:
        write_part("docs/evidence/speed.md", "many-plugins", written(ratios, rounds))
    return int(worst > LIMIT)


def place(folder: Path, kind: str, count: int) -> dict[str, str]:
    """Put plugins below a folder, and return the variables by which a hook finds them."""
    home = folder / "home"
    sources = {"looker": LOOKER, **{f"sleeper_{number}": SLEEPER for number in range(1, count)}}
    if kind == "package":
        for name, source in sources.items():
            write_plugin(folder / "site", name, source)
    else:
        (home / "plugins").mkdir(mode=0o700, parents=True)
        for name, source in sources.items():
            (home / "plugins" / f"{name}.py").write_text(source, encoding="utf-8")
    return {"PYTHONPATH": str(folder / "site"), "HOOKROUTER_HOME": str(home)}


def written(ratios: dict[str, tuple[float, float]], rounds: int) -> str:
    """Return the table of the manual."""
    lines = ["| plugins | ratio (wall) | ratio (processor time) |", "|---|---|---|"]
    lines += [f"| {name} | {wall:.1f} | {cpu:.1f} |" for name, (wall, cpu) in ratios.items() if name != BASE]
    return "\n".join([*lines, "", f"Medians of {rounds} on {machine()}, with a load of {os.getloadavg()[1]:.1f}."])


def words(count: int, kind: str, *, listens: bool) -> str:
    """Return a case in words."""
    told = "1 listens" if listens else "nobody listens"
    return f"{count} {kind}{'s' if count > 1 else ''}, {told}"


if __name__ == "__main__":
    sys.exit(main())
