"""The entries of http hooks."""

from __future__ import annotations

import pytest

from hookrouter._contract.document import contract
from hookrouter._installation.http_entries import COMMAND_EVENTS, can_be_http, http_group, http_handler, is_ours
from hookrouter._installation.registrations import Registration

ADDRESS = "127.0.0.1:8787"


def registration(event: str, *, block: bool = False) -> Registration:
    return Registration(event, "AskUserQuestion", "/bin/hookrouter run x", 60.0, block_on_failure=block)


def test_an_entry_names_url_token_and_terminal() -> None:
    assert http_group(registration("PermissionRequest"), ADDRESS) == {
        "matcher": "AskUserQuestion",
        "hooks": [
            {
                "type": "http",
                "url": "http://127.0.0.1:8787/hook/permission-request",
                "headers": {
                    "Authorization": "Bearer ${HOOKROUTER_TOKEN}",
                    "X-Hookrouter-Tmux": "${TMUX}",
                    "X-Hookrouter-Tmux-Pane": "${TMUX_PANE}",
                    "X-Hookrouter-Entrypoint": "${CLAUDE_CODE_ENTRYPOINT}",
                },
                "allowedEnvVars": ["HOOKROUTER_TOKEN", "TMUX", "TMUX_PANE", "CLAUDE_CODE_ENTRYPOINT"],
                "timeout": 60,
            }
        ],
    }


def test_what_would_lose_something_stays_a_command() -> None:
    for event, facts in contract()["events"].items():
        assert can_be_http(registration(event)) == (event not in COMMAND_EVENTS)
        assert "http" in facts["types"] or event in COMMAND_EVENTS
    guard = registration("PreToolUse", block=True)
    assert not can_be_http(guard)
    with pytest.raises(ValueError, match="must be a command"):
        http_handler(guard, ADDRESS)


def test_ours_are_told_from_others() -> None:
    ours = http_handler(registration("Stop"), ADDRESS)
    assert is_ours(ours)
    assert is_ours(ours, ADDRESS)
    assert not is_ours(ours, "127.0.0.1:1")
    assert "onFailure" not in ours
    for other in (None, {}, {"type": "http"}, {**ours, "type": "command"}, {**ours, "headers": {}}, {**ours, "url": 3}):
        assert not is_ours(other)
