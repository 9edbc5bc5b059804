"""`hookrouter rules list|check|preset`: what the rules do, for a person to look at."""

from __future__ import annotations

import io
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.cli.main import main
from hookrouter.cli.terminal import Style
from hookrouter.permission_rules.judging import Call, CompiledRule, Rules
from hookrouter.permission_rules.presets import preset_names, preset_text
from hookrouter.shell.commands import Why
from hookrouter_approvals.rules_command.checking import check_document, check_lines

RULES = (
    ("Bash(git push:*)", "person"),
    ("Bash(git:*)", "allow"),
    ("Bash(rm:*)", "deny"),
    ("Edit(/src/**)", "allow"),
    ("Bash(npm test)", "agent"),
)

MAYBE = "it may be what the rule is about, for all that is known before it runs"


def table(tool: str, decide: str) -> str:
    return f"[[approvals.rules]]\ntool = {json.dumps(tool)}\ndecide = {json.dumps(decide)}\n"


@pytest.fixture
def config(hookrouter_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CODE_SHELL", "/bin/bash")
    path = hookrouter_home / "config.toml"
    path.write_text("\n".join(table(*rule) for rule in RULES))
    path.chmod(0o600)
    return path


def document(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["rules", *words, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("line", "decide", "rule", "code"),
    [
        ("git status", "allow", "Bash(git:*)", 0),
        ("npm test", "agent", "Bash(npm test)", 0),
        ("git -C lib push", "person", "Bash(git push:*)", 1),
        ("git status; rm x", "deny", "Bash(rm:*)", 1),
        ("ls", "person", "", 1),
    ],
)
def test_a_command_line_is_judged_and_the_exit_code_says_whether_it_goes_on(
    config: Path, capsys: pytest.CaptureFixture[str], line: str, decide: str, rule: str, code: int
) -> None:
    found = document(capsys, "check", line, code=code)
    assert (found["decide"], found["rule"]) == (decide, rule)


def test_the_parts_are_shown_where_they_stand(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "check", "timeout 5 git push > out; git $x"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "a person decides: by Bash(git push:*)",
        "  timeout 5 git push > out; git $x",
        "  ├─ timeout 5 git push  (only runs what is below)",
        "  ├─ writes out  (person, no rule is about it)",
        "  ├─ run by timeout",
        "  │  └─ git push  (person, Bash(git push:*))",
        f"  ├─ git $x  (person, Bash(git push:*); {MAYBE})",
        f"  └─ not certain: {Why.OPTION}: $x  (person, Bash(git push:*); {MAYBE})",
    ]
    found = document(capsys, "check", "timeout 5 git push > out; git $x", code=1)
    assert not found["certain"]
    assert [part["within"] for part in found["parts"]] == [[], [], ["run by timeout"], [], []]


def test_other_tools(config: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    inside = document(capsys, "check", "--tool", "Write", "--path", "src/x", "--cwd", str(tmp_path))
    assert (inside["decide"], inside["rule"]) == ("allow", "Edit(/src/**)")
    outside = document(
        capsys, "check", "--tool", "Edit", "--path", "x", "--cwd", f"{tmp_path}/b", "--project", str(tmp_path), code=1
    )
    assert outside["rule"] == ""
    other = tmp_path / "other.toml"
    other.write_text(table("WebFetch(domain:example.org)", "allow"))
    fetched = document(capsys, "check", "--url", "https://example.org/x", "--config", str(other))
    assert fetched["rule"] == "WebFetch(domain:example.org)"
    found = document(capsys, "check", "--tool", "NotebookEdit", "--path", "src/x", "--cwd", str(tmp_path))
    assert found["decide"] == "allow"
    given_input = document(capsys, "check", "--tool", "Bash", "--input", '{"command": "rm x"}', code=1)
    assert given_input["decide"] == "deny"


def test_a_payload_on_stdin(config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    payload = {"tool_name": "Monitor", "tool_input": {"command": "git push"}, "cwd": "/project"}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(payload).encode())))
    found = document(capsys, "check", "-", code=1)
    assert (found["tool"], found["cwd"], found["rule"]) == ("Monitor", "/project", "Bash(git push:*)")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "name a call"),
        (["ls", "--path", "x"], "COMMAND and --path: give one of them"),
        (["--tool", "Bash", "--path", "x"], "--path: found --tool Bash; allowed: Edit"),
        (["--tool", "Edit", "--url", "x"], "--url: found --tool Edit; allowed: WebFetch"),
        (["ls", "--tool", "Edit"], "COMMAND: Edit runs no command line"),
        (["--input", "[]"], "--input: found '[]'; allowed: a JSON object"),
        (["--input", "{"], "--input: not JSON"),
        (["ls", "--config", "missing.toml"], "missing.toml: cannot be read: No such file"),
    ],
)
def test_what_cannot_be_used_is_said(
    config: Path, capsys: pytest.CaptureFixture[str], words: list[str], why: str
) -> None:
    assert main(["rules", "check", *words]) == 2
    assert why in capsys.readouterr().err


def test_a_config_with_problems_is_not_judged_by(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text(table("Bash(", "allow"))
    for words in (["check", "ls"], ["list"], ["check", "ls", "--config", str(config)]):
        assert main(["rules", *words]) == 2
        assert "approvals.rules[0].tool" in capsys.readouterr().err


@given(st.text(), st.sampled_from(["bash", "zsh"]))
def test_no_line_steers_the_terminal(line: str, shell: str) -> None:
    call = Call("Bash", {"command": line}, "/p", "/p", shell)
    found = Rules([CompiledRule(*rule) for rule in RULES]).judge(call)
    shown = "\n".join(check_lines(call, found, Style(io.StringIO(), {}), unicode=False))
    assert not {*map(chr, range(32)), "\x7f", "\x9b", "\u202e"} - {"\n"} & set(shown)
    json.dumps(check_document(call, found))


def test_colours_are_for_terminals(config: Path) -> None:
    call = Call("Bash", {"command": "rm x"}, "/p", "/p")
    found = Rules([CompiledRule(*rule) for rule in RULES]).judge(call)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    coloured = "\n".join(check_lines(call, found, Style(Terminal(), {}), unicode=True))
    assert "\x1b[31mrefused\x1b[0m" in coloured
    assert "\x1b" not in "\n".join(check_lines(call, found, Style(Terminal(), {"NO_COLOR": "1"}), unicode=True))


def test_the_list_says_what_never_decides(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = [
        ("Bash(git status:*)", "allow"),
        ("Grpe", "deny"),
        ("Edit(../x)", "deny"),
        ("Edit(/etc/**)", "deny"),
        ("Edit(~me/x)", "deny"),
        ('Bash(echo "x":*)', "deny"),
        ("Bash(a && b)", "deny"),
        ("Edit(/**)", "allow"),
        ("Edit(//srv/**)", "deny"),
        ("mcp__github", "agent"),
    ]
    config.write_text("\n".join(table(*rule) for rule in (*RULES, *more)))
    found = {one["rule"]: one for one in document(capsys, "list")["rules"]}
    assert found["Bash(git status:*)"]["shadowed_by"] == "Bash(git:*)"
    assert found["Grpe"]["never"].endswith("has no tool Grpe; did you mean 'Grep'?")
    assert "'..'" in found["Edit(../x)"]["never"]
    assert "write //etc" in found["Edit(/etc/**)"]["never"]
    assert "~/" in found["Edit(~me/x)"]["never"]
    assert "quotes and operators" in found['Bash(echo "x":*)']["never"]
    assert "quotes and operators" in found["Bash(a && b)"]["never"]
    # One slash is the project, two are the machine.
    assert found["Edit(//srv/**)"]["shadowed_by"] is None
    assert found["mcp__github"]["about"] == "every tool of the MCP server github"
    for rule, _ in RULES:
        assert not found[rule]["never"]
        assert found[rule]["shadowed_by"] is None
    assert found["Bash(rm:*)"]["unregistered"] == ["Bash", "Monitor", "PowerShell"]
    assert main(["rules", "list"]) == 0
    out = capsys.readouterr().out
    assert "never decides: Bash(git:*) comes before it" in out
    assert "no hook is registered for Bash" in out


def test_rules_whose_hooks_are_installed(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install"]) == 0
    assert all(not one["unregistered"] for one in document(capsys, "list")["rules"])


@pytest.mark.parametrize("preset", preset_names())
def test_a_preset_is_printed_and_written_once(config: Path, capsys: pytest.CaptureFixture[str], preset: str) -> None:
    before = config.read_text()
    assert main(["rules", "preset", preset]) == 0
    assert capsys.readouterr().out == preset_text(preset)
    assert main(["rules", "preset", preset, "--write"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"--- {config}")
    after = config.read_text()
    assert after.startswith(before)
    assert config.stat().st_mode & 0o777 == 0o600
    assert main(["config", "check"]) == 0
    capsys.readouterr()
    assert main(["rules", "preset", preset, "--write"]) == 0
    assert capsys.readouterr().out == f"{config}: has all rules of {preset}\n"
    assert config.read_text() == after


def test_there_is_no_such_preset(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "preset", "pyton"]) == 2
    assert "there is no preset 'pyton'; did you mean 'python'?" in capsys.readouterr().err
    assert main(["rules", "preset", "--write"]) == 2
    assert {one["name"] for one in document(capsys, "preset")["presets"]} == set(preset_names())


@given(st.data())
def test_a_preset_is_without_the_rules_that_are_there(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(preset_names()))
    rules = [(one["tool"], one["decide"]) for one in tomllib.loads(preset_text(name))["approvals"]["rules"]]
    has = frozenset(data.draw(st.lists(st.sampled_from(rules))))
    left = tomllib.loads(preset_text(name, has)).get("approvals", {"rules": []})["rules"]
    assert [(one["tool"], one["decide"]) for one in left] == [rule for rule in rules if rule not in has]


@pytest.fixture
def project(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return the folder of a project that is trusted, with rules of its own."""
    folder = tmp_path / "project"
    file = folder / ".claude" / "hookrouter" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(table("Bash(git commit:*)", "person") + table("Bash(rm:*)", "person"))
    assert main(["trust", str(folder), "--yes"]) == 0
    capsys.readouterr()
    return folder


def test_the_rules_of_a_project_count_in_its_sessions(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(project / ".claude" / "hookrouter" / "config.toml")
    # Of whatever session this is run in: --project says which one is meant.
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/")
    for line, decide, rule, its_file, code in (
        ("git commit", "person", "Bash(git commit:*)", file, 1),
        ("git status", "allow", "Bash(git:*)", None, 0),
        ("rm x", "deny", "Bash(rm:*)", None, 1),
    ):
        for words in (("--project", str(project)), ("--cwd", str(project))):
            found = document(capsys, "check", line, *words, code=code)
            assert (found["decide"], found["rule"], found["file"]) == (decide, rule, its_file)
    assert document(capsys, "check", "git commit", "--project", "/")["file"] is None
    main(["rules", "check", "git commit", "--project", str(project)])
    assert f"by Bash(git commit:*), of {file}" in capsys.readouterr().out
    # Another file of the user's own takes none of them away.
    other = project / "other.toml"
    other.write_text(table("*", "allow"))
    words = ("git commit", "--project", str(project), "--config", str(other))
    assert document(capsys, "check", *words, code=1)["file"] == file

    monkeypatch.chdir(project)
    listed = document(capsys, "list")["rules"]
    assert [one["rule"] for one in listed if one["file"] is None] == [rule for rule, _ in RULES]
    assert [one["rule"] for one in listed if one["file"] == file] == ["Bash(git commit:*)", "Bash(rm:*)"]
    assert main(["rules", "list"]) == 0
    assert f"of {file}" in capsys.readouterr().out


def test_the_past_is_tried_with_the_rules_of_each_call_s_project(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    transcripts, new = tmp_path / "transcripts", tmp_path / "new.toml"
    new.write_text(table("*", "allow"))
    transcripts.mkdir()
    for number, cwd in enumerate((project, "/")):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "git commit"}}
        line = {
            "type": "assistant",
            "cwd": str(cwd),
            "message": {"content": [call]},
            "timestamp": "2026-11-28T00:00:00Z",
        }
        (transcripts / f"{number}.jsonl").write_text(json.dumps({**line, "sessionId": str(number)}) + "\n")
    found = document(capsys, "try", "--days", "0", "--transcripts", str(transcripts), "--config", str(new))
    assert (found["decided"]["person"], found["decided"]["allow"]) == (1, 1)
    # The project's rules hold beside the other file, too.
    assert found["changes"] == []
