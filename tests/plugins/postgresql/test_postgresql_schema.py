"""The steps of the migrations, as they are numbered and named."""

from __future__ import annotations

import re

from hookrouter_fleet.command import migrate
from hookrouter_postgresql.schema import NEWEST, migrations


def test_the_steps_are_numbered_without_a_gap():
    assert [step.version for step in migrations()] == list(range(1, NEWEST + 1))
    assert len({step.checksum for step in migrations()}) == NEWEST


def test_the_example_of_the_command_goes_one_version_back():
    assert re.findall(r"--to (\d+)", migrate.__doc__) == [str(NEWEST - 1)]
