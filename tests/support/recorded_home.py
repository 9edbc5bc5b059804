"""The home that 58df749 left, see ``tests/data/homes``, carried on by the programs of now."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from socket import gethostname
from typing import Any, Self

from hookrouter._sandbox.processes import reap
from hookrouter.testing import wait_until

__all__ = ["RECORDED", "RecordedHome", "carry_on", "same"]

RECORDED = Path(__file__).parents[1] / "data" / "homes" / "58df749"

_VOLATILE = ("age_seconds", "command", "next_reminder_at", "agent_silent_since", "notices", "reminders", "escalated")
"""What depends on when, and from where, a command is run, and on what has been delivered by then."""
_FRAMEWORK = [{"action": "select", "optionIndex": 1}]


class RecordedHome:
    """A copy of a recorded home; use it as a context manager."""

    def __init__(self, recorded: Path, folder: Path, config: str = "", **variables: str) -> None:
        """``config`` is added to config.toml, ``variables`` to the environment of every program."""
        self._folder = folder / "home"
        self._environ = {**os.environ, "HOOKROUTER_HOME": str(self._folder), **variables}
        shutil.copytree(recorded, self._folder)
        for path, _, _ in os.walk(self._folder):
            Path(path).chmod(0o700)
        self.told: dict[str, Any] = json.loads((recorded / "told.json").read_text())
        """What 58df749 itself told of it, by the command's words."""
        file = self._folder / "config.toml"
        # Messages arrive now, as notices.
        arriving = file.read_text().replace('type = "webhook"\nurl = "http://127.0.0.1:9/wake"', 'type = "inbox"')
        file.write_text(arriving + config)
        for identity in (self._folder / "state").glob("fleet-home.json"):
            identity.write_text(self.here(identity.read_text()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        reap((), f"HOOKROUTER_HOME={self._folder}")

    def here(self, text: str) -> str:
        """Return what was recorded as a home has it that stays where it was."""
        place = f'"host":"{gethostname()}","state":"{self._folder}/state"'
        return text.replace('"host":"machine","state":"/home/u/state"', place)

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "hookrouter", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environ,
        )

    def run(self, *words: str, given: object = None, code: int = 0) -> str:
        process = self.start(*words)
        output, errors = process.communicate(json.dumps(given))
        assert process.returncode == code, (words, output, errors)
        return output

    def json(self, *words: str, code: int = 0) -> Any:
        return json.loads(self.run(*words, "--json", code=code))

    def open(self) -> list[str]:
        return [one["tool_use_id"] for one in self.json("questions")["questions"]]

    def waiting(self, *kinds: str) -> list[str]:
        """Return the ids of the messages of these kinds that are in the outbox."""
        return [one["id"] for one in self.json("outbox", "list") if one["kind"] in kinds]

    def outcome(self, identifier: str) -> tuple[str, str | None, str | None]:
        (found,) = (one for one in self.json("history")["questions"] if one["tool_use_id"] == identifier)
        return found["outcome"], found["by"], found["channel"]

    def question(self, identifier: str) -> dict[str, Any]:
        """Return what a hook's payload says of the call of a question that 58df749 told of as open."""
        (found,) = (one for one in self.told["questions"]["questions"] if one["tool_use_id"] == identifier)
        names = ("question", "header", "options", "multiSelect")
        form = [{name: one[name] for name in names} for one in found["questions"]]
        return {"session_id": found["session_id"], "tool_name": "AskUserQuestion", "tool_input": {"questions": form}}

    def recorded(self, identifier: str, answer: str) -> None:
        """Have Claude Code record an answer to a form of one question."""
        fields = self.question(identifier)
        response = {**fields["tool_input"], "answers": {"Which framework?": answer}, "annotations": {}}
        payload = {**fields, "hook_event_name": "PostToolUse", "tool_use_id": identifier, "tool_response": response}
        self.run("run", "PostToolUse", given={**_COMMON, **payload})

    def answered(self, identifier: str) -> Any:
        """Answer a form by the hook that waits beside its dialog; return what that hook replies."""
        waiting = self.start("run", "PermissionRequest")
        assert waiting.stdin is not None
        payload = {**_COMMON, **self.question(identifier), "hook_event_name": "PermissionRequest"}
        waiting.stdin.write(json.dumps(payload))
        waiting.stdin.close()
        waiting.stdin = None
        self.run("answer", "--tool-use-id", identifier, "--as", "agent", "--wait", "0", json.dumps(_FRAMEWORK))
        output, errors = waiting.communicate(timeout=60)
        assert waiting.returncode == 0, errors
        return json.loads(output)


_COMMON = {"transcript_path": "", "cwd": "/work", "permission_mode": "default"}


def same(now: Any, then: Any) -> bool:
    """Whether all is told as it was then. What the words name that were told since is left out."""
    if isinstance(then, dict):
        return all(name in now and (name in _VOLATILE or same(now[name], one)) for name, one in then.items())
    if isinstance(then, list):
        return len(now) == len(then) and all(map(same, now, then))
    return bool(now == then)


def carry_on(home: RecordedHome) -> None:
    """See that everything of the home is read as 58df749 read it, and goes on."""
    for words, told in home.told.items():
        assert same(now := home.json(*words.split()), told), (words, now)

    # The answer that was being given then is compared with what is recorded now.
    home.recorded("toolu_d1", "React")
    assert home.outcome("toolu_d1") == ("verified", "agent", "reply")
    # What nobody answers any more, because the session is over, is swept: a permission and a plan.
    over = {**_COMMON, "session_id": _session_id(home, "toolu_e1"), "hook_event_name": "SessionEnd", "reason": "other"}
    home.run("run", "SessionEnd", given=over)
    assert home.open() == ["toolu_a1", "toolu_a2", "toolu_f1"]
    assert home.outcome("toolu_e1")[:2] == home.outcome("toolu_e2")[:2] == ("unanswered", "nobody")

    first, *rest = (one["id"] for one in home.told["queue list"]["queues"][0]["items"])
    home.run("queue", "drop", first)
    home.run("send", "--session", "claude-ffffffff", "--as", "agent", "one more")
    ended = home.json("queue", "show", first)
    assert (ended["state"], ended["text"]) == ("dropped", "run the tests")
    home.run("resume", "--session", "claude-ffffffff")
    (queue,) = home.json("queue", "list")["queues"]
    assert [one["id"] for one in queue["items"]][:-1] == rest
    assert (queue["hold"], queue["items"][-1]["text"]) == (None, "one more")
    assert not home.json("questions")["paused"]

    # A question that was asked then, and missed, is answered.
    reply = home.answered("toolu_f1")
    assert reply["hookSpecificOutput"]["decision"]["updatedInput"]["answers"] == {"Which framework?": "Vue"}
    home.recorded("toolu_f1", "Vue")
    assert home.outcome("toolu_f1") == ("verified", "agent", "reply")

    # The messages that could not be delivered then arrive, whoever delivers them.
    home.run("deliver")
    wait_until(lambda: not home.waiting("question", "mismatch", "unanswered"), 60, "the delivery of the messages")
    notices = {(one["tool_use_id"], one["kind"]) for one in home.json("questions")["notices"]}
    assert notices >= {("toolu_b2", "mismatch"), ("toolu_c1", "unanswered")}


def _session_id(home: RecordedHome, identifier: str) -> str:
    return str(home.question(identifier)["session_id"])
