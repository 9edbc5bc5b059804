"""What a user does first: install, look whether all is well, and take it out again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from hookrouter.samples import sample

if TYPE_CHECKING:
    from support.smoke import SmokeStage

OWN = '{\n    "model": "opus",   "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}\n}'
"""Settings in a form that no program would write."""

PLUGINS = {
    *("approvals", "ask-user-question", "blocked", "command", "demo", "dialogs", "doorbell-prompts", "fleet"),
    *("hook-reply", "inbox", "key-counting", "keystrokes", "mod-prompts", "monitor", "openclaw", "opentelemetry"),
    *("page", "postgresql", "rules", "scripts", "sessions", "stop-prompts", "tmux", "webhook"),
}
"""hookrouter's own."""


def test_install_leaves_what_is_the_users_and_uninstall_gives_every_byte_back(stage: SmokeStage) -> None:
    settings = Path(stage.client_home.settings_file)
    settings.write_text(OWN)

    stage.install()
    text = settings.read_text()
    written = json.loads(text)
    assert written["model"] == "opus"
    assert written["hooks"]["Stop"][0] == json.loads(OWN)["hooks"]["Stop"][0]
    assert " run stop" in written["hooks"]["Stop"][1]["hooks"][0]["command"]
    assert [group["matcher"] for group in written["hooks"]["PreToolUse"]] == ["AskUserQuestion"]

    stage.install()
    assert settings.read_text() == text

    stage.call("uninstall", "--settings", str(settings))
    assert settings.read_text() == OWN


def test_doctor_says_what_is_missing_and_then_that_all_is_well(stage: SmokeStage) -> None:
    before = stage.json("doctor", code=1)
    missing = [(one["check"], one["fix"]) for one in before["findings"] if one["level"] == "error"]
    assert (before["ok"], missing) == (False, [("settings", "hookrouter install")])

    stage.install()
    after = stage.json("doctor")
    assert after["ok"]
    levels = {one["check"]: one["level"] for one in after["findings"]}
    assert "error" not in levels.values()
    checks = ("settings", "config", "agents", "answering", "gateways", "plugins", "home", "outbox", "router")
    assert {check: levels[check] for check in checks} == dict.fromkeys(checks, "ok")


def test_every_mistake_of_config_toml_is_named_with_its_line_and_no_turn_breaks(stage: SmokeStage) -> None:
    stage.configure('[[agents]]\nid = "x"\ngateway = "nowhere"\n\n[answer]\nwait = "long"\nchanels = ["reply"]\n')

    said = stage.call("config", "check", code=1)
    for line, part in ((3, "agents[0].gateway: found 'nowhere'"), (6, "answer.wait: found 'long'"), (7, "'channels'?")):
        assert any(f"config.toml:{line}: error: " in row and part in row for row in said.splitlines()), (line, said)

    broken = stage.json("doctor", code=1)
    assert not broken["ok"]
    assert len([one for one in broken["findings"] if (one["level"], one["check"]) == ("error", "config")]) == 3

    hook = stage.run("run", "stop", stdin=json.dumps(sample("Stop")))
    assert (hook.returncode, hook.stderr) == (0, "")
    assert "config.toml" in json.loads(hook.stdout)["systemMessage"]


def test_all_of_hookrouters_plugins_are_there_and_work(stage: SmokeStage) -> None:
    listed = {plugin["name"]: plugin["status"] for plugin in stage.json("plugins", "list")}
    assert listed == dict.fromkeys(PLUGINS, "active")
