import sys

import pytest

from hookrouter.testing import Hooks


@pytest.fixture
def failing(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    hooks.add("./tests_before_stop.py")
    run = [sys.executable, "-c", "print('1 failed'); raise SystemExit(1)"]
    monkeypatch.setattr("hookrouter_files.tests_before_stop.COMMAND", run)
    return hooks


def test_claude_goes_on_while_tests_fail(failing: Hooks) -> None:
    result = failing.fire("Stop", cwd="/", stop_hook_active=False)
    assert (result.decision, "1 failed" in result.reason) == ("block", True)


def test_it_does_not_block_for_ever(failing: Hooks) -> None:
    result = failing.fire("Stop", cwd="/", stop_hook_active=True)
    assert result.decision is None
    assert "still fail" in result.system_message


def test_claude_may_stop_when_they_pass(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    hooks.add("./tests_before_stop.py")
    monkeypatch.setattr("hookrouter_files.tests_before_stop.COMMAND", [sys.executable, "-c", ""])
    assert hooks.fire("Stop", cwd="/", stop_hook_active=False).output == {}


def test_a_command_that_is_missing_blocks_nothing(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    hooks.add("./tests_before_stop.py")
    monkeypatch.setattr("hookrouter_files.tests_before_stop.COMMAND", ["/no/such/program"])
    result = hooks.fire("Stop", cwd="/", stop_hook_active=False)
    assert result.decision is None
    assert "could not be run" in result.system_message
