"""What ``hookrouter plugins new`` writes is clean code of the right types, whatever was chosen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hookrouter.cli.scaffold.package import MAX_NAME, Package, plan
from hookrouter.cli.scaffold.parts import PARTS
from hookrouter.hookspecs import all_spec_classes
from hookrouter.markers import PROJECT_NAME

CONTRIBUTING = (
    "AnswerSpecs",
    "CommandSpecs",
    "PageSpecs",
    "PromptSpecs",
    "ResidentSpecs",
    "SettingsSpecs",
    "StorageSpecs",
    "WatchSpecs",
)
HOOKS = [
    name
    for specs in all_spec_classes()
    for name, spec in vars(specs).items()
    if hasattr(spec, f"{PROJECT_NAME}_spec") and specs.__name__ not in CONTRIBUTING
]


def lay_out(package: Package, folder: Path) -> None:
    for path, text in package.files.items():
        (folder / package.distribution / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / package.distribution / path).write_text(text)


def ruff(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "ruff", *arguments, "--no-cache", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_whatever_hook_is_chosen_the_package_is_clean_code(tmp_path: Path) -> None:
    pytest.importorskip("ruff")
    longest = sorted(HOOKS, key=len)[-20:]
    for number, hook in enumerate([*longest, "stop", "session_end", "raw_event"]):
        lay_out(plan(f"{'n' * (MAX_NAME - 4)}{number:04}", [hook]), tmp_path)
    lay_out(plan("every-hook", HOOKS), tmp_path)
    lay_out(plan("every-guard", HOOKS, fail_closed=True), tmp_path)
    for number, hook in enumerate(["pre_tool_use_read_mcp_resource_dir_tool", "pre_tool_use_notebook_edit"]):
        lay_out(plan(f"{'g' * (MAX_NAME - 4)}{number:04}", [hook], fail_closed=True), tmp_path)
        lay_out(plan(f"g{number}", [hook], fail_closed=True), tmp_path)
    for number, part in enumerate(PARTS):
        lay_out(plan(f"{'p' * (MAX_NAME - 4)}{number:04}", [part]), tmp_path)
        lay_out(plan(f"p{number}", [part]), tmp_path)

    lay_out(plan("p" * MAX_NAME, ["gateway"], http=True), tmp_path)
    lay_out(plan("h", ["gateway"], http=True), tmp_path)

    assert ruff(tmp_path, "check") == ""
    assert ruff(tmp_path, "format", "--diff") == ""


@pytest.mark.parametrize(
    ("name", "events", "options"),
    [
        ("typed", HOOKS, {}),
        ("guards", HOOKS, {"fail_closed": True}),
        ("http", ["gateway"], {"http": True}),
        *((part.replace("_", "-"), [part], {}) for part in PARTS),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_whatever_is_chosen_the_types_are_right(
    name: str, events: list[str], options: dict[str, bool], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pytest.importorskip("mypy")
    package = plan(name, events, **options)
    lay_out(package, tmp_path)

    # One cache for all: most of what is checked is hookrouter itself.
    cache = str(tmp_path_factory.getbasetemp().parent / "mypy-of-new-plugins")
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", cache]
    folder = tmp_path / package.distribution
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
