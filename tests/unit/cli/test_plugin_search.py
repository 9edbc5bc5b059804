"""The directory of plugins: generated from what is there, and searched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from hookrouter.cli.plugin_search import search
from hookrouter.hookspecs import all_spec_classes
from scripts.generate import directory
from scripts.generate.files import write_or_compare


def found(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, bool]:
    search([*words], as_json=True)
    return {one["name"]: one["installed"] for one in json.loads(capsys.readouterr().out)}


def test_the_directory_is_what_the_packages_say() -> None:
    assert write_or_compare("x", ["--check"], directory.FOLDER, directory.generate) == 0
    hooks = {name for kind in all_spec_classes() for name in vars(kind)}
    listed = json.loads(directory.generate()["hookrouter/_setup/directory.json"])
    for one in listed:
        assert one["summary"], one
        assert one["hooks"], one
        assert set(one["hooks"]) <= hooks, one
    sources = {one["source"] for one in listed}
    examples = directory.FOLDER / "examples"
    every = [*examples.glob("hooks/*.py"), *(path.parent for path in examples.glob("*/pyproject.toml"))]
    assert {str(path.relative_to(directory.FOLDER)) for path in every} == sources


def test_a_package_of_somebody_else_is_what_its_seed_says() -> None:
    seed = {"name": "x", "url": "https://example.org/x", "summary": "Does x.", "hooks": ["stop"]}
    (one,) = directory.directory({"kinds": [{"title": "Guards", "plugins": [seed]}]})
    assert one == {"kind": "Guards", "name": "x", "summary": "Does x.", "hooks": ["stop"], "source": seed["url"]}


def test_every_word_counts_and_what_is_installed_is_said(
    hookrouter_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (hookrouter_home / "plugins").mkdir(mode=0o700)
    (hookrouter_home / "plugins" / "no_force_push.py").write_text("from hookrouter import hookimpl\n")
    guards = found(capsys, "GUARDS", "pre_tool_use")
    assert guards["no_force_push"]
    assert guards["hookrouter-bash-guard"] is False
    assert "hookrouter-redis" not in guards
    assert "hookrouter-redis" in found(capsys)
    search(["force", "push"])
    assert "  no_force_push  (installed): " in capsys.readouterr().out
    with pytest.raises(typer.Exit):
        search(["\x1b[31mnothing"])
    assert capsys.readouterr().out == "no plugin of the directory is about \\x1b[31mnothing\n"
