"""The report of a run: what failed, whole, and whether it was an assertion of the product's safety."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.reports import Phase, read_report

TESTS = Path(__file__).parents[2]

CONFTEST = """
from support.reports import ReportPlugin

def pytest_addoption(parser):
    parser.addoption("--report", default="")

def pytest_configure(config):
    path = "" if hasattr(config, "workerinput") else config.option.report
    config.pluginmanager.register(ReportPlugin(path), "report-file")
"""

MODULE = """
import pytest
from support.safety import safety

def test_promise():
    with safety("nothing is told twice"):
        assert [1, 1] == [1]

def test_timeout_in_a_promise():
    with safety("nothing is told twice"):
        raise TimeoutError("slow")

@pytest.mark.xdist_group("a group")
@pytest.mark.parametrize("text", ["a@b"])
def test_grouped(text):
    assert 1 == 2

def test_plain():
    print("on its way")
    assert 1 == 2

@pytest.mark.safety
def test_marked():
    assert 1 == 2

@pytest.mark.safety
def test_marked_and_slow():
    raise TimeoutError("slow")

@pytest.fixture
def promising():
    yield
    with safety("nothing is left"):
        assert not ["left"]

def test_teardown(promising):
    pass

def test_good():
    pass
"""

INI = f"""
[pytest]
pythonpath = {TESTS}
addopts = --import-mode=importlib -p no:cacheprovider --dist=loadgroup
markers =
    safety: counts at once
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_it_tells_broken_promises_from_other_failures(tmp_path: Path, workers: str) -> None:
    for name, text in {"conftest.py": CONFTEST, "test_it.py": MODULE, "pytest.ini": INI}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    report = tmp_path / "report.jsonl"
    command = [sys.executable, "-m", "pytest", f"--report={report}", "-n", workers]
    subprocess.run(command, cwd=tmp_path, stdout=subprocess.DEVNULL, check=False, env=os.environ)

    phases = read_report(report)

    failed: dict[str, Phase] = {each.test.split("::")[1]: each for each in phases if each.outcome == "failed"}
    assert {name: phase.unsafe for name, phase in failed.items()} == {
        "test_promise": True,
        "test_timeout_in_a_promise": False,
        "test_grouped[a@b]": False,
        "test_plain": False,
        "test_marked": True,
        "test_marked_and_slow": False,
        "test_teardown": True,
    }
    assert "nothing is told twice: assert [1, 1] == [1]" in failed["test_promise"].text
    assert "on its way" in failed["test_plain"].text
    assert {each.test.split("::")[1] for each in phases} == {*failed, "test_good"}
    assert all(each.seconds >= 0 for each in phases)
