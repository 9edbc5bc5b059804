"""An agent, and a person's letter box, as programs of gateways: ``night_agent.py FOLDER``, a message as JSON on stdin.

``FOLDER/manners.json`` says how the agent meets a question, by the question's first text: with which decisions, and in
what manner (:data:`MANNERS`). Every message is kept in ``FOLDER/told.jsonl``, what ``hookrouter answer`` said to it in
``FOLDER/answers.jsonl``. While there is a file ``FOLDER/down-GATEWAY``, that gateway fails. Imports nothing of
hookrouter: what it knows it has from its message.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

TAKEN, NOT_NOW, ANOTHER = 0, 75, 65
PERSON = "person"
"""The gateway that only keeps what it gets."""

_WRONG = (
    "Let me think: the second one.",
    "{}",
    "[]",
    '[{"action": "select", "optionIndex": 99}]',
    '[{"action": "multi-select", "selectedIndices": [-1]}]',
    '[{"action": "type", "text": ""}]',
    '[{"action": "dance"}]',
)
_LONGEST_WAIT = 120.0


class Call:
    """One message, and what the agent may do with it."""

    def __init__(self, folder: str, message: dict[str, Any], decisions: str) -> None:
        self.folder = folder
        self.kind: str = message["kind"]
        self.data: dict[str, Any] = message["data"]
        self.decisions = decisions

    def answer(self, decisions: str) -> int:
        """Answer as the message says, keep what came of it, and return the exit code."""
        done = subprocess.run(self.data["command"], input=decisions, capture_output=True, text=True, check=False)
        said = json.loads(done.stdout) if done.stdout.startswith("{") else {"stderr": done.stderr}
        note(self.folder, "answers", {**said, "of": self.data["tool_use_id"], "at_kind": self.kind})
        return done.returncode

    def right(self) -> int:
        """Answer as it was planned."""
        return NOT_NOW if self.answer(self.decisions) in (4, 5) else TAKEN

    def begin(self) -> None:
        """Start to answer, and be killed, with the command, while the answer is on its way."""
        before = pending(self.data)
        command = subprocess.Popen(
            self.data["command"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
        )
        assert command.stdin is not None
        command.stdin.write(self.decisions)
        command.stdin.close()
        wait(lambda: pending(self.data) != before or command.poll() is not None)
        command.kill()
        die()


def right(call: Call) -> int:
    """Answer at once."""
    return call.right()


def wrong(call: Call) -> int:
    """Answer wrongly in every way, each of which must be refused, and then rightly."""
    codes = [call.answer(decisions) for decisions in _WRONG]
    return call.right() if set(codes) == {2} else ANOTHER


def slow(call: Call) -> int:
    """Answer once there is a file ``FOLDER/go``."""
    wait(lambda: os.path.exists(os.path.join(call.folder, "go")))
    return call.right()


def silent(_call: Call) -> int:
    """Take the message, and do nothing, whatever comes."""
    return TAKEN


def forgetful(call: Call) -> int:
    """Answer only when reminded."""
    return TAKEN if call.kind == "question" else call.right()


def killed(call: Call) -> int:
    """Be killed at the first try; another agent takes its place."""
    if call.data["attempt"] == 1:
        die()
    return call.right()


def killed_halfway(call: Call) -> int:
    """Be killed while answering; another agent takes its place."""
    if call.data["attempt"] == 1:
        call.begin()
    return call.right()


def leaves_a_process(call: Call) -> int:
    """Take the message at once; a process that is left behind answers."""
    if os.fork() == 0:
        os.setsid()
        call.right()
        os._exit(0)
    return TAKEN


def hands_on(_call: Call) -> int:
    """Leave it to somebody else."""
    return ANOTHER


def answers_by_day(call: Call) -> int:
    """Answer as the agent ``day``, and do nothing as any other."""
    return call.right() if call.data["agent"] == "day" else TAKEN


MANNERS: dict[str, Callable[[Call], int]] = {
    one.__name__: one
    for one in (
        right,
        wrong,
        slow,
        silent,
        forgetful,
        killed,
        killed_halfway,
        leaves_a_process,
        hands_on,
        answers_by_day,
    )
}


def wait(probe: Callable[[], object]) -> None:
    """Wait until something is true, and not for ever."""
    deadline = time.monotonic() + _LONGEST_WAIT
    while not probe() and time.monotonic() < deadline:
        time.sleep(0.02)


def pending(data: dict[str, Any]) -> list[str]:
    """Return the answers that are on their way."""
    state = os.path.join(os.environ["HOOKROUTER_HOME"], "state")
    return sorted(name for name in os.listdir(state) if name.startswith("pending-answer-"))


def die() -> None:
    """End as one that ran out of memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def note(folder: str, name: str, document: dict[str, Any]) -> None:
    """Append a line, in one write."""
    file = os.open(os.path.join(folder, f"{name}.jsonl"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, f"{json.dumps(document)}\n".encode())
    finally:
        os.close(file)


def main(folder: str) -> int:
    """Meet one message; return what the gateway's program ends with."""
    message = json.load(sys.stdin)
    gateway = message["gateway"]
    if os.path.exists(os.path.join(folder, f"down-{gateway}")):
        return NOT_NOW
    note(folder, "told", message)
    # Without data, the question has ended before its message went out.
    if gateway == PERSON or message["kind"] not in ("question", "reminder") or not message["data"]:
        return TAKEN
    with open(os.path.join(folder, "manners.json"), encoding="utf-8") as file:
        plans = json.load(file)
    plan = plans.get(message["data"]["questions"][0]["question"])
    if plan is None:
        return ANOTHER
    call = Call(folder, message, json.dumps(plan["decisions"]))
    return MANNERS[plan["manner"]](call)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
