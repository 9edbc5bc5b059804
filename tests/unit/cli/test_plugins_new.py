"""``hookrouter plugins new``: names, folders and files; what is in them is tried in tests/integration."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter import __version__
from hookrouter.cli.main import main
from hookrouter.cli.scaffold.errors import ScaffoldError
from hookrouter.cli.scaffold.package import MAX_NAME, plan
from hookrouter.cli.scaffold.parts import PARTS


def new(*arguments: str) -> int:
    return main(["plugins", "new", *arguments])


def test_a_package_is_written_and_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert new("git-guard", "--dir", str(tmp_path), "--json") == 0

    document = json.loads(capsys.readouterr().out)
    folder = tmp_path / "hookrouter-git-guard"
    assert document == {
        "plugin": "git-guard",
        "distribution": "hookrouter-git-guard",
        "module": "hookrouter_git_guard",
        "class": "GitGuardPlugin",
        "hooks": ["pre_tool_use_bash"],
        "folder": str(folder),
        "files": [
            ".github/workflows/ci.yml",
            ".gitignore",
            "LICENSE",
            "README.md",
            "pyproject.toml",
            "src/hookrouter_git_guard/__init__.py",
            "src/hookrouter_git_guard/py.typed",
            "src/hookrouter_git_guard/settings.py",
            "tests/test_git_guard.py",
            "tests/test_live.py",
        ],
        "work": [
            "pip install -e '.[dev]'",
            "pytest && ruff check && ruff format --check && mypy && pyright",
            "hookrouter plugins info git-guard",
        ],
    }
    written = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    assert sorted(written) == document["files"]
    assert "python-version: ${{ matrix.python }}" in (folder / ".github/workflows/ci.yml").read_text()
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    assert project["project"]["entry-points"]["hookrouter"] == {"git-guard": "hookrouter_git_guard:GitGuardPlugin"}
    assert f"hookrouter>={__version__}" in project["project"]["dependencies"]


def test_a_person_is_told_what_was_written_and_what_is_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert new("diary", "--event", "stop") == 0
    said = capsys.readouterr().out
    assert str(tmp_path / "hookrouter-diary") in said
    assert "src/hookrouter_diary/__init__.py" in said
    *_, where, install, check, look = said.splitlines()
    assert where == f"  cd {tmp_path}/hookrouter-diary"
    assert (install, check, look) == tuple(f"  {command}" for command in plan("diary").work)


def test_the_folder_to_go_to_is_one_word_of_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert new("diary", "--dir", str(tmp_path / "my src")) == 0
    assert f"  cd '{tmp_path}/my src/hookrouter-diary'\n" in capsys.readouterr().out


@pytest.mark.parametrize("hook", PARTS)
def test_a_part_is_brought_by_its_hook(hook: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spellings = (hook, hook.replace("_", "-"), "".join(word.capitalize() for word in hook.split("_")))
    packages = [plan("part", [spelling]) for spelling in spellings]
    assert [package.hooks for package in packages] == [(hook,)] * 3
    (package,) = {package.work: package for package in packages}.values()
    assert f"    def {hook}(self)" in package.files["src/hookrouter_part/__init__.py"]
    assert "tests/test_part.py" in package.files
    assert "\n".join(package.work) in package.files["README.md"]

    assert new("part", "--event", hook, "--dir", str(tmp_path)) == 0
    assert package.work[-1] in capsys.readouterr().out
    main(["plugins", "new", "--help"])
    assert hook in " ".join(capsys.readouterr().out.replace("│", " ").split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("x", "--event", "gateway", "--event", "stop"), "gateway makes a package of its own"),
        (("x", "--event", "stop", "--event", "gateway"), "gateway makes a package of its own"),
        (("x", "--event", "gateway", "--event", "terminal_backend"), "a package of its own"),
        (("x", "--event", "plugin_settings"), "every package with a hook of an event has plugin_settings"),
        (("x", "--event", "gateway", "--fail-closed"), "--fail-closed: is for a hook that guards a tool"),
        (("x", "--http"), "--http: is for --event gateway alone; found no --event"),
        (("x", "--event", "stop", "--http"), "--http: is for --event gateway alone; found stop"),
        (("x", "--event", "gateway", "--event", "stop", "--http"), "found gateway, stop"),
        (("x", "--event", "gateway", "--http", "--fail-closed"), "--fail-closed: is for a hook that guards a tool"),
        (("x", "--event", "stop", "--fail-closed"), "--fail-closed: no guard can be written for stop"),
        (("x", "--event", "pre_tool_use", "--fail-closed"), "pre_tool_use_write"),
        (("x", "--event", "post_tool_use_write", "--fail-closed"), "no guard can be written"),
        (("stats", "--event", "cli_commands"), "hookrouter stats, which there is already"),
    ],
)
def test_what_makes_no_package_is_refused(
    arguments: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert new(*arguments, "--dir", str(tmp_path)) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_guard_says_how_it_fails_closed(tmp_path: Path) -> None:
    package = plan("path-guard", ["pre_tool_use_write", "pre_tool_use_web_fetch"], fail_closed=True)
    readme = package.files["README.md"]
    (text,) = [part.partition("```")[0] for part in readme.split("```toml\n")[1:]]
    tables = tomllib.loads(text)["plugins"]
    assert tables["last"] == ["path-guard"]
    assert tables["path-guard"]["on_error"] == "closed"
    assert tables["path-guard"]["settings"] == {"refuse": ["*secret*"], "protect": ["~/.ssh"]}


@pytest.mark.parametrize("tool", ["read", "write", "edit", "notebook_edit", "grep", "glob"])
def test_the_guard_of_a_file_tool_looks_at_its_path(tool: str) -> None:
    code = plan("path-guard", [f"pre_tool_use_{tool}"], fail_closed=True).files["src/hookrouter_path_guard/__init__.py"]
    assert "tool_input.reads(context.cwd)" in code or "tool_input.writes(context.cwd)" in code
    assert "tool_input.pattern" not in code


def test_a_guard_of_commands_beside_one_of_paths_sees_the_paths_of_the_line() -> None:
    module = "src/hookrouter_path_guard/__init__.py"
    both = plan("path-guard", ["pre_tool_use_read", "pre_tool_use_bash"], fail_closed=True).files[module]
    assert "named_paths(reading, context.cwd)" in both
    assert "named_paths" not in plan("path-guard", ["pre_tool_use_bash"], fail_closed=True).files[module]


@pytest.mark.parametrize(
    "name", ["Git Guard", "git_guard", "git.guard", "hookrouter-git-guard", "hookrouter_git_guard", " git--guard "]
)
def test_a_name_is_made_safe(name: str) -> None:
    assert plan(name).plugin == "git-guard"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "words of a-z"),
        ("hookrouter-", "words of a-z"),
        ("3d", "words of a-z"),
        ("../evil", "words of a-z"),
        ("a/b", "words of a-z"),
        ("gärd", "words of a-z"),
        ("x\x1b[31m", "words of a-z"),
        ("x" * (MAX_NAME + 1), "words of a-z"),
        ("order", "a key of [plugins]"),
        ("tmux", "is installed here already"),
        ("ask_user_question", "is installed here already"),
    ],
)
def test_a_name_that_cannot_be_is_refused(
    name: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert new("--dir", str(tmp_path), "--", name) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "\x1b" not in error
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_event_is_refused_with_the_one_that_was_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for event, meant in (("PreTolUse", "PreToolUse"), ("pre_tool_use_bsh", "pre_tool_use_bash"), ("gatewy", "gateway")):
        assert new("x", "--event", event, "--dir", str(tmp_path), "--json") == 2
        captured = capsys.readouterr()
        assert f"{event!r}" in captured.err
        assert meant in captured.err
        assert "error" in json.loads(captured.out)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "hookrouter-mine"
    folder.mkdir()
    assert new("mine", "--dir", str(tmp_path)) == 0
    readme = folder / "README.md"
    readme.write_text("my own words")

    assert new("mine", "--dir", str(tmp_path)) == 2
    assert "is not empty" in capsys.readouterr().err
    assert readme.read_text() == "my own words"

    (tmp_path / "hookrouter-file").write_text("a file")
    assert new("file", "--dir", str(tmp_path)) == 2
    assert str(tmp_path / "hookrouter-file") in capsys.readouterr().err
    assert (tmp_path / "hookrouter-file").read_text() == "a file"


def test_a_folder_that_is_missing_is_made(tmp_path: Path) -> None:
    assert new("deep", "--dir", str(tmp_path / "a" / "b")) == 0
    assert (tmp_path / "a" / "b" / "hookrouter-deep" / "pyproject.toml").exists()


def test_events_and_hooks_are_named_in_any_spelling() -> None:
    package = plan("x", ["PreToolUse", "session-end", "post_tool_use_edit", "pre_tool_use", "raw_event"])
    assert package.hooks == ("pre_tool_use", "session_end", "post_tool_use_edit", "raw_event")


@given(st.text(max_size=40))
def test_any_name_is_a_package_or_refused(name: str) -> None:
    try:
        package = plan(name)
    except ScaffoldError:
        return
    assert package.module.isidentifier()
    assert package.class_name.isidentifier()
    assert all(".." not in path and not path.startswith("/") for path in package.files)
