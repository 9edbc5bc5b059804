"""What an older version left in its outbox is delivered by this one."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrouter.__main__ import main

if TYPE_CHECKING:
    from typing import Any

HOMES = Path(__file__).parents[2] / "data" / "homes"

SCRIPT = """\
import json, os, sys
message = json.load(sys.stdin)
with open(os.environ["ARRIVED"], "a") as file:
    file.write(json.dumps(message) + "\\n")
"""


@pytest.fixture
def arrived(hookrouter_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the recorded home to this test, with gateways that work; return the file of what arrives."""
    shutil.copytree(HOMES / "f7037ac", hookrouter_home, dirs_exist_ok=True)
    for folder, _, _ in os.walk(hookrouter_home):
        Path(folder).chmod(0o700)
    script = tmp_path / "wake.py"
    script.write_text(SCRIPT)
    monkeypatch.setenv("ARRIVED", str(tmp_path / "arrived"))
    gateway = f'type = "command"\nargv = ["python3", "{script}"]\nformat = "json"\n'
    config = (hookrouter_home / "config.toml").read_text().partition("[gateways.down]")[0]
    (hookrouter_home / "config.toml").write_text(
        config + "".join(f"[gateways.{name}]\n{gateway}" for name in ("down", "also-down", "refusing", "person"))
    )
    return tmp_path / "arrived"


def recorded() -> dict[str, dict[str, Any]]:
    files = (HOMES / "f7037ac" / "state" / "outbox").glob("wake-*.json")
    documents = [json.loads(file.read_text()) | {"file": file.stem.removeprefix("wake-")} for file in files]
    return {document["file"]: document for document in documents}


def test_the_messages_of_f7037ac_are_delivered(arrived: Path, hookrouter_home: Path) -> None:
    before = recorded()
    assert {one["kind"] for one in before.values()} == {"question", "unanswered", "mismatch", "escalation"}
    assert any(one["given_up"] for one in before.values()), "one was given up with a table that is another one now"
    assert main(["deliver"]) == 0
    messages = [json.loads(line) for line in arrived.read_text().splitlines()]
    due = {name: one for name, one in before.items() if one["not_before"] is None or _is_past(one["not_before"])}
    sent = {one["id"]: one for one in messages if one["kind"] != "reminder"}
    assert sent.keys() == due.keys()
    assert any(one["data"] for one in sent.values()), "of those whose question is open, more is known"
    assert any(not one["data"] for one in sent.values())
    for name, one in sent.items():
        same = one["text"] == due[name]["text"]
        assert same or one["data"]["questions"][0]["question"] in one["text"]
        assert same == (not one["data"])
    for session in {one["session"] for one in before.values()}:
        ids = [one["id"] for one in messages if one["session"] == session and one["gateway"] == "down"]
        assert ids == sorted(ids), "the messages of one session stay in order"


def test_what_follows_a_message_of_f7037ac_is_put_in(arrived: Path, hookrouter_home: Path) -> None:
    before = recorded()
    assert main(["deliver"]) == 0
    outbox = hookrouter_home / "state" / "outbox"
    over = ("claude-bbbbbbbb", "claude-cccccccc")
    followed = [name for name, one in before.items() if one["then"] and one["session"] not in over]
    assert len(followed) == 4
    for name in followed:
        entry = json.loads((outbox / f"wake-{name}-then0.json").read_text())
        assert (entry["kind"], entry["attempts"]) == ("reminder", 0)
        assert entry["text"] == before[name]["then"][0]["text"]
        assert entry["while_open"] == before[name]["then"][0]["while_open"]


def _is_past(text: str) -> bool:
    from hookrouter.util.clock import iso

    return text <= iso()
