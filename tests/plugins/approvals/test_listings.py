"""What people and programs are shown of permissions, plans and forms, beside questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hookrouter.cli.dialogs.history import history, story_lines
from hookrouter.cli.dialogs.questions import questions
from hookrouter.cli.stats import stats
from hookrouter.dialogs.messages.formatting import question_message
from hookrouter.dialogs.stories.history import history as stories
from hookrouter.dialogs.stories.statistics import DialogStatistics
from hookrouter.replies import ElicitationReply
from hookrouter_approvals.deciding import allow, approve
from plugins.approvals.conftest import RULES

COMMAND = {"command": "touch x", "description": "Make a file"}
SCHEMA = {
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "mail": {"type": "string", "format": "email", "default": "a@b.c"},
        "size": {"oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "l"}]},
        "areas": {"type": "array", "items": {"enum": ["ui", "db"]}, "description": "What it is about"},
    },
    "required": ["name"],
}


@pytest.fixture
def at_home(asking: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HOOKROUTER_HOME", asking.environ["HOOKROUTER_HOME"])
    rules = "".join(f'[[approvals.rules]]\ntool = "{one.tool}"\ndecide = "{one.decide}"\n' for one in RULES)
    Path(asking.home.config_file).parent.mkdir(parents=True, exist_ok=True)
    Path(asking.home.config_file).write_text(f'[[agents]]\nid = "night"\n{rules}')
    return asking


def test_a_waiting_permission_is_listed_with_its_kind_and_the_short_commands(
    at_home: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    at_home.asked("Bash", COMMAND)
    assert questions() == 0
    shown = capsys.readouterr().out
    assert "toolu_1, permission," in shown
    assert "or: hookrouter allow --tool-use-id toolu_1, hookrouter deny --tool-use-id toolu_1 TEXT" in shown
    assert questions(as_json=True) == 0
    [entry] = json.loads(capsys.readouterr().out)["questions"]
    assert (entry["kind"], entry["request"]["input"]) == ("permission", COMMAND)


def test_what_has_ended_is_told_with_its_kind(at_home: Any, capsys: pytest.CaptureFixture[str]) -> None:
    at_home.asked("Bash", COMMAND)
    at_home.decide({"action": "allow"})
    at_home.given()
    at_home.ran("Bash", COMMAND)
    [story] = stories(at_home.app.journal, at_home.app.store)
    assert story["questions"][0]["question"].startswith("Claude wants to use Bash:\n\ntouch x\n")
    first, second = story_lines(story)
    assert ": permission verified by agent night through reply" in first
    assert second.startswith("  1. Claude wants to use Bash: touch x { ")
    assert "\\x0a" not in first + second
    assert history(as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["questions"][0]["kind"] == "permission"
    figures = DialogStatistics()
    # Of one plugin alone, those in whose hook runs it was called.
    figures.add({"dialog": "permission", "session_id": "s-1", "tool_use_id": "toolu_1"})
    figures.read(at_home.app, since=None, session=None, plugin="approvals")
    assert figures.document()["kinds"] == {"permission": 1}
    assert figures.lines()[0] == "questions: 1 (1 permission); 1 verified"
    assert stats(since="1d", as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["questions"]["kinds"] == {"permission": 1}


def test_the_rule_is_told_while_it_is_open_and_when_it_is_over(at_home: Any) -> None:
    at_home.asked("Bash", COMMAND)
    [story] = stories(at_home.app.journal, at_home.app.store)
    assert (story["outcome"], story["rule"]) == ("open", "Bash")
    at_home.decide({"action": "allow"})
    at_home.given()
    at_home.ran("Bash", COMMAND)
    [story] = stories(at_home.app.journal, at_home.app.store)
    assert (story["outcome"], story["rule"]) == ("verified", "Bash")
    assert ", rule Bash" in story_lines(story)[0]


def test_a_short_command_speaks_under_its_own_name(at_home: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert allow() == 4
    assert capsys.readouterr().err == "hookrouter allow: not delivered: no session has an open question\n"
    at_home.asked("Bash", COMMAND)
    assert approve() == 2
    assert capsys.readouterr().err.startswith('hookrouter approve: invalid: "action" is "approve"')
    assert allow(dry_run=True) == 0
    assert "Claude wants to use Bash: touch x {" in capsys.readouterr().out


def test_the_message_names_what_is_to_be_decided(asking: Any) -> None:
    text = question_message(asking.asked("Bash", COMMAND), ["hookrouter"], {})
    assert "## What to decide: permission" in text
    assert "single-select" not in text


def test_a_form_shows_what_each_field_takes_and_what_to_type(asking: Any) -> None:
    fields = {"mcp_server_name": "demo", "message": "Who?", "mode": "form", "requested_schema": SCHEMA}
    shown = asking.wait("elicitation", **fields).questions[0]["question"]
    assert shown.split("\n")[2:] == [
        "Who?",
        "- name (string; required): Your name",
        '- mail (string; email; proposed: "a@b.c")',
        "- size (one of s (Small), l)",
        "- areas (any of ui, db): What it is about",
        "To fill it in: your own words, name=… mail=… size=… areas=…",
    ]
    typed = [{"action": "type", "text": "name=Bob areas=ui, db size=small"}]
    assert asking.decide(typed, wait=10).outcome == "verified"
    assert asking.given() == ElicitationReply.accept({"name": "Bob", "areas": ["ui", "db"], "size": "s"})
