"""Do ``questions``, ``history``, ``stats``, ``outbox`` and ``answer`` tell the same of a home? Line by line.

The commands are run as a program reads them, with ``--json``; what they say of each question is compared. Between two
commands a question may go on, so look at a home while nothing happens in it::

    views = read_views(run_commands({"HOOKROUTER_HOME": home}))
    assert not views.contradictions()
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Run", "Views", "read_views", "run_commands"]

Run = Callable[[Sequence[str]], Any]
"""Runs ``hookrouter`` with these arguments and returns the JSON document that it writes."""

OUTCOMES = ("verified", "mismatch", "unverified", "answered_by_person", "chat", "unanswered", "open", "unknown")

_AT_ANSWER: dict[str, tuple[str, ...]] = {
    "verified": ("verified",),
    "mismatch": ("mismatch",),
    "chat": ("chat",),
    "answered_by_person": ("answered_by_person",),
    # A chat that somebody else chose has no answer either.
    "unanswered": ("unanswered", "chat"),
    "paused": ("open", "unanswered"),
    # Not waited for, or given up: it goes on, and may have ended meanwhile.
    "delivered": OUTCOMES,
    "not_confirmed": OUTCOMES,
    "not_delivered": OUTCOMES,
    "interrupted": OUTCOMES,
}
"""What ``history`` may say of a question right after ``answer`` came to this outcome."""

_Key = tuple[str, str]


class Views(NamedTuple):
    """What each view says of one home."""

    questions: dict[str, Any]
    history: list[dict[str, Any]]
    stats: dict[str, Any]
    outbox: list[dict[str, Any]]

    def contradictions(self) -> list[str]:
        """Return in words where two views differ; nothing if they agree."""
        told = {_key(story): story for story in self.history}
        return [
            *self._of_open_questions(told),
            *self._of_figures(),
            *self._of_missed(told),
            *self._of_messages(told),
        ]

    def of_answer(self, result: Mapping[str, Any]) -> list[str]:
        """Return where ``history`` differs from what ``answer --json`` has just said."""
        if not result["tool_use_id"] or result["outcome"] in ("invalid", "planned"):
            return []
        found = [story for story in self.history if story["tool_use_id"] == result["tool_use_id"]]
        if not found:
            return [f"answer says {result['outcome']} of {result['tool_use_id']}, which history does not know"]
        story, problems = found[-1], []
        if story["outcome"] not in _AT_ANSWER[result["outcome"]]:
            problems.append(f"answer: {result['outcome']}, history: {story['outcome']}")
        if story["session"] != result["session"]:
            problems.append(f"answer: session {result['session']}, history: {story['session']}")
        if story["outcome"] in ("verified", "mismatch") and result["outcome"] == story["outcome"]:
            for said, kept in zip(result["questions"], story["questions"], strict=True):
                problems += [
                    f"{key}: answer {said[key]!r}, history {kept.get(key)!r}"
                    for key in ("intended", "recorded", "result")
                    if said[key] != kept.get(key)
                ]
        return [f"{result['tool_use_id']}: {problem}" for problem in problems]

    def _of_open_questions(self, told: Mapping[_Key, dict[str, Any]]) -> list[str]:
        problems = []
        listed = {_key(entry): entry for entry in self.questions["questions"]}
        waiting = {key for key, story in told.items() if story["outcome"] == "open"}
        problems += [f"{key}: questions lists it, history does not say open" for key in listed.keys() - waiting]
        problems += [f"{key}: history says open, questions does not list it" for key in waiting - listed.keys()]
        for key in listed.keys() & waiting:
            entry, story = listed[key], told[key]
            pairs = [(name, entry[name], story[name]) for name in ("session", "agent", "asked_at")]
            pairs.append(("reminders", len(entry["reminded_at"]), story["reminders"]))
            pairs.append(("escalated", entry["escalated_at"] is not None, story["escalated"]))
            texts = [form["question"] for form in entry["questions"]], [one["question"] for one in story["questions"]]
            pairs.append(("texts", *texts))
            problems += [f"{key}: {name}: questions {one!r}, history {two!r}" for name, one, two in pairs if one != two]
            if entry["missed"] and not story["missed"]:
                problems.append(f"{key}: questions says missed, history does not")
        return problems

    def _of_figures(self) -> list[str]:
        figures = self.stats["questions"]
        counts = Counter(story["outcome"] for story in self.history)
        problems = [
            f"stats counts {figures[outcome]} {outcome}, history tells of {counts[outcome]}"
            for outcome in OUTCOMES
            if figures[outcome] != counts[outcome]
        ]
        if figures["asked"] != len(self.history):
            problems.append(f"stats counts {figures['asked']} asked, history tells of {len(self.history)}")
        return problems

    def _of_missed(self, told: Mapping[_Key, dict[str, Any]]) -> list[str]:
        return [
            f"{_key(story)}: questions tells it otherwise than history among the missed"
            for story in self.questions["missed"]
            if told.get(_key(story)) != story
        ]

    def _of_messages(self, told: Mapping[_Key, dict[str, Any]]) -> list[str]:
        problems = []
        for message in self.outbox:
            if message["kind"] not in ("question", "reminder", "escalation", "mismatch", "unanswered"):
                continue
            story = told.get(_key(message))
            if story is None:
                problems.append(f"{_key(message)}: the outbox has a {message['kind']} that history knows nothing of")
            elif (message["session"], message["agent"]) != (story["session"], story["agent"]):
                problems.append(f"{_key(message)}: the outbox names another session or agent than history")
        return problems


def read_views(run: Run) -> Views:
    """Ask every view."""
    return Views(
        questions=run(["questions", "--json"]),
        history=run(["history", "--limit", "0", "--json"])["questions"],
        stats=run(["stats", "--since", "2000-01-01", "--json"]),
        outbox=run(["outbox", "list", "--json"]),
    )


def run_commands(environ: Mapping[str, str]) -> Run:
    """Return what runs the real commands, in processes of their own with these variables added to the environment."""

    def run(arguments: Sequence[str]) -> Any:
        command = [sys.executable, "-m", "hookrouter", *arguments]
        done = subprocess.run(command, env={**os.environ, **environ}, capture_output=True, text=True, check=False)
        if not done.stdout:
            raise AssertionError(f"hookrouter {' '.join(arguments)}: exit code {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    return run


def _key(entry: Mapping[str, Any]) -> _Key:
    return entry["session_id"], entry["tool_use_id"]
