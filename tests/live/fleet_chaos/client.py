"""A scripted client: a session that asks, is answered, and takes prompts of a queue; and the agents who see to it."""

from __future__ import annotations

import json
import random
import subprocess
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

from live.fleet_chaos.events import Answered, Asked, Reported, Sent, Submitted, Tried

if TYPE_CHECKING:
    from collections.abc import Sequence

    from live.fleet_chaos.commands import Command
    from live.fleet_chaos.events import Events
    from live.fleet_chaos.machine import Machine

__all__ = ["LABELS", "Session"]

LABELS = ("Left", "Right", "Straight")
_PATIENCE = 180.0
"""Seconds after which a question that nobody could answer, or an item that does not come, counts as lost."""
_LOOK = 0.03
_TWO_AT_ONCE = 0.25
_PAUSE = (0.5, 5.0)
"""Seconds after which an agent tries again: many that try at once keep a small machine from all else."""
_PERSON_COMES = 2.0
"""Seconds after which somebody answers at the keyboard, if no hook waits."""
_IN_A_ROW = 8
"""After so many replies in a row the client ends the turn all the same."""
_BOUND_TO_END = 300.0
_QUEUED, _UNKNOWN = 0, 5


class Session:
    """One session on one machine; agents act on any."""

    def __init__(self, machines: Sequence[Machine], events: Events, chances: random.Random) -> None:
        self._machines = machines
        self._machine = chances.choice(machines)
        self._events = events
        self._chances = chances
        self._id = str(uuid.UUID(int=chances.getrandbits(128), version=4))
        self._name = f"claude-{self._id[:8]}"
        self._came: set[str] = set()
        self._sender: threading.Thread | None = None
        self._client: subprocess.Popen[bytes] | None = None

    def play(self, questions: int, items: int, end: float) -> None:
        """Ask so many questions, one after the other, while so many items are sent; see that all have come.

        After ``end``, a time of the monotonic clock, nothing more is asked.
        """
        # Hooks are told the client's process, by which they see whether it lives.
        with subprocess.Popen(["sleep", "infinity"]) as self._client:
            try:
                self._run("SessionStart", source="startup")
                self._sender = threading.Thread(target=self._send, args=(items, random.Random(self._id)))
                self._sender.start()
                for number in range(questions):
                    if time.monotonic() > end:
                        break
                    self._turn(f"go on with {number}", f"Which way at {number}?")
                self._sender.join()
                self._take_the_rest()
                self._run("SessionEnd", reason="other")
            finally:
                self._client.kill()

    # --- the client

    def _start(self, event: str, **fields: object) -> list[subprocess.Popen[bytes]]:
        assert self._client is not None
        payload = {"session_id": self._id, "transcript_path": "", "cwd": "/", "permission_mode": "default", **fields}
        return self._machine.hook(event, payload, self._client.pid)

    def _run(self, event: str, **fields: object) -> list[dict[str, Any]]:
        """Run the hooks of an event to their ends; return what they said."""
        outputs = [hook.communicate(timeout=_BOUND_TO_END)[0] for hook in self._start(event, **fields)]
        return [json.loads(output) for output in outputs if output.strip()]

    def _turn(self, prompt: str, question: str = "") -> None:
        self._run("UserPromptSubmit", prompt=prompt)
        if self._missing():
            # A person's prompt holds what waits, and an agent has it go on.
            self._wait_for(self._chances.choice(self._machines).command("queue", "resume", "--session", self._name))
        if question:
            self._ask(question)
        for number in range(_IN_A_ROW):
            said = self._run("Stop", stop_hook_active=number > 0, last_assistant_message="Done.")
            replies = [one["reason"] for one in said if one.get("decision") == "block"]
            for text in replies:
                self._came.add(text)
                self._events.add(Submitted(self._id, text))
            if not replies:
                return

    def _ask(self, text: str) -> None:
        options = [{"label": label, "description": f"about {label}"} for label in LABELS]
        form = {"questions": [{"question": text, "header": "Way", "multiSelect": False, "options": options}]}
        identifier = f"toolu_{uuid.UUID(int=self._chances.getrandbits(128)).hex[:24]}"
        call = {"tool_name": "AskUserQuestion", "tool_use_id": identifier}
        self._run("PreToolUse", tool_input=form, **call)
        waiting = self._start("PermissionRequest", tool_input=form, tool_name="AskUserQuestion")
        self._events.add(Asked(self._id, identifier))
        agents = Agents(self._machines, self._events, self._chances, identifier)
        answers = self._answered(waiting, agents)
        label = answers.get(text, "") if answers is not None else ""
        by_person = answers is None and not any(hook.poll() is None for hook in waiting)
        if by_person:
            label = self._chances.choice(LABELS)
        self._events.add(Answered(identifier, label, by_person))
        if label:
            recorded = {**form, "answers": {text: label}}
            self._run("PostToolUse", tool_input=recorded, tool_response=recorded, duration_ms=1, **call)
        for hook in waiting:
            # Nobody listens to a hook that still waits when the dialog has closed; it ends by itself.
            hook.wait(_BOUND_TO_END)
        agents.end()

    def _answered(self, waiting: list[subprocess.Popen[bytes]], agents: Agents) -> dict[str, str] | None:
        """Wait for a hook's answer while agents try; None if a person, or nobody, is left to give one."""
        deadline = time.monotonic() + _PATIENCE
        nobody_since: float | None = None
        heard: set[int] = set()
        while time.monotonic() < deadline:
            for hook in waiting:
                if hook.pid in heard or hook.poll() is None:
                    continue
                heard.add(hook.pid)
                output = hook.communicate()[0]
                if output.strip():
                    decision = json.loads(output)["hookSpecificOutput"]["decision"]
                    if decision.get("behavior") == "allow":
                        answers: dict[str, str] = decision["updatedInput"]["answers"]
                        return answers
            if len(heard) == len(waiting):
                nobody_since = nobody_since or time.monotonic()
                if time.monotonic() - nobody_since > _PERSON_COMES:
                    return None
            agents.go_on()
            time.sleep(_LOOK)
        return None

    # --- the queue

    def _send(self, items: int, chances: random.Random) -> None:
        for number in range(items):
            time.sleep(chances.uniform(0, 3))
            deadline = time.monotonic() + _PATIENCE
            attempt = 0
            while time.monotonic() < deadline:
                text = f"item {number}, try {attempt}"
                command = chances.choice(self._machines).command("send", "--session", self._name, "--json", text)
                _, said = command.communicate(timeout=_BOUND_TO_END)
                self._events.add(Sent(self._id, text, command.returncode, said))
                if command.returncode in (_QUEUED, _UNKNOWN):
                    break
                attempt += 1
                time.sleep(chances.uniform(0.5, 2))

    def _take_the_rest(self) -> None:
        """Go on with turns until all that was queued has come, or until it is known what became of it."""
        deadline = time.monotonic() + _PATIENCE
        looked = time.monotonic()
        while missing := self._missing():
            if time.monotonic() > deadline:
                return
            self._turn("go on")
            if time.monotonic() - looked > 5 and self._missing():
                self._look(missing)
                looked = time.monotonic()
            time.sleep(0.3)

    def _wait_for(self, command: Command) -> str:
        return command.communicate(timeout=_BOUND_TO_END)[0]

    def _missing(self) -> set[str]:
        sent = {one.text for one in self._events.of(Sent) if one.session == self._id and one.code == _QUEUED}
        known = {one.text for one in self._events.of(Reported) if one.session == self._id}
        return sent - self._came - known

    def _look(self, missing: set[str]) -> None:
        """Look what became of items that do not come, as an agent does."""
        listing = self._wait_for(self._machine.command("queue", "list", "--session", self._name, "--json"))
        try:
            found = json.loads(listing)
        except ValueError:
            return
        ended = [(item["text"], item["state"]) for item in found["ended"] if item["state"] != "done"]
        for queue in found["queues"]:
            if (hold := queue["hold"]) is not None and hold["cause"] == "unproven":
                ended += [(item["text"], "unproven") for item in queue["items"] if item["state"] != "queued"]
        for text, state in ended:
            if text in missing:
                self._events.add(Reported(self._id, text, state))


class Agents:
    """Who answers one question: at any machine, sometimes two at once, until it is answered."""

    def __init__(self, machines: Sequence[Machine], events: Events, chances: random.Random, question: str) -> None:
        self._machines = machines
        self._events = events
        self._chances = chances
        self._question = question
        self._waits_for_message = chances.random() < 0.5
        self._next = time.monotonic() + chances.uniform(0, 0.5)
        self._running: list[tuple[Command, str, str]] = []

    def go_on(self) -> None:
        """Note what has ended, and try if nobody does."""
        for running in [one for one in self._running if one[0].poll() is not None]:
            self._running.remove(running)
            self._note(*running)
            self._next = time.monotonic() + self._chances.uniform(*_PAUSE)
        if self._running or time.monotonic() < self._next:
            return
        if self._waits_for_message and not self._events.is_told(self._question):
            return
        count = 2 if self._chances.random() < _TWO_AT_ONCE else 1
        meant = self._chances.sample(range(len(LABELS)), count)
        for index, machine in zip(meant, self._chances.sample(self._machines, count), strict=True):
            decisions = json.dumps([{"action": "select", "optionIndex": index}])
            command = machine.command("answer", "--tool-use-id", self._question, "--json", decisions)
            self._running.append((command, machine.name, LABELS[index]))

    def end(self) -> None:
        """Wait for those who still try."""
        for running in self._running:
            self._note(*running)

    def _note(self, command: Command, machine: str, meant: str) -> None:
        output, said = command.communicate(timeout=_BOUND_TO_END)
        try:
            result = json.loads(output)
            outcome, reason = str(result.get("outcome", "")), str(result.get("reason", ""))
        except (ValueError, AttributeError):
            outcome, reason = "", ""
        why = " | ".join(filter(None, (reason, said.strip())))
        self._events.add(Tried(self._question, machine, meant, command.returncode, outcome, why[:500]))
