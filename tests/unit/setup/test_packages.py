"""What `hookrouter plugins install` takes, and which command it comes to in each kind of environment."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._setup import packages
from hookrouter._setup.packages import PackageError, Wanted, environment, wanted


@pytest.mark.parametrize(
    ("text", "words", "name"),
    [
        ("guard", "guard", "guard"),
        ("Night.Guard_x", "Night.Guard_x", "night-guard-x"),
        ("guard >= 1.2, <2", "guard>=1.2,<2", "guard"),
        ("guard[a, b]==1.0.*", "guard[a,b]==1.0.*", "guard"),
    ],
)
def test_a_name_with_a_version_is_taken(text: str, words: str, name: str) -> None:
    assert wanted(text) == Wanted(words, name)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "-r",
            "--index-url=x",
            "-e .",
            "a;b",
            "a b",
            "a$(id)",
            "a\nb",
            "a\x1b[0m",
            "a\u202eb",
            "gu\u00e4rd",
            "[a]",
        ),
        *(
            "https://x.org/a.whl",
            "git+https://x.org/a",
            "git+ssh://x",
            "a @ https://x.org/a",
            "a@git+file:///x",
            "file:x",
        ),
        *(
            "a --index-url http://x.org",
            "a -r b",
            "a==1 --pre",
            "a; python_version > '3'",
            "./none.whl",
            "~none/x",
            "/",
        ),
        *("hookrouter", "HookRouter==1", "hookrouter[serve]", "x.txt/"),
    ],
)
def test_what_is_no_package_is_refused_by_what_was_found(text: str) -> None:
    with pytest.raises(PackageError, match=r"^found ") as refused:
        wanted(text)
    assert str(refused.value).isprintable()


@given(st.text(max_size=40))
def test_whatever_is_taken_is_one_word_that_is_no_option(text: str) -> None:
    with suppress(PackageError):
        found = wanted(text)
        assert found.words.isprintable()
        assert not found.words.startswith("-")
        assert " " not in found.words or found.words.startswith("/")


def test_files_are_taken_by_their_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (
        "Night_Guard-1.0-py3-none-any.whl",
        "night-guard-1.0.tar.gz",
        "guard.py",
        "hookrouter-9.tar.gz",
        "a.txt",
    ):
        (tmp_path / name).touch()
    (tmp_path / "pack age").mkdir()
    (tmp_path / "pack age" / "pyproject.toml").write_text('[project]\nname = "Night.Guard"\n')
    assert wanted("./Night_Guard-1.0-py3-none-any.whl").name == "night-guard"
    assert wanted("night-guard-1.0.tar.gz") == Wanted(f"{tmp_path}/night-guard-1.0.tar.gz", "night-guard")
    assert wanted("./pack age") == Wanted(f"{tmp_path}/pack age", "night-guard")
    assert wanted("guard.py").is_single_file
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "pyproject.toml").write_text('project = {name = "hookrouter"}\n')
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "pyproject.toml").write_text("[\x1b")
    for refused in ("./a.txt", "./hookrouter-9.tar.gz", "./own", "./bad", ".", "./pack age/x[1]"):
        with pytest.raises(PackageError, match=r"^found "):
            wanted(refused)


@pytest.fixture
def path(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which pipx and uv are."""
    (tmp_path / "bin").mkdir()
    for name in ("pipx", "uv"):
        (tmp_path / "bin" / name).touch(0o755)
    return {"PATH": str(tmp_path / "bin")}


GUARD = Wanted("guard>=1", "guard")


def test_pipx_is_asked_for_its_own_environment(tmp_path: Path, path: dict[str, str]) -> None:
    prefix = tmp_path / "venvs" / "hookrouter-next"
    prefix.mkdir(parents=True)
    (prefix / "pipx_metadata.json").touch()
    place = environment(path, str(prefix))
    assert place.installing(GUARD) == [f"{tmp_path}/bin/pipx", "inject", "hookrouter-next", "guard>=1"]
    assert place.removing("guard") == [f"{tmp_path}/bin/pipx", "uninject", "hookrouter-next", "guard"]
    assert place.environ == {"PIPX_HOME": str(tmp_path)}
    with pytest.raises(PackageError, match="no pipx is on PATH"):
        environment({"PATH": ""}, str(prefix))


def test_a_tool_of_uv_keeps_what_it_was_installed_with(tmp_path: Path, path: dict[str, str]) -> None:
    prefix = tmp_path / "tools" / "hookrouter"
    prefix.mkdir(parents=True)
    receipt = prefix / "uv-receipt.toml"
    receipt.write_text(
        '[tool]\nrequirements = [{ name = "hookrouter", extras = ["serve"], specifier = ">=0.1" }, { name = "guard" },'
        ' { name = "Other_One", directory = "/o" }, { name = "third", editable = "/t" }]\n'
    )
    place = environment(path, str(prefix))
    base = [f"{tmp_path}/bin/uv", "tool", "install", "hookrouter[serve]>=0.1"]
    others = ["--with", "/o", "--with-editable", "/t"]
    assert place.installing(GUARD) == [*base, *others, "--with", "guard>=1"]
    assert place.installing(Wanted("new", "new")) == [*base, "--with", "guard", *others, "--with", "new"]
    assert place.removing("guard") == [*base, *others]
    assert place.environ == {"UV_TOOL_DIR": str(tmp_path / "tools")}
    with pytest.raises(PackageError, match="was not installed by a name of its own"):
        place.removing("dependency")
    receipt.write_text('[tool]\nrequirements = [{ name = "hookrouter" }]\n')
    assert environment(path, str(prefix)).installing(GUARD) == [*base[:3], "hookrouter", "--with", "guard>=1"]
    for broken in (
        "[",
        "tool = 1",
        "[tool]\nrequirements = []",
        'tool.requirements = [{name = "hookrouter", git = "x"}]',
    ):
        receipt.write_text(broken)
        with pytest.raises(PackageError, match="cannot be read"):
            environment(path, str(prefix))


def test_pip_or_uv_changes_a_virtual_environment(path: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment(path, "/venv").installing(GUARD)[:3] == [sys.executable, "-m", "pip"]
    assert environment(path, "/venv").removing("guard")[-3:] == ["--yes", "--", "guard"]
    monkeypatch.setattr(packages, "find_spec", lambda _: None)
    assert environment(path, "/venv").installing(GUARD)[1:] == [
        *("pip", "install", "--python", sys.executable, "--", "guard>=1")
    ]
    with pytest.raises(PackageError, match="has no pip, and no uv is on PATH"):
        environment({"PATH": ""}, "/venv")


def test_a_python_of_the_system_is_left_alone(
    tmp_path: Path, path: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages.sysconfig, "get_path", lambda _: str(tmp_path))
    assert environment(path, sys.base_prefix).installing(GUARD)
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    with pytest.raises(PackageError, match=r"is managed by the system .*pipx or uv tool"):
        environment(path, sys.base_prefix)
