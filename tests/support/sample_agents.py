"""The sample agents in ``examples/agents`` at work: forms, a scripted LLM, and what a client is asked."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from typing import TYPE_CHECKING, Any

from hookrouter._sandbox.waiting import wait_until
from support.manual import REPOSITORY, blocks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import ModuleType

    from hookrouter._sandbox.client import ClientSession
    from hookrouter._sandbox.stage import Stage

__all__ = ["FOLDER", "FORMS", "README", "SESSION", "Asking", "ScriptedLLM", "load", "readme_config", "right"]

FOLDER = REPOSITORY / "examples" / "agents"
README = "examples/agents/README.md"
SESSION = "work-1"
"""A session that the README's agents manage."""

_LLM = """\
import json, os, sys
folder = sys.argv[1]
with open(os.path.join(folder, "prompts.jsonl"), "a+") as prompts:
    prompts.seek(0)
    number = len(prompts.readlines())
    prompts.write(json.dumps(sys.stdin.read()) + chr(10))
with open(os.path.join(folder, "replies.json")) as file:
    replies = json.load(file)
print(replies[min(number, len(replies) - 1)])
"""


def _question(text: str, *labels: str, multi: bool = False, **descriptions: str) -> dict[str, Any]:
    options = [{"label": label, "description": descriptions.get(label, f"about {label}")} for label in labels]
    return {"question": text, "header": text.split()[-1].strip("?")[:12], "multiSelect": multi, "options": options}


_SINGLE = _question("Which approach?", "Patch", "Rewrite (Recommended)", "Wait")
_MULTI = _question("Which areas?", "Naming", "Retry", "Logging", multi=True, Retry="leave that for later")

FORMS: dict[str, list[dict[str, Any]]] = {
    "single": [_SINGLE],
    "multi": [_MULTI],
    "four": [
        _SINGLE,
        _MULTI,
        _question("Shall I go on?", "No, stop", "Yes, go on"),
        _question("Which name?", "alpha", "beta (Recommended)"),
    ],
    "dangerous": [_question("May I delete the old tables?", "Yes", "No")],
    "undecided": [_SINGLE, _question("Which colour?", "Red", "Blue")],
}
"""Forms by name. Rules decide the first three; ``right`` says how."""

_RIGHT: dict[str, list[dict[str, Any]]] = {
    "single": [{"action": "select", "optionIndex": 1}],
    "multi": [{"action": "multi-select", "selectedIndices": [0, 2]}],
    "four": [
        {"action": "select", "optionIndex": 1},
        {"action": "multi-select", "selectedIndices": [0, 2]},
        {"action": "select", "optionIndex": 1},
        {"action": "select", "optionIndex": 1},
    ],
}


def right(name: str) -> list[dict[str, Any]]:
    """Return the decisions that are right for a form."""
    return _RIGHT[name]


def _recorded(name: str) -> dict[str, str]:
    found = {}
    for form, decision in zip(FORMS[name], _RIGHT[name], strict=True):
        indices = decision.get("selectedIndices", [decision.get("optionIndex")])
        found[form["question"]] = ", ".join(form["options"][index]["label"] for index in indices)
    return found


def load(name: str) -> ModuleType:
    """Return the module of ``examples/agents/NAME.py``, newly loaded."""
    spec = importlib.util.spec_from_file_location(f"sample_agent_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def readme_config(gateway: str, argv: Sequence[str] = ()) -> str:
    """Return the README's config.toml of one agent, with its program where it is; ``argv`` replaces that of the LLM."""
    start = f'gateways = ["{gateway}", "inbox"]'
    [text] = [block.text for block in blocks(README, "toml") if start in block.text]
    if argv:
        text = re.sub(
            r'(_llm\.py", "--seconds=120"), .*\]', lambda found: f"{found[1]}, {json.dumps([*argv])[1:]}", text
        )
    return text.replace("~/agents/", f"{FOLDER}/")


class ScriptedLLM:
    """A program that says what it was told to, one reply after the other, and then the last again and again."""

    def __init__(self, folder: Path) -> None:
        """Keep replies and prompts in ``folder``, which exists."""
        self._folder = folder
        (folder / "llm.py").write_text(_LLM)
        self.argv = [sys.executable, str(folder / "llm.py"), str(folder)]

    def will_say(self, *replies: object) -> None:
        """Forget all prompts, and begin with these replies: texts, or what is written as JSON."""
        (self._folder / "prompts.jsonl").unlink(missing_ok=True)
        texts = [reply if isinstance(reply, str) else json.dumps(reply) for reply in replies]
        (self._folder / "replies.json").write_text(json.dumps(texts))

    @property
    def prompts(self) -> list[str]:
        """What it was asked since then."""
        try:
            return [json.loads(line) for line in (self._folder / "prompts.jsonl").read_text().splitlines()]
        except FileNotFoundError:
            return []


class Asking:
    """A client, real or not, that asks the forms; its agent answers, or leaves them to a person."""

    def __init__(self, stage: Stage, client: ClientSession, patience: float = 60.0) -> None:
        """``patience`` is how many seconds an answer may take."""
        self.stage = stage
        self.client = client
        self._patience = patience

    def is_answered(self, name: str) -> str:
        """Have a form asked, and see that the right answer is recorded and verified; return its tool_use_id."""
        identifier = self._ask(name)
        self._is_recorded(identifier, _recorded(name))
        return identifier

    def is_handed_on(self, name: str) -> str:
        """Have a form asked, and see that the inbox gets it, still open; return its tool_use_id."""
        identifier = self._ask(name)

        def delivered() -> list[str]:
            return [str(one.get("gateway")) for one in self.deliveries(identifier) if one["outcome"] == "delivered"]

        wait_until(delivered, self._patience, "a delivery", lambda: self._seen(identifier))
        assert delivered() == ["inbox"]
        listed = json.loads(self.stage.run("questions", "--json").stdout)["questions"]
        assert [one["tool_use_id"] for one in listed] == [identifier]
        return identifier

    def answer_as_person(self, identifier: str, *decisions: dict[str, Any]) -> None:
        """Answer what was handed on."""
        options = (
            "--session",
            SESSION,
            "--tool-use-id",
            identifier,
            "--wait",
            "60",
            "--as",
            "person:alice",
            "--json",
            "--file",
            "-",
        )
        done = self.stage.run("answer", *options, stdin=json.dumps(decisions), timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        assert json.loads(done.stdout)["outcome"] == "verified"

    def deliveries(self, identifier: str) -> list[dict[str, Any]]:
        """Return what the journal has about deliveries of a question, without those of its reminders."""
        return [
            record
            for record in self.stage.journal()
            if (record.get("event"), record.get("kind")) == ("delivery", "question")
            and record.get("tool_use_id") == identifier
        ]

    def _ask(self, name: str) -> str:
        before = len(self.stage.payloads("PreToolUse"))
        self.client.wait_idle(self._patience)
        self.client.submit(f"please ASK {name}", self._patience)
        identifier: str = self.stage.wait_payload("PreToolUse", before + 1, self._patience)["tool_use_id"]
        return identifier

    def _is_recorded(self, identifier: str, answers: dict[str, str]) -> None:
        def ended() -> list[dict[str, Any]]:
            records = self.stage.journal()
            return [
                one for one in records if one.get("event") == "PostToolUse" and one.get("tool_use_id") == identifier
            ]

        [record] = wait_until(ended, self._patience, "an answer", lambda: self._seen(identifier))
        assert record["outcome"] == "verified", record

        def recorded() -> list[dict[str, Any]]:
            return [one for one in self.stage.payloads("PostToolUse") if one["tool_use_id"] == identifier]

        # The hooks of one event run side by side.
        [payload] = wait_until(recorded, self._patience, "the record of the answer", lambda: self._seen(identifier))
        assert payload["tool_response"]["answers"] == answers

    def _seen(self, identifier: str) -> str:
        return f"{self.client.screen()}\n{self.deliveries(identifier)}"
