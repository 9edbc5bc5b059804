"""What a guard asks of a call: the commands that it runs, and the paths that it reads and writes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.events import PreSkillShellCommand
from hookrouter.samples import sample
from hookrouter.shell.reader import client_shell
from hookrouter.tools import BashInput, GlobInput, MonitorInput, ReadInput, WriteInput, typed_input
from hookrouter.tools.calls import tool_class
from support.safety import safety

FILE_TOOLS = ("Edit", "Glob", "Grep", "NotebookEdit", "Read", "Write")
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3))


def names(call: Any) -> list[str | None]:
    reading = call.commands()
    assert reading.certain
    return [command.name for command in reading.commands]


def test_a_shell_command_says_what_it_runs() -> None:
    assert names(BashInput(command="cd x && git push '--for''ce'")) == ["cd", "git"]
    assert names(MonitorInput(command="tail -f x | grep y", description="d", timeout_ms=1)) == ["tail", "grep"]
    event = PreSkillShellCommand.from_json(sample("PreSkillShellCommand", tool_input={"command": "rm -rf x"}))
    assert names(typed_input(event, BashInput)) == ["rm"]


def test_a_monitor_of_a_socket_runs_nothing() -> None:
    assert names(MonitorInput.from_json({"ws": {"url": "wss://x"}})) == []
    assert not MonitorInput.from_json({}).commands().certain
    assert not MonitorInput.from_json({"ws": {}, "command": 5}).commands().certain


@given(JSON)
def test_a_command_that_is_no_text_is_not_certain(value: object) -> None:
    for raw in (value, {"command": value}):
        if isinstance(raw, dict) and isinstance(value, str) and value:
            continue
        with safety("what cannot be read does not pass for harmless"):
            assert not BashInput.from_json(raw).commands().certain


@pytest.mark.parametrize(
    ("environ", "found", "shell"),
    [
        ({}, ["/bin/bash"], "bash"),
        ({}, ["/bin/bash", "/usr/bin/zsh"], "zsh"),
        ({"PATH": "/own"}, ["/bin/bash", "/own/zsh"], "zsh"),
        ({"SHELL": "/bin/bash"}, ["/bin/bash", "/bin/zsh"], "bash"),
        ({"SHELL": "/bin/zsh"}, ["/bin/bash", "/bin/zsh"], "zsh"),
        ({"SHELL": "/bin/fish"}, ["/bin/fish", "/bin/bash", "/bin/zsh"], "zsh"),
        ({"SHELL": "/gone/zsh"}, ["/bin/bash"], "bash"),
        ({"SHELL": "/gone/bash"}, ["/bin/bash", "/bin/zsh"], "bash"),
        ({"SHELL": "/gone/bash"}, ["/bin/zsh"], "zsh"),
        ({"SHELL": "/bin/bash", "CLAUDE_CODE_SHELL": "/opt/zsh"}, ["/bin/bash", "/opt/zsh"], "zsh"),
        ({"SHELL": "/bin/zsh", "CLAUDE_CODE_SHELL": "/bin/ksh"}, ["/bin/ksh", "/bin/zsh", "/bin/bash"], "zsh"),
        ({}, [], "bash"),
    ],
)
def test_the_shell_is_the_one_that_claude_code_takes(
    environ: dict[str, str], found: list[str], shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: path in found and mode == os.X_OK)
    assert client_shell({"PATH": "/nowhere", **environ}) == shell


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("/a/b", "/a/b"),
        ("//a/./b/../c/", "/a/c"),
        ("b", "/work/b"),
        ("../b", "/b"),
        ("~/x", "{home}/x"),
        ("~", "{home}"),
        ("~other/x", "/work/~other/x"),
        (" /a b ", "/a b"),
        ("\u00a0/a\ufeff", "/a"),
        (" ", "/work"),
        ("/e\u0301", "/\u00e9"),
    ],
)
def test_a_path_is_the_one_that_claude_code_makes_of_it(written: str, path: str) -> None:
    wanted = path.replace("{home}", str(Path.home()))
    assert ReadInput(file_path=written).reads("/work") == (wanted,)
    assert WriteInput(file_path=written, content="").writes("/work") == (wanted,)


@pytest.mark.parametrize(
    ("tool", "reads", "writes"),
    [
        ("Read", True, False),
        ("Write", False, True),
        ("Edit", True, True),
        ("NotebookEdit", True, True),
        ("Grep", True, False),
        ("Glob", True, False),
    ],
)
def test_what_each_tool_reads_and_writes(tool: str, reads: bool, writes: bool) -> None:
    name = {"NotebookEdit": "notebook_path", "Grep": "path", "Glob": "path"}.get(tool, "file_path")
    made = tool_class(tool, "Input").from_json({name: "/a/b", "pattern": "*.py"})
    assert made.reads("/work") == (("/a/b",) if reads else ())
    assert made.writes("/work") == (("/a/b",) if writes else ())


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [
        ("**/*.py", "/work/src"),
        ("lib/*.py", "/work/src/lib"),
        ("/etc/*.conf", "/etc"),
        ("../x/*", "/work/x"),
        ("~/x/*", "{home}/x"),
        ("a.py", "/work/src/a.py"),
        ("{a,b}/*.{py,js}", "/work/src"),
        ("*/../../x", None),
        ("{..,a}/x", None),
        ("x/{a,/../..}/y", None),
    ],
)
def test_a_search_goes_where_its_pattern_says(pattern: str, folder: str | None) -> None:
    found = GlobInput(pattern=pattern, path="src").reads("/work")
    assert found == (None if folder is None else (folder.replace("{home}", str(Path.home())),))


def test_a_search_without_a_folder_goes_through_that_of_the_session() -> None:
    assert GlobInput(pattern="*").reads("/work") == ("/work",)
    assert tool_class("Grep", "Input").from_json({"pattern": "x"}).reads("/work") == ("/work",)


@given(st.sampled_from(FILE_TOOLS), JSON | st.fixed_dictionaries({"file_path": JSON, "path": JSON, "pattern": JSON}))
def test_a_path_is_absolute_or_not_known(tool: str, raw: object) -> None:
    made = tool_class(tool, "Input").from_json(raw)
    for paths in (made.reads("/work"), made.writes("/work")):
        for path in paths or ():
            assert path == os.path.normpath(path)
            assert path.startswith("/")
            assert not path.startswith("//")


@pytest.mark.parametrize("tool", ["Read", "Write", "Edit", "NotebookEdit"])
@pytest.mark.parametrize("value", [None, 5, ["x"], {"x": "y"}, "", "a\0b"])
def test_a_path_that_cannot_be_read_is_not_known(tool: str, value: object) -> None:
    made = tool_class(tool, "Input").from_json({"file_path": value, "notebook_path": value})
    with safety("what cannot be read does not pass for harmless"):
        assert (made.writes if tool == "Write" else made.reads)("/work") is None
