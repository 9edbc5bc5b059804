"""Refusals that are written into Claude Code's own permissions.deny, and taken out again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._installation.mirror import denied, mirrored, with_denied, without_denied
from hookrouter._installation.registrations import Registration
from hookrouter._installation.settings_edit import SettingsError
from hookrouter._installation.settings_file import install, own_denials, uninstall
from hookrouter.config import ApprovalRule, ApprovalsConfig
from hookrouter.storage.documents import Store

WANTED = [Registration("PreToolUse", "Bash", "/opt/hookrouter run pre-tool-use", 60)]
NAMES = ["Bash(rm:*)", "Read(~/.ssh/**)", "WebFetch", "mcp__github", "Edit(//etc/**)"]


def rules(*said: str) -> ApprovalsConfig:
    pairs = (one.rsplit(" ", 1) for one in said)
    return ApprovalsConfig(rules=tuple(ApprovalRule(tool=tool, decide=decide) for tool, decide in pairs), mirror=True)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["Bash(rm:*) deny", "WebFetch(domain:evil.example) deny", "mcp__x deny"], None),
        (["Bash(git push:*) agent", "Bash(git push:*) person", "Bash(git push:*) allow"], []),
        # One before it decides on some of its calls: Claude Code would refuse these, too.
        (["Bash(git push origin:*) agent", "Bash(git push:*) deny"], []),
        (["Bash allow", "Edit(//etc/**) deny"], []),
        (["* agent", "Bash(rm:*) deny"], []),
        (["Edit(/src/**) allow", "Bash(rm:*) deny"], ["Bash(rm:*)"]),
        (["Bash(npm:*) allow", "Bash(rm:*) deny"], ["Bash(rm:*)"]),
        (["Bash(rm:*) deny", "Bash(rm x) allow"], ["Bash(rm:*)"]),
        # Its root is another one in the user's settings.
        (["Edit(/src/**) deny", "Edit(docs/*.md) deny", "Edit(//etc/**) deny", "Read(~/.ssh/**) deny"], [2, 3]),
        (["* deny", "Elicitation deny", "Elicitation(x) deny", "Bash(rm:*) deny", "Bash(rm:*) deny"], [3]),
    ],
)
def test_what_both_read_alike_is_said(said: list[str], expected: list[Any] | None) -> None:
    texts = [one.rsplit(" ", 1)[0] for one in said]
    wanted = texts if expected is None else [texts[one] if isinstance(one, int) else one for one in expected]
    assert list(mirrored(rules(*said))) == wanted


def test_nothing_is_said_unless_it_is_asked_for() -> None:
    assert mirrored(ApprovalsConfig(rules=rules("Bash(rm:*) deny").rules)) == ()


SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "permissions": st.fixed_dictionaries(
            {}, optional={"deny": st.lists(st.sampled_from(NAMES), min_size=1), "allow": st.just(["Bash(ls:*)"])}
        ).filter(bool),
        "model": st.just("x"),
        "hooks": st.just({"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}),
    },
)


@given(SETTINGS, st.lists(st.sampled_from(NAMES), unique=True), st.sampled_from([None, 2, "\t"]))
def test_exactly_what_was_added_is_taken_out(settings: dict[str, Any], deny: list[str], indent: Any) -> None:
    text = json.dumps(settings, indent=indent)
    after, added = with_denied(text, deny)
    before = settings.get("permissions", {}).get("deny", [])
    assert list(denied(after)) == [*before, *(one for one in deny if one not in before)]
    assert list(added) == [one for one in deny if one not in before]
    assert without_denied(after, added) == text
    assert with_denied(after, deny) == (after, ())


@pytest.mark.parametrize(
    "text", ['{"permissions": []}', '{"permissions": {"deny": {}}}', '{"permissions": {"deny": 1}}']
)
def test_what_cannot_take_it_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="permissions"):
        with_denied(text, ["Bash"])


@pytest.mark.parametrize("text", [None, "{}\n", '{"permissions": {"deny": ["Bash(rm:*)"]}, "model": "x"}\n'])
def test_a_file_is_what_it_was_after_it_all(tmp_path: Path, text: str | None) -> None:
    path, store = tmp_path / "settings.json", Store(str(tmp_path / "state"), pytest.fail)
    if text is not None:
        path.write_text(text)
    install(str(path), WANTED, store, deny=["Bash(rm:*)", "WebFetch"])
    install(str(path), WANTED, store, deny=["WebFetch", "mcp__x"])
    had = ["Bash(rm:*)"] if text and "rm" in text else []
    assert json.loads(path.read_text())["permissions"]["deny"] == [*had, "WebFetch", "mcp__x"]
    # Of a config with problems nothing is known.
    install(str(path), WANTED, store, deny=None)
    assert own_denials(str(path), store) == ("WebFetch", "mcp__x")
    assert json.loads(path.read_text())["permissions"]["deny"] == [*had, "WebFetch", "mcp__x"]
    uninstall(str(path), store)
    assert (path.read_text() if path.exists() else None) == text
