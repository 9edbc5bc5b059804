"""What CI thinks of a run: what fails it, what is run again, and what is said of unsteady tests."""

from __future__ import annotations

import pytest

from support.judging import MOST_UNSTEADY, judge, table
from support.reports import Phase


def phase(test: str, outcome: str = "failed", *, unsafe: bool = False, text: str = "assert 1 == 2") -> Phase:
    layer = test.split("/")[1] if test.startswith("tests/") else ""
    return Phase(test, layer, 1.5, outcome, unsafe, text if outcome == "failed" else "")


def test_nothing_failed() -> None:
    judgement = judge([phase("tests/live/a.py::t", "passed"), phase("tests/unit/a.py::t", "skipped")])
    said, good = judgement.verdict({})
    assert good
    assert said.splitlines()[-1] == "Verdict: good: 0 failed, 0 unsteady"


@pytest.mark.parametrize("layer", ["live", "browser", "integration"])
@pytest.mark.parametrize("passes", [True, False])
def test_a_test_beside_programs_of_others_gets_a_second_run(layer: str, passes: bool) -> None:
    test = f"tests/{layer}/a.py::t[1]"
    judgement = judge([phase(test), phase("tests/live/b.py::t", "passed")])
    assert judgement.to_run_again == [test]
    said, good = judgement.verdict({test: passes})
    assert good == passes
    assert "assert 1 == 2" in said, "its first failure is told, whatever came of the second run"
    assert (f"unsteady: {test}" in said) == passes


@pytest.mark.parametrize("layer", ["unit", "plugins", "smoke", "docs", "typing"])
def test_of_our_own_alone_no_test_is_run_again(layer: str) -> None:
    judgement = judge([phase(f"tests/{layer}/a.py::t"), phase("tests/live/b.py::t")])
    assert judgement.to_run_again == [], "the verdict cannot change"
    said, good = judgement.verdict({"tests/live/b.py::t": True})
    assert not good
    assert f"FAILED: tests/{layer}/a.py::t" in said


def test_a_broken_promise_counts_at_once() -> None:
    judgement = judge([phase("tests/live/a.py::t", unsafe=True)])
    assert judgement.to_run_again == []
    said, good = judgement.verdict({"tests/live/a.py::t": True})
    assert not good
    assert "an assertion of the product's safety" in said


def test_a_promise_that_is_broken_in_any_phase_counts() -> None:
    judgement = judge([phase("tests/live/a.py::t"), phase("tests/live/a.py::t", unsafe=True, text="in its teardown")])
    assert judgement.to_run_again == []
    assert "in its teardown" in judgement.verdict({})[0]


def test_a_file_that_cannot_be_collected_counts() -> None:
    judgement = judge([Phase("tests/live/a.py", "", 0.0, "failed", False, "SyntaxError")])
    assert not judgement.verdict({"tests/live/a.py": True})[1]


@pytest.mark.parametrize("count", [MOST_UNSTEADY, MOST_UNSTEADY + 1])
def test_so_many_may_be_unsteady(count: int) -> None:
    tests = [f"tests/live/a.py::t{number}" for number in range(count)]
    judgement = judge([phase(test) for test in tests])
    said, good = judgement.verdict(dict.fromkeys(tests, True))
    assert good == (count <= MOST_UNSTEADY)
    assert said.count("UNSTEADY, passed alone: ") == count


def test_if_much_is_broken_nothing_is_run_again() -> None:
    judgement = judge([phase(f"tests/live/a.py::t{number}") for number in range(11)])
    assert judgement.to_run_again == []
    assert not judgement.verdict({})[1]


def test_the_table_tells_layers_and_slowest_tests() -> None:
    phases = [phase("tests/live/a.py::slow", "passed"), phase("tests/live/a.py::slow", "passed")]
    phases += [phase("tests/unit/a.py::quick", "passed")]
    lines = table(phases).splitlines()
    assert lines[2].split() == ["1.5", "1", "unit"]
    assert lines[3].split() == ["3.0", "1", "live"]
    assert lines[5].split() == ["3.0", "tests/live/a.py::slow"]
