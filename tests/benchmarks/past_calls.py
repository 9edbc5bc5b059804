"""What `hookrouter rules try` costs: calls a second, and how much memory, for transcripts of two sizes.

    python tests/benchmarks/past_calls.py [--megabytes N] [--write]

Transcripts are made in a temporary folder, a tenth of that size and the whole (2,000 MB by default); a tenth of their
command lines, or none, is unlike any other. A process of its own reads each with the rules of a preset, and says how
long the reading of lines took alone, and what the rules took beyond that. ``--write`` puts the table into
docs/evidence/speed.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hookrouter.permission_rules.judging import CompiledRule, Rules
from hookrouter.permission_rules.presets import preset_text
from hookrouter_approvals.rules_command.transcripts import Transcripts
from hookrouter_approvals.rules_command.trying import Trial
from support.manual import write_part
from support.past_transcripts import write_sessions


def main() -> int:
    """Make the transcripts, have each read, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("--write", action="store_true", help="put the table into docs/evidence/speed.md")
    parser.add_argument("--read", metavar="FOLDER", help="read one folder; what the others call")
    given = parser.parse_args()
    if given.read:
        print(json.dumps(read(given.read)))
        return 0
    rows = []
    for megabytes, new in ((given.megabytes // 10, 0.1), (given.megabytes, 0.1), (given.megabytes, 0.0)):
        with tempfile.TemporaryDirectory() as folder:
            write_sessions(Path(folder), megabytes * 1_000_000, new=new)
            done = subprocess.run(
                [sys.executable, __file__, "--read", folder], check=True, capture_output=True, text=True
            )
        found = json.loads(done.stdout)
        rows.append(
            f"| {megabytes:,} | {new:.0%} | {found['calls']:,} | {found['reading']:.1f} | {found['judging']:.1f} "
            f"| {found['calls'] / found['judging']:,.0f} | {found['memory']:.0f} |"
        )
    lines = [
        "| MB | unlike any other | calls | s, reading | s, judging | calls judged a second | MB of memory, at most |"
    ]
    lines += ["|---|---|---|---|---|---|---|", *rows]
    lines += ["", f"With the preset unattended-web, on {os.cpu_count()} cores with a load of {os.getloadavg()[1]:.0f}."]
    print("\n".join(lines))
    if given.write:
        write_part("docs/evidence/speed.md", "past-calls", "\n".join(lines))
    return 0


def read(folder: str) -> dict[str, float]:
    """Read the transcripts of a folder, first alone, then with the rules."""
    table = tomllib.loads(preset_text("unattended-web"))["approvals"]["rules"]
    rules = Rules([CompiledRule(one["tool"], one["decide"]) for one in table])
    begun = time.process_time()
    calls = sum(1 for _ in Transcripts(folder, None).calls())
    reading = time.process_time() - begun
    trial = Trial(rules)
    begun = time.process_time()
    for call in Transcripts(folder, None).calls():
        trial.add(call)
    trial.document()
    judging = max(time.process_time() - begun - reading, 0.001)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    memory = peak / (1e6 if sys.platform == "darwin" else 1e3)
    return {"calls": calls, "reading": reading, "judging": judging, "memory": memory}


if __name__ == "__main__":
    sys.exit(main())
