"""``hookrouter explain --session``: the session's own folder says which agent manages it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookrouter.cli.application import Application
from hookrouter.cli.main import main

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
