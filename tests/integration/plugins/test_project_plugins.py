"""A project's own plugins in real hook runs and commands: nothing of them is imported that nobody has trusted."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hookrouter.samples import sample
from hookrouter.util.program import script_argv
from support.resident import Resident

GUARD = """
from hookrouter import hookimpl
from hookrouter.replies import PreToolUseReply
from ._words import WHY

@hookimpl
def pre_tool_use_bash(tool_input):
    return PreToolUseReply.deny(WHY)
"""


class Place:
    """A home, and a project whose files write a mark when they are imported."""

    def __init__(self, folder: Path) -> None:
        self.home, self.root, self.marks = folder / "home", folder / "repo", folder / "marks"
        self.own = self.root / ".claude" / "hookrouter"
        self.write("guard.py", GUARD)
        self.write("_words.py", "WHY = 'not here'")

    def write(self, name: str, text: str) -> None:
        path = self.own / name
        path.parent.mkdir(parents=True, exist_ok=True)
        mark = f"with open({str(self.marks)!r}, 'a') as marks:\n    marks.write(__file__ + chr(10))\n"
        path.write_text(f"{text}\n{mark if name.endswith('.py') else ''}")

    def environ(self, **more: str) -> dict[str, str]:
        rest = {name: value for name, value in os.environ.items() if not name.startswith("CLAUDE")}
        return {**rest, "HOOKROUTER_HOME": str(self.home), **more}

    def run(self, *words: str, given: object = None, code: int | None = 0, cwd: Path | None = None, **more: str) -> str:
        done = subprocess.run(
            [*script_argv(), *words],
            input=None if given is None else json.dumps(given),
            capture_output=True,
            text=True,
            env=self.environ(**more),
            cwd=cwd or self.root,
            timeout=120,
            check=False,
        )
        assert code is None or done.returncode == code, f"{done.returncode} {done.stdout} {done.stderr}"
        return done.stdout + done.stderr

    def hook(self, folder: Path | None = None, **more: str) -> Any:
        said = self.said(folder, **more)
        return json.loads(said)["hookSpecificOutput"]["permissionDecisionReason"] if said else None

    def said(self, folder: Path | None = None, **more: str) -> str:
        payload = {**sample("PreToolUse", "Bash"), "cwd": str(folder or self.root)}
        return self.run("run", "pre-tool-use", given=payload, **more)

    def imported(self) -> list[str]:
        """Return the files that were imported since this was asked before."""
        if not self.marks.exists():
            return []
        found = self.marks.read_text().split()
        self.marks.unlink()
        return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def _ask_every_command(place: Place) -> str:
    """Run all that looks at plugins, in the project's folder; return what was said."""
    start = {**sample("SessionStart"), "cwd": str(place.root)}
    return "\n".join(
        [
            place.run("run", "session-start", given=start),
            place.run("plugins", "info", "guard", code=None),
            place.run("explain", "PreToolUse", "--tool", "Bash", "--execute", code=None),
            place.run("doctor", code=None),
            place.run("config", "check", code=None),
            place.run("trust", code=2),
            place.run("trust", "--list"),
            place.run(
                _HOOKROUTER_COMPLETE="complete_bash", COMP_WORDS="hookrouter plugins info ", COMP_CWORD="3", code=None
            ),
        ]
    )


def test_nothing_that_nobody_has_trusted_is_imported(place: Place) -> None:
    place.home.mkdir(mode=0o700)
    assert place.hook() is None
    place.run("plugins", "list")
    said = _ask_every_command(place)
    assert place.imported() == []
    assert said.count("nothing of them runs until you trust it") == 2
    assert "says that it listens to pre_tool_use_bash" in said
    assert not (place.home / "trusted").exists()


def test_what_is_trusted_runs_from_a_copy_and_nothing_runs_once_it_is_changed(place: Place) -> None:
    place.write("config.toml", '[plugins.guard]\non_error = "closed"')
    told = json.loads(place.run("trust", "--yes", "--json"))
    assert [(one["name"], one["status"], one["hooks"]) for one in told["plugins"]] == [
        ("guard", "active", ["pre_tool_use_bash"])
    ]
    assert {one["path"]: one["change"] for one in told["files"]} == dict.fromkeys(
        ("_words.py", "config.toml", "guard.py"), "new"
    )
    assert told["settings"] == {"plugins.guard.on_error": "closed"}
    assert place.hook() == "guard: not here"
    assert place.hook(place.root / "below") == "guard: not here"
    assert place.hook(place.home, CLAUDE_PROJECT_DIR=str(place.root)) == "guard: not here"
    assert place.hook(place.home) is None
    assert place.hook(place.root, CLAUDE_PROJECT_DIR=str(place.home)) is None
    listed = json.loads(place.run("plugins", "list", "--json"))
    assert next(one for one in listed if one["name"] == "guard")["distribution"] == f"the project {place.root}"
    imported = place.imported()
    assert imported
    assert all(path.startswith(f"{place.home}/trusted/trees/") for path in imported)

    place.write("_words.py", "WHY = 'evil'")
    why = place.hook()
    assert "_words.py was changed after it was trusted" in why
    assert "hookrouter trust" not in why
    said = _ask_every_command(place)
    assert place.imported() == []
    assert said.count("_words.py was changed") >= 4
    assert "hookrouter trust" in said

    assert "_words.py  " in place.run("trust", "--yes")
    assert place.hook() == "guard: evil"
    place.run("untrust")
    assert place.hook() is None
    place.run("untrust", code=2)


def test_a_guard_that_fails_open_decides_nothing_once_it_is_changed_and_the_user_is_told(place: Place) -> None:
    place.run("trust", "--yes")
    assert place.hook() == "guard: not here"
    place.write("other.py", GUARD)
    place.imported()
    said = json.loads(place.said())
    assert said.keys() == {"systemMessage"}
    assert "other.py was changed" in said["systemMessage"], said
    assert place.imported() == []
    start = place.run("run", "session-start", given={**sample("SessionStart"), "cwd": str(place.root)})
    assert f"hookrouter trust {place.root}" in json.loads(start)["systemMessage"]


def test_a_guard_that_fails_switches_off_none_of_the_same_name_in_another_project(place: Place, tmp_path: Path) -> None:
    other = Place(tmp_path / "other")
    other.home = place.home
    place.write("guard.py", GUARD.replace("return PreToolUseReply.deny(WHY)", "raise RuntimeError('a bug')"))
    for one in (place, other):
        one.run("trust", "--yes")
    for _ in range(5):
        said = place.run("run", "pre-tool-use", given={**sample("PreToolUse", "Bash"), "cwd": str(place.root)})
    assert "is switched off" in said
    assert "is switched off" in place.run("explain", "PreToolUse", "--tool", "Bash", code=None)
    assert other.hook() == "guard: not here"
    assert "hookrouter plugins enable guard" in place.run("doctor", code=None, cwd=place.home)


def test_helpers_of_two_projects_and_of_the_home_are_their_own(place: Place, tmp_path: Path) -> None:
    second = Place(tmp_path / "second")
    second.home = place.home
    second.write("_words.py", "WHY = 'nor here'")
    for one in (place, second):
        one.run("trust", "--yes")
    plugins = place.home / "plugins"
    plugins.mkdir(mode=0o700)
    (plugins / "mine.py").write_text(GUARD)
    (plugins / "_words.py").write_text("WHY = 'of the home'")
    for path in plugins.iterdir():
        path.chmod(0o600)
    assert sorted(place.hook().split("\n")) == ["guard: not here", "mine: of the home"]
    assert sorted(second.hook().split("\n")) == ["guard: nor here", "mine: of the home"]


def test_install_registers_what_trusted_projects_need_wherever_it_runs(place: Place, tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"

    def registered() -> bool:
        place.run("install", "--settings", str(settings), cwd=tmp_path)
        groups = json.loads(settings.read_text())["hooks"].get("PreToolUse", [])
        return any("Bash" in group.get("matcher", "").split("|") for group in groups)

    place.run("trust", "--yes")
    assert registered()
    place.run("untrust", str(place.root), cwd=tmp_path)
    assert not registered()


def test_the_name_of_another_plugin_is_refused(place: Place) -> None:
    place.write("tmux.py", GUARD)
    assert "there is a plugin tmux already" in place.run("trust", "--yes", code=2)
    assert place.imported() == []
    assert not (place.home / "trusted").exists()


def test_a_person_is_asked_and_a_claude_is_refused(place: Place) -> None:
    assert "--yes" in place.run("trust", code=2)
    assert "a person" in place.run("trust", "--yes", code=2, CLAUDECODE="1")
    for answer, code in ((b"n\n", 1), (b"y\n", 0)):
        ours, theirs = pty.openpty()
        os.write(ours, answer)
        done = subprocess.run(
            [*script_argv(), "trust"],
            stdin=theirs,
            capture_output=True,
            env=place.environ(),
            cwd=place.root,
            timeout=60,
            check=False,
        )
        for end in (ours, theirs):
            os.close(end)
        assert done.returncode == code, done
    assert place.hook() == "guard: not here"


RULES = """
[[approvals.rules]]
tool = "Bash(rm:*)"
decide = "deny"

[[approvals.rules]]
tool = "Bash(touch:*)"
decide = "person"
"""


def test_a_projects_rules_hold_until_they_are_untrusted_and_grant_nothing(place: Place, tmp_path: Path) -> None:
    for name in ("guard.py", "_words.py"):
        (place.own / name).unlink()
    place.write("config.toml", RULES)
    place.home.mkdir(mode=0o700)
    (place.home / "config.toml").write_text('[[agents]]\nid = "x"\nsessions = ["none"]\n')

    def said(command: str, folder: Path | None = None) -> str | None:
        payload = {**sample("PreToolUse", "Bash"), "cwd": str(folder or place.root), "tool_input": {"command": command}}
        answer = place.run("run", "pre-tool-use", given=payload)
        return json.loads(answer)["hookSpecificOutput"]["permissionDecision"] if answer else None

    assert said("rm x") is None
    told = json.loads(place.run("trust", "--yes", "--json"))
    assert told["settings"] == {"approvals.rules[0]": "deny Bash(rm:*)", "approvals.rules[1]": "person Bash(touch:*)"}
    assert told["notes"] == []
    place.write("config.toml", RULES.replace("deny", "allow"))
    assert [said(command, place.root / "below") for command in ("ls; rm x", "touch x", "ls")] == ["deny", "ask", None]
    assert said("rm x", tmp_path) is None
    payload = {**sample("PreToolUse", "Bash"), "cwd": str(place.root), "tool_input": {"command": "rm x"}}
    explained = place.run("explain", "PreToolUse", "--payload", "-", given=payload)
    assert f"rules: deny, by Bash(rm:*) of {place.own}/config.toml" in explained
    assert "approvals.rules[0].decide: found 'allow'" in place.run("trust", "--yes", code=2)

    settings = tmp_path / "settings.json"
    place.run("install", "--settings", str(settings), cwd=tmp_path)
    groups = json.loads(settings.read_text())["hooks"]["PreToolUse"]
    assert any("Bash" in group["matcher"].split("|") for group in groups)

    (place.home / "config.toml").write_text("[plugins.rules]\nenabled = false\n")
    off = "a project's rules do not hold"
    assert off in place.run("doctor", code=None)
    assert said("rm x") is None
    place.write("config.toml", RULES)
    assert off in place.run("trust", "--yes")
    (place.home / "config.toml").unlink()
    assert said("rm x") == "deny"
    place.run("untrust")
    assert said("rm x") is None


def test_a_router_answers_as_a_cold_run_and_no_two_projects_meet_in_it(place: Place, tmp_path: Path) -> None:
    second = Place(tmp_path / "second")
    second.home = place.home
    second.write("_words.py", "WHY = 'nor here'")
    for one in (place, second):
        one.write("config.toml", '[plugins.guard]\non_error = "closed"')
        one.run("trust", "--yes")

    def reason(router: Resident, folder: Path) -> Any:
        payload = {**sample("PreToolUse", "Bash"), "cwd": str(folder)}
        reply = router.call("pre-tool-use", json.dumps(payload).encode()).reply
        found = reply["hookSpecificOutput"]["permissionDecisionReason"] if reply else None
        assert found == place.hook(folder)
        return found

    with Resident(place.environ()) as router:
        for _ in range(2):
            assert reason(router, place.root) == "guard: not here"
            assert reason(router, second.root) == "guard: nor here"
        assert reason(router, tmp_path) is None
        place.write("_words.py", "WHY = 'evil'")
        assert "was changed" in reason(router, place.root)
        assert reason(router, second.root) == "guard: nor here"
        place.run("trust", "--yes")
        assert reason(router, place.root) == "guard: evil"
        place.run("untrust")
        assert reason(router, place.root) is None
