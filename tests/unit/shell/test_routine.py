"""Command lines of the kind that Claude writes all day, with what the reader must find in each."""

from __future__ import annotations

import pytest

from hookrouter.shell.reader import read
from support.shell_corpus import Block, blocks, found

ROUTINE = blocks("routine.txt")


@pytest.mark.parametrize("block", ROUTINE, ids=lambda block: block.line[:40].replace("\n", " "))
def test_what_is_found_in_a_routine_line(block: Block) -> None:
    assert found(read(block.line)) == block.found


def test_nearly_all_of_them_are_certain() -> None:
    certain = [block for block in ROUTINE if read(block.line).certain]
    assert len(ROUTINE) >= 300
    assert len(certain) >= len(ROUTINE) * 0.97


@pytest.mark.parametrize("block", ROUTINE, ids=lambda block: block.line[:40].replace("\n", " "))
def test_zsh_reads_the_same_where_it_is_certain(block: Block) -> None:
    reading = read(block.line, "zsh")
    if reading.certain:
        assert found(reading) == block.found
