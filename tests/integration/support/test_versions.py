"""Runs of the suite on other client versions, and the program's arguments."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support import versions
from support.versions import Run, faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SUITE = """
import pytest

@pytest.fixture(autouse=True)
def capability(request, record_property):
    record_property("capability", request.node.get_closest_marker("capability").args[0])

@pytest.mark.capability("select")
def test_one():
    pass

@pytest.mark.capability("select")
def test_two():
    assert 1 == {two}

@pytest.mark.capability("chat")
def test_chat(record_property):
    record_property("refused", "client 2.0.76 has none")

@pytest.mark.capability("preview")
def test_preview(record_property):
    record_property("not offered", "it draws a list")

@pytest.mark.capability("note")
def test_note():
    pytest.skip("no")

@pytest.mark.capability("last")
def test_last():
    import time
    try:
        time.sleep({sleep})
    finally:
        open({cleaned!r}, "w").close()
"""

INI = "[pytest]\nmarkers =\n  capability(name): row\n"


@pytest.fixture
def run_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Return what runs a small suite as if on a client."""

    def run(two: int = 1, sleep: float = 0, timeout: float = 60) -> Run:
        (tmp_path / "pytest.ini").write_text(INI)
        suite = tmp_path / "test_suite.py"
        suite.write_text(SUITE.format(two=two, sleep=sleep, cleaned=str(tmp_path / "cleaned")))
        monkeypatch.setattr(versions, "install_client", lambda version: f"/clients/{version}")
        return versions.run("2.0.76", [str(suite)], timeout)

    return run


def test_a_run_reports_every_test_with_its_capability(run_suite: Callable[..., Run]) -> None:
    done = run_suite(two=2)

    assert done.fault == ""
    assert [case[:2] for case in done.cases] == [
        ("select", "test_one"),
        ("select", "test_two"),
        ("chat", "test_chat"),
        ("preview", "test_preview"),
        ("note", "test_note"),
        ("last", "test_last"),
    ]
    assert [bool(case.failed) for case in done.cases] == [False, True, False, False, True, False]
    assert done.cases[2].refused == "client 2.0.76 has none"
    assert done.cases[3].not_offered == "it draws a list"
    assert [line.partition(": ")[2].partition(":")[0] for line in faults([done])] == ["test_two", "test_note"]


def test_a_suite_that_hangs_is_ended_and_told(run_suite: Callable[..., Run], tmp_path: Path) -> None:
    done = run_suite(sleep=600, timeout=15)

    assert (tmp_path / "cleaned").exists()

    assert "not done within 15 s" in done.fault
    assert [case.test for case in done.cases if case.capability == "select"] == ["test_one", "test_two"]
    assert "test_last" not in [case.test for case in done.cases if not case.failed]
    assert faults([done])[0] == f"2.0.76: {done.fault}"


_ROOT = __file__.rpartition("/tests/")[0]


@pytest.mark.parametrize(
    ("arguments", "said"), [(["newest"], "no version such as"), (["--write", "2.1.330"], "--write is for a run of all")]
)
def test_wrong_arguments_start_no_client(arguments: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, f"{_ROOT}/tests/live/versions", *arguments], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert said in done.stderr
