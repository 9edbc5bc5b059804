"""Which files of a folder are plugins, what they need, and who may have written them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._plugins.files import import_file, may_be_named, misnamed, plugin_files, why_unsafe
from hookrouter._plugins.script_metadata import why_unmet

if TYPE_CHECKING:
    from pathlib import Path


def block(*lines: str) -> str:
    return "\n".join(["# /// script", *(f"# {line}".rstrip() for line in lines), "# ///", "import os", ""])


def test_files_and_packages_are_plugins_named_by_their_stem(tmp_path: Path) -> None:
    for name in ("guard.py", "git-guard.py", "_helper.py", ".hidden.py", "a.b.py", "notes.txt", "guard.py.swp", "ü.py"):
        (tmp_path / name).touch()
    for name in ("diary", "__pycache__", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "diary" / "__init__.py").touch()
    found = plugin_files(str(tmp_path))
    assert found == [
        (name, str(tmp_path / path))
        for name, path in (("diary", "diary"), ("git-guard", "git-guard.py"), ("guard", "guard.py"))
    ]
    assert misnamed(str(tmp_path)) == [str(tmp_path / name) for name in ("a.b.py", "ü.py")]


def test_no_folder_has_no_plugins(tmp_path: Path) -> None:
    assert plugin_files(str(tmp_path / "plugins")) == misnamed(str(tmp_path / "plugins")) == []


def test_a_file_and_a_package_of_one_name_are_both_there(tmp_path: Path) -> None:
    (tmp_path / "guard.py").touch()
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "__init__.py").touch()
    assert plugin_files(str(tmp_path)) == [("guard", str(tmp_path / name)) for name in ("guard", "guard.py")]


@given(st.text(max_size=12))
def test_a_name_that_may_be_a_plugins_is_plain(name: str) -> None:
    if may_be_named(name):
        assert name.isascii()
        assert name.replace("-", "").replace("_", "").isalnum()
        assert os.sep not in name


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_what_others_may_write_to_is_unsafe(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "guard.py"
    file.touch(0o600)
    assert why_unsafe(str(file)) == ""
    file.chmod(mode)
    assert why_unsafe(str(file)) == f"other users may write to {file}: chmod go-w {file}"
    file.chmod(0o600)
    tmp_path.chmod(0o770)
    assert why_unsafe(str(file)) == f"other users may write to {tmp_path}: chmod go-w {tmp_path}"


def test_what_runs_with_a_plugin_is_judged_too(tmp_path: Path) -> None:
    package, inner, file = tmp_path / "guard", tmp_path / "guard" / "inner", tmp_path / "git.py"
    inner.mkdir(parents=True)
    (tmp_path / "_words" / "__pycache__").mkdir(parents=True)
    own = [package / "__init__.py", inner / "deep.py"]
    helpers = [tmp_path / "_words.py", tmp_path / "_words" / "more.py"]
    for one in (file, *own, *helpers):
        one.touch(0o600)
    # Nothing imports these.
    for one in (
        tmp_path / "_notes.txt",
        package / "data.json",
        package / ".#inner.py",
        tmp_path / "_words/__pycache__/x.py",
    ):
        one.touch()
        one.chmod(0o666)
    (inner / "back").symlink_to(package)
    assert why_unsafe(str(file)) == why_unsafe(str(package)) == ""
    for one in (*own, *helpers, inner):
        mode = one.stat().st_mode
        one.chmod(0o777)
        told = f"other users may write to {one}: chmod go-w {one}"
        assert why_unsafe(str(package)) == told
        assert why_unsafe(str(file)) == (told if one in helpers else "")
        one.chmod(mode)


def test_a_link_is_judged_by_what_it_leads_to(tmp_path: Path) -> None:
    elsewhere, link = tmp_path / "elsewhere.py", tmp_path / "guard.py"
    elsewhere.touch()
    elsewhere.chmod(0o666)
    link.symlink_to(elsewhere)
    assert "other users may write to" in why_unsafe(str(link))
    elsewhere.unlink()
    assert "cannot be examined" in why_unsafe(str(link))


def test_files_import_each_other_and_are_called_as_any_module_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "_words.py").write_text("WORD = 'said'\n")
    (tmp_path / "json.py").write_text("from . import _words\nWORD = _words.WORD\n")
    for name in ("hookrouter_files", "hookrouter_files.json", "hookrouter_files._words"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert import_file(str(tmp_path / "json.py")).WORD == "said"  # type: ignore[attr-defined]
    import json

    assert json.dumps([]) == "[]"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import os\n", ""),
        (block('dependencies = ["pytest"]'), ""),
        (block('requires-python = ">=3.8"', "dependencies = []", "[tool.uv]"), ""),
        (block("dependencies = [\"no-such-thing>=1; sys_platform == 'none'\"]"), ""),
        (
            block('dependencies = ["pytest", "no-such-thing>=2"]'),
            f"it needs no-such-thing>=2, which is not installed in {sys.prefix}",
        ),
        (block('dependencies = ["pytest<1"]'), f"it needs pytest<1, which is not installed in {sys.prefix}"),
        (block('requires-python = "<3"'), "it needs Python <3, and this is"),
        (block("requires-python = 3"), "it needs Python 3, and this is"),
        (block('dependencies = "pytest"'), "dependencies in its block # /// script is 'pytest'; allowed: a list"),
        (block("dependencies = [1]"), "dependencies in its block # /// script is [1]; allowed: a list"),
        (block("dependencies = ["), "its block # /// script is no TOML"),
        (block(f"a = {'1' * 5000}"), "its block # /// script is no TOML"),
        (block(f"a = {'[' * 5000}"), "its block # /// script is no TOML"),
        (block(f"requires-python = 0x{'1' * 5000}"), "it needs Python an object that cannot be shown"),
        (block(f"dependencies = [0x{'1' * 5000}]"), "dependencies in its block # /// script is an object that"),
        (block('dependencies = ["a b"]'), "its block # /// script:"),
        (block('requires-python = "x"'), "its block # /// script:"),
        (block("dependencies = []") + block("dependencies = []"), "it has several blocks # /// script"),
    ],
)
def test_what_a_file_needs_and_this_environment_has_not_is_told(source: str, why: str) -> None:
    assert why_unmet(source).startswith(why) if why else why_unmet(source) == ""


@given(
    st.lists(
        st.sampled_from(["# /// script", "# ///", "#", "# dependencies = []", "# [", "x", "", "# a = 1"]), max_size=9
    ),
    st.text(),
)
def test_any_source_can_be_looked_at(lines: list[str], rest: str) -> None:
    assert isinstance(why_unmet("\n".join([*lines, rest])), str)
