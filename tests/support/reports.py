"""What a run of tests leaves behind for whoever judges it: a JSON line for each phase of each test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from support.layers import TESTS, layer_of
from support.safety import UnsafeError

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["Phase", "ReportPlugin", "read_report"]

_UNSAFE = "unsafe"
_TEST = "test"
"""Properties of a report."""


class Phase(NamedTuple):
    """One phase of one test, or the collection of one file."""

    test: str
    layer: str
    """Empty for a collection."""
    seconds: float
    outcome: str
    """``passed``, ``failed`` or ``skipped``."""
    unsafe: bool
    """Whether what failed is an assertion of the product's safety."""
    text: str
    """The whole failure."""


class ReportPlugin:
    """The pytest plugin that writes the report; a worker of xdist only says which failures are of the safety."""

    def __init__(self, path: str) -> None:
        """``path`` is the report's file; empty: none is written."""
        self._file = Path(path).open("w", encoding="utf-8") if path else None  # noqa: SIM115 - closed by pytest_unconfigure

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Say which test it is, and mark failures of the product's safety."""
        report = yield
        # The report's own id ends with the name of the test's group, and no run by that id would find the test.
        report.user_properties.append((_TEST, f"{item.parent.nodeid}::{item.name}" if item.parent else item.nodeid))
        error = call.excinfo.value if call.excinfo is not None else None
        marked = item.get_closest_marker("safety") is not None and isinstance(error, AssertionError)
        if isinstance(error, UnsafeError) or marked:
            report.user_properties.append((_UNSAFE, report.when))
        return report

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write one phase."""
        layer = layer_of(TESTS.parent / report.nodeid.split("::")[0])
        unsafe = (_UNSAFE, report.when) in [tuple(each) for each in report.user_properties]
        self._write(report, layer.name if layer is not None else "", report.duration, unsafe=unsafe)

    @pytest.hookimpl
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write a collection that failed: none of the file's tests ran."""
        if report.failed:
            self._write(report, "", 0.0, unsafe=False)

    @pytest.hookimpl
    def pytest_unconfigure(self) -> None:
        """End the file."""
        if self._file is not None:
            self._file.close()

    def _write(
        self, report: pytest.TestReport | pytest.CollectReport, layer: str, seconds: float, *, unsafe: bool
    ) -> None:
        if self._file is None:
            return
        test = next((value for name, value in getattr(report, "user_properties", ()) if name == _TEST), report.nodeid)
        text = report.longreprtext + "".join(f"\n--- {name}\n{said}" for name, said in report.sections)
        phase = Phase(str(test), layer, seconds, report.outcome, unsafe, text if report.failed else "")
        self._file.write(json.dumps(phase._asdict()) + "\n")
        self._file.flush()


def read_report(path: Path) -> list[Phase]:
    """Return the phases of a report."""
    with path.open(encoding="utf-8") as file:
        return [Phase(**json.loads(line)) for line in file]
