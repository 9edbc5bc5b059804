"""The live suite on many versions of the client, and the table of what each of them can do: ``tests/live/versions``.

A cell of the table says what a run of the tests has shown; the tests report it through pytest's JUnit file: the
property ``capability`` names the row, ``refused`` and ``not offered`` hold the reason if an answer was refused, or
if the client has nothing of the kind.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from typing import TYPE_CHECKING, NamedTuple

from hookrouter._sandbox.client import install_client

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["PAGE", "PART", "VERSIONS", "Case", "Run", "faults", "read_report", "run", "table"]

VERSIONS = (
    "2.0.76",
    "2.1.12",
    "2.1.30",
    "2.1.50",
    "2.1.70",
    "2.1.100",
    "2.1.150",
    "2.1.200",
    "2.1.250",
    "2.1.300",
    "2.1.330",
    "2.1.332",
)
"""The client versions that hookrouter is verified on, oldest first."""

PAGE = "docs/evidence/versions.md"
"""The page that holds the table, in the repository."""

PART = "versions-table"
"""The part of the page that is the table."""

_GRACE = 60.0


class Case(NamedTuple):
    """How one test ended."""

    capability: str
    """The row of the table that it speaks for."""
    test: str
    failed: str = ""
    """What failed; empty if the test passed."""
    refused: str = ""
    """The reason, if the answer was refused as it should be."""
    not_offered: str = ""
    """What the client does instead, if it has nothing of the kind."""


class Run(NamedTuple):
    """The live suite on one version."""

    version: str
    cases: tuple[Case, ...]
    fault: str = ""
    """Why the suite as a whole did not run to its end; empty if it did."""


def read_report(path: str) -> tuple[Case, ...]:
    """Return what a JUnit file of pytest (family xunit1) says. Raises OSError, and ParseError for a broken file."""
    cases = []
    for node in ElementTree.parse(path).iter("testcase"):
        said = {each.get("name", ""): each.get("value", "") for each in node.iter("property")}
        failure = next((each for each in node if each.tag in ("failure", "error", "skipped")), None)
        failed = "" if failure is None else failure.get("message") or failure.tag
        name = node.get("name", "")
        cases.append(
            Case(said.get("capability", name), name, failed, said.get("refused", ""), said.get("not offered", ""))
        )
    return tuple(cases)


def run(version: str, tests: Sequence[str], timeout: float, extra: Sequence[str] = ()) -> Run:
    """Install the client ``version`` if it is missing, and run the ``tests`` on it.

    ``tests`` are paths for pytest, ``extra`` more arguments. After ``timeout`` seconds the suite is interrupted, and
    what has not run by then counts as hung. What pytest prints goes to stderr. Raises ClientError.
    """
    client = install_client(version)
    # The table is of all forms.
    environ = {**os.environ, "HOOKROUTER_CLAUDE": client, "HOOKROUTER_REQUIRE_LIVE": "1"}
    environ |= {"HOOKROUTER_LONG": "1", "HOOKROUTER_CLIENT_VERSION": version}
    with tempfile.TemporaryDirectory(prefix="hookrouter-versions-") as folder:
        report = os.path.join(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
        command += ["-o", "junit_family=xunit1", f"--junitxml={report}", *extra, *tests]
        process = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=sys.stderr)
        fault = ""
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            fault = f"not done within {timeout:g} s"
        finally:
            _end(process)
        try:
            cases = read_report(report)
        except (OSError, ElementTree.ParseError) as error:
            return Run(version, (), fault or f"pytest left no report: {error}")
    if not cases:
        fault = fault or f"no test ran (pytest ended with {process.returncode})"
    return Run(version, cases, fault)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End pytest if it still runs: first so that the tests' fixtures end what they started."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    process.kill()
    process.wait()


def faults(runs: Iterable[Run]) -> list[str]:
    """Return a line for every test that failed or did not run: what was answered wrongly, or hung."""
    lines = []
    for each in runs:
        if each.fault:
            lines.append(f"{each.version}: {each.fault}")
        lines += [f"{each.version}: {case.test}: {case.failed}" for case in each.cases if case.failed]
    return lines


class _Notes:
    """Numbers the reasons below the table."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def number(self, text: str) -> str:
        if text not in self.texts:
            self.texts.append(text)
        return f"<sup>{self.texts.index(text) + 1}</sup>"


_THIS_CLIENT = re.compile(r"client \d+\.\d+\.\d+")


def _cell(cases: Sequence[Case], notes: _Notes) -> str:
    if not cases:
        return "not run"
    if any(case.failed for case in cases):
        return "**failed**"
    for case in cases:
        if case.refused:
            return f"refused{notes.number('refused: ' + _THIS_CLIENT.sub('this client', case.refused))}"
        if case.not_offered:
            return f"not offered{notes.number('not offered: ' + case.not_offered)}"
    return "verified"


def table(runs: Sequence[Run], today: str = "") -> str:
    """Return a Markdown table of what ``runs`` have shown, a row for each capability, with the reasons below.

    ``today`` is the date that it states; the current one by default.
    """
    capabilities = list(dict.fromkeys(case.capability for each in runs for case in each.cases))
    notes = _Notes()
    lines = [
        f"| Claude Code | {' | '.join(each.version for each in runs)} |",
        f"|---|{'---|' * len(runs)}",
    ]
    for capability in capabilities:
        cells = [_cell([case for case in each.cases if case.capability == capability], notes) for each in runs]
        lines.append(f"| {capability} | {' | '.join(cells)} |")
    counts = [f"{sum(not case.failed for case in each.cases)} of {len(each.cases)}" for each in runs]
    lines.append(f"| tests passed | {' | '.join(counts)} |")
    lines += ["", *(f"{number}. {text}" for number, text in enumerate(notes.texts, 1))]
    if notes.texts:
        lines.append("")
    lines.append(f"Run on {today or time.strftime('%Y-%m-%d')} with `tests/live/versions`.")
    return "\n".join(lines)
