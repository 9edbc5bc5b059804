"""The gateway that runs a program: what a bad table is told, and where its program is looked for."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hookrouter_command
from hookrouter.messaging.gateway import Message, SendResult
from support.tabled_gateway import TabledGateway


def gateway() -> TabledGateway:
    return TabledGateway(hookrouter_command.gateway())


def test_a_secret_that_cannot_be_read_is_said_and_kept_for_a_retry() -> None:
    table = {"argv": ["true"], "set": {"TOKEN_env": "NO_SUCH_TOKEN"}}

    assert gateway().check(table) == ["set.TOKEN_env: the environment variable NO_SUCH_TOKEN is not set here"]
    message = Message(
        "question", "main", "local", "my session", "sid", "toolu_1", "subject", "hello", "1", "2026-11-21"
    )
    assert gateway().deliver(message, table) == SendResult(
        delivered=False, reason="set.TOKEN_env: the environment variable NO_SUCH_TOKEN is not set here", retry=True
    )


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({}, "argv: missing"),
        ({"argv": "agent --wake"}, "argv: found 'agent --wake'; allowed: a list of texts"),
        ({"argv": []}, "argv: found []"),
        ({"argv": ["", "x"]}, "argv: found ['', 'x']"),
        ({"argv": ["a", 5]}, "argv[1]: found 5; allowed: a text"),
        ({"argv": ["a\0b"]}, "argv: found ['a\\x00b']"),
        ({"argv": ["a"], "timeout": "60"}, "timeout: found '60'"),
        ({"argv": ["a"], "timeout": 0}, "timeout: found 0"),
        ({"argv": ["a"], "timeout": True}, "timeout: found true"),
        ({"argv": ["a"], "timeout": float("nan")}, "timeout: found nan"),
        ({"argv": ["a"], "cwd": "work"}, "cwd: found 'work'; allowed: an absolute path"),
        ({"argv": ["a"], "cwd": 3}, "cwd: found 3"),
        ({"argv": ["a"], "format": "yaml"}, 'format: found \'yaml\'; allowed: "text" or "json"'),
        ({"argv": ["a"], "format": []}, "format: found an empty list"),
        ({"argv": ["a"], "time_out": 5}, "time_out: unknown key, did you mean 'timeout'?"),
        ({"argv": ["a"], "zzz": 5}, "zzz: unknown key; allowed: argv, timeout, cwd, format, env, set"),
        ({"argv": ["a"], "env": "PATH"}, "env: found 'PATH'; allowed: a list of texts"),
        ({"argv": ["a"], "env": ["A=1"]}, "env: found ['A=1']"),
        ({"argv": ["a"], "set": ["A"]}, "set: found a list; allowed: a table of texts"),
        ({"argv": ["a"], "set": {"A=B": "x"}}, "set: found 'A=B'; allowed: the name of an environment variable"),
        ({"argv": ["a"], "set": {"A": 3}}, "set.A: found 3; allowed: a text"),
        ({"argv": ["a"], "set": {"A_file": "x"}}, "set.A_file: found a value that is not shown; allowed: an"),
    ],
)
def test_a_bad_table_is_told_what_is_allowed(table: dict[str, Any], problem: str) -> None:
    [found] = gateway().check(table)
    assert found.startswith(problem)


def test_a_good_table_has_no_problems() -> None:
    assert gateway().check({"argv": [sys.executable], "timeout": 2.5, "cwd": "~/x", "format": "json"}) == []


def test_a_program_is_looked_up_as_it_will_be_at_delivery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(program: str) -> list[str]:
        return gateway().check({"argv": [program], "cwd": str(tmp_path)})

    assert check("/nope/prog") == ["argv: program not found: /nope/prog"]
    assert check("~/prog") == [f"argv: program not found: {os.environ['HOME']}/prog"]
    assert check("./agent") == ["argv: program not found: ./agent"]
    assert check("agent") == ["argv: program not found: agent"]
    (tmp_path / "agent").write_text("#!/bin/sh\n")
    assert check("./agent") == [f"argv: program not executable: {tmp_path}/./agent"]
    (tmp_path / "agent").chmod(0o700)
    assert check("./agent") == []
    assert check("agent") == ["argv: program not found: agent"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert check("agent") == []
    assert check(str(tmp_path)) == [f"argv: program not found: {tmp_path}"]


@given(
    st.dictionaries(
        st.sampled_from(["argv", "timeout", "cwd", "format", "env", "set", "x"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4), st.lists, max_leaves=4
        ),
    )
)
def test_check_never_raises(table: dict[str, object]) -> None:
    assert all(isinstance(problem, str) for problem in gateway().check(table))
