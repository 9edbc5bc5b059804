"""What one hook run costs, as a ratio to `python -c pass` in the same run.

    python tests/benchmarks/hook_run.py [--rounds N] [--write]

Every case is a fresh process of the installed script; the cases are interleaved and their order is reversed every
round, so that a busy machine slows all of them alike. Printed are the medians of wall-clock time, which the limits are
about, and of processor time, which says more while the machine has other work. ``--write`` puts the ratios into
docs/evidence/speed.md.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hookrouter.permission_rules.presets import preset_text
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from support.manual import write_part

LIMITS = {"nobody listens": 1.7, "one plugin looks at the event": 2.3, "AskUserQuestion PreToolUse, whole": 5.3}

TOLD = {
    "nobody listens": "nobody listens to this event and tool",
    "one plugin looks at the event": "one plugin looks at the event and its tool's input",
    "Bash under rules, a plain line": "a call of Bash under the preset `unattended-web`: the call noted and judged",
    "Bash under rules, simple commands": "the same, with a pipeline, quotes and a redirection",
    "Bash under rules, any line": "the same, with a loop and a variable, for which the parser is loaded",
    "AskUserQuestion PreToolUse, whole": "AskUserQuestion's PreToolUse, whole: session looked up in tmux, question and "
    "wake saved, delivery started",
}
"""The cases as the manual calls them."""

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
LOOP = 'for x in a b; do head -1 "$x"; done'
LOOKER = """\
from hookrouter import hookimpl, stateless


@hookimpl
@stateless
def pre_tool_use_bash(event, tool_input, context):
    assert event.tool_name == "Bash" and tool_input.command == "ls"
"""


def main() -> int:
    """Run the cases and print the table; exits 1 where a ratio is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--write", action="store_true", help="put the ratios into docs/evidence/speed.md")
    given = parser.parse_args()
    rounds = given.rounds
    with tempfile.TemporaryDirectory() as folder, private_tmux(Path(folder)) as tmux:
        times = measure(cases(Path(folder), tmux), rounds)
    wall, cpu = ({name: statistics.median(column) for name, column in table.items()} for table in transposed(times))
    base = "python -c pass"
    failed = False
    lines = ["| a hook process | ratio | limit |", "|---|---|---|"]
    print(f"{'case':36} {'wall ms':>8} {'ratio':>6} {'cpu ms':>8} {'ratio':>6} {'limit':>6}   ({rounds} rounds)")
    for name in times:
        ratio, limit = wall[name] / wall[base], LIMITS.get(name)
        failed |= limit is not None and ratio > limit
        if name in TOLD:
            lines.append(f"| {TOLD[name]} | {ratio:.1f} | {limit or ''} |")
        cpu_ratio = cpu[name] / cpu[base]
        print(
            f"{name:36} {wall[name] * 1000:8.1f} {ratio:6.2f} {cpu[name] * 1000:8.1f} {cpu_ratio:6.2f} {limit or '':>6}"
        )
    if given.write:
        write_part("docs/evidence/speed.md", "benchmark", "\n".join(lines))
    return int(failed)


def transposed(times: dict[str, list[tuple[float, float]]]) -> list[dict[str, list[float]]]:
    """Return the wall-clock times and the processor times of all cases."""
    return [{name: [pair[column] for pair in pairs] for name, pairs in times.items()} for column in (0, 1)]


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
    homes = {name: str(folder / name) for name in ("nobody", "looker", "rules", "ask")}
    ask = {**CALL, "tool_name": "AskUserQuestion", "tool_input": {"questions": [QUESTION]}}
    bash, asked = json.dumps(CALL).encode(), json.dumps(ask).encode()
    piped = json.dumps({**CALL, "tool_input": {"command": "git log --oneline | grep 'fix' > /dev/null"}}).encode()
    loop = json.dumps({**CALL, "tool_input": {"command": LOOP}}).encode()
    preset = preset_text("unattended-web")
    os.makedirs(homes["rules"], mode=0o700)
    Path(homes["rules"], "config.toml").write_text(f'[[agents]]\nid = "night"\n\n{preset}')
    looking = {"PYTHONPATH": str(folder / "plugins"), "HOOKROUTER_HOME": homes["looker"]}
    return {
        "python -c pass": ([sys.executable, "-c", "pass"], b"", clean),
        "nobody listens": (run, bash, {**clean, "HOOKROUTER_HOME": homes["nobody"]}),
        "one plugin looks at the event": (run, bash, {**clean, **looking}),
        "Bash under rules, a plain line": (run, bash, {**clean, **tmux, "HOOKROUTER_HOME": homes["rules"]}),
        "Bash under rules, simple commands": (run, piped, {**clean, **tmux, "HOOKROUTER_HOME": homes["rules"]}),
        "Bash under rules, any line": (run, loop, {**clean, **tmux, "HOOKROUTER_HOME": homes["rules"]}),
        "AskUserQuestion PreToolUse, whole": (run, asked, {**clean, **tmux, "HOOKROUTER_HOME": homes["ask"]}),
    }


def measure(
    commands: dict[str, tuple[list[str], bytes, dict[str, str]]], rounds: int
) -> dict[str, list[tuple[float, float]]]:
    """Return the wall-clock and processor seconds of every round by case, two warm-up rounds left out."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for number in range(rounds + 2):
        for name in list(commands) if number % 2 else list(reversed(commands)):
            taken = one_run(name, *commands[name])
            home = Path(commands[name][2].get("HOOKROUTER_HOME", ""))
            wait_for_deliverer(home)
            forget(home)
            if number >= 2:
                times[name].append(taken)
    return times


def wait_for_deliverer(home: Path) -> None:
    """Wait until the process that a question leaves behind is done, so that it does not slow the next case."""
    deadline = time.monotonic() + 30
    lock = home / "state" / "outbox" / "locks"
    while any((home / "state" / "outbox").glob("wake-*.json")) or any(map(is_locked, lock.glob("*deliver*"))):
        if time.monotonic() > deadline:
            raise SystemExit(f"{home}: the deliverer does not end")
        time.sleep(0.02)


def forget(home: Path) -> None:
    """Remove what was asked, so that the next run is not one that is made twice for the same call."""
    for kind in ("question", "told"):
        for path in (home / "state").glob(f"{kind}-{CALL['session_id']}*.json"):
            path.unlink()


def is_locked(path: Path) -> bool:
    """Say whether a process holds the lock of a file; one that is gone by now is held by nobody."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def one_run(
    name: str, argv: list[str], stdin: bytes, environ: dict[str, str], *, silent: bool = True
) -> tuple[float, float]:
    """Run one process and return how long it took, and how much processor time it and its own children used.

    Ends the program where the process failed, or where it is to be ``silent`` and said something.
    """
    with tempfile.TemporaryFile() as payload, tempfile.TemporaryFile() as output:
        payload.write(stdin)
        payload.seek(0)
        started = time.perf_counter()
        process = subprocess.Popen(argv, stdin=payload, stdout=output, env=environ)
        _, status, usage = os.wait4(process.pid, 0)
        taken = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode or (silent and output.tell()):
            raise SystemExit(f"{name}: exit code {process.returncode}, {output.tell()} bytes of output")
    return taken, usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main())
