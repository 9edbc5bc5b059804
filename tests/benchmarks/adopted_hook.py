"""What a shell hook costs adopted, as a ratio to what it costs in settings.json, in the same run.

    python tests/benchmarks/adopted_hook.py [--rounds N] [--write]

Claude Code starts a hook with pipes and in a session of its own, and so does this: in settings.json by `/bin/sh -c`;
adopted by the command that `hookrouter install` registers: the native front, with a router and without one, and
`hookrouter run` for a cold run. Two hooks are measured: a guard of jq and grep, as the documentation of hooks has it,
which the limits are about, and one of sed and grep, the least that a guard can be. Each adopted run has one in
settings.json beside it, before or after by turns. Ratios of wall-clock time are medians over these pairs; those of
processor time are of sums, since the router's own and its children's are part of it, which are counted in ticks.
``--write`` puts them into docs/evidence/speed.md, if they are within the limits: else the machine had other work.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from hook_run import CALL, UNWANTED
from resident import native_front

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hookrouter.util.program import script_argv
from support.machine import machine
from support.manual import write_part
from support.resident import Resident

RESIDENT = "native front, with the router"
WITHOUT = "native front, without a router"
COLD = "cold"
LIMITS = {RESIDENT: 1.15, COLD: 2.2}
"""Of the first guard."""

GUARDS = {
    "jq and grep": "jq -r .tool_input.command | grep -q 'rm -rf' && exit 2; exit 0",
    "sed and grep": """sed 's/.*"command": "\\([^"]*\\)".*/\\1/' | grep -q 'rm -rf' && exit 2; exit 0""",
}


def main() -> int:
    """Run the cases and print the table; exits 1 where a ratio is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--write", action="store_true", help="put the ratios into docs/evidence/speed.md")
    given = parser.parse_args()
    rounds: int = given.rounds
    if shutil.which("jq") is None:
        raise SystemExit("jq is not on PATH")
    failed = False
    lines = [
        "| guard | adopted | ms in settings.json | ms adopted | ratio (wall) | ratio (processor time) | limit |",
        "|---|---|---|---|---|---|---|",
    ]
    for guard, command in GUARDS.items():
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            pairs = measured(Path(folder), command, stack, rounds)
        for way, times in pairs.items():
            wall = statistics.median(adopted[0] / native[0] for native, adopted in times)
            cpu = sum(adopted[1] for _, adopted in times) / sum(native[1] for native, _ in times)
            took = [statistics.median(pair[at][0] for pair in times) * 1000 for at in (0, 1)]
            limit = LIMITS.get(way) if guard == next(iter(GUARDS)) else None
            failed |= limit is not None and wall > limit
            lines.append(
                f"| {guard} | {way} | {took[0]:.1f} | {took[1]:.1f} | {wall:.2f} | {cpu:.2f} | {limit or ''} |"
            )
    lines += ["", f"Medians of {rounds} rounds on {machine()}, with a load of {os.getloadavg()[1]:.1f}."]
    print("\n".join(lines))
    if given.write and not failed:
        write_part("docs/evidence/speed.md", "adopted-hook", "\n".join(lines))
    return int(failed)


def measured(
    folder: Path, command: str, stack: ExitStack, rounds: int
) -> dict[str, list[tuple[tuple[float, float], tuple[float, float]]]]:
    """Return by way the pairs of all rounds but three for warming up: wall-clock and processor seconds of each."""
    home = folder / "home"
    home.mkdir(mode=0o700)
    script = f"[[scripts]]\nevent = 'PreToolUse'\nmatcher = 'Bash'\ncommand = {json.dumps(command)}\n"
    (home / "config.toml").write_text(script, encoding="utf-8")
    environ = {key: value for key, value in os.environ.items() if key not in UNWANTED}
    environ |= {"HOOKROUTER_HOME": str(home)}
    router = stack.enter_context(Resident(environ))
    run = [*script_argv(), "run", "pre-tool-use"]
    natively, ways = ["/bin/sh", "-c", command], {COLD: run}
    if (native := native_front(folder)) is not None:
        ways[RESIDENT] = [native, router.folder, *run]
        ways[WITHOUT] = [native, f"{folder}/none", *run]
    data = json.dumps(CALL).encode()
    pairs: dict[str, list[tuple[tuple[float, float], tuple[float, float]]]] = {way: [] for way in ways}

    def once(argv: list[str]) -> tuple[float, float]:
        before = used(router.pid)
        started = time.perf_counter()
        done = subprocess.run(argv, input=data, capture_output=True, env=environ, start_new_session=True, check=False)
        wall = time.perf_counter() - started
        if done.returncode or done.stdout or done.stderr:
            raise SystemExit(f"{argv[0]}: {done}")
        # The router takes note of its child's end, and makes ready for the next call.
        time.sleep(0.05)
        return wall, used(router.pid) - before

    for number in range(rounds + 3):
        for way, argv in ways.items():
            first, second = (natively, argv) if number % 2 else (argv, natively)
            one, other = once(first), once(second)
            if number >= 3:
                pairs[way].append((one, other) if number % 2 else (other, one))
    return pairs


def used(pid: int) -> float:
    """Return the processor seconds of all children that have ended, and of the router, its children and theirs."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    ticks = 0
    for one in (pid, *children):
        # One that has ended meanwhile is counted by the router.
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{one}/stat").read_text("ascii").rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
