"""The examples of docs/authors.md: each is run as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hookrouter.scaffold import plan
from hookrouter.testing.contracts import __all__ as contracts

pytest_plugins = ["pytester"]

PAGE = (Path(__file__).parents[2] / "docs" / "authors.md").read_text(encoding="utf-8")


def examples() -> dict[str, str]:
    """Return the Python examples by the file name in their first line."""
    blocks = re.findall(r"^```python\n# (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == PAGE.count("```python")
    return dict(blocks)


@pytest.fixture
def folder(pytester: pytest.Pytester) -> Path:
    for name, source in examples().items():
        (pytester.path / name).write_text(source, encoding="utf-8")
    return pytester.path


def test_the_tests_on_the_page_pass(pytester: pytest.Pytester, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The real client has tests of its own.
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("HOOKROUTER_REQUIRE_LIVE", raising=False)
    monkeypatch.syspath_prepend(folder)
    outcomes = pytester.runpytest_inprocess("-p", "no:cacheprovider").parseoutcomes()
    assert outcomes.keys() == {"passed", "skipped"}
    assert outcomes["skipped"] == 1
    assert outcomes["passed"] >= 30


def test_the_examples_are_typed(folder: Path) -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--config-file=", *sorted(examples())]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_examples_are_formatted(folder: Path) -> None:
    pytest.importorskip("ruff")
    for what in (["format", "--check"], ["check", "--select", "E,F,I,B,PT,UP"]):
        command = [sys.executable, "-m", "ruff", *what, "--isolated", "--no-cache", "--line-length", "120", "."]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_the_commands_are_those_of_a_new_package() -> None:
    (block,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    readme = plan("night-guard").files["README.md"]
    first, second, *rest = block.splitlines()
    assert (first, second) == ("hookrouter plugins new night-guard", "cd hookrouter-night-guard")
    assert [line for line in rest if line not in readme.splitlines()] == []


def test_every_contract_is_named() -> None:
    assert [name for name in contracts if name.endswith("Contract") and f"`{name}`" not in PAGE] == []
