"""A day's work through one router: does it stay what it is?

    python tests/benchmarks/resident_day.py [--calls N] [--waits N] [--minutes M]

First many calls of mixed events from many sessions, questions asked and ended among them; then as many questions as
wanted, each with a hook that waits, through the native front. Printed are memory, descriptors, children and times at
the beginning and at the end. Exits 1 if the router's memory grew by more than 10 MB, its descriptors at all, the times
of the last thousand calls are more than 20 % above those of the first, or a waiting hook did not get its answer. The
times are compared as ratios to a program that does nothing, run beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from hook_run import LOOKER, QUESTION, UNWANTED
from resident import native_front

from hookrouter._serving.children import SPARES
from hookrouter._serving.router import IDLE
from hookrouter.answering.decisions import Select
from hookrouter.dialogs.handover import Handover
from hookrouter.storage.engine import open_store
from hookrouter.storage.home import Home
from hookrouter.testing import sample
from hookrouter.testing.plugins import write_plugin
from hookrouter.tools import AskUserQuestionInput
from hookrouter.util.program import script_argv
from hookrouter_hook_reply.channel import answer_document
from support.resident import PATIENCE, Resident, eventually

GROWTH_KB = 10 * 1024
SLOWER = 1.2
SESSIONS = 40
BLOCK = 1000
BESIDE = 20
"""After so many calls each, a program that does nothing is run."""


def main() -> int:
    """Run both parts; return 1 if one shows a fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--waits", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=3.0, help="for how long the waits are held (3)")
    given = parser.parse_args()
    faults: list[str] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        write_plugin(folder / "plugins", "looker", LOOKER)
        environ = {key: value for key, value in os.environ.items() if key not in UNWANTED}
        environ |= {"PYTHONPATH": str(folder / "plugins"), "HOOKROUTER_HOME": str(folder / "home")}
        (folder / "home").mkdir()
        with Resident(environ) as router:
            faults += day(router, given.calls)
            if given.waits:
                faults += waits(router, folder, given.waits, given.minutes * 60)
    print("\n".join(faults) or "no fault")
    return int(bool(faults))


def day(router: Resident, count: int) -> list[str]:
    """Make the calls; return what is wrong."""
    rng = random.Random(1)
    warm_up = [call(rng, number) for number in range(200)]
    for event, payload in warm_up:
        router.call(event, payload)
    eventually(lambda: not router.status()["loading"] and router.status()["running"] == 0)
    before, times, others, cold = settled(router), list[float](), list[float](), 0
    for number in range(count):
        event, payload = call(rng, number)
        started = time.perf_counter()
        done = router.call(event, payload)
        times.append(time.perf_counter() - started)
        if number % BESIDE == 0:
            others.append(other())
        cold += done.end[:1] != b"X"
        if number % 5000 == 4999:
            print(f"{number + 1} calls, {state(router)}", flush=True)
    eventually(lambda: router.status()["running"] == 0)
    after = settled(router)
    spans = [(at, at // BESIDE) for at in range(0, count, BLOCK)]
    medians = [
        (statistics.median(times[at : at + BLOCK]), statistics.median(others[of : of + BLOCK // BESIDE]))
        for at, of in spans
    ]
    print(f"before {before}\nafter  {after}")
    print(f"medians of {BLOCK} calls, ms:", *(f"{call_time * 1000:.2f}" for call_time, _ in medians))
    print("those of /bin/true beside them:  ", *(f"{true_time * 1000:.2f}" for _, true_time in medians))
    first, last = (call_time / true_time for call_time, true_time in (medians[0], medians[-1]))
    print(f"a call takes {first:.2f} times what /bin/true does in the first {BLOCK}, {last:.2f} times in the last")
    faults = []
    if after["memory_kb"] - before["memory_kb"] > GROWTH_KB:
        faults.append("the router's memory has grown")
    if after["children"] > before["children"] or after["dead_children"]:
        faults.append("the router has children left over")
    if after["descriptors"] > before["descriptors"]:
        faults.append("the router's descriptors have grown")
    if last > first * SLOWER:
        faults.append("the last calls took longer than the first")
    if cold:
        faults.append(f"{cold} calls were not served: {router.status()['sent_away']}")
    return faults


def other() -> float:
    """Return the seconds that a program which does nothing takes: whatever else the machine does slows both down."""
    started = time.perf_counter()
    subprocess.run(["/bin/true"], check=True)
    return time.perf_counter() - started


def call(rng: random.Random, number: int) -> tuple[str, dict[str, Any]]:
    """Return an event's word and a payload of one of the sessions."""
    session = f"{rng.randrange(SESSIONS):08d}-0000-4000-8000-000000000000"
    kind = rng.randrange(20)
    if kind == 0:
        return "pre-tool-use", question(session, number)
    if kind == 1:
        return "stop", {**sample("Stop"), "session_id": session, "stop_hook_active": False}
    if kind < 4:
        return "user-prompt-submit", {**sample("UserPromptSubmit"), "session_id": session}
    if kind < 12:
        return "pre-tool-use", {**sample("PreToolUse", "Bash"), "session_id": session, "tool_use_id": f"t{number}"}
    return "post-tool-use", {**sample("PostToolUse", "Bash"), "session_id": session, "tool_use_id": f"t{number}"}


def question(session: str, number: int, event: str = "PreToolUse") -> dict[str, Any]:
    """Return the payload of a question with words of its own."""
    form = {"questions": [{**QUESTION, "question": f"Which approach, {number}?"}]}
    payload = {**sample(event, "AskUserQuestion"), "session_id": session, "tool_input": form, "cwd": "/tmp"}
    return payload | ({"tool_use_id": f"q{number}"} if event == "PreToolUse" else {})


def state(router: Resident) -> dict[str, int]:
    """Return memory, all of it and its share of what it has in common with its children, descriptors and children."""
    children = [int(pid) for pid in Path(f"/proc/{router.pid}/task/{router.pid}/children").read_text().split()]
    return {
        "memory_kb": int(router.status()["memory_kb"]),
        "share_kb": memory_kb(router.pid, "Pss:"),
        "descriptors": len(os.listdir(f"/proc/{router.pid}/fd")),
        "children": len(children),
        "dead_children": sum(is_dead(pid) for pid in children),
    }


def settled(router: Resident) -> dict[str, int]:
    """Return the state once as many children wait for a call as ever."""
    # Those that were needed at once end when nobody has needed them for a while.
    eventually(lambda: state(router)["children"] == SPARES, IDLE + PATIENCE)
    return state(router)


def waits(router: Resident, folder: Path, count: int, seconds: float) -> list[str]:
    """Hold that many waiting hooks, then answer each; return what is wrong."""
    native = native_front(folder)
    if native is None:
        return []
    store = open_store(Home.from_environ(router.environ), print)
    words = [native, router.folder, *script_argv(), "run", "permission-request"]
    waiting = []
    began = time.monotonic()
    for number in range(count):
        session = f"{number:08d}-1111-4000-8000-000000000000"
        asked = question(session, number)
        router.call("pre-tool-use", asked)
        payload = question(session, number, "PermissionRequest")
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=router.environ)
        assert process.stdin is not None
        process.stdin.write(json.dumps(payload).encode())
        process.stdin.close()
        handover = Handover.of(store, session, payload["tool_input"])
        waiting.append((process, handover, payload, asked["tool_use_id"]))
    eventually(lambda: all(handover.waiting() is not None for _process, handover, *_rest in waiting), 120)
    print(f"{count} wait after {time.monotonic() - began:.1f} s")
    pids = [int(handover.waiting()["pid"]) for _process, handover, *_rest in waiting]  # type: ignore[index]
    used = processor_seconds([router.pid, *pids])
    time.sleep(seconds)
    share = (processor_seconds([router.pid, *pids]) - used) / seconds
    private = sum(memory_kb(pid, "Private_") for pid in pids)
    print(f"held for {seconds:g} s: {share * 100:.1f} % of a processor, {private / 1024 / count:.1f} MB private each")
    delays = []
    faults = []
    for process, handover, payload, tool_use_id in waiting:
        form = AskUserQuestionInput.from_json(payload["tool_input"])
        answer = answer_document(form.questions, [Select(1)])
        started = time.perf_counter()
        handover.give({**answer, "by": "agent"}, handover.waiting() or {}, tool_use_id)
        assert process.stdout is not None
        out = process.stdout.read()
        if process.wait() or b"Two" not in out:
            faults.append(f"a waiting hook ended with {process.returncode}: {out!r}")
        delays.append(time.perf_counter() - started)
    median, longest = (value * 1000 for value in (statistics.median(delays), max(delays)))
    print(f"from answer to the end of the front: median {median:.1f} ms, longest {longest:.1f} ms")
    return faults


def processor_seconds(pids: list[int]) -> float:
    """Return the processor time that processes have used so far."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_kb(pid: int, kind: str) -> int:
    """Return how much memory of the kinds that begin so a process has, in kB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(kind))


def is_dead(pid: int) -> bool:
    """Whether a process has ended and nobody has asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    sys.exit(main())
