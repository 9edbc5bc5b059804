"""The command line of an entry: written, recognised, and found inside another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._installation.command_line import hook_command, parse_command, runs_hookrouter

if TYPE_CHECKING:
    pass


@pytest.mark.parametrize("path", ["/a/hookrouter", "/with space/hookrouter", "/it's/$HOME/hookrouter"])
@pytest.mark.parametrize("home", [None, "/h", "/a home/it's"])
def test_a_command_is_recognised_wherever_the_program_is(path: str, home: str | None) -> None:
    ours = parse_command(hook_command([path], home, "pre-tool-use"))
    assert ours == (path, "pre-tool-use", home)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "hookrouter",
        "hookrouter answer stop",
        "hookrouter run",
        "hookrouter run stop && say done",
        "my-hookrouter run stop",
        "echo hookrouter run stop",
        "hookrouter run 'unclosed",
        "python -m other run stop",
    ],
)
def test_other_commands_are_never_taken_for_ours(command: str) -> None:
    assert parse_command(command) is None


def test_the_module_form_and_the_exec_form_are_ours() -> None:
    assert parse_command("/v/bin/python -P -m hookrouter run stop") is not None
    assert parse_command("/v/bin/hookrouter", ["run", "stop"]) is not None
    assert parse_command("/v/bin/hookrouter", ["answer", "stop"]) is None


WRAPPED = [
    "hookrouter run stop 2>/dev/null",
    "/opt/hookrouter/bin/hookrouter run stop || true",
    "timeout 30 /opt/hookrouter run stop",
    "exec hookrouter run stop",
    "env FOO=1 hookrouter run stop",
    "sh -c 'hookrouter run stop'",
    "cd /tmp && '/with space/hookrouter' run stop",
    "/v/bin/python -P -m hookrouter run stop | tee /tmp/log",
    'nice "/opt/hookrouter" run stop',
]


@pytest.mark.parametrize("command", WRAPPED)
def test_a_command_that_was_changed_by_hand_is_not_ours_but_runs_hookrouter(command: str) -> None:
    assert parse_command(command) is None
    assert runs_hookrouter(command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "hookrouter answer stop",
        "my-hookrouter run stop",
        "hookrouter.py run stop",
        "hookrouter-x run stop",
        "run stop",
    ],
)
def test_a_command_without_hookrouter_is_nobody_s(command: str) -> None:
    assert not runs_hookrouter(command)


@given(st.text(), st.text(), st.sampled_from(["/a/hookrouter", "/with space/it's/hookrouter"]))
def test_whatever_stands_around_our_command_it_is_found(before: str, after: str, path: str) -> None:
    assert runs_hookrouter(f"{before} {hook_command([path], None, 'pre-tool-use')} {after}")
