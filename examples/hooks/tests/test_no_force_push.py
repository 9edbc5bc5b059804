import pytest

from hookrouter.testing import Hooks


@pytest.mark.parametrize(
    "command",
    [
        "git push --force",
        "git -C x push --force-with-lease=main:1234",
        "git push -uf origin main",
        "git push origin +main",
        "git push --follow-tags --force",
        "git push --mirr",
        "git -c remote.origin.push=+main push",
        "git push '--for''ce'",
        "sh -c 'git push -f'",
        "true && sudo git push origin HEAD -f | cat",
        "x=push; git $x -f",
        "$x",
        'eval "$(cat file)"',
    ],
)
def test_a_forced_push_is_refused(hooks: Hooks, command: str) -> None:
    hooks.add("./no_force_push.py")
    assert hooks.fire("PreToolUse", "Bash", tool_input={"command": command}).decision == "deny"


@pytest.mark.parametrize(
    "command", ["git push", "git push -u origin main --follow-tags", "echo git push -f", "rm -f x"]
)
def test_all_else_runs(hooks: Hooks, command: str) -> None:
    hooks.add("./no_force_push.py")
    assert hooks.fire("PreToolUse", "Bash", tool_input={"command": command}).decision is None
