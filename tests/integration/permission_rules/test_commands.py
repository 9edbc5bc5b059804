"""Command lines that are taken apart, read by bash itself."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from hookrouter.permission_rules.commands import simple_commands
from support.bash_oracle import disagreement, random_line


@given(st.integers(0, 2**32))
def test_bash_reads_what_is_taken_apart_as_the_same_commands(seed: int) -> None:
    line = random_line(random.Random(seed))
    commands = simple_commands(line)
    if commands is not None:
        assert disagreement(line, commands) == ""
