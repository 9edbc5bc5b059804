"""The entries of http hooks."""

from __future__ import annotations

from hookrouter._contract.document import contract
from hookrouter._installation.http_entries import COMMAND_EVENTS, can_be_http, is_ours
from hookrouter._installation.registrations import Registration, http_registrations
from hookrouter._installation.settings_edit import differences, merge, registered

ADDRESS = "127.0.0.1:8787"


def registration(event: str, *, block: bool = False) -> Registration:
    return Registration(event, "AskUserQuestion", "/bin/hookrouter run x", 60.0, block_on_failure=block)


def sent(want: Registration) -> Registration:
    (found,) = http_registrations([want], ADDRESS)
    return found


def test_an_entry_names_url_token_and_terminal() -> None:
    assert sent(registration("PermissionRequest")).group() == {
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
        assert can_be_http(event, blocks_on_failure=False) == (event not in COMMAND_EVENTS)
        assert (sent(registration(event)).http is not None) == (event not in COMMAND_EVENTS)
        assert "http" in facts["types"] or event in COMMAND_EVENTS
    guard = registration("PreToolUse", block=True)
    assert sent(guard) == guard


def test_ours_are_told_from_others() -> None:
    ours = sent(registration("Stop")).handler()
    assert is_ours(ours)
    assert is_ours(ours, ADDRESS)
    assert not is_ours(ours, "127.0.0.1:1")
    assert "onFailure" not in ours
    for other in (None, {}, {"type": "http"}, {**ours, "type": "command"}, {**ours, "headers": {}}, {**ours, "url": 3}):
        assert not is_ours(other)


def test_entries_change_from_commands_to_http_and_back_and_leave_nothing() -> None:
    commands = [registration("PreToolUse"), registration("SessionStart"), registration("Stop", block=True)]
    requests = [sent(want) for want in commands]
    before = '{\n  "hooks": {},\n  "model": "x"\n}\n'
    text, state = merge(before, commands, None)
    first = text
    text, state = merge(text, requests, state)
    assert text is not None
    assert differences(text, requests) == []
    assert [entry.is_http for entry in registered(text)] == [True, False, False]
    assert '"command": "/bin/hookrouter run x"' in text
    (found,) = differences(text, commands)
    label = "PreToolUse (AskUserQuestion)"
    url = "http://127.0.0.1:8787/hook/pre-tool-use"
    assert found.text == f"{label}: runs {url!r} instead of '/bin/hookrouter run x'"
    again, state = merge(text, commands, state)
    assert differences(again, commands) == []
    assert sorted(again or "") == sorted(first or "")
    assert merge(text, [], state)[0] == before
