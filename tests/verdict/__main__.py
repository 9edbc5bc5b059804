"""``python tests/verdict REPORT``: what is left after the quick verdict, and what CI is to think of it.

Runs all layers but what the quick verdict ran with the same examples. A failed test of a layer that depends on programs
that are not ours is run once more, alone. If it passes then, it is *unsteady*: told last, with its first failure whole,
and no more than three of them let the run pass. An assertion of the product's safety counts at its first failure.

REPORT is the report of the quick verdict, for the table of seconds. Arguments behind it go to pytest.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.judging import Judgement, judge, table
from support.layers import TESTS
from support.reports import Phase, read_report

_NO_TESTS_FAILED = (0, 1)
"""Exit codes of pytest after which its report holds all that failed."""


def _run(report: Path, *arguments: str) -> int:
    command = [sys.executable, "-m", "pytest", f"--report={report}", *arguments]
    return subprocess.run(command, cwd=TESTS.parent, check=False).returncode


def _again(folder: Path, tests: list[str]) -> dict[str, bool]:
    """Run each test once more, alone; say which pass."""
    passed = {}
    for number, test in enumerate(tests):
        print(f"\nOnce more, alone: {test}", flush=True)
        passed[test] = _run(folder / f"again-{number}.jsonl", "-n", "0", test) == 0
    return passed


def main() -> int:
    """Run, judge, and print."""
    quick = Path(sys.argv[1])
    report = quick.with_name("rest.jsonl")
    code = _run(report, "-n", "auto", "--rest", *sys.argv[2:])
    phases: list[Phase] = read_report(report)
    judgement: Judgement = judge(phases)
    if code not in _NO_TESTS_FAILED:
        judgement.failed.append(f"pytest has ended with {code}")
    elif code and not judgement.failed and not judgement.again:
        judgement.failed.append(f"pytest has ended with {code}, and the report names no failure")
    passed = _again(quick.parent, judgement.to_run_again)
    print(table([*read_report(quick), *phases]))
    said, good = judgement.verdict(passed)
    print(said)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
