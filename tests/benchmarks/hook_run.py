"""What one hook run costs, as a ratio to `python -c pass` in the same run.

    python tests/benchmarks/hook_run.py [--rounds N]

Every case is a fresh process of the installed script; the cases are interleaved and their order is reversed every
round, so that a busy machine slows all of them alike. Printed are the medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hookrouter.executable import script_argv
from hookrouter.testing.plugins import write_plugin

LIMITS = {"nobody listens": 1.7, "one plugin looks at the event": 3.3, "AskUserQuestion PreToolUse, whole": 6.0}

UNWANTED = ("TMUX", "TMUX_PANE", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
"""Variables that would change what is measured; without compiled modules every run compiles them anew."""

CALL = {
    "session_id": "11111111-2222-3333-4444-555555555555",
    "transcript_path": "/nowhere/t.jsonl",
    "cwd": "/tmp",
    "permission_mode": "default",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "toolu_1",
}
QUESTION = {
    "question": "Which approach should we use?",
    "header": "Approach",
    "options": [{"label": label, "description": f"about {label}"} for label in ("One", "Two", "Three")],
    "multiSelect": False,
}
LOOKER = """\
from hookrouter import hookimpl


@hookimpl
def pre_tool_use_bash(event, tool_input, context):
    assert event.tool_name == "Bash" and tool_input["command"] == "ls"
"""


def main() -> int:
    """Run the cases and print the table; exits 1 where a ratio is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder, private_tmux(Path(folder)) as tmux:
        times = measure(cases(Path(folder), tmux), rounds)
    base = statistics.median(times["python -c pass"])
    failed = False
    print(f"{'case':36} {'median ms':>10} {'ratio':>7} {'limit':>7}   ({rounds} rounds)")
    for name, taken in times.items():
        median = statistics.median(taken)
        limit = LIMITS.get(name)
        failed |= limit is not None and median / base > limit
        print(f"{name:36} {median * 1000:10.1f} {median / base:7.2f} {limit if limit else '':>7}")
    return int(failed)


class private_tmux:  # noqa: N801 - used as a function
    """A tmux server whose only pane is the session's, so that looking up its name is measured too."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "tmux"

    def __enter__(self) -> dict[str, str]:
        subprocess.run(["tmux", "-S", self._socket, "-f", "/dev/null", "new-session", "-d", "-s", "work"], check=True)
        pane = subprocess.run(
            ["tmux", "-S", self._socket, "list-panes", "-a", "-F", "#{pane_id}"], check=True, capture_output=True
        ).stdout.decode()
        return {"TMUX": f"{self._socket},1,0", "TMUX_PANE": pane.strip()}

    def __exit__(self, *_error: object) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False)


def cases(folder: Path, tmux: dict[str, str]) -> dict[str, tuple[list[str], bytes, dict[str, str]]]:
    """Return each case's command, stdin and environment."""
    run = [*script_argv(), "run", "pre-tool-use"]
    clean = {key: value for key, value in os.environ.items() if key not in UNWANTED}
    write_plugin(folder / "plugins", "looker", LOOKER)
    homes = {name: str(folder / name) for name in ("nobody", "looker", "ask")}
    ask = {**CALL, "tool_name": "AskUserQuestion", "tool_input": {"questions": [QUESTION]}}
    bash, asked = json.dumps(CALL).encode(), json.dumps(ask).encode()
    looking = {"PYTHONPATH": str(folder / "plugins"), "HOOKROUTER_HOME": homes["looker"]}
    return {
        "python -c pass": ([sys.executable, "-c", "pass"], b"", clean),
        "nobody listens": (run, bash, {**clean, "HOOKROUTER_HOME": homes["nobody"]}),
        "one plugin looks at the event": (run, bash, {**clean, **looking}),
        "AskUserQuestion PreToolUse, whole": (run, asked, {**clean, **tmux, "HOOKROUTER_HOME": homes["ask"]}),
    }


def measure(commands: dict[str, tuple[list[str], bytes, dict[str, str]]], rounds: int) -> dict[str, list[float]]:
    """Return the wall-clock seconds of every round by case, two warm-up rounds left out."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 2):
        for name in list(commands) if number % 2 else list(reversed(commands)):
            argv, stdin, environ = commands[name]
            started = time.perf_counter()
            done = subprocess.run(argv, input=stdin, capture_output=True, env=environ, check=True)
            taken = time.perf_counter() - started
            if done.stdout:
                raise SystemExit(f"{name}: unexpected output {done.stdout!r}")
            if number >= 2:
                times[name].append(taken)
    return times


if __name__ == "__main__":
    sys.exit(main())
