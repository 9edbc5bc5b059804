"""Readings of command lines, held against the shells themselves: stubs on PATH record what runs."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.shell.reader import read
from support.safety import safety
from support.shell_oracle import Oracle, random_shell_line, unnamed

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.linux


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    folder: Path = tmp_path_factory.mktemp("oracle")
    return Oracle(folder / "shells")


@given(seed=st.integers(0, 2**32))
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_runs_nothing_that_a_certain_reading_had_not_named(oracle: Oracle, shell: str, seed: int) -> None:
    line = random_shell_line(random.Random(seed), shell)
    reading = read(line, shell)
    if reading.certain:
        with safety("no command that a shell runs is missing"):
            assert unnamed(reading, oracle.ran(line, shell)) == []


@pytest.mark.parametrize("line", ["zz a", "aa | zz b", "x=$(zz c)", "env A=1 zz 'd e'", "zz f | xargs zz"])
def test_the_stubs_record_what_runs(oracle: Oracle, line: str) -> None:
    ran = oracle.ran(line, "bash")
    assert "zz" in {words[0] for words in ran}
    assert unnamed(read(line), ran) == []
    assert unnamed(read("aa"), ran) != []
