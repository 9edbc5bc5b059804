"""How long an answer takes on the real client: from the start of `hookrouter answer` to the PostToolUse record.

    python tests/benchmarks/answer_speed.py [--rounds N] [--idle SECONDS] [--write]

Each round asks each form, and for a permission, three times: it is answered by the real `hookrouter answer` through
each channel, and by a blind sender of the same keys, which looks at nothing and leaves 50 ms between two keys (closer
together, keys gave wrong answers on some client versions). All end when hookrouter's PostToolUse hook writes its
record.
Printed are medians, in seconds and as a ratio to `python -c pass` in the same run.
``--write`` puts the medians into docs/evidence/speed.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ScriptedModel, ask, bash
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from hookrouter.util.program import script_argv

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.machine import with_client
from support.manual import write_part

if TYPE_CHECKING:
    from hookrouter._sandbox.client import ClientSession

LIMITS = {
    ("one question", "keys"): 0.6,
    ("four questions", "keys"): 1.5,
    ("one question", "reply"): 0.3,
    ("four questions", "reply"): 0.3,
    ("permission", "keys"): 0.6,
    ("permission", "reply"): 0.3,
}
CHANNELS = ("keys", "reply")
GAP = 0.05
"""Seconds between two keys of the blind sender."""


class Form(NamedTuple):
    """A form, what is decided, and the keys that a blind sender would press for it; ``>`` pastes the rest.

    Without questions it is a permission, for a command.
    """

    questions: list[dict[str, Any]]
    decisions: list[dict[str, Any]]
    keys: list[str]


def question(text: str, *, multi: bool = False) -> dict[str, Any]:
    """Return a question with four options."""
    options = [{"label": f"{name} way", "description": f"what the {name} way means"} for name in ("First", "Second")]
    options += [{"label": "Third way", "description": "another one"}, {"label": "None", "description": "stop"}]
    return {"question": text, "header": text[:12], "multiSelect": multi, "options": options}


FORMS = {
    "one question": Form([question("Which way should it go?")], [{"action": "select", "optionIndex": 2}], ["3"]),
    "four questions": Form(
        [
            question("Where does it start?"),
            question("What does it touch?", multi=True),
            question("How is it called?"),
            question("When does it end?"),
        ],
        [
            {"action": "select", "optionIndex": 1},
            {"action": "multi-select", "selectedIndices": [0, 2]},
            {"action": "type", "text": "by a name of my own"},
            {"action": "select", "optionIndex": 3},
        ],
        ["2", "1", "3", "Tab", "Down", "Down", "Down", "Down", ">by a name of my own", "Enter", "4", "Enter"],
    ),
    "permission": Form([], [{"action": "allow"}], ["1"]),
}
CONFIG = """\
[answer]
channels = ["reply", "keys"]

[[approvals.rules]]
tool = "Bash"
decide = "agent"
"""


class Bench:
    """One real client, asked again and again."""

    def __init__(self, stage: Stage, model: ScriptedModel, client: ClientSession, idle: float) -> None:
        self.stage = stage
        self.model = model
        self.client = client
        self.idle = idle
        self.asked = 0

    def ask(self, form: Form) -> str:
        """Have Claude ask the form, wait until its dialog is up and idle, and return its tool_use_id."""
        self.asked += 1
        use = ask({"questions": form.questions}) if form.questions else bash(f"touch made-{self.asked}")
        self.model.script(f"round-{self.asked}", [use])
        self.client.submit(f"please ASK round-{self.asked}")
        identifier: str = self.stage.wait_payload("PreToolUse", self.asked)["tool_use_id"]
        if form.questions:
            self.client.wait_dialog(form.questions[0]["question"])
        else:
            self.client.pane.wait_for("Do you want to proceed?")
        time.sleep(self.idle)
        return identifier

    def record(self, identifier: str) -> dict[str, Any]:
        """Wait for the journal record of the question's PostToolUse."""

        def probe() -> dict[str, Any] | None:
            for record in self.stage.journal():
                if record.get("event") == "PostToolUse" and record.get("tool_use_id") == identifier:
                    return record
            return None

        record = wait_until(probe, 20, "PostToolUse record", self.client.screen)
        self.stage.wait_payload("Stop", self.asked)
        self.client.wait_idle()
        return record

    def answered(self, form: Form, channel: str) -> float:
        """Return the seconds that `hookrouter answer` takes through a channel to the record."""
        identifier = self.ask(form)
        command = [*script_argv(), "answer", "--session", "bench", "--json", "--channel", channel]
        command.append(json.dumps(form.decisions))
        started = time.time()
        done = subprocess.run(command, env=self.stage.environ, capture_output=True, text=True, check=False)
        if json.loads(done.stdout)["outcome"] != "verified":
            raise SystemExit(f"not verified: {done.stdout}{done.stderr}")
        return seconds(self.record(identifier)) - started

    def blind(self, form: Form) -> float:
        """Return the seconds that a blind sender of the form's keys takes to the record."""
        identifier = self.ask(form)
        pane = self.client.pane
        started = time.time()
        for number, key in enumerate(form.keys):
            if number:
                time.sleep(GAP)
            if key.startswith(">"):
                pane.type(key[1:])
            else:
                pane.press(key)
        record = self.record(identifier)
        answers = self.stage.payloads("PostToolUse")[-1]["tool_response"].get("answers", {})
        if len(answers) != len(form.questions):
            print(f"the blind sender's answers were recorded wrongly: {answers}")
        return seconds(record) - started


def seconds(record: dict[str, Any]) -> float:
    """Return when a record was written, in seconds since the epoch."""
    return datetime.fromisoformat(record["at"]).timestamp()


def bare_start() -> float:
    """Return the seconds that `python -c pass` takes."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - started


def written(times: dict[str, dict[str, list[float]]], base: float, rounds: int) -> str:
    """Return the table of the manual; ``base`` are the seconds of `python -c pass`."""
    lines = ["| form | keys | reply | blind keys |", "|---|---|---|---|"]
    for name, by in times.items():
        medians = [statistics.median(by[how]) for how in (*CHANNELS, "blind")]
        cells = [f"{median:.2f} s ({median / base:.0f})" for median in medians]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    note = f"Medians of {rounds}; in brackets, as a ratio to `python -c pass`. On {with_client()}."
    return "\n".join([*lines, "", note])


def main() -> int:
    """Run the rounds and print the table; exits 1 where a median is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--idle", type=float, default=1.5, help="how long the dialog stands before it is answered")
    parser.add_argument("--write", action="store_true", help="put the medians into docs/evidence/speed.md")
    parsed = parser.parse_args()
    program = find_client()
    if program is None:
        raise SystemExit("there is no Claude Code client; install one or name it in HOOKROUTER_CLAUDE")
    times: dict[str, dict[str, list[float]]] = {name: {how: [] for how in (*CHANNELS, "blind")} for name in FORMS}
    bare = []
    with tempfile.TemporaryDirectory() as folder, PrivateTmux() as server, ScriptedModel() as model:
        stage = Stage(folder, CONFIG)
        stage.record("PreToolUse", "PostToolUse", "Stop")
        stage.install()
        words = ("--permission-mode", "default")
        with stage.client(program, server, model, words=words, session="bench") as client:
            bench = Bench(stage, model, client, parsed.idle)
            for number in range(parsed.rounds + 1):
                for name, form in FORMS.items():
                    taken = {channel: bench.answered(form, channel) for channel in CHANNELS}
                    taken["blind"] = bench.blind(form)
                    for how, value in taken.items() if number else ():
                        times[name][how].append(value)
                bare.append(bare_start())
    base = statistics.median(bare)
    failed = False
    print(
        f"{'form':16} {'how':8} {'median s':>9} {'worst s':>8} {'ratio':>7} {'limit s':>8}   ({parsed.rounds} rounds)"
    )
    for name, by in times.items():
        for how, values in by.items():
            median, limit = statistics.median(values), LIMITS.get((name, how))
            failed |= limit is not None and median > limit
            print(f"{name:16} {how:8} {median:9.3f} {max(values):8.3f} {median / base:7.1f} {limit or '':>8}")
    print(f"python -c pass: {base * 1000:.1f} ms; the dialog stood {parsed.idle:g} s before each answer")
    if parsed.write:
        write_part("docs/evidence/speed.md", "answer-speed", written(times, base, parsed.rounds))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
