"""A night: a client that asks, an agent that is not always right, a person who looks in, and what all views tell of it.

:data:`KINDS` makes forms of every kind, each with the decisions that answer it and what Claude Code must record.
:class:`Night` has them asked and waits for their ends; after each step it compares the views, and :meth:`Night.faults`
says what was lost, told twice, or told to the wrong one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter._sandbox.scripted_model import ToolUses, ask
from hookrouter._sandbox.waiting import wait_until
from hookrouter.storage.engine import OUTBOX, open_store
from hookrouter.util.program import script_argv
from support import night_agent
from support.views import Views, read_views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hookrouter._sandbox.client import ClientSession
    from hookrouter._sandbox.scripted_model import ScriptedModel
    from hookrouter._sandbox.stage import Stage

__all__ = ["KINDS", "Night", "config"]

SESSION = "managed"
AGENT = "night"

REMINDERS = 2
SECONDS = {"remind_after": 2, "remind_every": 2, "escalate_after": 5}


def config(folder: Path, agent: str = AGENT, more: str = "") -> str:
    """Return a config.toml with one agent, and a person who is told of what nobody has answered."""
    argv = json.dumps([sys.executable, night_agent.__file__, str(folder)])
    seconds = "\n".join(f"{key} = {value}" for key, value in SECONDS.items())
    return f"""\
[[agents]]
id = "{agent}"
sessions = ["{SESSION}*"]
gateways = ["{agent}", "person"]
fallback_after = 3600

[[agents]]
id = "me"
kind = "person"
sessions = ["mine-*"]
gateway = "person"

[gateways.{agent}]
type = "command"
argv = {argv}
format = "json"
timeout = 180

[gateways.person]
type = "command"
argv = {argv}
format = "json"

[answer]
{seconds}
reminders = {REMINDERS}
escalate_to = "person"
{more}"""


class Form(NamedTuple):
    """A form, the decisions that answer it, and what Claude Code records then."""

    questions: list[dict[str, Any]]
    decisions: list[dict[str, Any]]
    answers: dict[str, str]
    notes: dict[str, str] = {}
    chat: str = ""
    """The words of decisions that decline the form; nothing is recorded then."""

    @property
    def name(self) -> str:
        """The text by which the agent, and the screen, know it."""
        text: str = self.questions[0]["question"]
        return text


_LABELS = ("Straight on", "Left", "Right")


def _question(number: int, what: str, *, multi: bool = False, preview: bool = False) -> dict[str, Any]:
    options: list[dict[str, str]] = [{"label": label, "description": f"about {label}"} for label in _LABELS]
    if preview:
        options = [{**option, "preview": f"+--+\n|{option['label'][:2]}|\n+--+"} for option in options]
    return {"question": f"Q{number}: {what}?", "header": f"Q{number}", "multiSelect": multi, "options": options}


def _one(question: dict[str, Any], decision: dict[str, Any], recorded: str, note: str = "") -> Form:
    text = question["question"]
    return Form([question], [decision], {text: recorded}, {text: note} if note else {})


def _single(number: int) -> Form:
    return _one(_question(number, "Which way"), {"action": "select", "optionIndex": number % 3}, _LABELS[number % 3])


def _typed(number: int) -> Form:
    words = f"Neither; {number} 'of' \"them\""
    return _one(_question(number, "Which name"), {"action": "type", "text": words}, words)


def _multi(number: int) -> Form:
    decision = {"action": "multi-select", "selectedIndices": [0, 2]}
    return _one(_question(number, "Which areas", multi=True), decision, "Straight on, Right")


def _multi_typed(number: int) -> Form:
    decision = {"action": "multi-select", "selectedIndices": [1], "text": "and tests"}
    return _one(_question(number, "Which parts", multi=True), decision, "Left, and tests")


def _preview(number: int) -> Form:
    return _one(_question(number, "Which layout", preview=True), {"action": "select", "optionIndex": 2}, "Right")


def _noted(number: int) -> Form:
    decision = {"action": "select", "optionIndex": 1, "notes": "but narrow"}
    return _one(_question(number, "Which panel", preview=True), decision, "Left", "but narrow")


def _several(number: int) -> Form:
    parts = [_single(number), _multi_typed(number), _typed(number), _multi(number)]
    answers = {text: recorded for part in parts for text, recorded in part.answers.items()}
    return Form([part.questions[0] for part in parts], [part.decisions[0] for part in parts], answers)


def _chat(number: int) -> Form:
    words = f"Let us talk about number {number} first."
    return Form([_question(number, "Which plan")], [{"action": "chat", "text": words}], {}, chat=words)


KINDS: dict[str, Callable[[int], Form]] = {
    "single": _single,
    "typed": _typed,
    "multi": _multi,
    "multi_typed": _multi_typed,
    "preview": _preview,
    "noted": _noted,
    "several": _several,
    "chat": _chat,
}
"""What makes a form of each kind, with a number that no other form has."""


class Asked(NamedTuple):
    """A form that Claude has asked."""

    form: Form
    tool_use_id: str


class Night:
    """One home, from the evening to the morning."""

    def __init__(
        self, stage: Stage, client: ClientSession, model: ScriptedModel, folder: Path, press_until: Callable[..., None]
    ) -> None:
        """``folder`` is where the agent looks and writes; ``press_until`` presses a key until something is so."""
        self.stage = stage
        self.client = client
        self.model = model
        self.folder = folder
        self._press_until = press_until
        self.number = 0
        """How many forms were asked."""
        self._manners: dict[str, dict[str, Any]] = {}
        self._expected: dict[str, tuple[Form, str]] = {}
        """How each question must end, by tool_use_id."""
        self._again: set[str] = set()
        self._moved: set[str] = set()
        self._watch: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Night:
        """Begin to watch."""
        self._meet({})
        with open(self.folder / "watched.jsonl", "wb") as file:
            self._watch = subprocess.Popen(
                [*script_argv(), "questions", "--watch", "--json"], env=self.stage.environ, stdout=file
            )
        return self

    def __exit__(self, *_: object) -> None:
        """End the watch."""
        if self._watch is not None:
            self._watch.terminate()
            self._watch.wait()

    # What Claude does.

    def ask(self, kind: str, manner: str) -> Asked:
        """Have one form asked, which the agent meets in this manner; return at once when the hook has run."""
        return self.ask_in_turn([kind], manner)[0]

    def ask_in_turn(self, kinds: Sequence[str], manner: str) -> list[Asked]:
        """Have forms asked one after the other in one turn, and wait for each but the last to be answered."""
        forms = [self._planned(kind, manner) for kind in kinds]
        before = self._begin([ask({"questions": form.questions}) for form in forms])
        asked = []
        for number, form in enumerate(forms, 1):
            asked.append(Asked(form, self.stage.wait_payload("PreToolUse", before + number)["tool_use_id"]))
            if number < len(forms):
                self.ends(asked[-1], "verified")
        return asked

    def ask_together(self, kinds: Sequence[str], manner: str) -> list[Asked]:
        """Have forms asked in one message."""
        forms = [self._planned(kind, manner) for kind in kinds]
        before = self._begin(ToolUses(tuple(ask({"questions": form.questions}, text="") for form in forms)))
        self.stage.wait_payload("PreToolUse", before + len(forms))
        ids = {
            payload["tool_input"]["questions"][0]["question"]: payload["tool_use_id"]
            for payload in self.stage.payloads("PreToolUse")[before:]
        }
        return [Asked(form, ids[form.name]) for form in forms]

    def _planned(self, kind: str, manner: str) -> Form:
        self.number += 1
        form = KINDS[kind](self.number)
        self._meet({form.name: {"decisions": form.decisions, "manner": manner}})
        return form

    def _begin(self, replies: Any) -> int:
        name = f"night-{len(self._manners)}"
        self.model.script(name, replies)
        self.client.wait_idle()
        before = len(self.stage.payloads("PreToolUse"))
        self.client.submit(f"please ASK {name}")
        return before

    def _meet(self, manners: Mapping[str, dict[str, Any]]) -> None:
        self._manners.update(manners)
        new = self.folder / "manners.new"
        new.write_text(json.dumps(self._manners))
        new.replace(self.folder / "manners.json")

    # What a person does.

    def person_answers(self, asked: Asked) -> None:
        """Have a person answer by ``hookrouter answer``, as :class:`Form` says."""
        options = ("--session", SESSION, "--tool-use-id", asked.tool_use_id, "--wait", "60", "--as", "person:alice")
        decisions = json.dumps(asked.form.decisions)
        done = self.stage.run("answer", *options, "--json", "--file", "-", stdin=decisions, timeout=120)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{self.client.screen()}"

    def person_presses(self, asked: Asked, key: str) -> None:
        """Have a person press a key in the dialog, until it is closed."""
        self.client.wait_dialog(asked.form.name)
        self._press_until(key)

    def goes_on(self) -> None:
        """Have a person give a prompt, after which hooks see what is over."""
        self.client.wait_idle()
        self.client.submit("go on without an answer")
        self.model.wait_for_prompt("go on without an answer")

    def kill_deliverer(self) -> None:
        """Kill the process that delivers, as one that runs out of memory."""
        store = open_store(self.stage.home, lambda _text: None, OUTBOX)
        holder = wait_until(lambda: store.lock_holder("outbox", "delivery"), 20, "a deliverer", self._state)
        found = re.search(r"\d+", holder)
        assert found is not None, holder
        os.kill(int(found[0]), signal.SIGKILL)

    def run(self, *arguments: str) -> Any:
        """Run a command with ``--json`` and return what it says."""
        done = self.stage.run(*arguments, "--json")
        assert done.stdout, f"{arguments}: {done.returncode} {done.stderr}"
        return json.loads(done.stdout)

    def configure(self, text: str) -> None:
        """Put a new config.toml in the place of the old one, as editors do."""
        new = Path(self.stage.home.root) / "config.new"
        new.write_text(text)
        new.replace(self.stage.home.config_file)

    # What there is to see.

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Return what was written so far to a file of this name in the folder."""
        path = self.folder / f"{name}.jsonl"
        data = path.read_bytes() if path.exists() else b""
        return [json.loads(line) for line in data.splitlines() if line.endswith(b"}")]

    def answers(self, asked: Asked) -> list[dict[str, Any]]:
        """Return what the agent's tries to answer a question came to."""
        return [said for said in self.lines("answers") if said["of"] == asked.tool_use_id]

    def comes_again(self, asked: Asked) -> None:
        """Note that the agent gets the messages of a question more than once: it is killed, or fails."""
        self._again.add(asked.tool_use_id)

    def is_moved(self, asked: Asked) -> None:
        """Note that a question is brought to another agent, which is told anew."""
        self._moved.add(asked.tool_use_id)

    def told(self, asked: Asked, kind: str, gateway: str = "") -> list[dict[str, Any]]:
        """Return the messages of a kind about a question, that came by a gateway or by any."""
        return [
            message
            for message in self.lines("told")
            if (message["kind"], message["tool_use_id"]) == (kind, asked.tool_use_id)
            and gateway in ("", message["gateway"])
        ]

    def wait_told(self, asked: Asked, kind: str, gateway: str = "") -> None:
        """Wait until somebody was told."""
        wait_until(lambda: self.told(asked, kind, gateway), 40, f"{kind} by {gateway}", self._state)

    def ends(self, asked: Asked, outcome: str) -> None:
        """Wait until a question has ended, and keep how it must have."""
        self._expected[asked.tool_use_id] = asked.form, outcome

        def has_ended() -> bool:
            # Hooks of the test's own, which say that it is asked, run beside hookrouter's.
            return asked.tool_use_id in self._noted("PreToolUse") and asked.tool_use_id not in self.open()

        wait_until(has_ended, 40, f"end of {asked.form.name}", self._state)

    def _noted(self, event: str) -> set[str]:
        return {record.get("tool_use_id", "") for record in self.stage.journal() if record.get("event") == event}

    def open(self) -> set[str]:
        """Return the ids of the questions that are open, as their documents say."""
        found = set()
        for name in self.stage.documents("question"):
            with contextlib.suppress(FileNotFoundError), open(os.path.join(self.stage.home.state, name)) as file:
                found.add(json.load(file)["tool_use_id"])
        return found

    def views(self) -> Views:
        """Return what all views say, once nothing happens in between in which they could differ."""
        found: list[Views] = []

        def agree() -> bool:
            found[:] = [read_views(lambda arguments: self.run(*(one for one in arguments if one != "--json")))]
            return not found[0].contradictions()

        wait_until(agree, 10, "views that agree", lambda: "\n".join(found[0].contradictions()))
        return found[0]

    def is_asked(self, *asked: Asked) -> None:
        """Wait until hookrouter has seen the questions; then everybody must tell the same of them."""
        wanted = {one.tool_use_id for one in asked}
        wait_until(lambda: wanted <= self._noted("PreToolUse"), 20, f"hooks of {wanted}", self._state)
        self.views()

    def is_answered(self, *asked: Asked, outcome: str = "verified") -> None:
        """Wait until questions were answered; then everybody must tell the same of it."""
        for one in asked:
            self.ends(one, "chat" if one.form.chat and outcome == "verified" else outcome)
        self.views()

    def faults(self) -> list[str]:
        """Return in words what was lost, told twice, told to the wrong one, or told otherwise by a view."""
        views = self.views()
        stories = {story["tool_use_id"]: story for story in views.history}
        return [
            *(f"{one} is in history, and nobody waited for its end" for one in stories.keys() - self._expected.keys()),
            *(fault for one, expected in self._expected.items() for fault in self._of_end(one, *expected, stories)),
            *self._of_messages(stories),
            *self._of_answers(views),
            *self._of_watch(stories),
            *(f"left in the outbox: {message}" for message in views.outbox),
            *(f"left in state/: {name}" for name in self.stage.documents("pending-answer")),
            *(f"left in state/: {name}" for name in self.stage.documents("question")),
        ]

    def _of_end(self, one: str, form: Form, outcome: str, stories: Mapping[str, dict[str, Any]]) -> list[str]:
        story = stories.get(one)
        if story is None:
            return [f"{form.name}: history does not know it"]
        if story["outcome"] != outcome:
            return [f"{form.name}: ended {story['outcome']}, not {outcome}: {story['reason']}"]
        if outcome != "verified":
            return []
        recorded = [
            payload["tool_response"] for payload in self.stage.payloads("PostToolUse") if payload["tool_use_id"] == one
        ]
        if len(recorded) != 1 or recorded[0]["answers"] != form.answers:
            return [f"{form.name}: recorded {recorded}, meant {form.answers}"]
        notes = {text: said["notes"] for text, said in recorded[0].get("annotations", {}).items() if "notes" in said}
        return [f"{form.name}: recorded the notes {notes}, meant {form.notes}"] if notes != form.notes else []

    def _of_messages(self, stories: Mapping[str, dict[str, Any]]) -> list[str]:
        """Return what was told twice, or to the wrong one."""
        told = [message for message in self.lines("told") if message["tool_use_id"]]
        faults = [
            f"{times} times: {name} by {gateway}"
            for (name, gateway), times in Counter((one["id"], one["gateway"]) for one in told).items()
            if times > 1 and next(one["tool_use_id"] for one in told if one["id"] == name) not in self._again
        ]
        most = {"question": 1, "reminder": REMINDERS, "escalation": 1, "unanswered": 1}
        sent = Counter((message["kind"], tool_use_id) for message, tool_use_id in _each(told))
        for (kind, one), times in sent.items():
            if times > most.get(kind, 0) + (one in self._moved) * (REMINDERS if kind == "reminder" else 1):
                faults.append(f"{one}: {times} messages of the kind {kind}")
        for message in told:
            if message["kind"] == "escalation" and message["gateway"] != "person":
                faults.append(f"{message['tool_use_id']}: escalated to {message['gateway']}")
        for one, story in stories.items():
            if story["outcome"] == "unanswered" and not story["missed"] and sent["unanswered", one] != 1:
                faults.append(f"{one}: its end was told {sent['unanswered', one]} times")
            if story["escalated"] != bool(sent["escalation", one]):
                faults.append(f"{one}: escalated says {story['escalated']}, told {sent['escalation', one]} times")
        return faults

    def _of_answers(self, views: Views) -> list[str]:
        """Return where what ``answer`` said of an end is not what history says of it."""
        return [
            fault
            for said in self.lines("answers")
            if said.get("outcome") in ("verified", "mismatch", "chat", "answered_by_person", "unanswered")
            for fault in views.of_answer(said)
        ]

    def _of_watch(self, stories: Mapping[str, dict[str, Any]]) -> list[str]:
        """Return where the watch has told something else: it may have missed what was over at once."""

        def closed() -> bool:
            return Counter(one["event"] for one in self.lines("watched"))["closed"] == len(
                {one["tool_use_id"] for one in self.lines("watched") if one["event"] == "opened"}
            )

        wait_until(closed, 15, "the ends of what the watch has seen opened", lambda: str(self.lines("watched")))
        seen = [one for one in self.lines("watched") if one["event"] == "closed"]
        return [
            f"{one['tool_use_id']}: the watch says {one['outcome']}, history {stories[one['tool_use_id']]['outcome']}"
            for one in seen
            if one["outcome"] != stories[one["tool_use_id"]]["outcome"]
        ]

    def _state(self) -> str:
        journal = "\n".join(json.dumps(record) for record in self.stage.journal()[-15:])
        told = [(one["kind"], one["gateway"], one["tool_use_id"]) for one in self.lines("told")[-8:]]
        return f"{self.client.screen()}\ntold: {told}\nanswers: {self.lines('answers')[-2:]}\n{journal}"


def _each(told: Iterable[dict[str, Any]]) -> list[tuple[dict[str, Any], str]]:
    """Return each message once, whatever it was sent by and however often, with its question."""
    return [(message, message["tool_use_id"]) for message in {one["id"]: one for one in told}.values()]
