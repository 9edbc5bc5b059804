import subprocess

import pytest

from hookrouter.testing import Hooks


def test_the_notifier_is_started_when_claude_waits(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    hooks.add("./notify_idle.py")
    monkeypatch.setattr(subprocess, "Popen", lambda argv, **_: started.append(argv))
    monkeypatch.setattr("hookrouter_files.notify_idle.NOTIFIER", ["notify", "--", "{text}"])
    hooks.fire("Notification", notification_type="permission_prompt", message="May I?")
    hooks.fire("Notification", notification_type="idle_prompt", message="-x {title}\x1b[2J waits")
    assert started == [["notify", "--", "-x {title}\\x1b[2J waits"]]


def test_a_missing_notifier_is_a_warning(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    hooks.add("./notify_idle.py")
    monkeypatch.setattr("hookrouter_files.notify_idle.NOTIFIER", ["/no/such/program"])
    result = hooks.fire("Notification", check=False, notification_type="idle_prompt")
    assert "could not be started" in result.failures[0]
