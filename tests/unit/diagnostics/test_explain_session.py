"""``hookrouter explain --session``: the session's own folder says which agent manages it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookrouter.cli.application import Application
from hookrouter.cli.main import main
from hookrouter.samples import find

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("folder", "agent"), [("/srv/shop", "night"), ("/home/me", None)])
def test_the_folder_in_which_a_session_asked_counts(
    hookrouter_home: Path, capsys: pytest.CaptureFixture[str], folder: str, agent: str | None
) -> None:
    (hookrouter_home / "config.toml").write_text("[[agents]]\nid = 'night'\nworkdirs = ['/srv/**']\n")
    journal = Application.from_environ().journal
    for cwd in ("/elsewhere", folder):
        record = {"event": "PreToolUse", "session": "work", "session_id": "s-1", "cwd": cwd}
        journal.write(record, "s-1")
    assert main(["explain", "PreToolUse", "--tool", "AskUserQuestion", "--session", "work", "--json"]) == 0
    session = json.loads(capsys.readouterr().out)["session"]
    assert (session["cwd"], session["agent"]) == (folder, agent)


@pytest.mark.parametrize(
    ("event", "command", "rule"),
    [
        ("PreToolUse", "git -C lib push", {"decide": "person", "rule": "Bash(git push:*)", "uncertain": []}),
        ("PermissionRequest", "ls", {"decide": "person", "rule": "", "uncertain": []}),
        ("PermissionRequest", "$x", {"decide": "person", "rule": "Bash(git push:*)"}),
        ("PostToolUse", "git push", None),
    ],
)
def test_what_the_rules_say_is_told(
    hookrouter_home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    event: str,
    command: str,
    rule: dict[str, object] | None,
) -> None:
    table = '[[approvals.rules]]\ntool = "Bash(git push:*)"\ndecide = "person"\n'
    (hookrouter_home / "config.toml").write_text(table)
    payload = find(event, "Bash").payload
    payload["tool_input"] = {"command": command}
    file = tmp_path / "payload.json"
    file.write_text(json.dumps(payload))
    assert main(["explain", event, "--payload", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["rule"]
    assert found is None if rule is None else rule.items() <= found.items()
    assert main(["explain", event, "--payload", str(file)]) == 0
    out = capsys.readouterr().out
    assert ("  rules: person, " in out) is (rule is not None)
    assert ("not certain: " in out) is (command == "$x")
